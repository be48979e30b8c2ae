//! The bot that is built in: what the bots of `examples/` are, without a framework. It answers an Update with 200 only
//! when the Update is handled to its end.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use clap::Args;
use serde_json::{Value, json};

use super::facts::{ECHO, PRESSED, THANKS};
use crate::failure::{Ended, Failure};

/// Where Telegram puts the secret.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";

/// As the bots of `examples/` are told, by the environment alone: a command line can be read by everybody.
#[derive(Args)]
pub(crate) struct BackendArgs {
    #[arg(long, env = "PORT", hide_env_values = true)]
    port: u16,
    #[arg(long, env = "BOT_API_ROOT", hide_env_values = true)]
    bot_api_root: String,
    #[arg(long, env = "BOT_TOKEN", hide_env_values = true)]
    bot_token: String,
    #[arg(long, env = "WEBHOOK_SECRET", hide_env_values = true)]
    webhook_secret: String,
}

impl std::fmt::Debug for BackendArgs {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("BackendArgs")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

struct Bot {
    client: reqwest::Client,
    /// With the token.
    root: String,
    secret: String,
}

/// Serves until it is killed, or until whoever has started it is gone.
pub(crate) async fn serve(args: &BackendArgs) -> Result<Ended, Failure> {
    penstock_local::end_with_the_host();
    let bot = Bot {
        client: reqwest::Client::new(),
        root: format!("{}/bot{}", args.bot_api_root, args.bot_token),
        secret: args.webhook_secret.clone(),
    };
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, args.port));
    let listener = listener
        .await
        .context("the port is taken")
        .map_err(Failure::Usage)?;
    let router = Router::new().fallback(webhook).with_state(Arc::new(bot));
    axum::serve(listener, router)
        .await
        .context("the built-in backend ended")?;
    Ok(Ended::Well)
}

async fn webhook(State(bot): State<Arc<Bot>>, method: Method, headers: HeaderMap, body: Bytes) -> StatusCode {
    if method != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED;
    }
    if headers
        .get(SECRET_HEADER)
        .is_none_or(|given| given != bot.secret.as_str())
    {
        return StatusCode::UNAUTHORIZED;
    }
    let Ok(update) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::BAD_REQUEST;
    };
    match bot.handle(&update).await {
        Ok(()) => StatusCode::OK,
        Err(error) => {
            tracing::warn!(%error, "an update failed");
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

impl Bot {
    async fn handle(&self, update: &Value) -> Result<(), anyhow::Error> {
        let (message, query) = (&update["message"], &update["callback_query"]);
        if let Some(text) = message["text"].as_str() {
            return self.say(&message["chat"]["id"], &format!("{ECHO}{text}")).await;
        }
        if query["data"] == "press" {
            // Refused once the press was answered, or is long ago. What it asked for is done all the same.
            let answer = json!({"callback_query_id": query["id"], "text": THANKS});
            self.call("answerCallbackQuery", &answer).await?;
            return self.say(&query["message"]["chat"]["id"], PRESSED).await;
        }
        Ok(())
    }

    async fn say(&self, chat: &Value, text: &str) -> Result<(), anyhow::Error> {
        let status = self
            .call("sendMessage", &json!({"chat_id": chat, "text": text}))
            .await?;
        if status == StatusCode::OK {
            return Ok(());
        }
        Err(anyhow!("sendMessage was answered with {status}"))
    }

    async fn call(&self, method: &str, params: &Value) -> Result<StatusCode, anyhow::Error> {
        let call = self.client.post(format!("{}/{method}", self.root)).json(params);
        let answer = call.send().await.map_err(reqwest::Error::without_url)?;
        Ok(answer.status())
    }
}
