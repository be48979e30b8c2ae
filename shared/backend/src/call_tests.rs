//! Answers as bots write them, and what becomes of them.

use super::*;
use proptest::prelude::*;

const JSON: &str = "application/json; charset=utf-8";
const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data; boundary=BOUND";

fn of(content_type: &str, body: &[u8]) -> Asked {
    let notation = Notation::of(content_type).unwrap();
    futures::executor::block_on(read(&notation, body))
}

fn call(method: &str, params: &str) -> Asked {
    Asked::Call(Call::new(method, params.to_owned()))
}

fn part(head: &str, value: &str) -> String {
    format!("--BOUND\r\nContent-Disposition: form-data; {head}\r\n\r\n{value}\r\n")
}

#[test]
fn all_three_notations_make_the_same_call() {
    let json = br#"{"method":"sendMessage","chat_id":"5","text":"a&b \u00e9","reply_markup":"{\"a\":[]}"}"#;
    let form = b"method=sendMessage&chat_id=5&text=a%26b+%C3%A9&reply_markup=%7B%22a%22%3A%5B%5D%7D";
    let multipart = [
        part("name=\"method\"", "sendMessage"),
        part("name=\"chat_id\"", "5"),
        part("name=\"text\"", "a&b é"),
        part("name=\"reply_markup\"", r#"{"a":[]}"#),
        "--BOUND--\r\n".to_owned(),
    ]
    .concat();
    let expected = serde_json::json!({"chat_id": "5", "text": "a&b é", "reply_markup": "{\"a\":[]}"});
    for asked in [
        of(JSON, json),
        of(FORM, form),
        of(MULTIPART, multipart.as_bytes()),
    ] {
        let Asked::Call(call) = asked else {
            panic!("{asked:?}");
        };
        assert_eq!(call.method, "sendMessage");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&call.params).unwrap(),
            expected
        );
    }
}

#[test]
fn json_parameters_keep_their_notation() {
    let body = br#"{"chat_id":-1001234567890123456789,"method":"sendMessage","x":1.50,"y":"\ud83d","deep":[[{"a": 1}]]}"#;
    assert_eq!(
        of(JSON, body),
        call(
            "sendMessage",
            r#"{"chat_id":-1001234567890123456789,"deep":[[{"a": 1}]],"x":1.50,"y":"\ud83d"}"#
        )
    );
}

#[test]
fn of_repeated_members_the_first_counts() {
    let body = br#"{"method":"sendDice","chat_id":1,"chat_id":2,"method":"sendPhoto"}"#;
    assert_eq!(of(JSON, body), call("sendDice", r#"{"chat_id":1}"#));
    assert_eq!(
        of(FORM, b"chat_id=1&method=sendDice&chat_id=2"),
        call("sendDice", r#"{"chat_id":"1"}"#)
    );
}

#[test]
fn methods_come_in_any_case_and_newer_ones_pass() {
    for (written, known) in [
        ("SENDMESSAGE", "sendMessage"),
        ("answercallbackquery", "answerCallbackQuery"),
        ("sendHologram", "sendHologram"),
    ] {
        let body = format!(r#"{{"method":"{written}"}}"#);
        assert_eq!(of(JSON, body.as_bytes()), call(known, "{}"));
    }
}

#[test]
fn what_telegram_would_not_run_is_no_call() {
    for method in [
        "getMe",
        "GETUPDATES",
        "setWebhook",
        "deletewebhook",
        "close",
        "LogOut",
        "",
        "send Message",
        "../sendMessage",
        "sendMessage?",
    ] {
        let body = format!(r#"{{"method":"{method}","chat_id":1}}"#);
        assert_eq!(of(JSON, body.as_bytes()), Asked::NotRun, "{method}");
    }
}

#[test]
fn other_bodies_ask_for_nothing() {
    for body in [
        "{}",
        "\"ok\"",
        "null",
        "[]",
        "",
        "  ",
        r#"{"method":5}"#,
        r#"{"ok":true}"#,
    ] {
        assert_eq!(of(JSON, body.as_bytes()), Asked::Nothing, "{body}");
    }
    assert_eq!(of(FORM, b"ok"), Asked::Nothing);
    assert_eq!(of(JSON, br#"{"method":"sendDice""#), Asked::Unreadable);
    assert_eq!(of(JSON, b"{\xff}"), Asked::Unreadable);
    assert_eq!(of(MULTIPART, b"not multipart"), Asked::Unreadable);
    for content_type in [
        "",
        "text/html",
        "text/plain",
        "multipart/form-data",
        "application/xml",
    ] {
        assert_eq!(Notation::of(content_type), None, "{content_type}");
    }
    assert_eq!(Notation::of("Application/JSON"), Some(Notation::Json));
}

#[test]
fn files_in_an_answer_are_seen_even_in_its_beginning() {
    let head = [
        part("name=\"photo\"; filename=\"a.jpg\"", "bytes"),
        part("name=\"method\"", "SendPhoto"),
    ]
    .concat();
    let files = Asked::Files {
        method: "sendPhoto".to_owned(),
    };
    assert_eq!(of(MULTIPART, format!("{head}--BOUND--\r\n").as_bytes()), files);
    let notation = Notation::of(MULTIPART).unwrap();
    let cut = format!("{head}--BOUND\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\nabc");
    assert_eq!(
        futures::executor::block_on(read_beginning(&notation, cut.as_bytes())),
        files
    );
    let no_files = format!("{}--BOUND\r\nContent-", part("name=\"method\"", "sendDice"));
    assert_eq!(
        futures::executor::block_on(read_beginning(&notation, no_files.as_bytes())),
        Asked::Unreadable
    );
}

#[test]
fn a_file_after_what_was_read_is_seen_by_its_head() {
    let notation = Notation::of(MULTIPART).unwrap();
    let cut = format!(
        "{}--BOUND\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a.jpg\"\r\n\r\n{}",
        part("name=\"method\"", "sendPhoto"),
        "x".repeat(100_000)
    );
    assert_eq!(
        futures::executor::block_on(read_beginning(&notation, cut.as_bytes())),
        Asked::Files {
            method: "sendPhoto".to_owned()
        }
    );
}

proptest! {
    /// Whatever is answered, reading it ends, and a call's parameters are always a JSON object.
    #[test]
    fn parameters_are_always_an_object(
        body in proptest::collection::vec(any::<u8>(), 0..200),
        content_type in prop_oneof![Just(JSON), Just(FORM), Just(MULTIPART)],
        prefix in prop_oneof![Just("{\"method\":\"sendDice\",\"a\":"), Just("method=sendDice&"), Just("--BOUND\r\n"), Just("")],
    ) {
        let body = [prefix.as_bytes(), &body].concat();
        if let Asked::Call(call) = of(content_type, &body) {
            prop_assert!(serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(&call.params).is_ok());
        }
    }
}
