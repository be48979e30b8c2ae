//! Updates that are accepted: a 200 only for what the queue has, where and under which ids it is there, and that it
//! is the Update that came.

use penstock_domain::ids::{UpdateId, trace_id};
use penstock_events::{Outcome, Secret, samples};
use penstock_formats::envelope::Envelope;
use serde_json::json;

use super::*;

async fn accept(world: &World, body: &[u8]) -> Response<Body> {
    let response = send(world, &right(), body).await;
    assert_eq!(response.status(), StatusCode::OK);
    response
}

/// Group and deduplication id of what that body becomes.
async fn ids_of(body: &[u8]) -> (String, String) {
    let world = world();
    accept(&world, body).await;
    let [message] = world.updates.messages().try_into().unwrap();
    (message.group.0, message.deduplication.0)
}

#[tokio::test]
async fn an_update_is_in_the_queue_before_it_is_accepted() {
    let world = world();
    let response = accept(&world, HELLO).await;
    assert!(matches!(response.body(), Body::Empty));
    let [message] = world.updates.messages().try_into().unwrap();
    assert_eq!(message.group.0, "7000001:c:700000001");
    assert_eq!(message.deduplication.0, "7000001:810000001");
    let envelope = Envelope::read(&message.body).unwrap();
    assert_eq!(
        (envelope.bot_id, envelope.update_id, envelope.redrive),
        (BOT, UpdateId(810_000_001), 0)
    );
    assert_eq!(
        (envelope.key, envelope.kind_name),
        ("7000001:810000001", "message")
    );
    assert_eq!(envelope.received_at, NOW);
    assert_eq!(envelope.trace_id, trace_id(BOT, UpdateId(810_000_001)));
    assert_eq!(envelope.update.as_bytes(), HELLO);
    assert_eq!(world.quarantine.messages(), []);
}

/// Telegram repeats what it got a 503 for.
#[tokio::test]
async fn an_update_that_the_queue_refused_is_accepted_once_when_it_comes_again() {
    for fault in [
        Fault::Unavailable,
        Fault::NeverArrived,
        Fault::AnswerLost,
        Fault::Rejected,
    ] {
        let world = world();
        world.updates.fail_next(2, fault);
        for _ in 0..2 {
            let response = send(&world, &right(), HELLO).await;
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE, "{fault:?}");
            let after: u32 = response.headers()["retry-after"]
                .to_str()
                .unwrap()
                .parse()
                .unwrap();
            assert!((1..=3600).contains(&after), "{after}");
        }
        accept(&world, HELLO).await;
        assert_eq!(world.updates.messages().len(), 1, "{fault:?}");
        assert_eq!(world.quarantine.messages(), []);
    }
}

#[tokio::test]
async fn the_same_update_twice_is_answered_twice_and_queued_once() {
    let world = world();
    accept(&world, HELLO).await;
    accept(&world, HELLO).await;
    assert_eq!(world.updates.messages().len(), 1);
}

