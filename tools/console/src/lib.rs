//! The page of the local stack: a chat with the bot on the left, the pipeline at work on the right.
//!
//! It only shows what a [`Source`] tells, and acts only through the simulated chat. It must never load
//! anything from elsewhere, and never answer to a page of another origin.

mod assets;
mod chat;
mod guard;
mod model;
mod rates;
mod stream;
mod view;

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use http::StatusCode;

pub use chat::{GROUP_ID, PEOPLE};
pub use model::{
    BackendState, BackendView, BotMode, BotView, ErrorView, FunctionView, LogLevel, LogLine, QueueView,
    SendState, SendView, Snapshot, Source, Stage, Totals, UpdateView,
};

/// The console as a router that can be merged into another one: its routes are `/`, `/console.css`,
/// `/console.js`, `/events`, `/snapshot`, `/chat`, `/chat/send`, `/chat/press` and `/healthz`.
///
/// `/events` ends when the sender behind [`Source::logs`] is dropped; a graceful shutdown waits for that.
pub fn router<S: Source>(source: Arc<S>) -> Router {
    if let Some(sim) = source.chat() {
        chat::introduce(&sim);
    }
    Router::new()
        .route("/", get(page::<S>))
        .route("/console.css", get(assets::css))
        .route("/console.js", get(assets::script))
        .route("/events", get(stream::events::<S>))
        .route("/snapshot", get(snapshot::<S>))
        .route("/chat", get(chat::history::<S>))
        .route("/chat/send", post(chat::send::<S>))
        .route("/chat/press", post(chat::press::<S>))
        .route("/healthz", get(async || "ok\n"))
        .layer(middleware::map_response(assets::harden))
        .layer(middleware::from_fn(guard::layer))
        .with_state(source)
}

async fn page<S: Source>(State(source): State<Arc<S>>) -> Html<String> {
    let snapshot = source.snapshot().await;
    Html(view::page(&snapshot, source.chat().as_ref(), &source.recent_logs()).into_string())
}

async fn snapshot<S: Source>(State(source): State<Arc<S>>) -> Json<Snapshot> {
    Json(source.snapshot().await)
}

/// A refusal in words, for the script and for people with curl.
pub(crate) fn refuse(status: StatusCode, text: impl Into<String>) -> Response {
    (status, Json(serde_json::json!({ "error": text.into() }))).into_response()
}

/// Different in every process: a page that finds another one behind its address loads itself anew.
pub(crate) fn start_id() -> u64 {
    static ID: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("start"));
    *ID
}
