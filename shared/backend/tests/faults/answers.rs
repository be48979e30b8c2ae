//! What an answer that comes means: every status, every size, every way to write it.

use std::time::Duration;

use penstock_domain::breaker::{Cause, ProbeAnswer};
use penstock_domain::failure::Disposition;
use penstock_domain::intent::Call;
use penstock_ports::Backend;

use crate::server::{
    AMPLE, Step, UPDATE, answer, answering, client, code, deliver, deliver_as, following, write,
};

/// One MiB, the longest body that is read.
const MIB: usize = 1024 * 1024;

const JSON: &str = "application/json";

#[tokio::test]
async fn every_status_from_100_to_599_is_classed() {
    // The attempt says which status the server gives.
    let server = answering(|seen| {
        let status = seen.header("penstock-attempt").unwrap();
        format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").into_bytes()
    })
    .await;
    let backend = client(&server.url());
    for status in (101..=101).chain(200..=599_u16) {
        let outcome = deliver_as(&backend, UPDATE, u32::from(status), AMPLE).await;
        if (200..300).contains(&status) {
            assert_eq!(outcome, Ok(None), "{status}");
            continue;
        }
        let error = outcome.unwrap_err();
        let class = match status {
            429 => "throttled",
            408 | 425 | 500..=599 => "transient",
            _ => "permanent",
        };
        let cause = matches!(status, 502..=504).then_some(Cause::BadGateway);
        assert_eq!(error.code(), format!("backend_{status}"));
        assert_eq!(
            (error.disposition().name(), error.cause()),
            (class, cause),
            "{status}"
        );
    }
}

#[tokio::test]
async fn an_interim_answer_alone_is_none_and_before_another_it_is_skipped() {
    for status in [100, 102, 103, 150, 199] {
        let server = following(vec![Step::Read, write(&format!("HTTP/1.1 {status} X\r\n\r\n"))]).await;
        assert_eq!(
            code(&client(&server.url()), AMPLE).await,
            "backend_no_answer",
            "{status}"
        );
    }
    let server = following(vec![
        Step::Read,
        write("HTTP/1.1 103 X\r\n\r\n"),
        answer(204, "", ""),
    ])
    .await;
    assert_eq!(deliver(&client(&server.url()), AMPLE).await, Ok(None));
}

