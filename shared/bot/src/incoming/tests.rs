//! Reading of Updates: what is looked at, and that nothing odd fails.

use super::*;

#[test]
fn an_unpaired_surrogate_is_read_as_a_replacement() {
    let raw = r#"{"update_id":1,"message":{"chat":{"id":5},"text":"a\ud83d"}}"#;
    let incoming = Incoming::read(UpdateKind::Message, raw);
    assert_eq!(incoming.chat_id, Some(5));
    assert!(
        incoming
            .text
            .is_some_and(|text| text.starts_with('a') && text.contains('\u{fffd}'))
    );
}

#[test]
fn a_callback_names_its_message_or_its_inline_message() {
    let raw = r#"{"callback_query":{"id":"77","from":{"id":9},"data":"x",
        "message":{"message_id":3,"chat":{"id":5,"type":"private"}}}}"#;
    let incoming = Incoming::read(UpdateKind::CallbackQuery, raw);
    assert_eq!((incoming.chat_id, incoming.message_id), (Some(5), Some(3)));
    assert!(incoming.is_private);
    assert_eq!(incoming.callback_data(), Some("x"));
    let callback = incoming.callback.unwrap();
    assert_eq!((callback.id.as_str(), callback.message_id), ("77", Some(3)));
    let raw = r#"{"callback_query":{"id":"77","from":{"id":9},"inline_message_id":"im"}}"#;
    let callback = Incoming::read(UpdateKind::CallbackQuery, raw).callback.unwrap();
    assert_eq!(callback.inline_message_id.as_deref(), Some("im"));
}

#[test]
fn what_is_odd_reads_as_absent() {
    for raw in [
        "nonsense",
        "{}",
        r#"{"message":5}"#,
        r#"{"message":{"chat":{"id":"x"}}}"#,
        r#"{"message":{"chat":null}}"#,
        r#"{"message":{"chat":5}}"#,
    ] {
        assert_eq!(Incoming::read(UpdateKind::Message, raw).chat_id, None, "{raw}");
    }
}

#[test]
fn one_odd_member_does_not_hide_the_others() {
    let raw = r#"{"message":{"text":7,"\ud800":1,"from":"who","chat":{"id":1},"chat":{"id":5},
        "message_thread_id":"x","successful_payment":9,"photo":null,"message_id":12}}"#;
    let incoming = Incoming::read(UpdateKind::Message, raw);
    assert_eq!((incoming.chat_id, incoming.message_id), (Some(5), Some(12)));
    assert_eq!((incoming.text, incoming.from_id), (None, None));
    assert_eq!(incoming.successful_payment, None);
    assert!(!incoming.has_media);
}

#[test]
fn a_message_tells_its_topic_its_language_and_what_it_answers() {
    let raw = r#"{"message":{"message_id":12,"message_thread_id":4,"is_topic_message":true,
        "from":{"id":9,"language_code":"de"},"chat":{"id":-5,"type":"supergroup"},
        "reply_to_message":{"message_id":11},"text":"x"}}"#;
    let incoming = Incoming::read(UpdateKind::Message, raw);
    assert_eq!(
        (incoming.message_id, incoming.thread_id, incoming.reply_to),
        (Some(12), Some(4), Some(11))
    );
    assert_eq!(incoming.language.as_deref(), Some("de"));
    assert!(!incoming.is_private);
    // Outside forums a thread id only says what a message answers; a send into it would be refused.
    let outside = raw.replace(r#""is_topic_message":true,"#, "");
    assert_eq!(Incoming::read(UpdateKind::Message, &outside).thread_id, None);
}

#[test]
fn what_is_paid_and_what_is_about_to_be_are_read() {
    let raw = r#"{"message":{"chat":{"id":5},"successful_payment":{"currency":"XTR","total_amount":3,
        "invoice_payload":"tea","telegram_payment_charge_id":"t1","provider_payment_charge_id":"p1"}}}"#;
    let paid = Incoming::read(UpdateKind::Message, raw)
        .successful_payment
        .unwrap();
    let price = Price {
        currency: Some("XTR".to_owned()),
        amount: Some(3),
        payload: Some("tea".to_owned()),
    };
    assert_eq!(paid.price, price);
    assert_eq!(paid.telegram_charge_id.as_deref(), Some("t1"));
    assert_eq!(paid.provider_charge_id.as_deref(), Some("p1"));
    let raw = r#"{"pre_checkout_query":{"id":"q","from":{"id":9},"currency":"XTR","total_amount":3,
        "invoice_payload":"tea"}}"#;
    let asked = Incoming::read(UpdateKind::PreCheckoutQuery, raw);
    assert_eq!(asked.checkout, Some(price));
    assert_eq!(asked.query_id.as_deref(), Some("q"));
}

#[test]
fn a_command_is_told_from_the_bot_that_it_names_and_from_its_argument() {
    let read = |text: &str| {
        let raw = format!(r#"{{"message":{{"text":{}}}}}"#, serde_json::json!(text));
        Incoming::read(UpdateKind::Message, &raw)
    };
    let start = read("/start@some_bot  abc def ");
    assert_eq!(start.command(), Some("start"));
    assert_eq!(start.commanded_bot(), Some("some_bot"));
    assert_eq!(start.argument(), Some("abc def"));
    assert_eq!(read("/start").argument(), None);
    assert_eq!(read("/start").commanded_bot(), None);
    for none in ["/", "/ start", "/@bot", "start", "a /start b"] {
        assert_eq!(read(none).command(), None, "{none}");
        assert_eq!(read(none).argument(), None, "{none}");
    }
}

#[test]
fn a_member_nested_however_deep_does_not_hide_the_text() {
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let raw = format!(r#"{{"message":{{"new":{open}{close},"chat":{{"id":5}},"text":"a"}}}}"#);
    let incoming = Incoming::read(UpdateKind::Message, &raw);
    assert_eq!((incoming.chat_id, incoming.text.as_deref()), (Some(5), Some("a")));
}
