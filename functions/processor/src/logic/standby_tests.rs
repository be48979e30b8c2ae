//! What stands in for a backend that is away, case by case.

use serde_json::{Value, json};

use super::*;

/// When the door was shut.
const SHUT: Timestamp = Timestamp::from_millis(1_790_000_000_000);
const NOTICE: &str = "We will answer soon.";

fn secs(secs: i64) -> Timestamp {
    Timestamp::from_millis(SHUT.as_millis() + secs * 1000)
}

fn standby() -> Standby {
    let core = CoreReplies::parse(r#"{"help": "Ask me anything.", "/Stop": "Stopped."}"#).unwrap();
    Standby::new(NOTICE, core, MAX_AGE)
}

fn message(chat: &Value, text: &str) -> Incoming {
    let raw = json!({"update_id": 1, "message": {"message_id": 1, "chat": chat, "text": text}});
    Incoming::read(UpdateKind::Message, &raw.to_string())
}

fn private(text: &str) -> Incoming {
    message(&json!({"id": 5, "type": "private"}), text)
}

fn group(text: &str) -> Incoming {
    message(&json!({"id": -5, "type": "group"}), text)
}

fn pressed(id: &str) -> Incoming {
    let chat = json!({"id": -5, "type": "group"});
    let raw =
        json!({"update_id": 1, "callback_query": {"id": id, "message": {"message_id": 1, "chat": chat}}});
    Incoming::read(UpdateKind::CallbackQuery, &raw.to_string())
}

fn params(call: &Call) -> Value {
    serde_json::from_str(&call.params).unwrap()
}

fn is_told(incoming: &Incoming, received_at: i64, now: i64) -> bool {
    match standby().stand_in(incoming, secs(received_at), SHUT, secs(now)) {
        StandIn::Tell { call, .. } => {
            assert_eq!(params(&call)["text"], NOTICE);
            true
        }
        StandIn::Nothing => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_chat_is_told_once_the_outage_is_no_mere_restart() {
    assert!(!is_told(&private("hello"), 0, 9));
    assert!(is_told(&private("hello"), 0, 10));
    assert!(is_told(&private("hello"), 3_000, 3_000));
    // Tried before, and found waiting by the outage.
    assert!(is_told(&private("hello"), -599, 10));
}

#[test]
fn what_has_waited_through_an_earlier_outage_is_not_told_again() {
    assert!(!is_told(&private("hello"), -600, 10));
}

#[test]
fn only_who_waits_for_an_answer_is_told() {
    assert!(!is_told(&group("hello"), 0, 60), "the group did not ask the bot");
    assert!(is_told(&group("/ask me"), 0, 60));
    assert!(
        !is_told(&group("/ask@another_bot me"), 0, 60),
        "it may ask another"
    );
    let raw = json!({"update_id": 1, "edited_message": {"message_id": 1, "chat": {"id": 5, "type": "private"}, "text": "x"}});
    assert!(!is_told(
        &Incoming::read(UpdateKind::EditedMessage, &raw.to_string()),
        0,
        60
    ));
    let quiet = Standby::new("  ", CoreReplies::default(), MAX_AGE);
    assert_eq!(
        quiet.stand_in(&private("hello"), SHUT, SHUT, secs(60)),
        StandIn::Nothing
    );
}

#[test]
fn the_notice_is_one_for_the_hour_in_which_the_outage_began() {
    let hour = |shut: Timestamp| match standby().stand_in(&private("x"), shut, shut, shut + TOLD_AFTER) {
        StandIn::Tell { hour, .. } => hour,
        other => panic!("{other:?}"),
    };
    let border = Timestamp::from_millis(HOUR_MS * 500_000);
    assert_eq!(hour(border), 500_000);
    assert_eq!(hour(border + Duration::from_millis(3_599_999)), 500_000);
    assert_eq!(hour(border + Duration::from_millis(3_600_000)), 500_001);
}

#[test]
fn a_pressed_button_is_answered_with_the_notice_once_it_is_no_mere_restart_and_not_when_it_is_too_late() {
    let standby = Standby::new(&"ä".repeat(300), CoreReplies::default(), MAX_AGE);
    assert_eq!(
        standby.stand_in(&pressed("77"), SHUT, SHUT, secs(9)),
        StandIn::Nothing
    );
    let StandIn::Acknowledge { call, .. } = standby.stand_in(&pressed("77"), secs(10), SHUT, secs(10)) else {
        panic!("not answered");
    };
    assert_eq!(call.method, "answerCallbackQuery");
    let text = "ä".repeat(LONGEST_TOAST);
    assert_eq!(params(&call), json!({"callback_query_id": "77", "text": text}));
    let StandIn::Acknowledge { call, .. } =
        Standby::default().stand_in(&pressed("77"), SHUT, SHUT, secs(150))
    else {
        panic!("not answered");
    };
    assert_eq!(params(&call), json!({"callback_query_id": "77"}));
    assert_eq!(
        standby.stand_in(&pressed("77"), SHUT, SHUT, secs(151)),
        StandIn::Nothing
    );
    // A key is made of the id.
    for odd in ["", "a:b", "ü", &"7".repeat(65)] {
        assert_eq!(
            standby.stand_in(&pressed(odd), SHUT, SHUT, secs(60)),
            StandIn::Nothing
        );
    }
}

#[test]
fn a_core_command_is_answered_in_the_backends_place() {
    for (text, answer) in [
        ("/help", Some("Ask me anything.")),
        ("/HELP", Some("Ask me anything.")),
        ("/help payload", None),
        ("/help@this_bot", Some("Ask me anything.")),
        ("/stop", Some("Stopped.")),
        ("/other", None),
        ("help", None),
    ] {
        let early = standby().stand_in(&private(text), secs(9), SHUT, secs(9));
        assert_eq!(early, StandIn::Nothing, "a restart swallows no command");
        match standby().stand_in(&private(text), secs(10), SHUT, secs(10)) {
            StandIn::Answer(call) => {
                assert_eq!(params(&call), json!({"chat_id": 5, "text": answer.unwrap()}));
            }
            StandIn::Tell { .. } => assert_eq!(answer, None, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    assert!(matches!(
        standby().stand_in(&group("/help"), secs(10), SHUT, secs(10)),
        StandIn::Answer(_)
    ));
    let in_channel = json!({"update_id": 1, "message": {"message_id": 1, "chat": {"id": -5, "type": "supergroup"},
        "text": "/help", "direct_messages_topic": {"topic_id": 7}}});
    let in_channel = Incoming::read(UpdateKind::Message, &in_channel.to_string());
    assert_eq!(
        standby().stand_in(&in_channel, secs(10), SHUT, secs(10)),
        StandIn::Nothing
    );
    assert_eq!(
        standby().stand_in(&group("/help@another_bot"), SHUT, SHUT, secs(60)),
        StandIn::Nothing
    );
}

#[test]
fn what_has_waited_longer_than_it_may_is_too_old_whatever_it_is() {
    let age = |incoming: &Incoming, secs_waited| {
        standby().stand_in(incoming, SHUT, SHUT, secs(secs_waited)) == StandIn::TooOld
    };
    for incoming in [private("/help"), private("hello"), pressed("77")] {
        assert!(!age(&incoming, 86_400));
        assert!(age(&incoming, 86_401));
    }
    // A blip parks nothing, however old.
    let blip = |secs_shut| standby().stand_in(&private("hello"), secs(-90_000), SHUT, secs(secs_shut));
    assert_ne!(blip(599), StandIn::TooOld);
    assert_eq!(blip(600), StandIn::TooOld);
}

#[test]
fn core_replies_that_cannot_be_used_are_refused_with_the_cure() {
    assert_eq!(CoreReplies::parse(" "), Ok(CoreReplies::default()));
    for (json, told) in [
        ("[]", "JSON object of texts"),
        (r#"{"help": 5}"#, "JSON object of texts"),
        (r#"{"he lp": "x"}"#, "is no command"),
        (r#"{"/": "x"}"#, "is no command"),
        (r#"{"help": " "}"#, "1 to 4096 characters"),
    ] {
        let error = CoreReplies::parse(json).unwrap_err().to_string();
        assert!(error.contains(told), "{json}: {error}");
    }
}

#[test]
fn an_instance_remembers_whom_it_told_within_bounds() {
    let standby = standby();
    let key = |n: usize| LedgerKey::from_stored(format!("7:n:1:{n}"));
    (0..MOST_TOLD).for_each(|n| standby.remember(key(n)));
    assert!(standby.is_told(&key(0)));
    standby.remember(key(MOST_TOLD));
    assert!(!standby.is_told(&key(0)) && standby.is_told(&key(MOST_TOLD)));
}
