//! Reads an answer of the Bot API: status, one header and bytes become a reply or a classed error. Pure.
//! Never builds the whole result: a message's id is all that is needed of it, and the rest is the user's.

use penstock_domain::secret::BotToken;
use penstock_ports::{ApiError, ApiReply};
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::classify::{Classed, Refusal, classify};
use crate::scrub::scrub;

/// The call that was answered.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) token: &'a BotToken,
    pub(crate) method: &'a str,
    /// Whether its parameters name a `message_id`.
    pub(crate) has_message_id: bool,
}

impl<'a> Call<'a> {
    /// A call with these parameters. They are looked into only where the class depends on them.
    pub(crate) fn new(token: &'a BotToken, method: &'a str, params: &str) -> Self {
        let has_message_id = method == "unpinChatMessage" && names_message(params);
        Self {
            token,
            method,
            has_message_id,
        }
    }

    /// Nothing is known of the effect.
    pub(crate) fn no_answer(&self) -> ApiError {
        ApiError::NoAnswer {
            method: self.method.to_owned(),
        }
    }

    /// Nothing left this process, or at least no whole request.
    pub(crate) fn not_sent(&self) -> ApiError {
        ApiError::NotSent {
            method: self.method.to_owned(),
        }
    }
}

/// What came back.
#[derive(Clone, Copy)]
pub(crate) struct Answer<'a> {
    /// The HTTP status.
    pub(crate) status: u16,
    /// `Retry-After`, in seconds.
    pub(crate) retry_after: Option<u64>,
    /// The whole body; `None` where it broke off or was too big.
    pub(crate) body: Option<&'a [u8]>,
}

/// The envelope around every result. Raw where another shape than the documented one must not cost the rest.
#[derive(Deserialize)]
struct Envelope<'a> {
    ok: bool,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error_code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    description: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parameters: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

#[derive(Deserialize)]
struct WithMessageId {
    message_id: Option<i64>,
}

/// What an answer means.
pub(crate) fn read(call: Call<'_>, answer: Answer<'_>) -> Result<ApiReply, ApiError> {
    let Some(body) = answer.body else {
        return broken_off(call, answer);
    };
    let text = String::from_utf8_lossy(body);
    // What can't be parsed isn't the Bot API's, whatever the reason.
    let envelope: Option<Envelope<'_>> = serde_json::from_str(&text).ok();
    match envelope {
        Some(envelope) if envelope.ok && (200..=299).contains(&answer.status) => Ok(ApiReply {
            message_id: envelope.result.and_then(message_id),
            already_done: false,
        }),
        Some(envelope) if !envelope.ok => refused(call, answer, &envelope),
        _ if (200..=299).contains(&answer.status) => Err(call.no_answer()),
        _ => foreign(call, answer),
    }
}

/// The status is known and the text is not: only where the class doesn't hang on the text is it a refusal.
fn broken_off(call: Call<'_>, answer: Answer<'_>) -> Result<ApiReply, ApiError> {
    match answer.status {
        429 | 500..=599 => foreign(call, answer),
        _ => Err(call.no_answer()),
    }
}

/// An answer that isn't the Bot API's JSON, as from a proxy or a gateway. Nothing of its body is kept.
fn foreign(call: Call<'_>, answer: Answer<'_>) -> Result<ApiReply, ApiError> {
    let refusal = Refusal {
        method: call.method,
        has_message_id: call.has_message_id,
        code: answer.status,
        description: None,
        retry_after: answer.retry_after,
        migrate_to_chat_id: None,
    };
    let reason = StatusCode::from_u16(answer.status)
        .ok()
        .and_then(|status| status.canonical_reason());
    settle(
        call,
        &refusal,
        &format!("{} (not an answer of the Bot API)", reason.unwrap_or("no reason")),
    )
}

fn refused(call: Call<'_>, answer: Answer<'_>, envelope: &Envelope<'_>) -> Result<ApiReply, ApiError> {
    let description = envelope.description.map(text_of).unwrap_or_default();
    // Parameters of another shape say nothing; the text and the code still do.
    let parameters: Parameters = envelope
        .parameters
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default();
    let refusal = Refusal {
        method: call.method,
        has_message_id: call.has_message_id,
        code: envelope.error_code.and_then(code_of).unwrap_or(answer.status),
        description: Some(&description),
        retry_after: parameters.retry_after.max(answer.retry_after),
        migrate_to_chat_id: parameters.migrate_to_chat_id,
    };
    settle(call, &refusal, &description)
}

fn settle(call: Call<'_>, refusal: &Refusal<'_>, description: &str) -> Result<ApiReply, ApiError> {
    match classify(refusal) {
        Classed::AlreadyDone => Ok(ApiReply {
            message_id: None,
            already_done: true,
        }),
        Classed::Failed(disposition, meaning) => Err(ApiError::Refused {
            method: call.method.to_owned(),
            code: refusal.code,
            description: scrub(description, call.token),
            disposition,
            meaning,
        }),
    }
}

/// The id of a message, or of the first of several.
fn message_id(result: &RawValue) -> Option<i64> {
    // Many results are no messages: what doesn't fit has no id.
    if result.get().starts_with('[') {
        let several: Option<Vec<WithMessageId>> = serde_json::from_str(result.get()).ok();
        several?.first()?.message_id
    } else {
        let one: Option<WithMessageId> = serde_json::from_str(result.get()).ok();
        one?.message_id
    }
}

/// An HTTP error code; anything else leaves the status to speak.
fn code_of(raw: &RawValue) -> Option<u16> {
    raw.get().parse().ok().filter(|code| (300..=599).contains(code))
}

/// The string, or its raw text where it holds what no Rust string can, as a lone surrogate.
fn text_of(raw: &RawValue) -> String {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().trim_matches('"').to_owned())
}

fn names_message(params: &str) -> bool {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow, default)]
        message_id: Option<&'a RawValue>,
    }
    // Parameters that can't be read name nothing: the careful side.
    serde_json::from_str::<Named<'_>>(params).is_ok_and(|named| named.message_id.is_some())
}

#[cfg(test)]
mod tests;
