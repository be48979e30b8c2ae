//! The breaker's tables, and what holds of it whatever happens.

use super::*;
use crate::ids::{LedgerKey, MessageGroupId};
use proptest::prelude::*;

const HALF: f64 = 0.5;

fn at(secs: i64) -> Timestamp {
    Timestamp::from_millis(secs * 1_000)
}

fn sign(update: u8, chat: u8) -> Sign {
    Sign {
        key: LedgerKey::from_stored(format!("1:{update}")),
        group: MessageGroupId(format!("1:c:{chat}")),
        at: at(0),
    }
}

fn failed_try(cause: Cause, update: u8, chat: u8) -> FailedTry {
    FailedTry {
        cause,
        sign: sign(update, chat),
        measured: Rate::of_busiest_minute(600),
        answered_at: None,
    }
}

fn fails(cause: Cause, update: u8, chat: u8) -> Event {
    Event::Failed(failed_try(cause, update, chat))
}

fn evidence(sign: Option<Sign>) -> Evidence {
    Evidence {
        sign,
        answered_at: None,
    }
}

fn owner(name: &str) -> Owner {
    Owner(name.to_owned())
}

fn wanted(name: &str) -> Event {
    Event::ProbeWanted { owner: owner(name) }
}

fn probed(name: &str, answer: ProbeAnswer) -> Event {
    Event::Probed {
        owner: owner(name),
        answer,
    }
}

/// Runs events, each at its second; gives back the last decision.
fn run(breaker: Breaker, events: &[(i64, Event)]) -> Decision {
    let mut last = Decision {
        next: breaker,
        effect: Effect::None,
    };
    for (secs, event) in events {
        last = decide(&last.next, event, at(*secs), Jitter::new(HALF));
    }
    last
}

fn is_shut(breaker: &Breaker) -> bool {
    matches!(breaker, Breaker::Open { .. } | Breaker::HalfOpen { .. })
}

fn ramp(percent: u32, step_at: i64) -> Breaker {
    Breaker::Ramp {
        opened_at: at(0),
        rate: Rate::of_busiest_minute(600),
        ramp_at: at(0),
        percent: Percent::from_stored(percent),
        step_at: at(step_at),
        evidence: evidence(None),
    }
}

#[test]
fn it_opens_on_a_refused_connection_or_on_two_chats_without_a_success_between() {
    use Cause::{BadGateway, Unreachable};
    let check = |events: &[Event], opens: bool| {
        let events: Vec<_> = events.iter().cloned().map(|event| (0, event)).collect();
        assert_eq!(
            is_shut(&run(Breaker::default(), &events).next),
            opens,
            "{events:?}"
        );
    };
    check(&[fails(Unreachable, 1, 1)], true);
    check(&[fails(BadGateway, 1, 1)], false);
    check(&[fails(BadGateway, 1, 1), fails(BadGateway, 2, 2)], true);
    check(
        &[
            fails(BadGateway, 1, 1),
            fails(BadGateway, 1, 1),
            fails(BadGateway, 1, 1),
        ],
        false,
    );
    check(&[fails(BadGateway, 1, 1), fails(BadGateway, 2, 1)], false);
    check(
        &[
            fails(BadGateway, 1, 1),
            fails(BadGateway, 2, 1),
            fails(BadGateway, 3, 3),
        ],
        true,
    );
    check(
        &[fails(BadGateway, 1, 1), Event::Answered, fails(BadGateway, 2, 2)],
        false,
    );
}

#[test]
fn an_answer_to_an_update_never_opens_the_door_again() {
    let open = run(Breaker::default(), &[(0, fails(Cause::Unreachable, 1, 1))]).next;
    assert_eq!(run(open.clone(), &[(60, Event::Answered)]).next, open);
}

#[test]
fn one_probe_at_a_time_is_made_and_another_after_its_maker_died() {
    let open = run(Breaker::default(), &[(0, fails(Cause::Unreachable, 1, 1))]).next;
    assert_eq!(run(open.clone(), &[(9, wanted("a"))]).effect, Effect::None);
    let asked = run(open, &[(10, wanted("a"))]);
    assert_eq!(asked.effect, Effect::MakeProbe);
    assert_eq!(run(asked.next.clone(), &[(22, wanted("b"))]).effect, Effect::None);
    let second = run(asked.next, &[(23, wanted("b"))]);
    assert_eq!(second.effect, Effect::MakeProbe);
    let late = run(
        second.next.clone(),
        &[(24, probed("a", ProbeAnswer::Status(200)))],
    )
    .next;
    assert_eq!(late, second.next, "the first one's answer no longer counts");
}

