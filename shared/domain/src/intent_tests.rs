//! Intents, case by case.

use super::*;
use crate::ids::LedgerKey;
use crate::ledger::{Fence, State};

fn call(method: &str, params: &str) -> Call {
    Call::new(method, params.to_owned())
}

#[test]
fn every_pair_of_state_and_event_is_a_transition_or_illegal() {
    let legal = IntentState::ALL
        .into_iter()
        .flat_map(|state| IntentEvent::ALL.map(|event| transition(state, event)))
        .filter(Result::is_ok)
        .count();
    assert_eq!(legal, 15);
    for event in IntentEvent::ALL {
        assert!(
            transition(IntentState::Sent, event).is_err(),
            "nothing happens to what was sent"
        );
    }
}

#[test]
fn intents_of_one_chat_are_linked_in_order_and_answers_to_queries_wait_for_none() {
    let planned = plan(
        BotId(1),
        vec![
            call("sendMessage", r#"{"chat_id":5,"text":"a"}"#),
            call("answerCallbackQuery", r#"{"callback_query_id":"77"}"#),
            call("sendMessage", r#"{"chat_id":6,"text":"b"}"#),
            call("sendMessage", r#"{"chat_id":"5","text":"c"}"#),
            call(
                "sendMessage",
                r#"{"chat_id":5,"business_connection_id":"B","text":"d"}"#,
            ),
            call("setMyName", "{}"),
        ],
    )
    .unwrap();
    let seen: Vec<_> = planned
        .iter()
        .map(|intent| (intent.group.0.as_str(), intent.previous))
        .collect();
    assert_eq!(
        seen,
        [
            ("1:c:5", None),
            ("1:q:77", None),
            ("1:c:6", None),
            ("1:c:5", Some(0)),
            ("1:b:B:5", None),
            ("1:x:setMyName", None)
        ]
    );
}

#[test]
fn calls_about_different_people_or_inline_messages_never_wait_for_each_other() {
    let planned = plan(
        BotId(1),
        vec![
            call("editMessageText", r#"{"inline_message_id":"AA-1","text":"a"}"#),
            call("editMessageText", r#"{"inline_message_id":"AA-2","text":"a"}"#),
            call("sendGift", r#"{"user_id":9,"gift_id":"g"}"#),
        ],
    )
    .unwrap();
    let groups: Vec<_> = planned.iter().map(|intent| intent.group.0.as_str()).collect();
    assert_eq!(groups, ["1:x:AA-1", "1:x:AA-2", "1:u:9"]);
    assert!(planned.iter().all(|intent| intent.previous.is_none()));
}

#[test]
fn too_many_calls_and_broken_parameters_are_refused() {
    let many = vec![call("sendMessage", "{}"); MAX_INTENTS + 1];
    assert_eq!(plan(BotId(1), many), Err(InvalidCalls::TooMany(11)));
    assert!(matches!(
        plan(BotId(1), vec![call("sendMessage", "[]")]),
        Err(InvalidCalls::Params { n: 0, .. })
    ));
}

fn stored(n: u8, state: IntentState) -> IntentRecord {
    let mut planned = plan(
        BotId(1),
        vec![call("sendMessage", r#"{"chat_id":5}"#); usize::from(n) + 1],
    )
    .unwrap();
    IntentRecord {
        intent: planned.remove(usize::from(n)),
        state,
        resend: 1,
        attempts: 1,
        owner: Some(Owner("other".to_owned())),
        lease_until: Some(Timestamp::from_millis(1_000)),
        next_at: Some(Timestamp::from_millis(9_000)),
        message_id: None,
        failure: None,
    }
}

fn judge(first: IntentState, second: IntentState, change: impl FnOnce(&mut IntentClaim)) -> IntentRefusal {
    let record = Record {
        key: LedgerKey::from_stored("1:2".to_owned()),
        state: State::Done,
        redrive: 1,
        attempts: 1,
        fence: Fence(1),
        owner: None,
        lease_until: None,
        next_at: None,
        digest: None,
        open: 2,
        tries: Vec::new(),
        result: None,
        intents: vec![
            IntentRecord {
                resend: 0,
                ..stored(0, first)
            },
            stored(1, second),
        ],
        expires_at: 0,
    };
    let mut claim = IntentClaim {
        owner: Owner("me".to_owned()),
        n: 1,
        redrive: 1,
        resend: 1,
        previous: Some(0),
        refers_to: None,
        now: Timestamp::from_millis(2_000),
        lease_until: Timestamp::from_millis(30_000),
    };
    change(&mut claim);
    judge_refusal(Some(&record), &claim)
}

#[test]
fn an_intent_waits_for_the_previous_one_of_its_chat() {
    use IntentState as S;
    for first in [S::Intended, S::Sending, S::Retrying] {
        assert_eq!(judge(first, S::Intended, |_| {}), IntentRefusal::BehindPrevious);
    }
    assert_eq!(
        judge(S::Sent, S::Retrying, |_| {}),
        IntentRefusal::HeldUntil(Timestamp::from_millis(9_000))
    );
}

/// Its message is behind that of the next one.
#[test]
fn an_intent_that_a_person_has_sent_again_holds_nobody() {
    for state in IntentState::ALL {
        assert!(!stored(0, state).holds_successors());
    }
}

#[test]
fn an_intent_that_a_person_has_sent_again_holds_none_of_its_successors() {
    for state in IntentState::ALL {
        assert!(!stored(0, state).holds_successors(), "{state:?}");
        let never_resent = IntentRecord {
            resend: 0,
            ..stored(0, state)
        };
        assert_eq!(never_resent.holds_successors(), state.holds_successors());
    }
}

#[test]
fn a_sending_intent_is_lost_only_two_seconds_after_its_lease() {
    use IntentState as S;
    assert_eq!(
        judge(S::Sent, S::Sending, |_| {}),
        IntentRefusal::HeldUntil(Timestamp::from_millis(3_000))
    );
    assert_eq!(
        judge(S::Sent, S::Sending, |claim| claim.now =
            Timestamp::from_millis(3_001)),
        IntentRefusal::Lost
    );
    assert_eq!(
        judge(S::Sent, S::Sending, |claim| claim.owner =
            Owner("other".to_owned())),
        IntentRefusal::Mine {
            attempts: 1,
            message_id: None,
        }
    );
}

#[test]
fn old_copies_and_settled_intents_are_acknowledged() {
    use IntentState as S;
    assert_eq!(
        judge(S::Sent, S::Intended, |claim| claim.redrive = 0),
        IntentRefusal::Settled
    );
    assert_eq!(
        judge(S::Sent, S::Intended, |claim| claim.resend = 0),
        IntentRefusal::Settled
    );
    for ended in [S::Sent, S::Failed, S::Unknown, S::Cancelled] {
        assert_eq!(judge(S::Sent, ended, |_| {}), IntentRefusal::Settled);
    }
    assert_eq!(
        judge(S::Sent, S::Sent, |claim| claim.n = 7),
        IntentRefusal::Absent
    );
}

#[test]
fn a_call_may_only_refer_to_an_earlier_one_of_its_own_chat() {
    let send = |chat: u8| call("sendMessage", &format!(r#"{{"chat_id":{chat}}}"#));
    let edit = |to: u8| Call {
        refers_to: Some(to),
        ..call("editMessageText", r#"{"chat_id":5,"text":"b"}"#)
    };
    assert!(plan(BotId(1), vec![send(5), edit(0)]).is_ok());
    for calls in [
        vec![edit(0)],
        vec![send(5), edit(1)],
        vec![send(6), edit(0)],
        vec![edit(1), send(5)],
    ] {
        assert!(matches!(
            plan(BotId(1), calls),
            Err(InvalidCalls::Reference { .. })
        ));
    }
}
