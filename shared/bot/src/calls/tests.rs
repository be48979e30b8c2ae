//! What the builders write: the Bot API's own members, and nothing that was not asked for.

use penstock_domain::ids::BotId;
use penstock_domain::intent::plan;
use penstock_domain::kind::UpdateKind;

use super::*;
use crate::incoming::Incoming;
use crate::outcome::Outcome;

fn params(call: impl Into<Call>) -> (String, Value) {
    let call = call.into();
    (call.method, serde_json::from_str(&call.params).unwrap())
}

#[test]
fn each_builder_writes_the_members_of_its_method() {
    let keyboard = Keyboard::of([Button::callback("Yes", "y")])
        .row([])
        .row([Button::url("More", "https://example.org")]);
    let buttons = json!({"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}],
        [{"text": "More", "url": "https://example.org"}]]});
    let message = send_message(5, "<b>a</b>")
        .parse_mode(ParseMode::Html)
        .silent()
        .reply_to(7)
        .thread(3)
        .business("bc")
        .buttons(keyboard);
    let place = Place::Message {
        chat: "@channel".into(),
        message_id: 3,
    };
    let table: Vec<(Call, &str, Value)> = vec![
        (
            message.into(),
            "sendMessage",
            json!({"chat_id": 5, "text": "<b>a</b>", "parse_mode": "HTML", "disable_notification": true,
                "reply_parameters": {"message_id": 7, "allow_sending_without_reply": true},
                "message_thread_id": 3, "business_connection_id": "bc", "reply_markup": buttons}),
        ),
        (
            send_photo(5, "file")
                .caption("c")
                .parse_mode(ParseMode::MarkdownV2)
                .into(),
            "sendPhoto",
            json!({"chat_id": 5, "photo": "file", "caption": "c", "parse_mode": "MarkdownV2"}),
        ),
        (
            send_document(ChatId(5), "https://example.org/a").into(),
            "sendDocument",
            json!({"chat_id": 5, "document": "https://example.org/a"}),
        ),
        (
            send_chat_action(5, ChatAction::UploadPhoto).into(),
            "sendChatAction",
            json!({"chat_id": 5, "action": "upload_photo"}),
        ),
        (
            edit_message_text(place, "a").into(),
            "editMessageText",
            json!({"chat_id": "@channel", "message_id": 3, "text": "a"}),
        ),
        (
            edit_message_text(Place::Inline("im".to_owned()), "a").into(),
            "editMessageText",
            json!({"inline_message_id": "im", "text": "a"}),
        ),
        (
            delete_message(5, 3).into(),
            "deleteMessage",
            json!({"chat_id": 5, "message_id": 3}),
        ),
        (
            set_message_reaction(5, 3, Some("👍")).into(),
            "setMessageReaction",
            json!({"chat_id": 5, "message_id": 3, "reaction": [{"type": "emoji", "emoji": "👍"}]}),
        ),
        (
            set_message_reaction(5, 3, None).into(),
            "setMessageReaction",
            json!({"chat_id": 5, "message_id": 3, "reaction": []}),
        ),
        (
            answer_callback_query("q").alert("a").into(),
            "answerCallbackQuery",
            json!({"callback_query_id": "q", "text": "a", "show_alert": true}),
        ),
        (
            answer_inline_query("q", vec![json!({"id": "1"})])
                .cache_secs(0)
                .personal()
                .into(),
            "answerInlineQuery",
            json!({"inline_query_id": "q", "results": [{"id": "1"}], "cache_time": 0, "is_personal": true}),
        ),
        (
            accept_pre_checkout("q").into(),
            "answerPreCheckoutQuery",
            json!({"pre_checkout_query_id": "q", "ok": true}),
        ),
        (
            refuse_pre_checkout("q", "sold out").into(),
            "answerPreCheckoutQuery",
            json!({"pre_checkout_query_id": "q", "ok": false, "error_message": "sold out"}),
        ),
        (
            offer_shipping("q", vec![json!({"id": "post"})]).into(),
            "answerShippingQuery",
            json!({"shipping_query_id": "q", "ok": true, "shipping_options": [{"id": "post"}]}),
        ),
        (
            refuse_shipping("q", "too far").into(),
            "answerShippingQuery",
            json!({"shipping_query_id": "q", "ok": false, "error_message": "too far"}),
        ),
        (
            raw("sendDice").param("chat_id", 5).into(),
            "sendDice",
            json!({"chat_id": 5}),
        ),
    ];
    for (call, method, expected) in table {
        assert_eq!(params(call), (method.to_owned(), expected));
    }
}

#[test]
fn an_edit_of_an_earlier_call_names_no_message_and_waits_in_the_same_chat() {
    let at = Timestamp::from_millis(9);
    let sent = Place::Sent {
        chat: 5.into(),
        call: 0,
    };
    let outcome = Outcome::send(send_message(5, "...").on_unknown(OnUnknown::ResendOnce))
        .then(edit_message_text(sent, "done").not_before(at))
        .then(delete_message(5, 77).replaces(0));
    let [first, edit, delete] = outcome.calls.clone().try_into().unwrap();
    assert_eq!(first.on_unknown, OnUnknown::ResendOnce);
    assert_eq!((edit.refers_to, edit.not_before), (Some(0), Some(at)));
    assert_eq!(params(edit).1, json!({"chat_id": 5, "text": "done"}));
    assert_eq!(delete.refers_to, Some(0));
    assert_eq!(params(delete).1, json!({"chat_id": 5}));
    let intents = plan(BotId(1), outcome.calls).unwrap();
    assert_eq!(intents[1].previous, Some(0));
}

#[test]
fn a_reply_goes_where_its_update_came_from() {
    let raw = r#"{"business_message":{"chat":{"id":5},"business_connection_id":"bc",
        "is_topic_message":true,"message_thread_id":3}}"#;
    let update = Incoming::read(UpdateKind::BusinessMessage, raw);
    let expected = json!({"chat_id": 5, "text": "a", "business_connection_id": "bc", "message_thread_id": 3});
    assert_eq!(params(update.reply("a").unwrap()).1, expected);
    let nowhere = Incoming::read(UpdateKind::Message, "{}");
    assert_eq!(Outcome::send(nowhere.reply("a")).calls, []);
    assert_eq!(Outcome::send(nowhere.edit("a")).calls, []);
}

#[test]
fn calls_keep_the_order_in_which_they_were_given() {
    let texts = |outcome: Outcome| -> Vec<Value> {
        let text = |call: Call| params(call).1["text"].clone();
        outcome.calls.into_iter().map(text).collect()
    };
    let outcome = Outcome::send([send_message(5, "a"), send_message(5, "b")])
        .then(vec![send_message(5, "c")])
        .then(Call::new("sendMessage", r#"{"chat_id":5,"text":"d"}"#.to_owned()));
    assert_eq!(texts(outcome), ["a", "b", "c", "d"]);
}

#[test]
fn what_people_wrote_cannot_format_the_bots_html() {
    assert_eq!(escape_html(r#"<b>&"</b>"#), "&lt;b&gt;&amp;&quot;&lt;/b&gt;");
}
