//! The Lambda Runtime API, 2018-06-01, for one process.
//!
//! One listener per process, as `AWS_LAMBDA_RUNTIME_API` is a host and a port. Never decides what a
//! failed invocation means: it hands over what the process said.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use tokio::sync::{mpsc, oneshot, watch};

use super::outcome::FunctionError;

/// Lambda's limit of a synchronous answer, 6 MB.
const ANSWER_LIMIT: usize = 6 * 1024 * 1024;
/// The header that names an error's type.
const ERROR_TYPE: &str = "lambda-runtime-function-error-type";

/// One invocation on its way into a process.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) request_id: String,
    pub(super) payload: Bytes,
    pub(super) deadline_ms: i64,
    pub(super) arn: String,
    pub(super) trace_id: String,
    pub(super) answer: oneshot::Sender<Result<Bytes, FunctionError>>,
    /// Told when the process has fetched it: from then on it may have had effects.
    pub(super) fetched: oneshot::Sender<()>,
}

/// How far a process has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Init {
    /// Started, has not asked for work yet.
    Starting,
    /// Has asked for work.
    Ready,
    /// Has reported that it cannot start.
    Failed(FunctionError),
}

/// What the host and the server of one process share.
#[derive(Debug)]
pub(super) struct Exchange {
    work: tokio::sync::Mutex<mpsc::Receiver<Work>>,
    current: Mutex<Option<Current>>,
    init: watch::Sender<Init>,
}

#[derive(Debug)]
struct Current {
    request_id: String,
    answer: oneshot::Sender<Result<Bytes, FunctionError>>,
}

impl Exchange {
    pub(super) fn new(work: mpsc::Receiver<Work>, init: watch::Sender<Init>) -> Self {
        Self {
            work: tokio::sync::Mutex::new(work),
            current: Mutex::new(None),
            init,
        }
    }

    fn set_current(&self, current: Current) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(current);
    }

    /// Takes the current invocation, if it has this id.
    fn take_current(&self, request_id: &str) -> Option<Current> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current
            .as_ref()
            .is_some_and(|current| current.request_id == request_id)
        {
            current.take()
        } else {
            None
        }
    }
}

/// The routes of the API.
pub(super) fn router(exchange: Arc<Exchange>) -> Router {
    Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
        .route(
            "/2018-06-01/runtime/invocation/{id}/error",
            post(invocation_error),
        )
        .route("/2018-06-01/runtime/init/error", post(init_error))
        .layer(DefaultBodyLimit::disable())
        .with_state(exchange)
}

async fn next(State(exchange): State<Arc<Exchange>>) -> Response {
    exchange.init.send_replace(Init::Ready);
    let Some(work) = exchange.work.lock().await.recv().await else {
        // The host is closing; the process is about to be stopped.
        return StatusCode::GONE.into_response();
    };
    // The invoker may have given up; then nobody hears it, and the answer goes nowhere.
    work.fetched.send(()).ok();
    exchange.set_current(Current {
        request_id: work.request_id.clone(),
        answer: work.answer,
    });
    let mut headers = HeaderMap::new();
    let values = [
        ("lambda-runtime-aws-request-id", work.request_id),
        ("lambda-runtime-deadline-ms", work.deadline_ms.to_string()),
        ("lambda-runtime-invoked-function-arn", work.arn),
        ("lambda-runtime-trace-id", work.trace_id),
    ];
    for (name, value) in values {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    (StatusCode::OK, headers, work.payload).into_response()
}

async fn response(State(exchange): State<Arc<Exchange>>, Path(id): Path<String>, body: Bytes) -> Response {
    let Some(current) = exchange.take_current(&id) else {
        return unknown_request(&id);
    };
    if body.len() > ANSWER_LIMIT {
        let message = format!(
            "response of {} bytes is over the limit of {ANSWER_LIMIT}",
            body.len()
        );
        let error = FunctionError::new("Function.ResponseSizeTooLarge", message);
        let answer = (StatusCode::PAYLOAD_TOO_LARGE, error.message.clone()).into_response();
        current.answer.send(Err(error)).ok();
        return answer;
    }
    current.answer.send(Ok(body)).ok();
    StatusCode::ACCEPTED.into_response()
}

async fn invocation_error(
    State(exchange): State<Arc<Exchange>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(current) = exchange.take_current(&id) else {
        return unknown_request(&id);
    };
    current
        .answer
        .send(Err(FunctionError::posted(error_type(&headers), &body)))
        .ok();
    StatusCode::ACCEPTED.into_response()
}

async fn init_error(State(exchange): State<Arc<Exchange>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    exchange
        .init
        .send_replace(Init::Failed(FunctionError::posted(error_type(&headers), &body)));
    StatusCode::ACCEPTED
}

fn error_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(ERROR_TYPE).and_then(|value| value.to_str().ok())
}

fn unknown_request(id: &str) -> Response {
    let body = serde_json::json!({
        "errorType": "InvalidRequestID",
        "errorMessage": format!("{id} is not the current request"),
    });
    (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
}
