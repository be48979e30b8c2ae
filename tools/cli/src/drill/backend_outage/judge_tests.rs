//! A run that went well, and one broken in each way that there is.

use super::super::facts::Seen;
use super::*;

const CHAT: i64 = 7;
const KILLED_AT: i64 = 100_000;
const BACK_AT: i64 = 120_000;

/// Posts `number` of the chat, every tenth a press; each is answered `after` ms later.
fn update(number: u32, at_ms: i64) -> Posted {
    Posted {
        update: i64::from(number) + 1_000,
        chat: CHAT,
        number,
        is_press: number.is_multiple_of(10),
        at_ms,
    }
}

fn runs(update: &Posted, at_ms: i64) -> Vec<Seen> {
    let whats = if update.is_press {
        let (update, is_taken) = (update.update, true);
        vec![What::Thanked { update, is_taken }, What::Told { chat: CHAT }]
    } else {
        let number = update.number;
        vec![What::Echoed { chat: CHAT, number }]
    };
    whats.into_iter().map(|what| Seen { at_ms, what }).collect()
}

fn done(at_ms: i64) -> Fate {
    Fate {
        is_done: true,
        attempts: 1,
        failures: Vec::new(),
        ended_at: Some(at_ms),
    }
}

/// 200 Updates, two a second: 100 s before the kill; in the outage nothing runs; what waited runs in the 40 s after it.
fn well() -> Facts {
    let mut facts = Facts {
        killed_at: KILLED_AT,
        back_at: BACK_AT,
        ..Facts::default()
    };
    for number in 1..=240_u32 {
        let at = i64::from(number) * 500;
        let update = update(number, at);
        let ran_at = if at < KILLED_AT {
            at
        } else {
            at.max(BACK_AT) + (at - KILLED_AT)
        };
        facts.fates.insert(update.update, done(ran_at));
        facts.seen.extend(runs(&update, ran_at));
        facts.posted.push(update);
    }
    facts
}

fn fails_by(facts: &Facts, wanted: &[&str]) {
    assert_eq!(judge(facts).troubles(), wanted);
}

/// Where the bot's run for that number is seen.
fn place(facts: &Facts, number: u32) -> usize {
    let is_it = |seen: &Seen| seen.what == What::Echoed { chat: CHAT, number };
    facts.seen.iter().position(is_it).unwrap()
}

fn fate(facts: &mut Facts, number: u32) -> &mut Fate {
    facts.fates.get_mut(&(i64::from(number) + 1_000)).unwrap()
}

#[test]
fn a_run_that_went_well_has_no_trouble() {
    let verdict = judge(&well());
    assert_eq!(verdict.troubles(), Vec::<String>::new());
    assert_eq!(
        (verdict.posted, verdict.done, verdict.posted_while_away),
        (240, 240, 40)
    );
    assert_eq!((verdict.presses.posted, verdict.presses.answered), (24, 24));
    assert_eq!(verdict.drained_in_ms, Some(20_000));
    assert_eq!(verdict.rates.peak_ratio, Some(1.0));
}

#[test]
fn without_a_record_it_is_lost() {
    let mut facts = well();
    facts.fates.remove(&1_005);
    fails_by(&facts, &["1 updates lost"]);
    assert_eq!(judge(&facts).drained_in_ms, None);
}

#[test]
fn what_died_or_still_waits_is_not_done() {
    let mut facts = well();
    fate(&mut facts, 5).is_done = false;
    fails_by(&facts, &["1 updates not done"]);
}

#[test]
fn what_is_done_without_a_run_is_found() {
    let mut facts = well();
    facts.seen.remove(place(&facts, 5));
    fails_by(&facts, &["1 updates done without all of their answers"]);
}

#[test]
fn a_press_that_ended_half_way_is_found() {
    let mut facts = well();
    let told = facts
        .seen
        .iter()
        .position(|seen| seen.what == What::Told { chat: CHAT });
    facts.seen.remove(told.unwrap());
    fails_by(&facts, &["1 updates done without all of their answers"]);
}

