//! Tests of the judge: each violation is seen, and what is none is not.

use serde_json::json;

use super::*;

fn called(text: &str) -> Called {
    Called {
        method: "sendMessage".to_owned(),
        params: json!({"chat_id": 5, "text": text}),
    }
}

fn send(text: &str, state: IntentState) -> Send {
    Send {
        what: called(text),
        state,
        code: None,
        is_visible: true,
    }
}

fn fate(state: State, sends: Vec<Send>) -> Fate {
    Fate {
        name: "text".to_owned(),
        group: "1:c:5".to_owned(),
        counts: Some("messages"),
        seen: Some(Seen {
            state,
            is_raw_kept: true,
            sends,
        }),
    }
}

fn counted(count: usize) -> BTreeMap<(String, &'static str), usize> {
    BTreeMap::from([(("1:c:5".to_owned(), "messages"), count)])
}

/// Lost, doubled, out of order, unknown.
fn figures(fates: &[Fate], calls: &[&str], count: usize) -> [usize; 4] {
    let calls: Vec<_> = calls.iter().map(|text| called(text)).collect();
    let found = judge(fates, &calls, &counted(count));
    let violations = found.lost + found.doubled + found.out_of_order;
    assert_eq!(found.troubles.is_empty(), violations == 0, "{:?}", found.troubles);
    [found.lost, found.doubled, found.out_of_order, found.unknown]
}

#[test]
fn done_and_sent_once_in_order_is_clean() {
    let fates = ["a", "b"].map(|text| fate(State::Done, vec![send(text, IntentState::Sent)]));
    assert_eq!(figures(&fates, &["a", "b"], 2), [0, 0, 0, 0]);
}

#[test]
fn without_a_record_or_an_end_it_is_lost() {
    let gone = Fate {
        seen: None,
        ..fate(State::Done, Vec::new())
    };
    assert_eq!(figures(&[gone], &[], 0)[0], 1);
    for state in [
        State::Pending,
        State::Processing,
        State::Retrying,
        State::Deferred,
    ] {
        assert_eq!(figures(&[fate(state, Vec::new())], &[], 0)[0], 1, "{state:?}");
    }
    for state in [
        IntentState::Intended,
        IntentState::Sending,
        IntentState::Retrying,
        IntentState::Failed,
    ] {
        let fates = [fate(State::Done, vec![send("a", state)])];
        assert_eq!(figures(&fates, &[], 1)[0], 1, "{state:?}");
    }
}

#[test]
fn dead_is_an_end_only_with_its_body() {
    assert_eq!(figures(&[fate(State::Dead, Vec::new())], &[], 0), [0; 4]);
    let mut bare = fate(State::Dead, Vec::new());
    if let Some(seen) = &mut bare.seen {
        seen.is_raw_kept = false;
    }
    assert_eq!(figures(&[bare], &[], 0)[0], 1);
}

#[test]
fn what_the_ledger_calls_sent_was_delivered() {
    let fates = [fate(State::Done, vec![send("a", IntentState::Sent)])];
    assert_eq!(figures(&fates, &[], 1), [1, 0, 0, 0]);
    assert_eq!(figures(&fates, &["a", "a", "a"], 1), [0, 2, 0, 0]);
}

#[test]
fn an_unknown_send_was_delivered_once_or_never() {
    let fates = [fate(State::Done, vec![send("a", IntentState::Unknown)])];
    assert_eq!(figures(&fates, &[], 1), [0, 0, 0, 1]);
    assert_eq!(figures(&fates, &["a"], 1), [0, 0, 0, 1]);
    assert_eq!(figures(&fates, &["a", "a"], 1), [0, 1, 0, 1]);
}

#[test]
fn what_nobody_would_see_twice_may_be_repeated_and_what_expired_may_fail() {
    let answer = Send {
        is_visible: false,
        ..send("a", IntentState::Sent)
    };
    assert_eq!(
        figures(&[fate(State::Done, vec![answer])], &["a", "a"], 1),
        [0; 4]
    );
    let expired = Send {
        code: Some("expired".to_owned()),
        ..send("a", IntentState::Failed)
    };
    assert_eq!(figures(&[fate(State::Done, vec![expired])], &[], 1), [0; 4]);
}

#[test]
fn a_counter_that_is_off_is_a_loss_or_a_double() {
    let fates = [fate(State::Done, vec![send("a", IntentState::Sent)])];
    assert_eq!(figures(&fates, &["a"], 0), [1, 0, 0, 0]);
    assert_eq!(figures(&fates, &["a"], 3), [0, 2, 0, 0]);
}

#[test]
fn an_earlier_updates_send_that_comes_later_is_out_of_order() {
    let fates = ["a", "b", "c"].map(|text| fate(State::Done, vec![send(text, IntentState::Sent)]));
    assert_eq!(figures(&fates, &["a", "c", "b"], 3), [0, 0, 1, 0]);
    let two = [fate(
        State::Done,
        vec![send("a", IntentState::Sent), send("b", IntentState::Sent)],
    )];
    assert_eq!(figures(&two, &["b", "a"], 1), [0, 0, 1, 0]);
}

#[test]
fn groups_are_in_no_order_to_each_other() {
    let other = Fate {
        group: "1:c:6".to_owned(),
        counts: None,
        ..fate(State::Done, vec![send("b", IntentState::Sent)])
    };
    let fates = [fate(State::Done, vec![send("a", IntentState::Sent)]), other];
    assert_eq!(figures(&fates, &["b", "a"], 1), [0; 4]);
}