#[test]
fn any_status_but_that_of_an_empty_gateway_is_a_backend_that_is_up() {
    for (answer, is_up) in [
        (ProbeAnswer::Status(200), true),
        (ProbeAnswer::Status(401), true),
        (ProbeAnswer::Status(404), true),
        (ProbeAnswer::Status(405), true),
        (ProbeAnswer::Status(500), true),
        (ProbeAnswer::Status(501), true),
        (ProbeAnswer::Status(502), false),
        (ProbeAnswer::Status(503), false),
        (ProbeAnswer::Status(504), false),
        (ProbeAnswer::Status(505), true),
        (ProbeAnswer::Nothing, false),
    ] {
        let events = [
            (0, fails(Cause::Unreachable, 1, 1)),
            (10, wanted("a")),
            (11, probed("a", answer)),
        ];
        let next = run(Breaker::default(), &events).next;
        assert_eq!(matches!(next, Breaker::Ramp { .. }), is_up, "{answer:?}");
        assert_eq!(matches!(next, Breaker::Open { .. }), !is_up, "{answer:?}");
    }
}

#[test]
fn the_ramp_goes_through_its_steps_and_closes_only_when_its_gate_holds_nothing_back() {
    let mut breaker = ramp(10, 0);
    let mut seen = Vec::new();
    for step in 1..=5 {
        assert_eq!(
            run(
                breaker.clone(),
                &[(step * 30 - 1, Event::Looked { is_bound: true })]
            )
            .next,
            breaker
        );
        breaker = run(breaker, &[(step * 30, Event::Looked { is_bound: true })]).next;
        let Breaker::Ramp { percent, .. } = breaker else {
            panic!("it closed although its gate holds Updates back");
        };
        seen.push(percent.get());
    }
    assert_eq!(seen, [25, 50, 100, 200, 400]);
    let free = Event::Looked { is_bound: false };
    assert_eq!(run(ramp(50, 0), &[(30, free.clone())]).next, ramp(100, 30));
    assert!(matches!(
        run(ramp(100, 0), &[(30, free)]).next,
        Breaker::Closed {
            proved_at: Some(_),
            ..
        }
    ));
}

#[test]
fn a_ramp_ends_where_its_gate_can_count_no_faster() {
    let bound = Event::Looked { is_bound: true };
    let fast = |percent| Breaker::Ramp {
        opened_at: at(0),
        rate: Rate::from_stored(400),
        ramp_at: at(0),
        percent: Percent::from_stored(percent),
        step_at: at(0),
        evidence: evidence(None),
    };
    assert!(matches!(
        run(fast(200), &[(30, bound.clone())]).next,
        Breaker::Ramp { .. }
    ));
    assert!(matches!(
        run(fast(400), &[(30, bound)]).next,
        Breaker::Closed { .. }
    ));
}

#[test]
fn a_failure_in_the_ramp_starts_its_step_again_and_two_chats_shut_the_door() {
    let failed = run(ramp(25, 0), &[(20, fails(Cause::BadGateway, 1, 1))]).next;
    let looked = run(failed.clone(), &[(49, Event::Looked { is_bound: true })]).next;
    assert_eq!(looked, failed);
    let opened = run(failed, &[(49, fails(Cause::BadGateway, 2, 2))]).next;
    assert!(is_shut(&opened));
}

#[test]
fn the_rate_is_frozen_when_it_opens_and_at_least_one_a_second() {
    assert_eq!(Rate::of_busiest_minute(0).per_second(), 1);
    assert_eq!(Rate::of_busiest_minute(601).per_second(), 11);
    let rate_of = |breaker: &Breaker| match breaker {
        Breaker::Open { rate, .. } => Some(rate.per_second()),
        Breaker::Closed { .. } | Breaker::HalfOpen { .. } | Breaker::Ramp { .. } => None,
    };
    let open = run(Breaker::default(), &[(0, fails(Cause::Unreachable, 1, 1))]).next;
    assert_eq!(rate_of(&open), Some(10));
    let slow = Event::Failed(FailedTry {
        measured: Rate::of_busiest_minute(0),
        ..failed_try(Cause::Unreachable, 2, 2)
    });
    assert_eq!(rate_of(&run(open, &[(1, slow.clone())]).next), Some(10));
    assert_eq!(
        rate_of(&run(ramp(10, 0), &[(1, slow)]).next),
        Some(10),
        "what was before both outages"
    );
}

