//! A real bot in front of a local stack: long polling in, webhook requests out.
//!
//! Each Update is posted to the front as Telegram would post it, and the offset moves on only after
//! the front's 200. Never logs a token, and never takes a bot over unasked.

mod api;
mod rules;

use std::time::Duration;

use penstock_domain::secret::BotToken;
use reqwest::Client;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

use api::{BotApi, CallError};
use rules::{Next, after_failure, backoff};

use crate::logs::Logs;

/// The header with the webhook's secret.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// Telegram's limit of a webhook call, 60 s; on the wall clock.
const POST_LIMIT: Duration = Duration::from_secs(60);

/// Which bot, and whether it may be taken from where it is now.
#[derive(Debug, Clone)]
pub struct BridgeOptions {
    /// Root of the Bot API, for example `https://api.telegram.org`.
    pub api_root: String,
    /// The bot's token.
    pub token: BotToken,
    /// Removes a webhook that is set. Pending Updates are kept.
    pub take_over: bool,
}

/// Why there is no bridge.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// The token is wrong or revoked.
    #[error("telegram does not know this bot token: copy it again from @BotFather (/mybots, API Token)")]
    Unauthorized,
    /// The bot has a webhook.
    #[error(
        "the bot's updates go to a webhook at {host} ({pending} pending): stop that deployment, or start with --take-over, which removes the webhook and keeps pending updates"
    )]
    WebhookSet {
        /// Host of the webhook; the rest of its URL is a secret.
        host: String,
        /// Updates that wait for it.
        pending: u64,
    },
    /// Something else polls with the token.
    #[error(
        "another program polls with this bot token: stop it, or use a second bot from @BotFather for this machine"
    )]
    Conflict,
    /// The root is no address of a web server.
    #[error("the api root is not an http or https URL: give --api-root one like https://api.telegram.org")]
    ApiRoot,
    /// Anything else.
    #[error("the bot cannot be reached: {reason}; check the network and the api root")]
    Unreachable {
        /// What happened, without a URL.
        reason: String,
    },
}

/// A bot that can be polled.
#[derive(Debug)]
pub struct Bridge {
    api: BotApi,
    bot_id: u64,
    username: String,
    removed_webhook: Option<String>,
}

/// Where Updates go.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) webhook_url: String,
    pub(crate) webhook_secret: String,
}

/// What came of posting one Update.
enum Posted {
    Accepted,
    Stopped,
}

impl Bridge {
    /// Checks the token and the webhook; removes the webhook only if that was asked for.
    ///
    /// # Errors
    /// When the token is wrong, a webhook is set, or Telegram cannot be reached.
    pub async fn connect(options: BridgeOptions) -> Result<Self, BridgeError> {
        check_root(&options.api_root)?;
        let api = BotApi::new(&options.api_root, options.token);
        let me = api.me().await.map_err(first_contact)?;
        let webhook = api.webhook_info().await.map_err(first_contact)?;
        let mut removed_webhook = None;
        if !webhook.url.is_empty() {
            let host = host_of(&webhook.url);
            if !options.take_over {
                return Err(BridgeError::WebhookSet {
                    host,
                    pending: webhook.pending_update_count,
                });
            }
            api.delete_webhook().await.map_err(first_contact)?;
            removed_webhook = Some(host);
        }
        Ok(Self {
            api,
            bot_id: me.id,
            username: me.username,
            removed_webhook,
        })
    }

    /// The bot's id.
    #[must_use]
    pub fn bot_id(&self) -> u64 {
        self.bot_id
    }

    /// The bot's user name, without `@`.
    #[must_use]
    pub fn username(&self) -> &str {
        &self.username
    }

    /// Host of the webhook that was removed, when there was one.
    #[must_use]
    pub fn removed_webhook(&self) -> Option<&str> {
        self.removed_webhook.as_deref()
    }

    /// Polls until told to stop.
    pub(crate) async fn run(
        self,
        target: Target,
        logs: Logs,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), BridgeError> {
        let client = Client::new();
        let mut offset = 0;
        let mut failures = 0;
        let mut is_told = false;
        loop {
            let polled = tokio::select! {
                polled = self.api.updates(offset) => polled,
                _ = stop.wait_for(|stop| *stop) => return Ok(()),
            };
            let updates = match polled {
                Ok(updates) => updates,
                Err(error) => {
                    failures += 1;
                    logs.note(&format!("polling telegram failed: {error}"));
                    let wait = match after_failure(error, failures) {
                        Next::Wait(wait) => wait,
                        Next::Tell(error, wait) => {
                            // Once, until it is over.
                            if !std::mem::replace(&mut is_told, true) {
                                let every = wait.as_secs();
                                logs.error(&format!("{error}; it is tried again every {every} s"));
                            }
                            wait
                        }
                        Next::End(error) => return Err(error),
                    };
                    if sleep_or_stop(wait, &mut stop).await {
                        return Ok(());
                    }
                    continue;
                }
            };
            failures = 0;
            if std::mem::take(&mut is_told) {
                logs.note("polling telegram works again");
            }
            for update in updates {
                match post(&client, &target, &update, &logs, &mut stop).await {
                    Posted::Accepted => offset = next_offset(offset, &update),
                    Posted::Stopped => return Ok(()),
                }
            }
        }
    }
}