#[tokio::test]
async fn a_method_in_the_answer_becomes_a_call() {
    let form = "application/x-www-form-urlencoded";
    let multipart = "multipart/form-data; boundary=B";
    let part = |name: &str, value: &str| {
        format!("--B\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let parts = format!("{}{}--B--\r\n", part("method", "senddice"), part("chat_id", "5"));
    for (content_type, body) in [
        (JSON, r#"{"method":"sendDice","chat_id":"5"}"#),
        (form, "method=SENDDICE&chat_id=5"),
        (multipart, &parts),
    ] {
        let server = following(vec![Step::Read, answer(200, content_type, body)]).await;
        let call = deliver(&client(&server.url()), AMPLE).await.unwrap();
        assert_eq!(call, Some(Call::new("sendDice", r#"{"chat_id":"5"}"#.to_owned())));
    }
}

#[tokio::test]
async fn any_other_2xx_is_done_without_a_call() {
    for (content_type, body) in [
        (JSON, r#"{"method":"getMe"}"#),
        (JSON, "{"),
        (JSON, ""),
        (JSON, r#"{"ok":true}"#),
        ("text/plain", r#"{"method":"sendDice"}"#),
        ("text/html", "<h1>ok</h1>"),
    ] {
        let server = following(vec![Step::Read, answer(201, content_type, body)]).await;
        assert_eq!(deliver(&client(&server.url()), AMPLE).await, Ok(None), "{body}");
    }
    // Nobody asked for an encoding, so nobody undoes it.
    let gzip = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 21\r\n\r\n{\"method\":\"sendDice\"}";
    let server = following(vec![Step::Read, write(gzip)]).await;
    assert_eq!(deliver(&client(&server.url()), AMPLE).await, Ok(None));
    assert_eq!(server.seen()[0].header("accept-encoding"), None);
}

#[tokio::test]
async fn files_in_an_answer_are_refused_with_a_cure() {
    let body = "--B\r\nContent-Disposition: form-data; name=\"method\"\r\n\r\nsendPhoto\r\n\
                --B\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a.jpg\"\r\n\r\n";
    let whole = format!("{body}jpeg\r\n--B--\r\n");
    let big = format!("{body}{}\r\n--B--\r\n", "x".repeat(2 * MIB));
    for body in [whole, big] {
        let server = following(vec![
            Step::Read,
            answer(200, "multipart/form-data; boundary=B", &body),
        ])
        .await;
        let error = deliver(&client(&server.url()), AMPLE).await.unwrap_err();
        assert_eq!(error.code(), "backend_reply_has_files");
        assert_eq!(error.disposition(), Disposition::Permanent);
        assert!(error.to_string().contains("sendPhoto") && error.to_string().contains("file_id"));
    }
}

#[tokio::test]
async fn an_answer_of_one_mib_is_read_and_a_longer_one_is_done_without_a_call() {
    let with_length = |length: usize| {
        let (head, tail) = (r#"{"method":"sendDice","x":""#, r#""}"#);
        format!("{head}{}{tail}", "x".repeat(length - head.len() - tail.len()))
    };
    let server = following(vec![Step::Read, answer(200, JSON, &with_length(MIB))]).await;
    assert!(deliver(&client(&server.url()), AMPLE).await.unwrap().is_some());
    let server = following(vec![Step::Read, answer(200, JSON, &with_length(MIB + 1))]).await;
    assert_eq!(deliver(&client(&server.url()), AMPLE).await, Ok(None));
}

#[tokio::test]
async fn a_body_without_end_is_not_waited_for() {
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000)).into_bytes();
    for (head, code) in [
        (
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
            None,
        ),
        (
            "HTTP/1.1 500 X\r\ntransfer-encoding: chunked\r\n\r\n",
            Some("backend_500"),
        ),
    ] {
        let server = following(vec![Step::Read, write(head), Step::Flood(chunk.clone())]).await;
        let outcome = deliver(&client(&server.url()), AMPLE).await;
        assert_eq!(outcome.err().map(|error| error.code()).as_deref(), code);
    }
    let head = "HTTP/1.1 404 X\r\ncontent-length: 99999999999\r\n\r\n";
    let server = following(vec![Step::Read, write(head), Step::Flood(vec![b'x'; 0x1000])]).await;
    assert_eq!(code(&client(&server.url()), AMPLE).await, "backend_404");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let there = following(vec![Step::Read, answer(200, JSON, "{}")]).await;
    for status in [301, 302, 303, 307, 308] {
        let head = format!(
            "HTTP/1.1 {status} X\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n",
            there.url()
        );
        let server = following(vec![Step::Read, write(&head)]).await;
        let error = deliver(&client(&server.url()), AMPLE).await.unwrap_err();
        assert_eq!(error.disposition(), Disposition::Permanent);
        assert!(error.to_string().contains("give the final URL"), "{error}");
        let backend = client(&server.url());
        assert_eq!(backend.probe().await, ProbeAnswer::Status(status));
    }
    assert_eq!(there.connections(), 0);
}

#[tokio::test]
async fn retry_after_comes_in_seconds_or_as_a_date() {
    for (status, value, secs) in [
        (429, "7", Some(7)),
        (503, "Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
        (408, "1", Some(1)),
        (425, "2", Some(2)),
        (429, "999999999", Some(43_200)),
        (503, "soon", None),
    ] {
        let head = format!("HTTP/1.1 {status} X\r\nretry-after: {value}\r\ncontent-length: 0\r\n\r\n");
        let server = following(vec![Step::Read, write(&head)]).await;
        let error = deliver(&client(&server.url()), AMPLE).await.unwrap_err();
        let after = secs.map(Duration::from_secs);
        assert_eq!(error.retry_after(), after, "{status} {value}");
        if let (429, Some(retry_after)) = (status, after) {
            assert_eq!(error.disposition(), Disposition::Throttled { retry_after });
        }
    }
}

#[tokio::test]
async fn a_status_counts_though_its_body_breaks_off() {
    let head = "HTTP/1.1 404 X\r\ncontent-length: 50\r\n\r\nno such bot";
    let server = following(vec![Step::Read, write(head)]).await;
    let error = deliver(&client(&server.url()), AMPLE).await.unwrap_err();
    assert_eq!(error.code(), "backend_404");
    assert_eq!(error.excerpt(), Some("no such bot"));
}

#[tokio::test]
async fn an_excerpt_holds_nothing_of_the_update() {
    let page = format!("handler failed at bot.js:7 with {UPDATE} for Zoë");
    let server = following(vec![Step::Read, answer(500, "text/plain", &page)]).await;
    let error = deliver(&client(&server.url()), AMPLE).await.unwrap_err();
    let kept = error.excerpt().unwrap();
    assert!(kept.starts_with("handler failed at bot.js:7 with"), "{kept}");
    for word in ["Zo", "Mimi", "likes", "fish"] {
        assert!(!kept.contains(word), "{kept}");
    }
}
