//! Counters, greetings, queries, thinking.

use std::time::Duration;

use penstock_domain::kind::UpdateKind;
use serde_json::{Value, json};

use super::world::{CHAT, World, buttons, params, said};
use crate::bot::Bot as _;
use crate::example::ExampleBot;
use crate::outcome::Outcome;

fn world() -> World {
    World::new(ExampleBot::default())
}

fn once(kind: UpdateKind, body: &Value) -> Outcome {
    let mut world = world();
    let delivery = world.delivery(kind, body);
    world.deliver(&delivery)
}

#[test]
fn it_counts_the_messages_of_a_chat() {
    let mut world = world();
    let hello = world.text(9, "hello");
    assert_eq!(said(&world.deliver(&hello)), "Message 1 of this chat: hello");
    assert_eq!(world.state(), json!({"messages": 1}));
    assert_eq!(said(&world.deliver(&hello)), "Message 2 of this chat: hello");
}

#[test]
fn two_messages_at_once_are_both_counted() {
    let mut world = world();
    let hello = world.text(9, "hello");
    let slow = world.begin(&hello, false);
    world.deliver(&hello);
    assert_eq!(
        said(&world.finish(slow).unwrap()),
        "Message 2 of this chat: hello"
    );
    assert_eq!(world.state(), json!({"messages": 2}));
}

#[test]
fn a_pressed_button_edits_its_message_and_keeps_the_other_counter() {
    let mut world = world();
    let (hello, press) = (world.text(9, "hello"), world.press(9, "press"));
    world.deliver(&hello);
    let pressed = world.deliver(&press);
    assert_eq!(pressed.calls[0].method, "editMessageText");
    let edit = params(&pressed, 0);
    assert_eq!((&edit["chat_id"], &edit["message_id"]), (&json!(CHAT), &json!(3)));
    assert_eq!(said(&pressed), "Button presses in this chat: 1.");
    assert_eq!(buttons(&pressed), ["press"]);
    assert_eq!(world.state(), json!({"messages": 1, "presses": 1}));
}

#[test]
fn a_pressed_button_of_an_inline_message_edits_that_message_and_counts_nothing() {
    let mut world = world();
    let body = json!({"id": "7", "from": {"id": 9}, "data": "press", "inline_message_id": "im"});
    let press = world.delivery(UpdateKind::CallbackQuery, &body);
    let pressed = world.deliver(&press);
    assert_eq!(
        params(&pressed, 0),
        json!({"inline_message_id": "im", "text": "Pressed."})
    );
    assert_eq!(world.state(), Value::Null);
}

#[test]
fn it_greets_with_a_button_helps_and_owns_up_to_what_it_does_not_know() {
    let mut world = world();
    let mut told = |text: &str| {
        let delivery = world.text(9, text);
        world.deliver(&delivery)
    };
    let greeting = told("/start now");
    assert_eq!(
        said(&greeting),
        "Welcome. Write me something, or press the button."
    );
    assert_eq!(buttons(&greeting), ["press"]);
    assert!(said(&told("/help@any_bot")).starts_with("I count the messages"));
    assert_eq!(said(&told("/dance")), "I don't know that. Try /help.");
}

#[test]
fn a_photo_is_thanked_for_and_an_album_is_not_flooded() {
    let photo = json!({"chat": {"id": CHAT}, "photo": []});
    assert_eq!(said(&once(UpdateKind::Message, &photo)), "Received, thank you.");
    let item = json!({"chat": {"id": CHAT}, "photo": [], "media_group_id": "1"});
    assert_eq!(once(UpdateKind::Message, &item), Outcome::ignored());
}

#[test]
fn a_business_chat_is_answered_through_its_connection() {
    let body = json!({"chat": {"id": CHAT}, "text": "hello", "business_connection_id": "bc"});
    let told = once(UpdateKind::BusinessMessage, &body);
    assert_eq!(params(&told, 0)["business_connection_id"], "bc");
}

#[test]
fn each_query_is_answered_once_by_its_own_method() {
    let query = json!({"id": "q", "from": {"id": 9}});
    let inline = once(UpdateKind::InlineQuery, &query);
    assert_eq!(inline.calls[0].method, "answerInlineQuery");
    let answer = params(&inline, 0);
    assert_eq!(
        (&answer["inline_query_id"], &answer["cache_time"]),
        (&json!("q"), &json!(0))
    );
    assert_eq!(answer["results"].as_array().unwrap().len(), 1);
    let checkout = once(UpdateKind::PreCheckoutQuery, &query);
    assert_eq!(
        params(&checkout, 0),
        json!({"pre_checkout_query_id": "q", "ok": true})
    );
    let shipping = once(UpdateKind::ShippingQuery, &query);
    assert_eq!(params(&shipping, 0)["ok"], false);
    assert_eq!(once(UpdateKind::PreCheckoutQuery, &json!({})), Outcome::ignored());
}

#[test]
fn kinds_that_it_does_not_handle_are_ignored_not_failed() {
    let text = json!({"chat": {"id": CHAT}, "text": "x"});
    for kind in [
        UpdateKind::Unknown,
        UpdateKind::PollAnswer,
        UpdateKind::EditedMessage,
        UpdateKind::ChannelPost,
    ] {
        assert_eq!(once(kind, &text), Outcome::ignored());
    }
    let moved = json!({"chat": {"id": CHAT}, "migrate_to_chat_id": -1001});
    assert_eq!(once(UpdateKind::Message, &moved), Outcome::ignored());
    // Not even without a chat.
    for text in ["hello", "/start", "/think", "/order", "/reset"] {
        let sent = once(UpdateKind::Message, &json!({"text": text}));
        assert_eq!(
            (sent.calls, sent.writes, sent.new_state),
            (vec![], vec![], None),
            "{text}"
        );
    }
}

#[test]
fn a_thought_is_an_edit_of_the_first_message_two_seconds_later_and_the_same_in_every_try() {
    let mut world = world();
    let think = world.text(9, "/think of tea");
    let thought = world.deliver(&think);
    assert_eq!(said(&thought), "Thinking...");
    assert_eq!(
        (thought.calls[0].not_before, thought.calls[0].refers_to),
        (None, None)
    );
    let edit = &thought.calls[1];
    assert_eq!(edit.method, "editMessageText");
    assert_eq!(edit.refers_to, Some(0));
    assert_eq!(edit.not_before, Some(world.now + Duration::from_secs(2)));
    assert_eq!(params(&thought, 1)["chat_id"], CHAT);
    assert!(params(&thought, 1).get("message_id").is_none());
    assert_eq!(world.deliver(&think), thought);
}

#[test]
fn only_what_is_needed_is_read() {
    let mut world = world();
    let wants_state = |text: &str, world: &mut World| {
        let delivery = world.text(9, text);
        world.bot.reads(&delivery.update).state
    };
    assert!(wants_state("hello", &mut world));
    assert!(!wants_state("/start", &mut world));
    assert!(!wants_state("/dance", &mut world));
}

#[test]
fn its_webhook_needs_the_kinds_that_it_handles() {
    let mut needed = ExampleBot::default().allowed_updates();
    needed.sort_by_key(|kind| kind.name());
    let expected = [
        UpdateKind::BusinessMessage,
        UpdateKind::CallbackQuery,
        UpdateKind::InlineQuery,
        UpdateKind::Message,
        UpdateKind::PreCheckoutQuery,
        UpdateKind::ShippingQuery,
    ];
    assert_eq!(needed, expected);
}
