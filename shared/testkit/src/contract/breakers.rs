//! Breakers of backends: one change at a time, one probe at a time, and a gate that none of them moves.

use std::time::Duration;

use futures::future::join_all;
use penstock_domain::breaker::{
    Breaker, Cause, Decision, Effect, Event, Evidence, FailedTry, Meter, PROBE_LEASE, Percent, Probe,
    ProbeAnswer, Rate, Sign, decide,
};
use penstock_domain::gcra::Gcra;
use penstock_domain::ids::{BotId, LedgerKey, MessageGroupId};
use penstock_domain::ledger::{LEASE_MARGIN, Owner};
use penstock_domain::retry::Jitter;
use penstock_domain::time::Timestamp;
use penstock_ports::{BreakerChange, Breakers as _, Changed, Debit, HELD_BACK_EVERY, StoredBreaker};

use super::{MILLISECOND, START, World};

const SECOND: Duration = Duration::from_secs(1);

async fn stored<W: World>(world: &W) -> StoredBreaker {
    let stored = world.ledger().breaker(world.bot()).await;
    stored.expect("breaker answers")
}

fn change_to(seen: &StoredBreaker, breaker: Breaker, writer: &str) -> BreakerChange {
    BreakerChange {
        seen: seen.version,
        writer: Owner(writer.to_owned()),
        breaker,
        meter: seen.meter.clone(),
    }
}

async fn change<W: World>(world: &W, change: &BreakerChange, now: Timestamp) -> Changed {
    let changed = world.ledger().change(world.bot(), change, now).await;
    changed.expect("change answers")
}

async fn reserve<W: World>(world: &W, gate: Gcra, now: Timestamp) -> Debit {
    let reserved = world.ledger().reserve(world.bot(), gate, 1, now).await;
    reserved.expect("reserve answers")
}

fn sign(update: i64) -> Sign {
    Sign {
        key: LedgerKey::from_stored(format!("7:{update}")),
        group: MessageGroupId(format!("7:c:{update}")),
        at: START,
    }
}

fn open() -> Breaker {
    Breaker::Open {
        opened_at: START,
        rate: Rate::from_stored(20),
        probe_at: START,
    }
}

fn decided(stored: &StoredBreaker, event: &Event, now: Timestamp) -> Decision {
    decide(&stored.breaker, event, now, Jitter::new(0.5))
}

fn wanted(owner: &str) -> Event {
    Event::ProbeWanted {
        owner: Owner(owner.to_owned()),
    }
}

fn owned(change: Changed) -> StoredBreaker {
    match change {
        Changed::Lost(stored) => *stored,
        Changed::Done => panic!("the change was made"),
    }
}

/// Closed, never changed, never busy.
pub async fn a_bot_without_a_breaker_has_a_closed_one<W: World>(world: &W) {
    assert_eq!(stored(world).await, StoredBreaker::default());
}

/// Whatever its state, and nothing is left of the one before.
pub async fn a_breaker_is_read_back_as_it_was_changed<W: World>(world: &W) {
    let rate = Rate::from_stored(20);
    let evidence = Evidence {
        sign: Some(sign(1)),
        answered_at: Some(START - SECOND),
    };
    let states = [
        Breaker::Closed {
            evidence: evidence.clone(),
            proved_at: Some(START),
        },
        open(),
        Breaker::HalfOpen {
            opened_at: START,
            rate,
            probe: Probe {
                owner: Owner("asker".to_owned()),
                lease_until: START + PROBE_LEASE,
            },
        },
        Breaker::Ramp {
            opened_at: START,
            rate,
            ramp_at: START + SECOND,
            percent: Percent::WHOLE,
            step_at: START + 2 * SECOND,
            evidence,
        },
        Breaker::default(),
    ];
    let mut meter = Meter::default();
    for (n, breaker) in (1..).zip(states) {
        meter.add(100, START + Duration::from_secs(1_800 * n));
        let seen = stored(world).await;
        let mut change_to = change_to(&seen, breaker.clone(), "writer");
        change_to.meter = meter.clone();
        assert_eq!(change(world, &change_to, START).await, Changed::Done);
        let expected = StoredBreaker {
            breaker,
            meter: meter.clone(),
            version: n,
            held_back_at: None,
        };
        assert_eq!(stored(world).await, expected);
    }
}

