//! Every known error text, as the server sends it, through the classifier; and the order of its rules.

use super::*;
use texts::{BOT, CHAT, DONE, LATER, MAYBE, NEVER, TARGET};

mod texts;

/// All texts, one by one: code, method, text, expected class.
fn all() -> impl Iterator<Item = (u16, &'static str, &'static str, Classed)> {
    texts::GROUPS.iter().flat_map(|(class, code, method, texts)| {
        texts.iter().map(move |text| (*code, *method, *text, *class))
    })
}

fn refusal<'a>(code: u16, method: &'a str, text: &'a str) -> Refusal<'a> {
    Refusal {
        method,
        has_message_id: true,
        code,
        description: Some(text),
        retry_after: None,
        migrate_to_chat_id: None,
    }
}

fn class(code: u16, method: &str, text: &str) -> Classed {
    classify(&refusal(code, method, text))
}

fn after(seconds: u64) -> Classed {
    Classed::Failed(
        Disposition::Throttled {
            retry_after: Duration::from_secs(seconds),
        },
        Meaning::Plain,
    )
}

#[test]
fn every_known_text_gets_its_class() {
    for (code, method, text, expected) in all() {
        assert_eq!(class(code, method, text), expected, "{code} {text}");
    }
}

#[test]
fn case_and_the_words_of_the_code_change_no_class() {
    for (code, method, text, expected) in all() {
        assert_eq!(
            class(code, method, &text.to_uppercase()),
            expected,
            "{code} {text}"
        );
        assert_eq!(
            class(code, method, &text.to_lowercase()),
            expected,
            "{code} {text}"
        );
        if let Some((_, bare)) = text.split_once(": ") {
            assert_eq!(class(code, method, bare), expected, "{code} {bare}");
        }
    }
}

#[test]
fn every_text_of_the_table_decides_for_one_that_telegram_sends() {
    for known in errors::GROUPS.iter().flat_map(|group| group.texts) {
        assert_eq!(
            *known,
            known.to_ascii_lowercase(),
            "texts of the table are compared in lower case"
        );
        let sent = all().any(|(_, _, text, _)| comparable(text).contains(known));
        assert!(sent, "no text of this test holds {known:?}");
    }
}

#[test]
fn a_text_that_is_not_known_leaves_the_code_to_speak() {
    for (code, expected) in [
        (400, NEVER),
        (401, BOT),
        (403, CHAT),
        (404, NEVER),
        (409, NEVER),
        (413, NEVER),
        (302, LATER),
    ] {
        assert_eq!(
            class(code, "sendMessage", "a text of tomorrow"),
            expected,
            "{code}"
        );
        assert_eq!(class(code, "getChat", "a text of tomorrow"), expected, "{code}");
    }
}

#[test]
fn a_failing_server_leaves_a_visible_send_open_and_repeats_what_is_safe() {
    for code in [408, 500, 502, 503, 504] {
        for method in [
            "getChat",
            "setChatTitle",
            "answerCallbackQuery",
            "createInvoiceLink",
        ] {
            assert_eq!(class(code, method, "Bad Gateway"), LATER, "{code} {method}");
        }
        for method in [
            "sendMessage",
            "sendGift",
            "exportChatInviteLink",
            "setWebhook",
            "sendHologram",
        ] {
            assert_eq!(class(code, method, "Bad Gateway"), MAYBE, "{code} {method}");
        }
    }
    let unpin = refusal(502, "unpinChatMessage", "Bad Gateway");
    assert_eq!(classify(&unpin), LATER);
    assert_eq!(
        classify(&Refusal {
            has_message_id: false,
            ..unpin
        }),
        MAYBE
    );
}

#[test]
fn a_restart_is_repeated_even_for_a_visible_send() {
    assert_eq!(class(500, "sendMessage", "Internal Server Error: restart"), LATER);
    assert_eq!(class(400, "sendMessage", "Bad Request: restart"), NEVER);
}

#[test]
fn a_wait_is_the_parameters_else_the_texts_else_a_second_and_is_never_shortened() {
    let text = "Too Many Requests: retry after 35";
    assert_eq!(
        classify(&Refusal {
            retry_after: Some(90_000),
            ..refusal(429, "sendMessage", text)
        }),
        after(90_000)
    );
    assert_eq!(class(429, "sendMessage", text), after(35));
    assert_eq!(
        class(429, "sendMessage", "Too Many Requests: retry after 35."),
        after(35)
    );
    for bare in [
        "",
        "Too Many Requests",
        "Too Many Requests: retry after 0",
        "retry after x",
    ] {
        assert_eq!(class(429, "sendMessage", bare), after(1), "{bare}");
    }
    let other_code = Refusal {
        retry_after: Some(7),
        ..refusal(400, "sendMessage", "FLOOD")
    };
    assert_eq!(classify(&other_code), after(7));
}

