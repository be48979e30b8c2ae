//! The webhook pusher against a real receiver on loopback.

use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver as Events;

use super::receiver::{Receiver, status};
use super::sim;
use crate::{CallError, Sim, SimEvent};

async fn set_webhook(sim: &Sim, url: &str) {
    sim.call("setWebhook", json!({ "url": url, "secret_token": "s3cret" }))
        .await
        .unwrap();
}

/// Waits until this many updates were delivered, and returns how many tries failed meanwhile.
async fn delivered(events: &mut Events<SimEvent>, mut count: usize) -> usize {
    let mut failed = 0;
    while count > 0 {
        match events.recv().await.unwrap() {
            SimEvent::WebhookDelivered { .. } => count -= 1,
            SimEvent::WebhookFailed { .. } => failed += 1,
            _ => {}
        }
    }
    failed
}

#[tokio::test]
async fn an_update_is_posted_with_the_secret_and_begins_with_its_id() {
    let (sim, clock) = sim();
    let (receiver, url) = Receiver::start(&clock, Vec::new()).await;
    let mut events = sim.subscribe();
    set_webhook(&sim, &url).await;
    let id = sim.user_text(1, 1, "/start").unwrap();
    delivered(&mut events, 1).await;
    let received = &receiver.received()[0];
    assert!(
        received.raw.starts_with(&format!("{{\"update_id\":{id},")),
        "{}",
        received.raw
    );
    assert_eq!(received.secret.as_deref(), Some("s3cret"));
    let message = &received.update()["message"];
    assert_eq!(
        (&message["text"], &message["entities"][0]["type"]),
        (&json!("/start"), &json!("bot_command"))
    );
    assert_eq!(sim.pending_updates(), 0);
}

#[tokio::test]
async fn updates_that_waited_are_delivered_when_the_webhook_is_set() {
    let (sim, clock) = sim();
    for text in ["1", "2", "3"] {
        sim.user_text(1, 1, text);
    }
    let (receiver, url) = Receiver::start(&clock, Vec::new()).await;
    let mut events = sim.subscribe();
    set_webhook(&sim, &url).await;
    delivered(&mut events, 3).await;
    let texts: Vec<Value> = receiver
        .received()
        .iter()
        .map(|one| one.update()["message"]["text"].clone())
        .collect();
    assert_eq!(texts, ["1", "2", "3"]);
}

#[tokio::test]
async fn a_failing_update_is_retried_at_once_and_then_with_doubling_waits() {
    let (sim, clock) = sim();
    let script = [500, 302, 404, 503].map(status).to_vec();
    let (receiver, url) = Receiver::start(&clock, script).await;
    let mut events = sim.subscribe();
    set_webhook(&sim, &url).await;
    sim.user_text(1, 1, "x");
    sim.user_text(1, 1, "y");
    assert_eq!(delivered(&mut events, 2).await, 4);
    assert_eq!(receiver.times(), [0, 0, 2_000, 6_000, 14_000, 14_000]);
    let texts: Vec<Value> = receiver
        .received()
        .iter()
        .map(|one| one.update()["message"]["text"].clone())
        .collect();
    assert_eq!(texts, ["x", "x", "x", "x", "x", "y"]);
}

#[tokio::test]
async fn retry_after_of_a_failed_delivery_is_obeyed() {
    let (sim, clock) = sim();
    let script = vec![(503, vec![("retry-after", "9".to_owned())], String::new())];
    let (receiver, url) = Receiver::start(&clock, script).await;
    let mut events = sim.subscribe();
    set_webhook(&sim, &url).await;
    sim.user_text(1, 1, "x");
    delivered(&mut events, 1).await;
    assert_eq!(receiver.times(), [0, 9_000]);
}

#[tokio::test]
async fn the_last_error_is_shown_until_the_webhook_is_set_again() {
    let (sim, clock) = sim();
    let (_receiver, url) = Receiver::start(&clock, vec![status(403)]).await;
    let mut events = sim.subscribe();
    set_webhook(&sim, &url).await;
    sim.user_text(1, 1, "x");
    delivered(&mut events, 1).await;
    let info = sim.call("getWebhookInfo", json!({})).await.unwrap();
    assert_eq!(
        info["last_error_message"],
        "Wrong response from the webhook: 403 Forbidden"
    );
    assert_eq!(
        (&info["pending_update_count"], &info["max_connections"]),
        (&json!(0), &json!(40))
    );
    clock.advance(1_000);
    sim.call("setWebhook", json!({ "url": url, "max_connections": 5 }))
        .await
        .unwrap();
    let info = sim.call("getWebhookInfo", json!({})).await.unwrap();
    assert!(info.get("last_error_message").is_none());
}

