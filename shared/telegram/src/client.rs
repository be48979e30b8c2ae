//! The HTTP client of the Bot API. One try per call: never repeats, never waits, never follows a redirect, and never
//! lets the token, or a URL, which holds it, into an error or a log line.

use std::error::Error as _;
use std::time::Duration;

use penstock_domain::failure::Disposition;
use penstock_domain::secret::BotToken;
use penstock_ports::{ApiError, ApiReply, BotApi, Meaning};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};

use crate::answer::{self, Answer, Call};
use crate::scrub::scrub;

/// Telegram's own server.
const TELEGRAM: &str = "https://api.telegram.org";

/// Longest time to connect: DNS, TCP and TLS take well under one second, and a failure here is safe to repeat.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest whole call. The server hides waits of up to 8 s inside a call, so a shorter one would make throttling look
/// like silence.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Longest answer read. The largest known are lists of a hundred messages, some 100 KiB.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// Longest idle time of a pooled connection. Below the minute after which servers commonly close: a call on a
/// connection that is just being closed would end without an answer.
const MAX_IDLE: Duration = Duration::from_secs(30);

/// How the Bot API is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientConfig {
    /// `http` or `https`, host, port and perhaps a path; `/bot{token}/{method}` is appended.
    pub api_root: String,
    /// Longest time until a connection stands. Shorter than `timeout`, so that a failure to connect is told apart.
    pub connect_timeout: Duration,
    /// Longest time of a whole call, answer included.
    pub timeout: Duration,
    /// Longest answer that is read, in bytes.
    pub max_answer_bytes: usize,
}

/// Telegram's own server, with 5 s to connect and 30 s for a call.
impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            api_root: TELEGRAM.to_owned(),
            connect_timeout: CONNECT_TIMEOUT,
            timeout: TIMEOUT,
            max_answer_bytes: MAX_ANSWER_BYTES,
        }
    }
}

/// Why there is no client. Never prints the root: somebody may have pasted a URL with a token.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The root isn't one.
    #[error("the Bot API root {problem}; give scheme and host as in {TELEGRAM}")]
    ApiRoot {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The time to connect isn't shorter than that of the whole call.
    #[error(
        "connect timeout {connect:?} is not shorter than timeout {whole:?}; lower the first or raise the second"
    )]
    Timeouts {
        /// Time to connect.
        connect: Duration,
        /// Time of the whole call.
        whole: Duration,
    },
    /// TLS can't be set up.
    #[error("the Bot API client could not be built; are CA certificates installed?")]
    Tls(#[source] reqwest::Error),
}

/// Calls the Bot API. Cheap to clone; clones share the connections.
#[derive(Debug, Clone)]
pub struct BotApiClient {
    http: Client,
    /// Without a slash at its end.
    api_root: String,
    max_answer_bytes: usize,
}

impl BotApiClient {
    /// A client; connects to nothing yet.
    ///
    /// # Errors
    /// See [`ClientError`]; all of them are mistakes of the configuration.
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        let root = checked(&config.api_root).map_err(|problem| ClientError::ApiRoot { problem })?;
        if config.connect_timeout >= config.timeout {
            return Err(ClientError::Timeouts {
                connect: config.connect_timeout,
                whole: config.timeout,
            });
        }
        let mut builder = Client::builder()
            .redirect(Policy::none())
            // Repeating is the sender's decision, by the class of the method.
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(config.connect_timeout)
            .timeout(config.timeout)
            .pool_idle_timeout(MAX_IDLE);
        if root.scheme() == "http" {
            // No certificate will be checked, so none has to be installed.
            builder = builder.tls_certs_only([]);
        }
        if is_loopback(&root) {
            // A proxy of the environment doesn't reach this machine's own loopback.
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(ClientError::Tls)?;
        let api_root = config.api_root.trim_end_matches('/').to_owned();
        Ok(Self {
            http,
            api_root,
            max_answer_bytes: config.max_answer_bytes,
        })
    }