#[tokio::test]
async fn an_update_waits_in_the_group_of_what_orders_it() {
    let group = async |body: &str| ids_of(body.as_bytes()).await.0;
    let callback = r#"{"update_id":1,"callback_query":{"id":"77","from":{"id":9},"message":{"message_id":5,"chat":{"id":-5}}}}"#;
    assert_eq!(group(callback).await, "7000001:c:-5");
    let inline = r#"{"update_id":1,"inline_query":{"id":"77","from":{"id":9},"query":"x"}}"#;
    assert_eq!(group(inline).await, "7000001:u:9");
    let checkout = r#"{"update_id":1,"pre_checkout_query":{"id":"777","from":{"id":9}}}"#;
    assert_eq!(group(checkout).await, "7000001:u:9");
    let business = r#"{"update_id":1,"business_message":{"business_connection_id":"bc","chat":{"id":5}}}"#;
    assert_eq!(group(business).await, "7000001:b:bc:5");
    assert_eq!(
        group(r#"{"update_id":1,"future_kind":{"chat":{"id":5},"x":1}}"#).await,
        "7000001:c:5"
    );
    assert_eq!(
        group(r#"{"update_id":1,"other_future":{"foo":{"bar":1}}}"#).await,
        "7000001:x:unknown"
    );
}

#[tokio::test]
async fn kinds_and_members_that_do_not_exist_yet_are_accepted_as_they_are() {
    for body in [
        r#"{"update_id":810000090,"future_kind":{"chat":{"id":700000001},"x":1}}"#,
        r#"{"update_id":810000091,"other_future":{"foo":{"bar":1}}}"#,
        r#"{"update_id":810000092,"message":{"chat":{"id":-1009000000001,"is_forum":true},"brand_new_service":{}}}"#,
        r#"{"update_id":810000093}"#,
    ] {
        let world = world();
        accept(&world, body.as_bytes()).await;
        assert_eq!(
            Envelope::read(&world.updates.messages()[0].body).unwrap().update,
            body
        );
    }
}

/// As one JSON value each; lone surrogates make text of it that no string can hold, so the texts are compared where
/// they can be and the bytes where they cannot.
fn assert_equal_as_json(sent: &[u8], queued: &str, name: &str) {
    let sent_text = std::str::from_utf8(sent).unwrap().trim();
    match serde_json::from_str::<Value>(sent_text) {
        Ok(value) => assert_eq!(serde_json::from_str::<Value>(queued).unwrap(), value, "{name}"),
        Err(_) => assert_eq!(queued, sent_text, "{name}"),
    }
}

#[tokio::test]
async fn every_sample_is_answered_as_the_catalogue_says_and_arrives_equal_as_json() {
    let mut seen = 0;
    for sample in samples() {
        let world = world();
        let given = match sample.secret {
            Secret::Right => SECRET,
            Secret::Wrong => "wrong",
        };
        let raw = sample.raw();
        let response = send(
            &world,
            &HttpWrap {
                secret: Some(given),
                ..right()
            },
            &raw,
        )
        .await;
        assert_eq!(
            response.status().as_u16(),
            sample.expect.http_status,
            "{}",
            sample.name
        );
        let (queued, quarantined) = (world.updates.messages(), world.quarantine.messages());
        match sample.expect.outcome {
            Outcome::Done | Outcome::Dead => {
                let [message] = queued.try_into().unwrap();
                let envelope = Envelope::read(&message.body).unwrap();
                assert_eq!(Some(envelope.update_id.0), sample.update_id(), "{}", sample.name);
                assert_eq!(envelope.kind_name, sample.kind, "{}", sample.name);
                assert_equal_as_json(&raw, envelope.update, sample.name);
                assert!(is_taken_by_sqs(&message.body), "{}", sample.name);
                assert_eq!(quarantined, []);
            }
            Outcome::Quarantined => assert_eq!((queued.len(), quarantined.len()), (0, 1), "{}", sample.name),
            Outcome::Refused => assert_eq!((queued.len(), quarantined.len()), (0, 0), "{}", sample.name),
        }
        seen += 1;
    }
    assert!(seen >= 22, "{seen}");
}

/// The characters and the size that SQS takes (`SendMessage`, API reference).
fn is_taken_by_sqs(body: &str) -> bool {
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    body.len() <= 1024 * 1024 && body.chars().all(allowed)
}

#[tokio::test]
async fn a_callback_is_answered_with_the_200_and_a_message_with_typing_where_the_bot_wants_it() {
    let callback: &[u8] =
        br#"{"update_id":810000050,"callback_query":{"id":"9000000001","from":{"id":700000001},"data":"ok"}}"#;
    for (choice, for_callback, for_message) in [
        (InstantAck::Off, false, false),
        (InstantAck::Callbacks, true, false),
        (InstantAck::All, true, true),
    ] {
        let world = world_with(secret(Some(SECRET), choice));
        let method = |response: Response<Body>| match response.body() {
            Body::Text(text) => {
                assert_eq!(response.headers()["content-type"], "application/json");
                Some(serde_json::from_str::<Value>(text).unwrap())
            }
            _ => None,
        };
        let answer = json!({"method": "answerCallbackQuery", "callback_query_id": "9000000001"});
        assert_eq!(
            method(accept(&world, callback).await),
            for_callback.then_some(answer),
            "{choice:?}"
        );
        let typing = json!({"method": "sendChatAction", "chat_id": 700_000_001, "action": "typing"});
        assert_eq!(
            method(accept(&world, HELLO).await),
            for_message.then_some(typing),
            "{choice:?}"
        );
    }
}

#[tokio::test]
async fn nothing_is_acknowledged_at_once_that_the_queue_does_not_have() {
    let world = world_with(secret(Some(SECRET), InstantAck::All));
    world.updates.fail_next(1, Fault::Unavailable);
    let response = send(&world, &right(), HELLO).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(matches!(response.body(), Body::Empty));
}
