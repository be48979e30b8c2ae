//! Servers on loopback that answer as a test says, and remember what they were asked. Bound to random ports; they end
//! with the test's runtime.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http;
use axum::response::{IntoResponse, Response};
use penstock_domain::secret::BotToken;
use penstock_telegram::{BotApiClient, ClientConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Longest request of these tests, in bytes.
const MAX_REQUEST_BYTES: usize = 64 * 1024;

/// The secret half of the token of these tests.
pub(crate) const SECRET: &str = "AAbbCC-ddEEff_0123456789";

/// A server and its memory.
pub(crate) struct Server {
    pub(crate) root: String,
    seen: Arc<Mutex<Vec<http::Request<String>>>>,
}

impl Server {
    /// What it was asked so far; the client's address is among the extensions.
    pub(crate) fn seen(&self) -> Vec<http::Request<String>> {
        self.seen.lock().unwrap().clone()
    }
}

/// A server that gives the same answer to everything.
pub(crate) async fn answering(answer: impl IntoResponse + Clone + Send + Sync + 'static) -> Server {
    serve(move || {
        let answer = answer.clone();
        async move { answer.into_response() }
    })
    .await
}

/// A server that takes requests and never answers.
pub(crate) async fn silent() -> Server {
    serve(std::future::pending).await
}

async fn serve<F: Future<Output = Response> + Send + 'static>(
    answer: impl Fn() -> F + Clone + Send + Sync + 'static,
) -> Server {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let memory = Arc::clone(&seen);
    let handler = move |request: Request| async move {
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, MAX_REQUEST_BYTES).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        memory
            .lock()
            .unwrap()
            .push(http::Request::from_parts(parts, body));
        answer().await
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let root = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new()
        .fallback(handler)
        .into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await });
    Server { root, seen }
}

/// A server that reads what comes first on each of its connections, writes these bytes and hangs up.
pub(crate) async fn hanging_up_after(bytes: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; MAX_REQUEST_BYTES];
            let read = stream.read(&mut request).await.unwrap();
            assert!(read > 0, "the client connected and sent nothing");
            stream.write_all(bytes.as_bytes()).await.unwrap();
        }
    });
    address.to_string()
}

/// An address where nobody listens.
pub(crate) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// A client of that root with ample time.
pub(crate) fn client(root: &str) -> BotApiClient {
    BotApiClient::new(ClientConfig {
        api_root: root.to_owned(),
        ..ClientConfig::default()
    })
    .unwrap()
}

/// A client that loses patience at once.
pub(crate) fn impatient(root: &str) -> BotApiClient {
    BotApiClient::new(ClientConfig {
        api_root: root.to_owned(),
        connect_timeout: Duration::from_millis(99),
        timeout: Duration::from_millis(100),
        ..ClientConfig::default()
    })
    .unwrap()
}

/// A token as Telegram gives it out.
pub(crate) fn token() -> BotToken {
    BotToken::new(format!("4242:{SECRET}"))
}