#[test]
fn the_gate_lets_exactly_its_part_of_the_rate_through() {
    let second = Duration::from_secs(1);
    let gate = |updates, percent| {
        Rate::of_busiest_minute(updates)
            .gate(Percent::from_stored(percent))
            .interval
    };
    // No step is below the least rate.
    assert_eq!(gate(0, 10), second);
    assert_eq!(gate(600, 10), second);
    assert_eq!(gate(600, 100), second / 10);
    assert_eq!(gate(600, 400), second / 40);
}

#[test]
fn a_failed_try_is_given_back_only_where_the_door_is_shut() {
    let check = |breaker: &Breaker, cause: Cause, refunded: bool| {
        let decision = decide(breaker, &fails(cause, 1, 1), at(100), Jitter::new(HALF));
        assert_eq!(
            decision.effect,
            Effect::Settle {
                is_refunded: refunded
            },
            "{breaker:?} {cause:?}"
        );
    };
    let fresh = Breaker::default();
    let proved = Breaker::Closed {
        evidence: evidence(Some(sign(2, 2))),
        proved_at: Some(at(50)),
    };
    let open = run(fresh.clone(), &[(0, fails(Cause::Unreachable, 1, 1))]).next;
    let half_open = run(open.clone(), &[(10, wanted("a"))]).next;
    for cause in [Cause::Unreachable, Cause::BadGateway] {
        check(&open, cause, true);
        check(&half_open, cause, true);
        check(&proved, cause, false);
        check(&ramp(10, 0), cause, false);
    }
    check(&fresh, Cause::Unreachable, true);
    check(&fresh, Cause::BadGateway, false);
}

#[test]
fn an_update_that_fells_its_backend_whenever_it_is_tried_burns_all_its_attempts() {
    let (mut breaker, mut burned, mut now) = (Breaker::default(), 0, 0);
    for _ in 0..9 {
        let decision = run(breaker, &[(now, fails(Cause::Unreachable, 1, 1))]);
        burned += u32::from(decision.effect == Effect::Settle { is_refunded: false });
        let good = probed("a", ProbeAnswer::Status(200));
        breaker = run(decision.next, &[(now + 10, wanted("a")), (now + 11, good)]).next;
        for _ in 0..4 {
            now += 60;
            breaker = run(breaker, &[(now, Event::Looked { is_bound: false })]).next;
        }
        assert!(matches!(breaker, Breaker::Closed { .. }));
        now += 60;
    }
    assert_eq!(burned, 8);
}

#[test]
fn a_shut_door_defers_and_an_open_one_does_not() {
    let open = run(Breaker::default(), &[(0, fails(Cause::Unreachable, 1, 1))]).next;
    let half_open = run(open.clone(), &[(10, wanted("a"))]).next;
    for shut in [open, half_open] {
        assert!(matches!(
            entry(&shut, at(0), at(11), Jitter::new(0.0)),
            Entry::Deferred(_)
        ));
    }
    assert_eq!(
        entry(&Breaker::default(), at(0), at(11), Jitter::new(0.0)),
        Entry::Free
    );
    assert!(matches!(
        entry(&ramp(10, 0), at(0), at(11), Jitter::new(0.0)),
        Entry::Gated(_)
    ));
}

/// Receives of an Update that waits for so long.
fn receives(days: i64, draw: f64) -> u32 {
    let (mut now, mut receives) = (at(0), 0);
    while now < at(days * 86_400) {
        receives += 1;
        now = now + deferral(at(0), at(0), now, Jitter::new(draw));
    }
    receives
}

#[test]
fn waits_grow_from_five_seconds_and_two_weeks_of_them_are_far_from_the_limit_of_receives() {
    let mut now = at(0);
    let mut waits = Vec::new();
    for waited in [0, 39, 80, 600, 4_799, 4_801, 86_399] {
        now = now.max(at(waited));
        let wait = deferral(at(0), at(0), now, Jitter::new(0.0));
        waits.push(wait.as_secs());
    }
    assert_eq!(waits, [5, 5, 10, 75, 599, 600, 600]);
    assert!((160..=185).contains(&receives(1, HALF)), "{}", receives(1, HALF));
    assert!(receives(1, 0.0) < 200, "{}", receives(1, 0.0));
    assert!(receives(14, 0.0) < 900, "{}", receives(14, 0.0));
}