#[tokio::test]
async fn a_refused_connection_is_a_failure_that_is_retried() {
    let (sim, _) = sim();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    drop(listener);
    let mut events = sim.subscribe();
    set_webhook(&sim, &url).await;
    let body = json!({ "id": "q", "from": { "id": 1 } });
    sim.user_update("inline_query", &body).unwrap();
    let mut reasons = Vec::new();
    while sim.pending_updates() > 0 {
        if let Ok(SimEvent::WebhookFailed {
            reason, next_at_ms, ..
        }) = events.recv().await
        {
            reasons.push(reason);
            if next_at_ms.is_none() {
                break;
            }
        }
    }
    assert_eq!(reasons, vec!["Can't connect to the webhook"; 5]);
}

#[tokio::test]
async fn a_method_in_the_answer_is_executed_unless_it_reads() {
    let (sim, clock) = sim();
    let json_answer = |body: Value| {
        (
            200,
            vec![("content-type", "application/json".to_owned())],
            body.to_string(),
        )
    };
    let script = vec![
        json_answer(json!({ "method": "sendmessage", "chat_id": 1, "text": "from the answer" })),
        json_answer(json!({ "method": "deleteWebhook" })),
        json_answer(json!({ "method": "getMe" })),
        (
            200,
            vec![("content-type", "text/plain".to_owned())],
            r#"{"method":"sendMessage"}"#.to_owned(),
        ),
    ];
    let (_receiver, url) = Receiver::start(&clock, script).await;
    let mut events = sim.subscribe();
    set_webhook(&sim, &url).await;
    for text in ["1", "2", "3", "4", "5"] {
        sim.user_text(1, 1, text);
    }
    delivered(&mut events, 5).await;
    while sim.calls().len() < 2 {
        events.recv().await.unwrap();
    }
    let methods: Vec<String> = sim.calls().into_iter().map(|call| call.method).collect();
    assert_eq!(methods, ["setWebhook", "sendMessage"]);
    assert!(!sim.webhook().unwrap().url.is_empty());
}

#[tokio::test]
async fn setting_the_webhook_twice_within_a_second_is_too_much() {
    let (sim, clock) = sim();
    let params = json!({ "url": "https://bot.example/x" });
    sim.call("setWebhook", params.clone()).await.unwrap();
    let Err(CallError::Refused(error)) = sim.call("setWebhook", params.clone()).await else {
        panic!("a second setWebhook at once was not refused")
    };
    assert_eq!(error.code, 429);
    clock.advance(1_000);
    assert!(sim.call("setWebhook", params).await.is_ok());
}

#[tokio::test]
async fn pending_updates_are_kept_unless_they_are_to_be_dropped() {
    let (sim, clock) = sim();
    sim.user_text(1, 1, "x");
    sim.call("deleteWebhook", json!({})).await.unwrap();
    assert_eq!(sim.pending_updates(), 1);
    clock.advance(1_000);
    sim.call("deleteWebhook", json!({ "drop_pending_updates": true }))
        .await
        .unwrap();
    assert_eq!(sim.pending_updates(), 0);
}

#[tokio::test]
async fn a_thousand_updates_of_fifty_chats_arrive_once_and_in_order() {
    let (sim, clock) = sim();
    let (receiver, url) = Receiver::start(&clock, Vec::new()).await;
    let mut events = sim.subscribe();
    set_webhook(&sim, &url).await;
    for n in 0..1_000_i64 {
        sim.user_text(n % 50 + 1, n % 50 + 1, &n.to_string());
    }
    assert_eq!(delivered(&mut events, 1_000).await, 0);
    let mut last = std::collections::BTreeMap::new();
    for one in receiver.received() {
        let message = &one.update()["message"];
        let number: i64 = message["text"].as_str().unwrap().parse().unwrap();
        let before = last.insert(message["chat"]["id"].as_i64().unwrap(), number);
        assert!(
            before.is_none_or(|before| before < number),
            "{before:?} then {number}"
        );
    }
    assert_eq!((last.len(), receiver.received().len()), (50, 1_000));
}
