//! The client against servers on loopback: what it sends, and what it makes of every way an exchange can end.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use axum::http::{Request, StatusCode};
use axum::response::Html;
use penstock_domain::failure::Disposition;
use penstock_domain::secret::BotToken;
use penstock_ports::{ApiError, ApiReply, BotApi, Meaning};
use penstock_telegram::{BotApiClient, ClientConfig};
use support::{SECRET, answering, client, hanging_up_after, impatient, nobody, silent, token};

const SENT: &str =
    r#"{"ok":true,"result":{"message_id":77,"chat":{"id":5,"type":"private"},"text":"hello"}}"#;

async fn call(client: &BotApiClient, method: &str) -> Result<ApiReply, ApiError> {
    client
        .call(&token(), method, r#"{"chat_id":5,"text":"hello"}"#)
        .await
}

fn refused(
    code: u16,
    disposition: Disposition,
    meaning: Meaning,
) -> impl Fn(&Result<ApiReply, ApiError>) -> bool {
    move |answer| match answer {
        Err(ApiError::Refused {
            code: c,
            disposition: d,
            meaning: m,
            ..
        }) => (*c, *d, *m) == (code, disposition, meaning),
        _ => false,
    }
}

#[tokio::test]
async fn a_call_posts_the_parameters_as_they_are_and_returns_the_messages_id() {
    let server = answering(SENT).await;
    // No JSON library of ours could read and write this again: the surrogate is alone.
    let params = r#"{"chat_id":5,  "text":"\ud83d \uffff", "n":1e400}"#;
    let reply = client(&server.root).call(&token(), "sendMessage", params).await;
    assert_eq!(
        reply,
        Ok(ApiReply {
            message_id: Some(77),
            already_done: false
        })
    );
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(
        seen[0].uri().to_string(),
        format!("/bot4242:{SECRET}/sendMessage")
    );
    assert_eq!(seen[0].headers()[CONTENT_TYPE], "application/json");
    assert_eq!(seen[0].body(), params);
}

#[tokio::test]
async fn a_root_may_have_a_path_and_a_slash_at_its_end() {
    let server = answering(SENT).await;
    assert!(
        call(&client(&format!("{}/gate/", server.root)), "getMe")
            .await
            .is_ok()
    );
    assert_eq!(
        server.seen()[0].uri().to_string(),
        format!("/gate/bot4242:{SECRET}/getMe")
    );
}

#[tokio::test]
async fn calls_in_a_row_share_a_connection() {
    let server = answering(SENT).await;
    let client = client(&server.root);
    for _ in 0..10 {
        assert!(call(&client, "sendMessage").await.is_ok());
    }
    let from = |request: &Request<String>| request.extensions().get::<ConnectInfo<SocketAddr>>().unwrap().0;
    let mut connections: Vec<_> = server.seen().iter().map(from).collect();
    assert_eq!(connections.len(), 10);
    connections.sort_unstable();
    connections.dedup();
    assert!(connections.len() <= 2, "{connections:?}");
}

#[tokio::test]
async fn a_429_says_when_to_come_again() {
    let body = r#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}"#;
    let server = answering((StatusCode::TOO_MANY_REQUESTS, body)).await;
    let throttled = Disposition::Throttled {
        retry_after: Duration::from_secs(35),
    };
    let answer = call(&client(&server.root), "sendMessage").await;
    assert!(refused(429, throttled, Meaning::Plain)(&answer), "{answer:?}");
    assert_eq!(server.seen().len(), 1, "the client itself never repeats");
}

#[tokio::test]
async fn a_429_without_json_says_it_in_its_header() {
    let server = answering((StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "12")], "slow down")).await;
    let throttled = Disposition::Throttled {
        retry_after: Duration::from_secs(12),
    };
    let answer = call(&client(&server.root), "sendMessage").await;
    assert!(refused(429, throttled, Meaning::Plain)(&answer), "{answer:?}");
}

#[tokio::test]
async fn a_migrated_group_gives_its_new_id() {
    let body = r#"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-1001234567890}}"#;
    let server = answering((StatusCode::BAD_REQUEST, body)).await;
    let answer = call(&client(&server.root), "sendMessage").await;
    let moved = refused(
        400,
        Disposition::Permanent,
        Meaning::MigratedTo(-1_001_234_567_890),
    );
    assert!(moved(&answer), "{answer:?}");
}