/// Posts one Update until the front accepts it.
async fn post(
    client: &Client,
    target: &Target,
    update: &RawValue,
    logs: &Logs,
    stop: &mut watch::Receiver<bool>,
) -> Posted {
    let mut failures = 0;
    loop {
        let request = client
            .post(&target.webhook_url)
            .timeout(POST_LIMIT)
            .header(SECRET_HEADER, &target.webhook_secret)
            .header("content-type", "application/json")
            .body(update.get().to_owned())
            .send();
        let answer = tokio::select! {
            answer = request => answer,
            _ = stop.wait_for(|stop| *stop) => return Posted::Stopped,
        };
        failures += 1;
        let wait = match answer {
            Ok(answer) if answer.status().is_success() => return Posted::Accepted,
            Ok(answer) => {
                logs.note(&format!(
                    "the front answered {}; the update is posted again",
                    answer.status()
                ));
                retry_after(&answer).unwrap_or_else(|| backoff(failures))
            }
            Err(error) => {
                logs.note(&format!("the front cannot be reached: {}", error.without_url()));
                backoff(failures)
            }
        };
        if sleep_or_stop(wait, stop).await {
            return Posted::Stopped;
        }
    }
}

fn retry_after(answer: &reqwest::Response) -> Option<Duration> {
    answer
        .headers()
        .get("retry-after")?
        .to_str()
        .ok()?
        .parse()
        .ok()
        .map(Duration::from_secs)
}

/// Whether it was told to stop.
async fn sleep_or_stop(wait: Duration, stop: &mut watch::Receiver<bool>) -> bool {
    tokio::select! {
        () = tokio::time::sleep(wait) => false,
        _ = stop.wait_for(|stop| *stop) => true,
    }
}

/// One more than the Update's id. An Update without one, which Telegram never sends, moves nothing.
fn next_offset(offset: i64, update: &RawValue) -> i64 {
    #[derive(Deserialize)]
    struct Id {
        update_id: i64,
    }
    serde_json::from_str::<Id>(update.get()).map_or(offset, |id| id.update_id.saturating_add(1))
}

fn first_contact(error: CallError) -> BridgeError {
    match error {
        // A malformed token is a path that the server does not have.
        CallError::Refused { code: 401 | 404, .. } => BridgeError::Unauthorized,
        CallError::Refused { code: 409, .. } => BridgeError::Conflict,
        other @ (CallError::Refused { .. } | CallError::NoAnswer(_) | CallError::NotBotApi { .. }) => {
            BridgeError::Unreachable {
                reason: other.to_string(),
            }
        }
    }
}

fn check_root(root: &str) -> Result<(), BridgeError> {
    let is_web =
        reqwest::Url::parse(root).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if is_web { Ok(()) } else { Err(BridgeError::ApiRoot) }
}

fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    // What stands before the host is a name and a password.
    authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_of_a_webhook_is_told() {
        assert_eq!(
            host_of("https://x.example.org:8443/telegram/1/secret?y"),
            "x.example.org:8443"
        );
        assert_eq!(
            host_of("https://name:pass@word@x.example.org/y@z"),
            "x.example.org"
        );
    }

    #[test]
    fn only_a_web_address_is_an_api_root() {
        for root in [
            "https://api.telegram.org",
            "http://127.0.0.1:9/",
            "http://[::1]:81",
        ] {
            assert!(check_root(root).is_ok(), "{root}");
        }
        for root in [
            "",
            "api.telegram.org",
            "localhost:8081",
            "ftp://x.example.org",
            "http://",
        ] {
            let told = check_root(root).unwrap_err().to_string();
            assert!(told.contains("not an http or https URL"), "{root}: {told}");
        }
    }

    #[test]
    fn the_offset_is_one_more_than_the_last_update() {
        let update = RawValue::from_string(r#"{"update_id": 41, "message": {}}"#.to_owned()).unwrap();
        assert_eq!(next_offset(7, &update), 42);
    }

    #[tokio::test]
    async fn a_token_is_in_no_error_when_nothing_answers() {
        let options = BridgeOptions {
            // Port 9 of the loopback: nothing listens there.
            api_root: "http://127.0.0.1:9".to_owned(),
            token: BotToken::new("424242:very-secret".to_owned()),
            take_over: false,
        };
        let error = Bridge::connect(options).await.unwrap_err();
        assert!(matches!(error, BridgeError::Unreachable { .. }));
        let told = format!("{error} {error:?}");
        assert!(!told.contains("very-secret"), "{told}");
    }
}