    async fn exchange(&self, call: Call<'_>, params: &str) -> Result<ApiReply, ApiError> {
        let url = format!("{}/bot{}/{}", self.api_root, call.token.reveal(), call.method);
        let request = self
            .http
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .body(params.to_owned());
        let response = request.send().await.map_err(|error| {
            let not_sent = error.is_connect() || error.is_builder();
            note(call, error);
            if not_sent {
                call.not_sent()
            } else {
                call.no_answer()
            }
        })?;
        let status = response.status().as_u16();
        let retry_after = retry_after(&response);
        let body = self.body(call, response).await;
        answer::read(
            call,
            Answer {
                status,
                retry_after,
                body: body.as_deref(),
            },
        )
    }

    /// The whole body, or `None` where it broke off or is too big.
    async fn body(&self, call: Call<'_>, mut response: Response) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() <= self.max_answer_bytes => {
                    body.extend_from_slice(&chunk)
                }
                Ok(None) => return Some(body),
                Ok(Some(_)) => {
                    let limit = self.max_answer_bytes;
                    tracing::debug!(
                        bot_api.method = call.method,
                        "the Bot API's answer is over {limit} bytes"
                    );
                    return None;
                }
                Err(error) => {
                    note(call, error);
                    return None;
                }
            }
        }
    }
}

impl BotApi for BotApiClient {
    async fn call(&self, token: &BotToken, method: &str, params: &str) -> Result<ApiReply, ApiError> {
        if !is_method(method) {
            let what = "the method name is not made of letters alone, so nothing was sent";
            return Err(kept_back("(invalid)", 404, what, Meaning::Plain));
        }
        if !is_token(token) {
            let what =
                "the token is not of the form digits:letters, so nothing was sent; check the bot's secret";
            return Err(kept_back(method, 401, what, Meaning::BotRefused));
        }
        self.exchange(Call::new(token, method, params), params).await
    }
}

/// Refused here as Telegram would refuse it, because it doesn't belong into a URL.
fn kept_back(method: &str, code: u16, description: &str, meaning: Meaning) -> ApiError {
    ApiError::Refused {
        method: method.to_owned(),
        code,
        description: description.to_owned(),
        disposition: Disposition::Permanent,
        meaning,
    }
}

fn checked(api_root: &str) -> Result<Url, &'static str> {
    let root = Url::parse(api_root).map_err(|_| "is not a URL")?;
    if !matches!(root.scheme(), "http" | "https") || !root.has_host() {
        return Err("has neither http nor https as its scheme");
    }
    if !root.username().is_empty() || root.password().is_some() {
        return Err("holds a user or a password");
    }
    if root.query().is_some() || root.fragment().is_some() {
        return Err("holds a query or a fragment");
    }
    if root.path().contains("/bot") {
        return Err("already holds /bot and perhaps a token");
    }
    Ok(root)
}

fn is_loopback(root: &Url) -> bool {
    root.host_str().is_some_and(|host| {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

fn is_method(method: &str) -> bool {
    !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_token(token: &BotToken) -> bool {
    token.reveal().split_once(':').is_some_and(|(id, secret)| {
        !id.is_empty()
            && id.bytes().all(|byte| byte.is_ascii_digit())
            && !secret.is_empty()
            && secret
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    })
}

fn retry_after(response: &Response) -> Option<u64> {
    // A date instead of seconds is something that Telegram doesn't send.
    response
        .headers()
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// Keeps the cause for whoever looks for it: the error that goes up says only what is known of the effect.
fn note(call: Call<'_>, error: reqwest::Error) {
    let error = error.without_url();
    let mut cause = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        cause = format!("{cause}: {inner}");
        source = inner.source();
    }
    let cause = scrub(&cause, call.token);
    tracing::debug!(
        bot_api.method = call.method,
        cause,
        "the exchange with the Bot API broke off"
    );
}

#[cfg(test)]
mod tests;
