//! A webhook for tests: answers by a script, then with 200, and keeps what it got.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::Value;

use crate::SimClock;
use crate::clock::test_clock::JumpClock;

/// One request as it came.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) at_ms: i64,
    pub(super) raw: String,
    pub(super) secret: Option<String>,
}

impl Received {
    pub(super) fn update(&self) -> Value {
        serde_json::from_str(&self.raw).unwrap()
    }
}

/// Status, headers, body.
pub(super) type Scripted = (u16, Vec<(&'static str, String)>, String);

pub(super) fn status(code: u16) -> Scripted {
    (code, Vec::new(), String::new())
}

#[derive(Clone)]
pub(super) struct Receiver {
    clock: JumpClock,
    script: Arc<Mutex<VecDeque<Scripted>>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    /// Serves on a free port; returns the address of the webhook.
    pub(super) async fn start(clock: &JumpClock, script: Vec<Scripted>) -> (Self, String) {
        let receiver = Self {
            clock: clock.clone(),
            script: Arc::new(Mutex::new(script.into())),
            received: Arc::default(),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let app = Router::new().fallback(take).with_state(receiver.clone());
        tokio::spawn(axum::serve(listener, app).into_future());
        (receiver, url)
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Times of the requests since the start, milliseconds.
    pub(super) fn times(&self) -> Vec<i64> {
        self.received()
            .iter()
            .map(|one| one.at_ms - JumpClock::START_MS)
            .collect()
    }
}

async fn take(State(receiver): State<Receiver>, request: Request) -> Response {
    let at_ms = receiver.clock.now_ms();
    let header = request.headers().get("x-telegram-bot-api-secret-token");
    let secret = header.map(|value| value.to_str().unwrap().to_owned());
    let bytes = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let raw = String::from_utf8(bytes.to_vec()).unwrap();
    receiver
        .received
        .lock()
        .unwrap()
        .push(Received { at_ms, raw, secret });
    let next = receiver.script.lock().unwrap().pop_front();
    let (code, headers, body) = next.unwrap_or_else(|| status(200));
    let mut response = Response::builder().status(code);
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response.body(Body::from(body)).unwrap()
}
