//! setWebhook, deleteWebhook, getWebhookInfo.

use serde_json::{Value, json};

use super::{Call, Reply};
use crate::api::ApiError;
use crate::params::Params;
use crate::webhook::connections::Connections;
use crate::world::{Webhook, World};

/// Connections by default and at most (Bot API, setWebhook).
const DEFAULT_CONNECTIONS: i64 = 40;
const MAX_CONNECTIONS: i64 = 100;
/// setWebhook calls are a second apart (server source).
const SET_WEBHOOK_INTERVAL_MS: i64 = 1_000;
/// Ports a webhook may have (core.telegram.org/bots/webhooks).
const PORTS: &[u16] = &[80, 88, 443, 8_443];

impl World {
    /// One of these methods, or `None` for any other.
    pub(super) fn webhook_call(&mut self, call: &Call) -> Result<Option<Reply>, ApiError> {
        match call.method.name {
            "setWebhook" => self.set_webhook(call).map(Some),
            "deleteWebhook" => self.delete_webhook(call).map(Some),
            "getWebhookInfo" => self.webhook_info(call).map(|info| Some(info.into())),
            _ => Ok(None),
        }
    }

    fn set_webhook(&mut self, call: &Call) -> Result<Reply, ApiError> {
        let bot = self.bot(call.bot)?;
        let too_soon = |at: i64| call.now < at + SET_WEBHOOK_INTERVAL_MS;
        if bot.last_set_webhook_ms.is_some_and(too_soon) {
            return Err(ApiError::too_many_requests(1));
        }
        let url = call.params.text("url").unwrap_or_default();
        if url.is_empty() {
            return self.delete_webhook(call);
        }
        check_url(&url)?;
        let secret = checked_secret(call.params)?;
        bot.last_set_webhook_ms = Some(call.now);
        if let Some(list) = call.params.json("allowed_updates") {
            bot.allowed = list_of_text(&list);
        }
        if call.params.flag("drop_pending_updates") {
            bot.lanes.clear();
        }
        let max = call
            .params
            .int("max_connections")
            .unwrap_or(DEFAULT_CONNECTIONS)
            .clamp(1, MAX_CONNECTIONS);
        let max = usize::try_from(max).unwrap_or(1);
        let same = |old: &Webhook| old.url == url && old.secret == secret && old.max_connections == max;
        if bot.webhook.as_ref().is_some_and(same) {
            return Ok(Reply {
                result: json!(true),
                description: Some("Webhook is already set"),
            });
        }
        bot.webhook = Some(Webhook {
            url,
            secret,
            max_connections: max,
            custom_certificate: call.params.has("certificate"),
            connections: Connections::new(max),
            last_error: None,
            gone_since: None,
        });
        bot.webhook_generation += 1;
        bot.lanes.restart(max);
        bot.pusher.0.notify_one();
        bot.poller.notify_waiters();
        Ok(Reply {
            result: json!(true),
            description: Some("Webhook was set"),
        })
    }

    fn delete_webhook(&mut self, call: &Call) -> Result<Reply, ApiError> {
        let bot = self.bot(call.bot)?;
        if call.params.flag("drop_pending_updates") {
            bot.lanes.clear();
        }
        let description = if bot.webhook.is_some() {
            "Webhook was deleted"
        } else {
            "Webhook is already deleted"
        };
        bot.webhook = None;
        bot.webhook_generation += 1;
        bot.lanes.restart(1);
        bot.pusher.0.notify_one();
        Ok(Reply {
            result: json!(true),
            description: Some(description),
        })
    }

    fn webhook_info(&mut self, call: &Call) -> Result<Value, ApiError> {
        let bot = self.bot(call.bot)?;
        let mut info =
            json!({ "url": "", "has_custom_certificate": false, "pending_update_count": bot.lanes.len() });
        let mut put = |name: &str, value: Value| info[name] = value;
        if let Some(webhook) = &bot.webhook {
            put("url", json!(webhook.url));
            put("has_custom_certificate", json!(webhook.custom_certificate));
            put("max_connections", json!(webhook.max_connections));
            if let Some((at, message)) = &webhook.last_error {
                put("last_error_date", json!(at / 1_000));
                put("last_error_message", json!(message));
            }
        }
        if let Some(allowed) = &bot.allowed {
            put("allowed_updates", json!(allowed));
        }
        Ok(info)
    }
}

/// `None` for an empty list: the default kinds.
pub(crate) fn list_of_text(list: &Value) -> Option<Vec<String>> {
    let list: Vec<String> = list
        .as_array()?
        .iter()
        .filter_map(|item| item.as_str().map(ToOwned::to_owned))
        .collect();
    (!list.is_empty()).then_some(list)
}

/// Https on a port Telegram knows; the machine itself may be addressed as it likes.
fn check_url(url: &str) -> Result<(), ApiError> {
    let refuse = |text: &str| Err(ApiError::bad_request(text));
    let Ok(url) = reqwest::Url::parse(url) else {
        return refuse("invalid webhook URL specified");
    };
    if url
        .host_str()
        .is_some_and(|host| ["127.0.0.1", "localhost", "[::1]"].contains(&host))
    {
        return Ok(());
    }
    if url.scheme() != "https" {
        return refuse("bad webhook: An HTTPS URL must be provided for webhook");
    }
    if !url
        .port_or_known_default()
        .is_some_and(|port| PORTS.contains(&port))
    {
        return refuse("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443");
    }
    Ok(())
}

/// 1-256 of A-Z a-z 0-9 _ - (Bot API, setWebhook).
fn checked_secret(params: &Params) -> Result<Option<String>, ApiError> {
    let secret = params.text("secret_token").filter(|secret| !secret.is_empty());
    match &secret {
        Some(secret) if secret.len() > 256 => Err(ApiError::bad_request("secret token is too long")),
        Some(secret)
            if !secret
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) =>
        {
            Err(ApiError::bad_request(
                "secret token contains unallowed characters",
            ))
        }
        _ => Ok(secret),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> Option<String> {
        check_url(url).err().map(|error| error.description)
    }

    #[test]
    fn a_public_webhook_is_https_on_a_known_port() {
        assert_eq!(refusal("https://bot.example/telegram/1/x"), None);
        assert_eq!(refusal("https://bot.example:8443/x"), None);
        assert!(
            refusal("http://bot.example/x")
                .unwrap()
                .contains("HTTPS URL must be provided")
        );
        assert!(
            refusal("https://bot.example:9000/x")
                .unwrap()
                .contains("only on ports 80, 88, 443 or 8443")
        );
        assert!(refusal("no address").unwrap().contains("invalid webhook URL"));
    }

    #[test]
    fn the_machine_itself_may_be_a_webhook_on_any_port() {
        assert_eq!(refusal("http://127.0.0.1:45123/telegram/1/x"), None);
    }

    #[test]
    fn a_secret_has_letters_digits_and_two_signs() {
        let check = |secret: &str| checked_secret(&Params::from_json(json!({ "secret_token": secret })));
        assert_eq!(check("Az09_-"), Ok(Some("Az09_-".to_owned())));
        assert!(check("with blank").is_err() && check(&"x".repeat(257)).is_err());
        assert_eq!(check(""), Ok(None));
    }
}
