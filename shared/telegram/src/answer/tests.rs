//! Answers as they may come, each with what it means.

use std::time::Duration;

use penstock_domain::failure::Disposition;
use penstock_ports::Meaning;

use super::*;

fn answered(method: &str, status: u16, body: &str) -> Result<ApiReply, ApiError> {
    let token = BotToken::new("4242:AAbbCCddEEff".to_owned());
    read(
        Call::new(&token, method, "{}"),
        Answer {
            status,
            retry_after: None,
            body: Some(body.as_bytes()),
        },
    )
}

fn sent(message_id: Option<i64>) -> Result<ApiReply, ApiError> {
    Ok(ApiReply {
        message_id,
        already_done: false,
    })
}

fn no_answer(method: &str) -> Result<ApiReply, ApiError> {
    Err(ApiError::NoAnswer {
        method: method.to_owned(),
    })
}

fn classed(answer: Result<ApiReply, ApiError>) -> (u16, Disposition, Meaning) {
    match answer {
        Err(ApiError::Refused {
            code,
            disposition,
            meaning,
            ..
        }) => (code, disposition, meaning),
        other => panic!("not refused: {other:?}"),
    }
}

fn described(body: &str) -> String {
    match answered("sendMessage", 400, body) {
        Err(ApiError::Refused { description, .. }) => description,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_message_gives_its_id() {
    let body = r#"{"ok":true,"result":{"chat":{"id":5,"message_id":1},"message_id":77,"text":"x"}}"#;
    assert_eq!(answered("sendMessage", 200, body), sent(Some(77)));
}

#[test]
fn several_messages_give_the_id_of_the_first() {
    let body = r#"{"ok":true,"result":[{"message_id":77,"a":[]},{"message_id":78}]}"#;
    assert_eq!(answered("sendMediaGroup", 200, body), sent(Some(77)));
}

#[test]
fn a_result_that_is_no_message_has_no_id() {
    for result in [
        "true",
        "[]",
        "null",
        "\"link\"",
        "[true]",
        "{}",
        r#"{"message_id":"x"}"#,
        r#"[{"user":{}}]"#,
    ] {
        assert_eq!(
            answered("x", 200, &format!(r#"{{"ok":true,"result":{result}}}"#)),
            sent(None),
            "{result}"
        );
    }
    assert_eq!(answered("x", 200, r#"{"ok":true}"#), sent(None));
}

#[test]
fn deep_nesting_lone_surrogates_and_broken_utf8_in_a_result_cost_nothing() {
    let deep = format!("{}{}", "[".repeat(3_000), "]".repeat(3_000));
    let body = format!(r#"{{"ok":true,"result":{{"message_id":77,"a":{deep},"text":"\ud83d"}}}}"#);
    assert_eq!(answered("sendMessage", 200, &body), sent(Some(77)));

    let token = BotToken::new("1:a".to_owned());
    let body = b"{\"ok\":true,\"result\":{\"message_id\":77,\"text\":\"\xff\"}}";
    let answer = Answer {
        status: 200,
        retry_after: None,
        body: Some(body),
    };
    assert_eq!(
        read(Call::new(&token, "sendMessage", "{}"), answer),
        sent(Some(77))
    );
}

#[test]
fn a_success_that_cannot_be_read_is_no_answer() {
    for body in [
        "",
        "<html>",
        "{}",
        r#"{"ok":"yes"}"#,
        r#"{"ok":true,"result":{"message_id":77}"#,
        "[]",
    ] {
        assert_eq!(
            answered("sendMessage", 200, body),
            no_answer("sendMessage"),
            "{body}"
        );
    }
}

#[test]
fn a_wait_is_read_from_the_parameters() {
    let body = r#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 5","parameters":{"retry_after":5}}"#;
    let throttled = Disposition::Throttled {
        retry_after: Duration::from_secs(5),
    };
    assert_eq!(
        classed(answered("sendMessage", 429, body)),
        (429, throttled, Meaning::Plain)
    );
}

#[test]
fn the_longer_of_two_waits_counts() {
    let token = BotToken::new("1:a".to_owned());
    let body = br#"{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":5}}"#;
    for (header, expected) in [(9, 9), (2, 5)] {
        let answer = Answer {
            status: 429,
            retry_after: Some(header),
            body: Some(body),
        };
        let (_, disposition, _) = classed(read(Call::new(&token, "getMe", "{}"), answer));
        assert_eq!(
            disposition,
            Disposition::Throttled {
                retry_after: Duration::from_secs(expected)
            }
        );
    }
}

#[test]
fn a_new_chat_id_is_read_from_the_parameters() {
    let body = r#"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-1001234567890}}"#;
    let expected = (
        400,
        Disposition::Permanent,
        Meaning::MigratedTo(-1_001_234_567_890),
    );
    assert_eq!(classed(answered("sendMessage", 400, body)), expected);
}

#[test]
fn parameters_of_another_shape_leave_text_and_code_to_speak() {
    let body = r#"{"ok":false,"error_code":"x","description":"Too Many Requests: retry after 8","parameters":["retry_after"]}"#;
    let throttled = Disposition::Throttled {
        retry_after: Duration::from_secs(8),
    };
    assert_eq!(
        classed(answered("sendMessage", 429, body)),
        (429, throttled, Meaning::Plain)
    );
}

#[test]
fn done_before_is_a_success_that_says_so() {
    let body = r#"{"ok":false,"error_code":400,"description":"Bad Request: message to delete not found"}"#;
    assert_eq!(
        answered("deleteMessage", 400, body),
        Ok(ApiReply {
            message_id: None,
            already_done: true
        })
    );
}

#[test]
fn an_error_that_is_not_json_is_classed_by_its_code_and_none_of_it_is_kept() {
    let answer = answered("sendMessage", 502, "<html>Mara Muster</html>");
    assert_eq!(
        classed(answer.clone()),
        (502, Disposition::Ambiguous, Meaning::Plain)
    );
    let error = format!("{answer:?}");
    assert!(
        error.contains("Bad Gateway") && !error.contains("Mara"),
        "{error}"
    );
    assert_eq!(classed(answered("getMe", 502, "")).1, Disposition::Transient);
    assert_eq!(classed(answered("getMe", 599, "")).0, 599);
}

#[test]
fn an_ok_under_an_error_status_is_not_believed() {
    let body = r#"{"ok":true,"result":{"message_id":77}}"#;
    assert_eq!(
        classed(answered("sendMessage", 502, body)).1,
        Disposition::Ambiguous
    );
}

#[test]
fn a_refusal_under_a_success_status_goes_by_its_own_code() {
    let body = r#"{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}"#;
    assert_eq!(
        classed(answered("sendMessage", 200, body)),
        (403, Disposition::Permanent, Meaning::ChatUnreachable)
    );
    assert_eq!(
        classed(answered("sendMessage", 200, r#"{"ok":false}"#)).1,
        Disposition::Ambiguous
    );
}

#[test]
fn a_body_that_broke_off_is_a_refusal_only_where_the_code_is_enough() {
    let token = BotToken::new("1:a".to_owned());
    let broken = |status| {
        let answer = Answer {
            status,
            retry_after: Some(3),
            body: None,
        };
        read(Call::new(&token, "sendMessage", "{}"), answer)
    };
    for status in [200, 400, 403] {
        assert_eq!(broken(status), no_answer("sendMessage"), "{status}");
    }
    assert_eq!(
        classed(broken(429)).1,
        Disposition::Throttled {
            retry_after: Duration::from_secs(3)
        }
    );
    let without_wait = Answer {
        status: 502,
        retry_after: None,
        body: None,
    };
    assert_eq!(
        classed(read(Call::new(&token, "sendMessage", "{}"), without_wait)).1,
        Disposition::Ambiguous
    );
}

#[test]
fn a_description_is_kept_short_and_without_token_or_markup() {
    let long = described(&format!(
        r#"{{"ok":false,"description":"{}"}}"#,
        "x".repeat(5_000)
    ));
    assert_eq!(long.len(), 300);
    let body = r#"{"ok":false,"description":"tag \"Mara\" of 4242:AAbbCCddEEff"}"#;
    assert_eq!(described(body), "tag \"...\" of [redacted]");
}

#[test]
fn a_description_that_no_string_can_hold_is_kept_raw() {
    assert_eq!(
        described(r#"{"ok":false,"description":"chat \ud83d gone"}"#),
        r"chat \ud83d gone"
    );
    assert_eq!(described(r#"{"ok":false}"#), "");
}

#[test]
fn an_unpin_is_safe_only_when_its_parameters_name_a_message() {
    let token = BotToken::new("1:a".to_owned());
    for (params, expected) in [
        (r#"{"chat_id":1,"message_id":2}"#, true),
        (r#"{"chat_id":1,"message_id":null}"#, false),
        (r#"{"chat_id":1}"#, false),
        ("not json", false),
    ] {
        assert_eq!(
            Call::new(&token, "unpinChatMessage", params).has_message_id,
            expected,
            "{params}"
        );
    }
}
