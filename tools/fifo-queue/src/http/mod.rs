//! The AWS JSON 1.0 protocol of SQS in front of an [`Engine`]: what boto3 and the AWS SDKs speak.
//!
//! Signatures are not checked and any host and path are taken, so this must only listen where its callers are
//! trusted. Nothing is decided here about messages; requests are translated, and answers and refusals back.

mod actions;
mod batches;
mod error;
mod messages;
mod queues;
mod tasks;
mod wire;

use std::future::Future;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::watch;
use uuid::Uuid;

use crate::engine::Engine;

/// Largest request taken, in bytes: a batch of 1 MiB with every character escaped as `\uXXXX`, and the rest.
const MAX_REQUEST: usize = 8 * 1024 * 1024;
/// Media type of answers (AWS JSON protocol 1.0).
const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.0");

/// What appears in queue URLs and ARNs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpConfig {
    /// Region in ARNs.
    pub region: String,
    /// Account in ARNs and queue URLs.
    pub account_id: String,
    /// Beginning of queue URLs, such as `http://127.0.0.1:9324`.
    pub base_url: String,
}

impl HttpConfig {
    /// Region `us-east-1`, account `000000000000`.
    pub fn local(base_url: impl Into<String>) -> Self {
        Self {
            region: "us-east-1".to_owned(),
            account_id: "000000000000".to_owned(),
            base_url: base_url.into(),
        }
    }

    /// The queue's URL.
    pub fn queue_url(&self, name: &str) -> String {
        format!(
            "{}/{}/{name}",
            self.base_url.trim_end_matches('/'),
            self.account_id
        )
    }

    /// The queue's ARN.
    pub fn queue_arn(&self, name: &str) -> String {
        format!("arn:aws:sqs:{}:{}:{name}", self.region, self.account_id)
    }
}

/// What a request is answered with the help of.
pub(crate) struct Server {
    engine: Engine,
    config: HttpConfig,
    closing: watch::Receiver<bool>,
}

/// A router that answers SQS requests at any path.
pub fn router(engine: Engine, config: HttpConfig) -> Router {
    // The sender is dropped: such a router is never told to close.
    let (_, closing) = watch::channel(false);
    routes(Server {
        engine,
        config,
        closing,
    })
}

fn routes(server: Server) -> Router {
    Router::new()
        .fallback(answer)
        .layer(DefaultBodyLimit::max(MAX_REQUEST))
        .with_state(Arc::new(server))
}

/// Serves SQS requests until `shutdown` is ready. Waiting receivers are then answered with nothing.
///
/// # Errors
/// What `axum::serve` fails with.
pub async fn serve(
    listener: TcpListener,
    engine: Engine,
    config: HttpConfig,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let (close, closing) = watch::channel(false);
    let until = async move {
        shutdown.await;
        close.send_replace(true);
    };
    axum::serve(
        listener,
        routes(Server {
            engine,
            config,
            closing,
        }),
    )
    .with_graceful_shutdown(until)
    .await
}

async fn answer(State(server): State<Arc<Server>>, headers: HeaderMap, body: Bytes) -> Response {
    let outcome = match actions::operation(&headers) {
        Ok(operation) => actions::perform(server, operation, body).await,
        Err(failure) => Err(failure),
    };
    let mut response = match outcome {
        Ok(json) => (StatusCode::OK, json).into_response(),
        Err(failure) => failure.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, MEDIA_TYPE);
    if let Ok(id) = HeaderValue::from_str(&Uuid::new_v4().to_string()) {
        headers.insert("x-amzn-requestid", id);
    }
    response
}