/// Who decided upon an older one is told what there is now.
pub async fn a_breaker_changes_only_under_the_version_that_was_seen<W: World>(world: &W) {
    let seen = stored(world).await;
    assert_eq!(
        change(world, &change_to(&seen, open(), "first"), START).await,
        Changed::Done
    );
    let late = change_to(&seen, Breaker::default(), "second");
    let found = owned(change(world, &late, START).await);
    assert_eq!((&found.breaker, found.version), (&open(), 1));
    assert_eq!(found, stored(world).await, "nothing was changed");
    let early = BreakerChange { seen: 7, ..late };
    assert_eq!(owned(change(world, &early, START).await), found);
}

/// A write that landed is repeated by who got no answer; what came after it stands.
pub async fn a_repeated_change_is_done<W: World>(world: &W) {
    let first = change_to(&stored(world).await, open(), "first");
    for _ in 0..2 {
        assert_eq!(change(world, &first, START).await, Changed::Done);
    }
    assert_eq!(stored(world).await.version, 1);
    let second = change_to(&stored(world).await, Breaker::default(), "second");
    assert_eq!(change(world, &second, START).await, Changed::Done);
    let found = owned(change(world, &first, START).await);
    assert_eq!((found.breaker, found.version), (Breaker::default(), 2));
}

/// Of two whose tries found the backend away at once, one shuts the door; the other finds it shut, and both are given
/// their try back.
pub async fn of_two_openers_one_opens_and_the_other_finds_it_open<W: World>(world: &W) {
    let seen = stored(world).await;
    let failed = |update| {
        Event::Failed(FailedTry {
            cause: Cause::Unreachable,
            sign: sign(update),
            measured: Rate::from_stored(1),
            answered_at: None,
        })
    };
    let refunded = Effect::Settle { is_refunded: true };
    let changes = [1, 2].map(|update| {
        let decision = decided(&seen, &failed(update), START);
        assert_eq!(decision.effect, refunded);
        change_to(&seen, decision.next, &update.to_string())
    });
    let answers = join_all(changes.iter().map(|one| change(world, one, START))).await;
    let lost: Vec<_> = answers.into_iter().filter(|one| *one != Changed::Done).collect();
    let [lost] = <[Changed; 1]>::try_from(lost).expect("one of two is lost");
    let again = decided(&owned(lost), &failed(3), START);
    assert_eq!(again.effect, refunded);
    assert_eq!(
        again.next,
        stored(world).await.breaker,
        "there is nothing to change"
    );
}

/// However many want to.
pub async fn of_many_probers_one_makes_the_probe<W: World>(world: &W) {
    let opened = change_to(&stored(world).await, open(), "opener");
    assert_eq!(change(world, &opened, START).await, Changed::Done);
    let seen = stored(world).await;
    let owners: Vec<_> = (0..5).map(|n| format!("asker {n}")).collect();
    let changes: Vec<_> = owners
        .iter()
        .map(|owner| {
            let decision = decided(&seen, &wanted(owner), START);
            assert_eq!(decision.effect, Effect::MakeProbe);
            change_to(&seen, decision.next, owner)
        })
        .collect();
    let answers = join_all(changes.iter().map(|one| change(world, one, START))).await;
    let winners: Vec<_> = owners
        .iter()
        .zip(&answers)
        .filter(|(_, answer)| **answer == Changed::Done)
        .collect();
    assert_eq!(winners.len(), 1, "{answers:?}");
    let after = stored(world).await;
    for owner in &owners {
        let decision = decided(&after, &wanted(owner), START);
        assert_eq!(decision.effect, Effect::None, "one is on its way");
    }
    match &after.breaker {
        Breaker::HalfOpen { probe, .. } => assert_eq!(&probe.owner.0, winners[0].0),
        other => panic!("{other:?}"),
    }
}

/// Whoever had it is dead; should its answer come all the same, it finds another's probe.
pub async fn a_probe_whose_lease_is_over_is_made_by_another<W: World>(world: &W) {
    let opened = change_to(&stored(world).await, open(), "opener");
    assert_eq!(change(world, &opened, START).await, Changed::Done);
    let seen = stored(world).await;
    let first = change_to(&seen, decided(&seen, &wanted("first"), START).next, "first");
    assert_eq!(change(world, &first, START).await, Changed::Done);
    let seen = stored(world).await;
    let over = START + PROBE_LEASE + LEASE_MARGIN + MILLISECOND;
    let early = decided(&seen, &wanted("second"), over - 2 * MILLISECOND);
    assert_eq!(early.effect, Effect::None);
    let second = decided(&seen, &wanted("second"), over);
    assert_eq!(second.effect, Effect::MakeProbe);
    let taken = change(world, &change_to(&seen, second.next.clone(), "second"), over).await;
    assert_eq!(taken, Changed::Done);
    let answer = Event::Probed {
        owner: Owner("first".to_owned()),
        answer: ProbeAnswer::Status(200),
    };
    let late = change_to(&seen, decided(&seen, &answer, over).next, "first again");
    let found = owned(change(world, &late, over).await);
    let judged = decided(&found, &answer, over);
    assert_eq!(judged.next, second.next, "its answer counts no more");
}