/// A failure at a second, of whoever saw an answer at another one.
fn fails_after(failed_at: i64, answered_at: Option<i64>, update: u8) -> (i64, Event) {
    let mut failure = failed_try(Cause::BadGateway, update, update);
    (failure.sign.at, failure.answered_at) = (at(failed_at), answered_at.map(at));
    (failed_at, Event::Failed(failure))
}

#[test]
fn an_answer_that_only_its_worker_saw_takes_the_sign_before_it_back() {
    let check = |answered_at, opens| {
        let events = [fails_after(5, None, 1), fails_after(9, answered_at, 2)];
        let next = run(Breaker::default(), &events).next;
        assert_eq!(is_shut(&next), opens, "answered at {answered_at:?}");
    };
    check(None, true);
    check(Some(4), true);
    check(Some(5), true);
    check(Some(6), false);
    let events = [
        fails_after(5, None, 1),
        fails_after(9, Some(6), 2),
        fails_after(10, Some(6), 3),
    ];
    let next = run(Breaker::default(), &events).next;
    assert!(is_shut(&next), "the second failure is a sign of its own");
}

#[test]
fn in_a_ramp_and_an_hour_after_it_bad_gateways_shut_nothing_while_others_are_answered() {
    let closed = |proved_at: Option<i64>| Breaker::Closed {
        evidence: evidence(None),
        proved_at: proved_at.map(at),
    };
    let check = |breaker: &Breaker, answered_at, opens| {
        let events = [
            fails_after(100, Some(answered_at), 1),
            fails_after(101, Some(answered_at), 2),
        ];
        let next = run(breaker.clone(), &events).next;
        assert_eq!(is_shut(&next), opens, "{breaker:?}, answered at {answered_at}");
    };
    check(&ramp(10, 95), 92, false);
    check(&ramp(10, 95), 91, true);
    check(&closed(Some(0)), 92, false);
    check(&closed(Some(0)), 91, true);
    check(&closed(Some(101 - 3_599)), 92, false);
    check(&closed(Some(101 - 3_600)), 92, true);
    check(&closed(None), 99, true);
    for shuts in [ramp(10, 95), closed(Some(0))] {
        let mut refused = failed_try(Cause::Unreachable, 1, 1);
        refused.answered_at = Some(at(100));
        let next = run(shuts, &[(100, Event::Failed(refused))]).next;
        assert!(is_shut(&next), "nothing excuses a refused connection");
    }
}

#[test]
fn a_step_goes_on_while_others_are_answered_and_begins_again_when_none_is() {
    let step_at = |breaker: &Breaker| match breaker {
        Breaker::Ramp { step_at, .. } => *step_at,
        shut @ (Breaker::Closed { .. } | Breaker::Open { .. } | Breaker::HalfOpen { .. }) => {
            panic!("{shut:?}")
        }
    };
    let among_others = run(ramp(25, 0), &[(20, Event::Answered), fails_after(21, None, 1)]).next;
    assert_eq!(step_at(&among_others), at(0));
    let alone = run(ramp(25, 0), &[fails_after(21, None, 1)]).next;
    assert_eq!(step_at(&alone), at(21));
}

#[test]
fn an_answer_is_news_where_it_takes_a_sign_back_or_tells_a_ramp_of_others() {
    let suspicious = run(Breaker::default(), &[fails_after(5, None, 1)]).next;
    let told = run(ramp(10, 0), &[(20, Event::Answered)]).next;
    let open = run(Breaker::default(), &[(0, fails(Cause::Unreachable, 1, 1))]).next;
    assert!(!is_news(&Breaker::default(), at(6)));
    assert!(is_news(&suspicious, at(6)));
    assert!(is_news(&ramp(10, 0), at(20)));
    assert!(!is_news(&told, at(24)));
    assert!(is_news(&told, at(25)));
    assert!(!is_news(&open, at(6)));
}

#[test]
fn only_the_last_try_after_bad_gateways_asks_first() {
    let check = |attempt, code, asks| {
        assert_eq!(
            asks_first(attempt, 8, Cause::of_code(code)),
            asks,
            "try {attempt} after {code}"
        );
    };
    for code in ["backend_502", "backend_503", "backend_504"] {
        check(8, code, true);
        check(9, code, true);
        check(7, code, false);
    }
    for code in ["backend_unreachable", "backend_500", "backend_no_answer", ""] {
        check(8, code, false);
    }
    let once = asks_first(1, 1, Some(Cause::BadGateway));
    assert!(!once, "nothing was tried before");
}

