//! The HTTP side of the Bot API: paths, tokens, and the shapes of answers. Everything else is in [`Sim`].
//!
//! A token is never logged or repeated in an answer.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::response::Response;
use http::StatusCode;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use serde_json::{Value, json};

use crate::api::ApiError;
use crate::body::{self, MAX_BODY_BYTES};
use crate::record::Via;
use crate::sim::{Inner, Outcome, Sim, token_id};

/// Largest file that is handed out (Bot API, getFile: 20 MB).
const MAX_DOWNLOAD_BYTES: u64 = 20 << 20;
const BAD_GATEWAY: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n\
                           <center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n";

impl Sim {
    /// The Bot API server: `/bot{token}/{method}` and `/file/bot{token}/{path}`.
    pub fn router(&self) -> Router {
        Router::new()
            .fallback(answer)
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(self.inner.clone())
    }
}

async fn answer(State(inner): State<Arc<Inner>>, request: Request) -> Response {
    // Some clients encode the colon of the token.
    let path = request.uri().path().replace("%3A", ":").replace("%3a", ":");
    let outcome = if let Some(rest) = path.strip_prefix("/file/bot") {
        return file(&inner, rest);
    } else if let Some((token, method)) = path.strip_prefix("/bot").and_then(|rest| rest.split_once('/')) {
        match bot_of(&inner, token) {
            Ok(bot) => call(inner, bot, method.to_owned(), request).await,
            Err(error) => Outcome::Error(error),
        }
    } else {
        Outcome::Error(ApiError::new(404, "Not Found"))
    };
    respond(outcome)
}

fn bot_of(inner: &Inner, token: &str) -> Result<i64, ApiError> {
    token_id(token).ok_or_else(|| ApiError::new(404, "Not Found"))?;
    let bot = inner.with(|world| world.tokens.get(token).copied());
    bot.ok_or_else(|| ApiError::new(401, "Unauthorized"))
}

async fn call(inner: Arc<Inner>, bot: i64, method: String, request: Request) -> Outcome {
    if ![http::Method::GET, http::Method::POST].contains(request.method()) {
        return Outcome::Error(ApiError::new(405, "Method Not Allowed"));
    }
    let params = match body::read(request).await {
        Ok(params) => params,
        Err(error) => return Outcome::Error(error),
    };
    // A client that hangs up does not stop the call, so it runs in a task of its own. getUpdates does end.
    if method.eq_ignore_ascii_case("getUpdates") {
        return inner.execute(bot, &method, params, Via::Http).await;
    }
    let task = tokio::spawn(async move { inner.execute(bot, &method, params, Via::Http).await });
    task.await
        .unwrap_or_else(|_| Outcome::Error(ApiError::new(500, "Internal Server Error")))
}

fn respond(outcome: Outcome) -> Response {
    match outcome {
        Outcome::Reply(reply) => {
            let mut body = json!({ "ok": true, "result": reply.result });
            if let (Some(text), Some(body)) = (reply.description, body.as_object_mut()) {
                body.insert("description".to_owned(), json!(text));
            }
            with(StatusCode::OK, "application/json", Body::from(body.to_string()))
        }
        Outcome::Updates(updates) => {
            let list = updates.join(&b",\n"[..]);
            let body = [&b"{\"ok\":true,\"result\":["[..], &list, b"]}"].concat();
            with(StatusCode::OK, "application/json", Body::from(body))
        }
        Outcome::Error(error) => {
            let status = StatusCode::from_u16(error.code).unwrap_or(StatusCode::BAD_REQUEST);
            let mut response = with(
                status,
                "application/json",
                Body::from(error.to_body().to_string()),
            );
            let wait = error
                .parameters
                .as_ref()
                .and_then(|parameters| parameters.get("retry_after"));
            if let Some(seconds) = wait.and_then(Value::as_u64) {
                response.headers_mut().insert(RETRY_AFTER, seconds.into());
            }
            response
        }
        Outcome::Html502 => with(StatusCode::BAD_GATEWAY, "text/html", Body::from(BAD_GATEWAY)),
        Outcome::Dropped => {
            // A body that fails before its first byte makes the server close the connection with nothing sent.
            let lost = std::io::Error::other("injected fault: the answer is lost");
            let body = Body::from_stream(futures::stream::iter([Err::<axum::body::Bytes, _>(lost)]));
            with(StatusCode::OK, "application/json", body)
        }
    }
}

fn with(status: StatusCode, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

/// A file as big as the one that was uploaded; its bytes were not kept.
fn file(inner: &Inner, rest: &str) -> Response {
    let found = rest
        .split_once('/')
        .ok_or_else(|| ApiError::new(404, "Not Found"))
        .and_then(|(token, path)| {
            bot_of(inner, token)?;
            let known = |world: &mut crate::world::World| {
                world.files.values().find(|f| f.path == path).map(|f| f.size)
            };
            let size = if path.starts_with("files/0/") {
                Some(0)
            } else {
                inner.with(known)
            };
            size.ok_or_else(|| ApiError::new(404, "Not Found"))
        });
    match found {
        Ok(size) => {
            let size = usize::try_from(size.min(MAX_DOWNLOAD_BYTES)).unwrap_or(0);
            with(
                StatusCode::OK,
                "application/octet-stream",
                Body::from(vec![0_u8; size]),
            )
        }
        Err(error) => respond(Outcome::Error(error)),
    }
}