#[tokio::test]
async fn an_html_502_leaves_a_send_open_and_a_read_to_be_repeated() {
    let page = Html("<html><body>Bad Gateway of Mara Muster</body></html>");
    let server = answering((StatusCode::BAD_GATEWAY, page)).await;
    let client = client(&server.root);
    let answer = call(&client, "sendMessage").await;
    assert!(
        refused(502, Disposition::Ambiguous, Meaning::Plain)(&answer),
        "{answer:?}"
    );
    assert!(!format!("{answer:?}").contains("Mara"));
    let answer = call(&client, "getChat").await;
    assert!(
        refused(502, Disposition::Transient, Meaning::Plain)(&answer),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_refused_connection_means_not_sent() {
    let answer = call(&client(&nobody().await), "sendMessage").await;
    assert_eq!(
        answer,
        Err(ApiError::NotSent {
            method: "sendMessage".to_owned()
        })
    );
}

#[tokio::test]
async fn a_failed_tls_handshake_means_not_sent() {
    let root = format!("https://{}", hanging_up_after("this is not TLS").await);
    let answer = call(&client(&root), "sendMessage").await;
    assert_eq!(
        answer,
        Err(ApiError::NotSent {
            method: "sendMessage".to_owned()
        })
    );
}

#[tokio::test]
async fn a_connection_lost_after_the_request_is_no_answer() {
    for cut in [
        "",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"ok\":true,",
        "HTTP/1.1 400 Bad Request\r\ncontent-length: 500\r\n\r\n{\"ok\":false,",
    ] {
        let root = format!("http://{}", hanging_up_after(cut).await);
        let answer = call(&client(&root), "sendMessage").await;
        assert_eq!(
            answer,
            Err(ApiError::NoAnswer {
                method: "sendMessage".to_owned()
            }),
            "{cut:?}"
        );
    }
}

#[tokio::test]
async fn a_502_that_breaks_off_is_still_a_502() {
    let cut = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 500\r\n\r\n<html>";
    let root = format!("http://{}", hanging_up_after(cut).await);
    let answer = call(&client(&root), "getMe").await;
    assert!(
        refused(502, Disposition::Transient, Meaning::Plain)(&answer),
        "{answer:?}"
    );
}

#[tokio::test]
async fn an_answer_that_comes_too_late_is_no_answer() {
    let server = silent().await;
    let answer = call(&impatient(&server.root), "sendMessage").await;
    assert_eq!(
        answer,
        Err(ApiError::NoAnswer {
            method: "sendMessage".to_owned()
        })
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = answering((StatusCode::FOUND, [(LOCATION, "/elsewhere")], "")).await;
    let answer = call(&client(&server.root), "sendMessage").await;
    assert!(
        refused(302, Disposition::Transient, Meaning::Plain)(&answer),
        "{answer:?}"
    );
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_too_big_is_no_answer() {
    let server = answering(SENT).await;
    let limited = |max_answer_bytes| {
        let root = server.root.clone();
        BotApiClient::new(ClientConfig {
            api_root: root,
            max_answer_bytes,
            ..ClientConfig::default()
        })
        .unwrap()
    };
    let answer = call(&limited(SENT.len() - 1), "sendMessage").await;
    assert_eq!(
        answer,
        Err(ApiError::NoAnswer {
            method: "sendMessage".to_owned()
        })
    );
    assert!(call(&limited(SENT.len()), "sendMessage").await.is_ok());
}

#[tokio::test]
async fn a_success_that_is_not_json_is_no_answer() {
    let server = answering(Html("<html>Log in to the hotel's network</html>")).await;
    let answer = call(&client(&server.root), "sendMessage").await;
    assert_eq!(
        answer,
        Err(ApiError::NoAnswer {
            method: "sendMessage".to_owned()
        })
    );
}

#[tokio::test]
async fn a_method_or_a_token_that_would_change_the_path_is_never_sent() {
    let server = answering(SENT).await;
    let client = client(&server.root);
    let answer = client.call(&token(), "../../other", "{}").await;
    assert!(
        refused(404, Disposition::Permanent, Meaning::Plain)(&answer),
        "{answer:?}"
    );
    for wrong in ["", "4242", "4242:AA/../..", "4242:AA?x="] {
        let answer = client.call(&BotToken::new(wrong.to_owned()), "getMe", "{}").await;
        assert!(
            refused(401, Disposition::Permanent, Meaning::BotRefused)(&answer),
            "{wrong}: {answer:?}"
        );
    }
    assert_eq!(server.seen().len(), 0);
}