#[test]
fn who_asks_and_finds_the_backend_away_shuts_the_door_and_nothing_else_of_it() {
    let away = Event::FoundAway {
        measured: Rate::of_busiest_minute(600),
    };
    for breaker in [Breaker::default(), ramp(25, 0)] {
        let decision = run(breaker, &[(40, away.clone())]);
        assert_eq!(
            decision.effect,
            Effect::None,
            "no try was made, so none is given back"
        );
        let expected = Breaker::Open {
            opened_at: at(40),
            rate: Rate::of_busiest_minute(600),
            probe_at: at(50),
        };
        assert_eq!(decision.next, expected);
        assert_eq!(run(expected.clone(), &[(45, away.clone())]).next, expected);
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    let cause = prop_oneof![Just(Cause::Unreachable), Just(Cause::BadGateway)];
    prop_oneof![
        Just(Event::Answered),
        (cause, 0_u8..3, 0_u8..3).prop_map(|(cause, update, chat)| fails(cause, update, chat)),
        (0_u8..2).prop_map(|who| wanted(&who.to_string())),
        (0_u8..2, prop_oneof![Just(200_u16), Just(503)])
            .prop_map(|(who, status)| probed(&who.to_string(), ProbeAnswer::Status(status))),
        any::<bool>().prop_map(|is_bound| Event::Looked { is_bound }),
        Just(Event::FoundAway {
            measured: Rate::of_busiest_minute(0)
        }),
    ]
}

proptest! {
    /// From shut to closed there is no way but a good probe and every step of the ramp up to the whole rate.
    #[test]
    fn whatever_happens_the_door_opens_only_by_a_probe_and_a_ramp(
        events in proptest::collection::vec((0_i64..40, any_event()), 1..200),
    ) {
        let (mut breaker, mut now) = (Breaker::default(), 0);
        for (step, event) in events {
            now += step;
            let next = decide(&breaker, &event, at(now), Jitter::new(HALF)).next;
            match (&breaker, &next) {
                (Breaker::Open { .. }, Breaker::Ramp { .. } | Breaker::Closed { .. })
                | (Breaker::HalfOpen { .. }, Breaker::Closed { .. }) => prop_assert!(false, "{event:?}"),
                (Breaker::HalfOpen { .. }, Breaker::Ramp { percent, .. }) => {
                    prop_assert_eq!(*percent, Percent::FIRST);
                    let is_good = matches!(&event, Event::Probed { answer, .. } if answer.is_up());
                    prop_assert!(is_good, "{:?}", event);
                }
                (Breaker::Ramp { percent, .. }, Breaker::Closed { .. }) => prop_assert!(*percent >= Percent::WHOLE),
                (Breaker::Ramp { percent: before, .. }, Breaker::Ramp { percent: after, .. }) => {
                    prop_assert!(after == before || *after == before.next());
                }
                _ => {}
            }
            breaker = next;
        }
    }

    /// One Update alone, however often it meets a bad gateway, shuts the door for nobody.
    #[test]
    fn one_update_alone_never_shuts_the_door_by_bad_gateways(count in 1_usize..50, answered in any::<bool>()) {
        let mut breaker = Breaker::default();
        for _ in 0..count {
            breaker = decide(&breaker, &fails(Cause::BadGateway, 1, 1), at(0), Jitter::new(HALF)).next;
            if answered {
                breaker = decide(&breaker, &Event::Answered, at(0), Jitter::new(HALF)).next;
            }
            prop_assert!(!is_shut(&breaker));
        }
    }

    /// Jitter only adds, and never more than a fifth.
    #[test]
    fn a_wait_is_never_shorter_than_its_backoff(waited in 0_i64..2_000_000, draw in 0.0..1.0_f64) {
        let bare = deferral(at(0), at(0), at(waited), Jitter::new(0.0));
        let wait = deferral(at(0), at(0), at(waited), Jitter::new(draw));
        prop_assert!(wait >= bare && wait <= bare.mul_f64(1.2));
        prop_assert!(bare >= FIRST_WAIT && bare <= LONGEST_WAIT_LATER);
    }
}
