//! What the backend is sent: the Update byte for byte, and the headers.

use proptest::prelude::*;

use crate::server::{AMPLE, SECRET, answering, client, deliver_as};

async fn body_of(update: &str) -> Vec<u8> {
    let server = answering(|_| b"HTTP/1.1 204 X\r\n\r\n".to_vec()).await;
    deliver_as(&client(&server.url()), update, 1, AMPLE)
        .await
        .unwrap();
    server.seen().remove(0).body
}

#[tokio::test]
async fn the_update_arrives_byte_for_byte() {
    for update in [
        r#"{"update_id":1,"text":"\u00e9\ud83d \/ \ufffe"}"#,
        r#"{"update_id":1,"id":123456789012345678901234567890,"f":1.50e+3}"#,
        r#"{ "update_id" : 1 , "a":1,"a":2 }"#,
        "{\"update_id\":1,\"text\":\"é 你好 😀\"}\n",
        &format!("{{\"update_id\":1,\"x\":{}{}}}", "[".repeat(500), "]".repeat(500)),
        &format!("{{\"update_id\":1,\"x\":\"{}\"}}", "x".repeat(600_000)),
    ] {
        assert_eq!(body_of(update).await, update.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_text_arrives_byte_for_byte(update in "\\PC{0,200}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        prop_assert_eq!(runtime.block_on(body_of(&update)), update.as_bytes());
    }
}

#[tokio::test]
async fn headers_say_which_update_and_which_try_it_is() {
    let server = answering(|_| b"HTTP/1.1 204 X\r\n\r\n".to_vec()).await;
    deliver_as(&client(&server.url()), "{}", 2, AMPLE).await.unwrap();
    let seen = &server.seen()[0];
    assert!(seen.head.starts_with("POST /hook HTTP/1.1\r\n"), "{}", seen.head);
    for (name, value) in [
        ("content-type", "application/json"),
        ("content-length", "2"),
        ("x-telegram-bot-api-secret-token", SECRET),
        ("idempotency-key", "4242:8"),
        ("penstock-attempt", "2"),
        ("penstock-try", "3"),
        ("penstock-received-at", "2026-01-02T03:04:05.006Z"),
        (
            "traceparent",
            "00-00000000000010920000000000000008-0000000000000003-01",
        ),
        ("user-agent", concat!("Penstock/", env!("CARGO_PKG_VERSION"))),
        ("host", &server.address),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    for name in [
        "referer",
        "cookie",
        "accept-encoding",
        "expect",
        "transfer-encoding",
    ] {
        assert_eq!(seen.header(name), None, "{name}");
    }
}