#[test]
fn a_doubled_run_needs_a_cause_in_the_ledger() {
    let mut facts = well();
    let at = place(&facts, 5);
    facts.seen.insert(at, facts.seen[at]);
    fails_by(&facts, &["1 runs doubled without a cause"]);
    let fails_with = |code: &str| {
        let mut facts = facts.clone();
        *fate(&mut facts, 5) = Fate {
            attempts: 2,
            failures: vec![code.to_owned()],
            ..fate(&mut facts, 5).clone()
        };
        judge(&facts)
    };
    let died = fails_with("backend_no_answer");
    assert_eq!(died.troubles(), Vec::<String>::new());
    assert_eq!((died.doubled.died_before_answering, died.attempts_burned), (1, 1));
    assert_eq!(died.failed_tries["backend_no_answer"], 1);
    assert_eq!(fails_with("backend_500").doubled.asked_for_again, 1);
    assert_eq!(fails_with("backend_unreachable").doubled.unexplained, 1);
}

#[test]
fn one_cause_explains_one_run() {
    let mut facts = well();
    let at = place(&facts, 5);
    let run = facts.seen[at];
    facts.seen.splice(at..at, [run, run]);
    fate(&mut facts, 5).failures = vec!["backend_no_answer".to_owned()];
    fails_by(&facts, &["1 runs doubled without a cause"]);
}

#[test]
fn a_doubled_run_that_follows_the_first_is_no_disorder_and_a_later_one_is() {
    let mut facts = well();
    fate(&mut facts, 5).failures = vec!["backend_no_answer".to_owned()];
    let (first, next) = (place(&facts, 5), place(&facts, 6));
    let again = facts.seen[first];
    facts.seen.insert(next, again);
    fails_by(&facts, &[]);
    facts.seen.remove(next);
    facts.seen.insert(next + 1, again);
    fails_by(&facts, &["1 answers out of order"]);
}

#[test]
fn two_answers_in_the_wrong_order_are_found_across_kinds() {
    let mut facts = well();
    let (nine, ten) = (place(&facts, 9), place(&facts, 9) + 1);
    assert!(matches!(facts.seen[ten].what, What::Thanked { .. }));
    facts.seen.swap(nine, ten);
    fails_by(&facts, &["1 answers out of order"]);
}

#[test]
fn a_chat_is_told_once_at_the_most() {
    let mut facts = well();
    let notice = |chat| Seen {
        at_ms: 111_000,
        what: What::Noticed { chat },
    };
    facts.seen.extend([notice(CHAT), notice(8)]);
    fails_by(&facts, &[]);
    assert_eq!(
        judge(&facts).notices,
        Notices {
            chats: 2,
            most_in_a_chat: 1
        }
    );
    facts.seen.push(notice(8));
    fails_by(&facts, &["2 notices in one chat"]);
}

#[test]
fn presses_that_were_answered_in_the_backends_place_are_counted() {
    let mut facts = well();
    // Numbers 200 to 239 were posted while it was away: 200, 210, 220 and 230 are presses.
    let acknowledged = |number: i64, at_ms| Seen {
        at_ms,
        what: What::Acknowledged {
            update: number + 1_000,
        },
    };
    facts.seen.push(acknowledged(210, 112_000));
    facts.seen.push(acknowledged(220, BACK_AT + 1));
    for seen in &mut facts.seen {
        if let What::Thanked { update, is_taken } = &mut seen.what {
            *is_taken = *update < 1_200;
        }
    }
    let presses = judge(&facts).presses;
    let wanted = Presses {
        posted: 24,
        while_away: 4,
        answered_while_away: 1,
        answered: 19 + 2,
    };
    assert_eq!(presses, wanted);
}

#[test]
fn a_return_that_floods_the_backend_is_found() {
    let mut facts = well();
    for seen in facts.seen.iter_mut().filter(|seen| seen.at_ms >= BACK_AT) {
        seen.at_ms = BACK_AT + 1_000;
    }
    fails_by(&facts, &["4.1 times the former rate at the return"]);
}

#[test]
fn a_run_in_which_nothing_was_measured_is_no_success() {
    let verdict = judge(&Facts::default());
    assert_eq!(
        verdict.troubles(),
        ["no rate was measured before the kill, or none after"]
    );
}
