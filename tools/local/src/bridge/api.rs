//! The four Bot API calls of the bridge.
//!
//! A URL holds the token, so no error that holds a URL leaves this file.

use std::time::Duration;

use penstock_domain::secret::BotToken;
use reqwest::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// How long Telegram may hold a `getUpdates` call, seconds (the server allows 50).
const LONG_POLL_S: u64 = 25;
/// Time for a call beyond what it asks Telegram to hold it.
const CALL_LIMIT: Duration = Duration::from_secs(15);

/// Why a call brought no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    /// No answer.
    #[error("telegram cannot be reached: {0}")]
    NoAnswer(reqwest::Error),
    /// An answer that is not the Bot API's.
    #[error("the api root answered {status} with something that is not the bot api's")]
    NotBotApi { status: u16 },
    /// An error of the Bot API.
    #[error("telegram answered {code}: {description}")]
    Refused {
        code: i64,
        description: String,
        retry_after_s: Option<u64>,
    },
}

/// One bot at one API root.
#[derive(Debug, Clone)]
pub(super) struct BotApi {
    client: Client,
    root: String,
    token: BotToken,
}

#[derive(Deserialize)]
struct Answer<T> {
    ok: bool,
    result: Option<T>,
    #[serde(default)]
    error_code: i64,
    #[serde(default)]
    description: String,
    parameters: Option<Parameters>,
}

#[derive(Deserialize)]
struct Parameters {
    retry_after: Option<u64>,
}

/// What the bridge wants to know of the bot.
#[derive(Debug, Deserialize)]
pub(super) struct Me {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) username: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct WebhookInfo {
    #[serde(default)]
    pub(super) url: String,
    #[serde(default)]
    pub(super) pending_update_count: u64,
}

impl BotApi {
    pub(super) fn new(root: &str, token: BotToken) -> Self {
        Self {
            client: Client::new(),
            root: root.trim_end_matches('/').to_owned(),
            token,
        }
    }

    pub(super) async fn me(&self) -> Result<Me, CallError> {
        self.call("getMe", &json!({}), Duration::ZERO).await
    }

    pub(super) async fn webhook_info(&self) -> Result<WebhookInfo, CallError> {
        self.call("getWebhookInfo", &json!({}), Duration::ZERO).await
    }

    /// Removes the webhook and keeps what waits for it.
    pub(super) async fn delete_webhook(&self) -> Result<bool, CallError> {
        self.call(
            "deleteWebhook",
            &json!({ "drop_pending_updates": false }),
            Duration::ZERO,
        )
        .await
    }

    /// The raw Updates from an offset on. `allowed_updates` is left as the bot has it.
    pub(super) async fn updates(&self, offset: i64) -> Result<Vec<Box<RawValue>>, CallError> {
        let parameters = json!({ "offset": offset, "timeout": LONG_POLL_S, "limit": 100 });
        self.call("getUpdates", &parameters, Duration::from_secs(LONG_POLL_S))
            .await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        parameters: &Value,
        held: Duration,
    ) -> Result<T, CallError> {
        let url = format!("{}/bot{}/{method}", self.root, self.token.reveal());
        let no_answer = |error: reqwest::Error| CallError::NoAnswer(error.without_url());
        let answer = self
            .client
            .post(url)
            .timeout(CALL_LIMIT + held)
            .json(parameters)
            .send()
            .await
            .map_err(no_answer)?;
        let status = answer.status().as_u16();
        let body = answer.bytes().await.map_err(no_answer)?;
        read(status, &body)
    }
}

fn read<T: DeserializeOwned>(status: u16, body: &[u8]) -> Result<T, CallError> {
    let answer: Answer<T> = serde_json::from_slice(body).map_err(|_| CallError::NotBotApi { status })?;
    match answer.result {
        Some(result) if answer.ok => Ok(result),
        _ if answer.ok => Err(CallError::NotBotApi { status }),
        _ => Err(CallError::Refused {
            code: if answer.error_code == 0 {
                i64::from(status)
            } else {
                answer.error_code
            },
            description: if answer.description.is_empty() {
                format!("http status {status} without a description")
            } else {
                answer.description
            },
            retry_after_s: answer.parameters.and_then(|parameters| parameters.retry_after),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_kept_as_they_came() {
        let body = br#"{"ok":true,"result":[{"update_id":1, "new_kind" : {"big":12345678901234567890123}}]}"#;
        let updates: Vec<Box<RawValue>> = read(200, body).unwrap();
        assert_eq!(
            updates[0].get(),
            r#"{"update_id":1, "new_kind" : {"big":12345678901234567890123}}"#
        );
    }

    #[test]
    fn errors_keep_their_code_and_wait() {
        let body = br#"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":7}}"#;
        let error = read::<bool>(429, body).unwrap_err();
        assert!(matches!(
            error,
            CallError::Refused {
                code: 429,
                retry_after_s: Some(7),
                ..
            }
        ));
        let error = read::<bool>(500, br#"{"ok":false}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "telegram answered 500: http status 500 without a description"
        );
        let error = read::<bool>(502, b"<html>").unwrap_err();
        assert!(matches!(error, CallError::NotBotApi { status: 502 }));
    }
}
