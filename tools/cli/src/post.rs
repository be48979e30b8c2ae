//! Requests to the webhook, as Telegram makes them. Never prints or logs an address: it holds a secret.

use std::time::Duration;

use anyhow::anyhow;
use penstock_events::Secret;

/// Where Telegram puts the secret.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// A secret of the right shape that is nobody's.
const WRONG_SECRET: &str = "a-secret-of-the-right-shape-that-is-not-the-right-one";
/// How long Telegram waits for a webhook, 60 s (Bot API server, `WebhookActor`).
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// A webhook to post to.
#[derive(Clone)]
pub(crate) struct Webhook {
    client: reqwest::Client,
    url: String,
    secret: String,
}

impl Webhook {
    pub(crate) fn new(url: &str, secret: &str) -> Self {
        Self {
            client: reqwest::Client::new(),
            url: url.to_owned(),
            secret: secret.to_owned(),
        }
    }

    /// Posts a body and gives back the status of the answer.
    pub(crate) async fn post(&self, body: Vec<u8>, secret: Secret) -> Result<u16, anyhow::Error> {
        let secret = match secret {
            Secret::Right => self.secret.as_str(),
            Secret::Wrong => WRONG_SECRET,
        };
        let answer = self
            .client
            .post(&self.url)
            .timeout(ANSWER_LIMIT)
            .header(SECRET_HEADER, secret)
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await
            .map_err(|error| anyhow!("the webhook does not answer: {}", error.without_url()))?;
        Ok(answer.status().as_u16())
    }
}
