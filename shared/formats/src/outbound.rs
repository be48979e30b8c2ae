//! The body of a message on the outbound queue: one whole intent, so that the sender needs no read before its claim.

use penstock_domain::ids::{BotId, LedgerKey, UpdateId};
use penstock_domain::intent::{Call, Intent, OnUnknown};
use penstock_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::text::escape_noncharacters;
use crate::version::{ReadError, SCHEMA_VERSION, read};

/// An intent on its way to the sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbound {
    /// The bot that sends.
    pub bot_id: BotId,
    /// The Update that it answers.
    pub update_id: UpdateId,
    /// The ledger key of that Update.
    pub key: LedgerKey,
    /// The generation of that Update.
    pub redrive: u32,
    /// How often a person has had this intent sent again.
    pub resend: u32,
    /// How many intents the Update has in all: with one, the settling write also ends the record's long life.
    pub of: u8,
    /// When the Update was received.
    pub received_at: Timestamp,
    /// The id that runs through every hop.
    pub trace_id: String,
    /// The number of the intent in the Update.
    pub n: u8,
    /// The previous intent of the same group.
    pub previous: Option<u8>,
    /// The call.
    pub call: Call,
}

#[derive(Serialize, Deserialize)]
struct Wire<'a> {
    schema_version: u32,
    bot_id: u64,
    update_id: i64,
    key: &'a str,
    redrive: u32,
    resend: u32,
    received_at: i64,
    trace_id: &'a str,
    n: u8,
    of: u8,
    previous: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_before: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refers_to: Option<u8>,
    method: &'a str,
    on_unknown: WireOnUnknown,
    #[serde(borrow)]
    params: &'a RawValue,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireOnUnknown {
    Hold,
    ResendOnce,
}

/// The Update that a group of intents belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The bot.
    pub bot_id: BotId,
    /// The Update.
    pub update_id: UpdateId,
    /// Its ledger key.
    pub key: LedgerKey,
    /// Its generation.
    pub redrive: u32,
    /// When it was received.
    pub received_at: Timestamp,
    /// The id that runs through every hop.
    pub trace_id: String,
}

impl Outbound {
    /// The message for an intent of an Update that has `of` intents.
    #[must_use]
    pub fn new(origin: &Origin, intent: &Intent, resend: u32, of: u8) -> Self {
        let origin = origin.clone();
        Self {
            bot_id: origin.bot_id,
            update_id: origin.update_id,
            key: origin.key,
            redrive: origin.redrive,
            resend,
            of,
            received_at: origin.received_at,
            trace_id: origin.trace_id,
            n: intent.n,
            previous: intent.previous,
            call: intent.call.clone(),
        }
    }

    /// Reads a queue body.
    ///
    /// # Errors
    /// [`ReadError`], which tells a newer version from a body that is none of ours.
    pub fn read(body: &str) -> Result<Self, ReadError> {
        let wire: Wire<'_> = read(body, |wire: &Wire<'_>| wire.schema_version)?;
        Ok(Self {
            bot_id: BotId(wire.bot_id),
            update_id: UpdateId(wire.update_id),
            key: LedgerKey::from_stored(wire.key.to_owned()),
            redrive: wire.redrive,
            resend: wire.resend,
            of: wire.of,
            received_at: Timestamp::from_millis(wire.received_at),
            trace_id: wire.trace_id.to_owned(),
            n: wire.n,
            previous: wire.previous,
            call: Call {
                method: wire.method.to_owned(),
                params: wire.params.get().to_owned(),
                on_unknown: match wire.on_unknown {
                    WireOnUnknown::Hold => OnUnknown::Hold,
                    WireOnUnknown::ResendOnce => OnUnknown::ResendOnce,
                },
                not_before: wire.not_before.map(Timestamp::from_millis),
                refers_to: wire.refers_to,
            },
        })
    }

    /// Writes the queue body. U+FFFE and U+FFFF, which SQS refuses, become escapes: a bot may repeat what a person
    /// wrote.
    ///
    /// # Errors
    /// If the parameters are no JSON.
    pub fn write(&self) -> Result<String, serde_json::Error> {
        let params = escape_noncharacters(&self.call.params);
        let params: &RawValue = serde_json::from_str(&params)?;
        serde_json::to_string(&Wire {
            schema_version: SCHEMA_VERSION,
            bot_id: self.bot_id.0,
            update_id: self.update_id.0,
            key: self.key.as_str(),
            redrive: self.redrive,
            resend: self.resend,
            received_at: self.received_at.as_millis(),
            trace_id: &self.trace_id,
            n: self.n,
            of: self.of,
            previous: self.previous,
            not_before: self.call.not_before.map(Timestamp::as_millis),
            refers_to: self.call.refers_to,
            method: &self.call.method,
            on_unknown: match self.call.on_unknown {
                OnUnknown::Hold => WireOnUnknown::Hold,
                OnUnknown::ResendOnce => WireOnUnknown::ResendOnce,
            },
            params,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_domain::intent::plan;

    #[test]
    fn what_was_written_is_read_back() {
        let call = |text: &str| Call {
            method: "sendMessage".to_owned(),
            params: format!(r#"{{"chat_id":5,"text":"{text}"}}"#),
            on_unknown: OnUnknown::ResendOnce,
            not_before: Some(Timestamp::from_millis(77)),
            refers_to: None,
        };
        let planned = plan(BotId(7), vec![call("a"), call("\\ud83d")]).unwrap();
        let origin = Origin {
            bot_id: BotId(7),
            update_id: UpdateId(5),
            key: LedgerKey::new(BotId(7), UpdateId(5)),
            redrive: 2,
            received_at: Timestamp::from_millis(9),
            trace_id: "abc".to_owned(),
        };
        let outbound = Outbound::new(&origin, &planned[1], 1, 2);
        assert_eq!(Outbound::read(&outbound.write().unwrap()).unwrap(), outbound);
    }

    #[test]
    fn what_sqs_would_refuse_is_escaped_and_stays_equal_as_json() {
        let params = "{\"chat_id\":5,\"text\":\"a\u{ffff}\u{fffe}\"}";
        let escaped = escape_noncharacters(params);
        assert!(!escaped.contains(['\u{fffe}', '\u{ffff}']));
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(json(&escaped), json(params));
    }
}