#[test]
fn a_new_chat_id_comes_before_code_and_text() {
    let moved = Refusal {
        migrate_to_chat_id: Some(-1_001),
        ..refusal(403, "sendMessage", "Forbidden: x")
    };
    assert_eq!(
        classify(&moved),
        Classed::Failed(Disposition::Permanent, Meaning::MigratedTo(-1_001))
    );
}

#[test]
fn a_partly_sent_album_is_open_even_with_a_wait_beside_it() {
    let text =
        "Bad Request: failed to send message #3 with the error message \"Too Many Requests: retry after 35\"";
    for code in [400, 429, 500] {
        let partial = Refusal {
            retry_after: Some(35),
            ..refusal(code, "sendMediaGroup", text)
        };
        assert_eq!(classify(&partial), MAYBE, "{code}");
    }
}

#[test]
fn done_before_counts_only_for_the_methods_that_wished_it() {
    for (method, text) in [
        ("sendMessage", "Bad Request: message to delete not found"),
        ("sendMessage", "Bad Request: message is not modified"),
        ("sendMessage", "Bad Request: CHAT_NOT_MODIFIED"),
        ("setChatTitle", "Bad Request: TOPIC_NOT_MODIFIED"),
        ("declineChatJoinRequest", "Bad Request: USER_ALREADY_PARTICIPANT"),
        ("sendPoll", "Bad Request: poll has already been closed"),
    ] {
        assert_eq!(class(400, method, text), NEVER, "{method} {text}");
    }
    assert_eq!(
        class(
            400,
            "editMessageReplyMarkup",
            "Bad Request: message is not modified"
        ),
        DONE
    );
    assert_eq!(class(400, "setChatPhoto", "Bad Request: CHAT_NOT_MODIFIED"), DONE);
    assert_eq!(
        class(
            400,
            "unpinAllForumTopicMessages",
            "Bad Request: TOPIC_NOT_MODIFIED"
        ),
        DONE
    );
}

#[test]
fn a_missing_member_says_nothing_of_the_chat() {
    assert_eq!(class(400, "sendMessage", "Bad Request: user not found"), CHAT);
    assert_eq!(class(400, "banChatMember", "Bad Request: user not found"), NEVER);
    assert_eq!(
        class(400, "restrictChatMember", "Bad Request: PEER_ID_INVALID"),
        NEVER
    );
}

#[test]
fn a_missing_topic_is_left_out_only_where_something_is_posted() {
    let text = "Bad Request: message thread not found";
    assert_eq!(class(400, "copyMessage", text), TARGET);
    assert_eq!(class(400, "closeForumTopic", text), NEVER);
    assert_eq!(class(400, "sendChatAction", text), NEVER);
}

#[test]
fn an_old_servers_401_about_a_chat_does_not_count_against_the_token() {
    for text in [
        "Unauthorized: bot can't initiate conversation with a user",
        "Unauthorized: bot can't send messages to bots",
    ] {
        assert_eq!(class(401, "sendMessage", text), CHAT, "{text}");
    }
}

#[test]
fn missing_rights_do_not_make_a_chat_unreachable() {
    assert_eq!(
        class(403, "sendMessage", "Forbidden: CHAT_WRITE_FORBIDDEN"),
        NEVER
    );
    assert_eq!(
        class(
            403,
            "sendMessage",
            "Forbidden: not enough rights to send photos to the chat"
        ),
        NEVER
    );
}

#[test]
fn what_stands_before_telegram_knows_nothing_of_chats() {
    for (code, expected) in [
        (403, LATER),
        (404, BOT),
        (401, BOT),
        (413, NEVER),
        (301, LATER),
        (502, MAYBE),
    ] {
        let foreign = Refusal {
            description: None,
            ..refusal(code, "sendMessage", "")
        };
        assert_eq!(classify(&foreign), expected, "{code}");
    }
}

#[test]
fn a_text_without_end_is_compared_only_at_its_start() {
    let long = format!("Bad Request: chat not found{}", " ".repeat(5_000));
    assert_eq!(class(400, "sendMessage", &long), CHAT);
    let far = format!(
        "{}query is too old and response timeout expired or query id is invalid",
        "x".repeat(5_000)
    );
    assert_eq!(class(400, "answerCallbackQuery", &far), NEVER);
}
