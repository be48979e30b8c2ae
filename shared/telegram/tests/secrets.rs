//! The token never shows. Alone in its process, because a log subscriber of one test is not seen by the threads of
//! others.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod support;

use std::io::Write;
use std::sync::{Arc, Mutex};

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use penstock_domain::secret::BotToken;
use penstock_ports::BotApi;
use support::{SECRET, answering, client, hanging_up_after, impatient, nobody, silent, token};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_token_is_in_no_error_and_in_no_log_line() {
    let log = Log::default();
    let sink = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || sink.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);

    let echo = format!(
        r#"{{"ok":false,"error_code":400,"description":"Bad Request: no https://x/bot4242:{SECRET}/y for 4242:{SECRET}"}}"#
    );
    let echoing = answering((StatusCode::BAD_REQUEST, echo)).await;
    let page = answering((
        StatusCode::BAD_GATEWAY,
        format!("<html>/bot4242:{SECRET}/</html>"),
    ))
    .await;
    let slow = silent().await;
    let dropped = format!("http://{}", hanging_up_after("").await);
    let no_http = format!("http://{}", hanging_up_after("not HTTP at all\r\n\r\n").await);
    let cut = format!(
        "http://{}",
        hanging_up_after("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n").await
    );
    let no_tls = format!("https://{}", hanging_up_after("this is not TLS").await);
    let looping = answering((
        StatusCode::FOUND,
        [(LOCATION, format!("/bot4242:{SECRET}/y"))],
        "",
    ))
    .await;
    let mut shown = String::new();
    for client in [
        client(&echoing.root),
        client(&page.root),
        impatient(&slow.root),
        client(&nobody().await),
        client(&dropped),
        client(&no_http),
        client(&cut),
        client(&no_tls),
        client(&looping.root),
    ] {
        let error = client.call(&token(), "sendMessage", "{}").await.unwrap_err();
        shown.push_str(&format!("{error} {error:?} {client:?}\n"));
    }
    let odd = BotToken::new(format!("4242:{SECRET}/"));
    let error = client(&echoing.root)
        .call(&odd, "sendMessage", "{}")
        .await
        .unwrap_err();
    shown.push_str(&format!("{error} {error:?}\n"));

    let sent = echoing.seen()[0].uri().to_string();
    assert!(sent.contains(SECRET), "the token was not even sent: {sent}");
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(
        logged.contains("broke off"),
        "nothing was logged, so nothing is shown by it"
    );
    for (what, text) in [("an error", &shown), ("the log", &logged)] {
        assert!(
            !text.contains(SECRET) && !text.contains("/bot"),
            "{what} holds the token or a URL: {text}"
        );
    }
}
