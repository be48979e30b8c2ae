//! The HTTP API in front of a function: a request in, an event, an answer out.
//!
//! Never looks into a request beyond what an HTTP API would, except to remember the ids of accepted
//! Updates for the console. Never logs a path: a webhook's path is a secret.

mod answer;
mod event;
mod recent;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::any;
use bytes::Bytes;
use uuid::Uuid;

use answer::{HttpAnswer, http_answer, internal_error};
use event::{HttpRequest, http_event};
pub use recent::{AcceptedUpdate, RecentUpdates};

use crate::clock::StackClock;
use crate::lambda::LambdaHost;

/// An HTTP API's limit of a payload, 10 MB.
const BODY_LIMIT: usize = 10 * 1024 * 1024;
/// Lambda's limit of a synchronous event, 6 MB.
const EVENT_LIMIT: usize = 6 * 1024 * 1024;
/// An HTTP API waits 30 s for an integration, at most; here for a free instance, on the wall clock.
const SLOT_WAIT: Duration = Duration::from_secs(30);

/// A front for one function.
#[derive(Debug, Clone)]
pub struct Front {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    host: LambdaHost,
    function: String,
    account_id: String,
    clock: StackClock,
    recent: RecentUpdates,
}

impl Front {
    /// A front for a function of the host.
    #[must_use]
    pub fn new(host: LambdaHost, function: &str, account_id: &str, clock: StackClock) -> Self {
        let recent = RecentUpdates::default();
        let (function, account_id) = (function.to_owned(), account_id.to_owned());
        Self {
            inner: Arc::new(Inner {
                host,
                function,
                account_id,
                clock,
                recent,
            }),
        }
    }

    /// The accepted Updates.
    #[must_use]
    pub fn recent(&self) -> &RecentUpdates {
        &self.inner.recent
    }

    /// Routes of the webhook. Other paths belong to the console, which an HTTP API has not.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/telegram", any(serve))
            .route("/telegram/{*rest}", any(serve))
            .with_state(self.clone())
    }
}

async fn serve(State(front): State<Front>, request: Request) -> Response {
    let source_ip = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map_or_else(|| "127.0.0.1".to_owned(), |info| info.0.ip().to_string());
    let (parts, body) = request.into_parts();
    let answer = match axum::body::to_bytes(body, BODY_LIMIT).await {
        Ok(body) => {
            let (method, uri, headers) = (parts.method, parts.uri, parts.headers);
            front
                .answer(
                    method.as_str(),
                    uri.path(),
                    uri.query().unwrap_or(""),
                    &headers,
                    &source_ip,
                    body,
                )
                .await
        }
        Err(_) => too_large(),
    };
    into_response(answer)
}

impl Front {
    async fn answer(
        &self,
        method: &str,
        path: &str,
        query: &str,
        headers: &HeaderMap,
        source_ip: &str,
        body: Bytes,
    ) -> HttpAnswer {
        let inner = &self.inner;
        let request_id = Uuid::new_v4().to_string();
        let event = http_event(&HttpRequest {
            method,
            path,
            query,
            headers,
            body: &body,
            source_ip,
            request_id: &request_id,
            account_id: &inner.account_id,
            now_ms: inner.clock.now_ms(),
        });
        let Ok(payload) = serde_json::to_vec(&event) else {
            return internal_error();
        };
        if payload.len() > EVENT_LIMIT {
            return too_large();
        }
        let trace_id = headers
            .get("x-amzn-trace-id")
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let invoked = inner
            .host
            .invoke(&inner.function, payload.into(), trace_id, SLOT_WAIT)
            .await;
        let Ok(invocation) = invoked else {
            return internal_error();
        };
        let answer = http_answer(&invocation.outcome);
        if answer.status == StatusCode::OK {
            inner.recent.note(path, &body, inner.clock.now_ms());
        }
        answer
    }
}

fn too_large() -> HttpAnswer {
    HttpAnswer::own(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large")
}

fn into_response(answer: HttpAnswer) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = answer.status;
    for (name, value) in answer.headers {
        response.headers_mut().append(name, value);
    }
    response
}
