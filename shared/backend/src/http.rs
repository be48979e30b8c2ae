//! A backend behind a URL. One exchange per call: no repeat, no redirect, no cookie.

use std::time::Duration;

use penstock_domain::breaker::ProbeAnswer;
use penstock_domain::intent::Call;
use penstock_ports::{Backend, BackendError, Clock, Forward};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};

use crate::answer::{Answer, End, MAX_BODY, judge};
use crate::failure::{of_body, of_exchange};
use crate::mask::Mask;
use crate::request::{SECRET_HEADER, USER_AGENT, headers, reveal};
use crate::target::{HttpTarget, TargetError, is_loopback};

/// Longest time to connect: name, TCP and TLS take well under a second.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Longest idle time of a kept connection. Below the shortest after which common servers close one (gunicorn 2 s;
/// uvicorn, Node and Apache 5 s; AWS load balancers 60 s): a request on a connection that is just being closed ends
/// without an answer, and would count as one that may have been handled. A busy bot still reuses connections; a quiet
/// one pays for a handshake.
const MAX_IDLE: Duration = Duration::from_secs(1);

/// Longest probe: half the lease of a probe ([`penstock_domain::breaker::PROBE_LEASE`]).
const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// Shortest part of a path that is taken for a key rather than for a word.
const MIN_KEY: usize = 12;

/// Times of the connections to a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpTimes {
    /// Longest time until a connection stands. An exchange whose limit is not longer than this cannot tell a slow
    /// connection from a slow answer, and takes it for no answer.
    pub connect: Duration,
    /// Longest idle time of a connection that is used again.
    pub idle: Duration,
    /// Longest probe.
    pub probe: Duration,
}

/// 3 s to connect, 1 s idle, 5 s for a probe.
impl Default for HttpTimes {
    fn default() -> Self {
        Self {
            connect: CONNECT_TIMEOUT,
            idle: MAX_IDLE,
            probe: PROBE_LIMIT,
        }
    }
}

/// Calls a webhook. Clones share the connections.
#[derive(Debug, Clone)]
pub struct HttpBackend<C> {
    http: Client,
    target: HttpTarget,
    probe_limit: Duration,
    clock: C,
}

impl<C: Clock> HttpBackend<C> {
    /// A client of that target; connects to nothing yet.
    ///
    /// # Errors
    /// [`TargetError::Tls`] if TLS cannot be set up.
    pub fn new(target: HttpTarget, times: HttpTimes, clock: C) -> Result<Self, TargetError> {
        let mut builder = Client::builder()
            .redirect(Policy::none())
            // Repeating is the processor's decision.
            .retry(reqwest::retry::never())
            .referer(false)
            // One request at a time on a connection, as from Telegram.
            .http1_only()
            // An encoding that is not asked for.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .connect_timeout(times.connect)
            .pool_idle_timeout(times.idle)
            .user_agent(USER_AGENT);
        builder = if target.url.scheme() == "http" {
            // No certificate will be checked, so none has to be installed.
            builder.tls_certs_only([])
        } else {
            builder.tls_certs_merge(target.authorities.iter().cloned())
        };
        if is_loopback(&target.url) {
            // A proxy of the environment doesn't reach this machine's own loopback.
            builder = builder.no_proxy();
        }
        Ok(Self {
            http: builder.build().map_err(|_| TargetError::Tls)?,
            target,
            probe_limit: times.probe,
            clock,
        })
    }

    fn headers(&self, forward: &Forward<'_>) -> Result<HeaderMap, BackendError> {
        let mut map = HeaderMap::new();
        for (name, value) in headers(forward) {
            let value = HeaderValue::try_from(value).map_err(|_| BackendError::Unsendable { what: name })?;
            map.insert(HeaderName::from_static(name), value);
        }
        if let Some(secret) = reveal(self.target.secret.as_ref()) {
            let mut value =
                HeaderValue::try_from(secret).map_err(|_| BackendError::Unsendable { what: "the secret" })?;
            value.set_sensitive(true);
            map.insert(HeaderName::from_static(SECRET_HEADER), value);
        }
        Ok(map)
    }

    /// What must not show: the secret, and what of the URL an error page may quote. A plain word of the path may, or
    /// it would be missing everywhere else; so may this machine's own name.
    fn mask(&self, update: &str) -> Mask {
        let url = &self.target.url;
        let segments =
            url.path_segments().into_iter().flatten().filter(|segment| {
                segment.len() >= MIN_KEY || segment.bytes().any(|byte| byte.is_ascii_digit())
            });
        let values = url
            .query()
            .into_iter()
            .flat_map(|query| query.split('&'))
            .map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
        let whole = [url.as_str(), url.path()]
            .into_iter()
            .chain(url.query())
            .chain(url.host_str().filter(|_| !is_loopback(url)));
        let secret = reveal(self.target.secret.as_ref());
        Mask::of(update, whole.chain(segments).chain(values).chain(secret))
    }
}

impl<C: Clock> Backend for HttpBackend<C> {
    async fn deliver(&self, forward: &Forward<'_>) -> Result<Option<Call>, BackendError> {
        let response = self
            .http
            .post(self.target.url.clone())
            .headers(self.headers(forward)?)
            .timeout(forward.limit)
            .body(forward.update.to_owned())
            .send()
            .await
            .map_err(of_exchange)?;
        let answer = read(response).await;
        judge(answer, self.clock.now(), || self.mask(forward.update)).await
    }

    /// One HEAD, without the secret: a backend that checks it refuses, which is an answer too.
    async fn probe(&self) -> ProbeAnswer {
        let sent = self
            .http
            .head(self.target.url.clone())
            .timeout(self.probe_limit)
            .send()
            .await;
        match sent {
            Ok(response) => ProbeAnswer::Status(response.status().as_u16()),
            Err(error) => {
                of_body(error);
                ProbeAnswer::Nothing
            }
        }
    }
}

/// Reads an answer up to its end, its limit or [`MAX_BODY`].
async fn read(mut response: Response) -> Answer {
    let header = |name| {
        let value: &HeaderValue = response.headers().get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    let mut answer = Answer {
        status: response.status().as_u16(),
        content_type: header(CONTENT_TYPE).unwrap_or_default(),
        content_encoding: header(CONTENT_ENCODING).unwrap_or_default(),
        retry_after: header(RETRY_AFTER),
        ..Answer::default()
    };
    answer.end = loop {
        match response.chunk().await {
            Ok(None) => break End::Whole,
            Ok(Some(chunk)) => {
                let room = MAX_BODY - answer.body.len();
                answer.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    break End::TooLong;
                }
            }
            Err(error) => break End::Broken(of_body(error)),
        }
    };
    answer
}
