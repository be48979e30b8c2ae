//! What bots in the field have suffered from at their entry, by repeats, in their order or in their state, played on the
//! whole stack. `docs/field-reports.md` lists all of them with their tests.

use std::time::Duration;

use penstock_domain::ledger::State;
use serde_json::json;

use crate::stack::{FAST, TestStack, start, text};

const CHAT: i64 = 700_000_001;

/// Posts a body as Telegram does; status and answer.
async fn answered(stack: &TestStack, body: String) -> (u16, String) {
    let answer = stack.request(body).await;
    (answer.status().as_u16(), answer.text().await.unwrap())
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..3_000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

/// At once, two seconds later, and after the five minutes in which SQS knows a repeat.
#[tokio::test(flavor = "multi_thread")]
async fn one_update_sent_three_times_within_seven_minutes_has_one_effect() {
    let stack = start(|options| options.time_scale = 2.0 * FAST).await;
    let clock = stack.stack.view().clock();
    let begun = clock.now_ms();
    for after_ms in [0, 2_000, 400_000] {
        until("the time has come", async || clock.now_ms() >= begun + after_ms).await;
        assert_eq!(stack.post(text(810_000_001, CHAT, "hello")).await, 200);
        stack.rest().await;
    }
    assert_eq!(stack.replies(CHAT), ["Message 1 of this chat: hello"]);
    let record = stack.record(810_000_001).await.unwrap();
    assert_eq!((record.state, record.attempts), (State::Done, 1));
    stack.stack.shutdown().await;
}

/// A second message of a chat is accepted while the first is worked on, and answered after it.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_accepted_at_once_and_never_overtakes_the_command_before_it() {
    let stack = start(|_| {}).await;
    assert_eq!(stack.post(text(1, CHAT, "!sleep 2000")).await, 200);
    assert_eq!(stack.post(text(2, CHAT, "question")).await, 200);
    assert!(stack.replies(CHAT).is_empty(), "the entry waited for the handler");
    stack.rest().await;
    assert_eq!(stack.replies(CHAT), ["done", "Message 1 of this chat: question"]);
    stack.stack.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pressed_button_stops_spinning_though_its_chat_is_busy() {
    let stack = start(|_| {}).await;
    assert_eq!(stack.post(text(1, CHAT, "!sleep 3000")).await, 200);
    let press = json!({"update_id": 2, "callback_query": {
        "id": "9000000001", "chat_instance": "1", "data": "press",
        "from": {"id": CHAT, "is_bot": false, "first_name": "T"},
        "message": {"message_id": 5, "date": 1_790_000_000, "chat": {"id": CHAT, "type": "private"}},
    }});
    let (status, answer) = answered(&stack, press.to_string()).await;
    assert!(stack.replies(CHAT).is_empty(), "it waited for the chat");
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(status, 200);
    assert_eq!(
        (&answer["method"], &answer["callback_query_id"]),
        (&json!("answerCallbackQuery"), &json!("9000000001"))
    );
    stack.rest().await;
    assert_eq!(
        stack.record(2).await.unwrap().state,
        State::Done,
        "and is handled in its order"
    );
    stack.stack.shutdown().await;
}

/// Telegram gives a bot ten seconds for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_never_waits_behind_its_payers_chat() {
    let stack = start(|_| {}).await;
    assert_eq!(stack.post(text(1, CHAT, "!sleep 4000")).await, 200);
    let checkout = json!({"update_id": 2, "pre_checkout_query": {
        "id": "777", "from": {"id": CHAT, "is_bot": false, "first_name": "T"},
        "currency": "XTR", "total_amount": 5, "invoice_payload": "p",
    }});
    assert_eq!(stack.post(checkout.to_string()).await, 200);
    until("the checkout is answered", async || {
        let calls = stack.sim().calls();
        calls.iter().any(|call| call.method == "answerPreCheckoutQuery")
    })
    .await;
    assert!(stack.replies(CHAT).is_empty(), "the checkout waited for the chat");
    stack.rest().await;
    stack.stack.shutdown().await;
}

/// Its items come one by one; one of them twice.
#[tokio::test(flavor = "multi_thread")]
async fn an_album_is_handled_once_an_item_and_never_answered_item_by_item() {
    let stack = start(|_| {}).await;
    for item in [120, 121, 121, 122] {
        let photo = json!([{"file_id": format!("p{item}"), "file_unique_id": "q", "width": 1, "height": 1}]);
        let body = json!({"update_id": item, "message": {
            "message_id": item, "date": 1_790_000_000, "chat": {"id": CHAT, "type": "private"},
            "media_group_id": "13579", "photo": photo,
        }});
        assert_eq!(stack.post(body.to_string()).await, 200);
    }
    stack.rest().await;
    for item in [120, 121, 122] {
        let record = stack.record(item).await.unwrap();
        assert_eq!((record.state, record.attempts), (State::Done, 1));
    }
    assert!(stack.replies(CHAT).is_empty());
    stack.stack.shutdown().await;
}

/// An answer other than 200 would make Telegram send them again for a day.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_bot_api_does_not_have_yet_is_accepted_and_done() {
    let stack = start(|_| {}).await;
    let chat = json!({"id": CHAT, "type": "private"});
    let bodies = [
        json!({"update_id": 90, "future_kind": {"chat": chat, "x": 1}}),
        json!({"update_id": 91, "other_future": {"foo": {"bar": 1}}}),
        json!({"update_id": 92, "message": {
            "message_id": 9, "date": 1_790_000_000, "chat": chat,
            "message_thread_id": 3, "is_topic_message": true, "brand_new_service": {},
        }}),
        json!({"update_id": 93, "message": {
            "message_id": 10, "date": 1_790_000_000, "chat": chat,
            "from": {"id": CHAT, "is_bot": false, "first_name": "T"},
            "sticker": {"file_id": "F", "file_unique_id": "u", "type": "regular", "width": 1, "height": 1,
                "is_animated": false, "is_video": false},
        }}),
    ];
    for body in bodies {
        assert_eq!(stack.post(body.to_string()).await, 200);
    }
    stack.rest().await;
    for update in 90..=93 {
        assert_eq!(stack.record(update).await.unwrap().state, State::Done, "{update}");
    }
    stack.stack.shutdown().await;
}