/// The ramp's gate, with one in a second and two at once.
fn gate() -> Gcra {
    Gcra {
        interval: SECOND,
        tolerance: SECOND,
    }
}

fn reserved(ahead: Duration) -> Debit {
    Debit::Reserved { ahead }
}

/// Nor does a change move the gate.
pub async fn a_place_at_the_gate_changes_no_version<W: World>(world: &W) {
    assert_eq!(reserve(world, gate(), START).await, reserved(Duration::ZERO));
    assert_eq!(stored(world).await, StoredBreaker::default());
    let opened = change_to(&stored(world).await, open(), "opener");
    assert_eq!(change(world, &opened, START).await, Changed::Done);
    assert_eq!(reserve(world, gate(), START).await, reserved(Duration::ZERO));
    assert_eq!(reserve(world, gate(), START).await, reserved(SECOND));
    let after = stored(world).await;
    assert_eq!((after.version, after.breaker), (1, open()));
}

/// Two at once, then one an interval, each waited for within the horizon; beyond it nothing is reserved.
pub async fn a_gate_lets_its_burst_through_and_then_one_an_interval<W: World>(world: &W) {
    let at = |millis| START + Duration::from_millis(millis);
    let full = |millis| Debit::Full {
        ahead: Duration::from_millis(millis),
    };
    assert_eq!(reserve(world, gate(), at(0)).await, reserved(Duration::ZERO));
    assert_eq!(reserve(world, gate(), at(300)).await, reserved(Duration::ZERO));
    assert_eq!(
        reserve(world, gate(), at(300)).await,
        reserved(Duration::from_millis(700)),
        "the place of the next second"
    );
    assert_eq!(reserve(world, gate(), at(300)).await, full(1_700));
    assert_eq!(
        reserve(world, gate(), at(300)).await,
        full(1_700),
        "nothing was taken"
    );
    assert_eq!(
        reserve(world, gate(), at(1_000)).await,
        reserved(SECOND),
        "exactly at the horizon"
    );
    assert_eq!(
        reserve(world, gate(), at(9_000)).await,
        reserved(Duration::ZERO),
        "it has run empty"
    );
}

/// None is lost, and none is let in twice.
pub async fn reservations_at_once_never_admit_more_than_the_gate<W: World>(world: &W) {
    let tenth = SECOND / 10;
    let gate = Gcra {
        interval: tenth,
        tolerance: tenth,
    };
    let answers = join_all((0..20).map(|_| reserve(world, gate, START))).await;
    let mut ahead: Vec<_> = answers
        .into_iter()
        .filter_map(|answer| match answer {
            Debit::Reserved { ahead } => Some(ahead),
            Debit::Full { .. } => None,
        })
        .collect();
    ahead.sort_unstable();
    let expected: Vec<_> = std::iter::once(0).chain(0..=10).map(|n| n * tenth).collect();
    assert_eq!(
        ahead, expected,
        "two at once and one each tenth of the second to come"
    );
}

/// Now and then, not each time; whoever closes the ramp reads it.
pub async fn that_somebody_was_held_back_is_noted<W: World>(world: &W) {
    let long = Gcra {
        interval: 60 * SECOND,
        tolerance: Duration::ZERO,
    };
    assert_eq!(reserve(world, long, START).await, reserved(Duration::ZERO));
    assert_eq!(stored(world).await.held_back_at, None);
    let again = START + HELD_BACK_EVERY;
    for (now, noted_at) in [
        (START, START),
        (again - MILLISECOND, START),
        (again, again),
        (again + MILLISECOND, again),
    ] {
        let full = matches!(reserve(world, long, now).await, Debit::Full { .. });
        assert!(full, "at {now}");
        assert_eq!(stored(world).await.held_back_at, Some(noted_at), "at {now}");
    }
    assert_eq!(stored(world).await.version, 0);
    let other = BotId(world.bot().0 + 1);
    let others = world.ledger().breaker(other).await.expect("breaker answers");
    assert_eq!(others, StoredBreaker::default());
}
