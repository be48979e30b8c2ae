//! What the driver itself adds to the domain's breaker: its cache, its counts, and a store that is away.

use std::time::Duration;

use futures::future::join_all;
use penstock_domain::breaker::{Breaker, Cause, FIRST_WAIT, PROBE_EVERY, ProbeAnswer, Rate, STEP};
use penstock_domain::gcra::Gcra;
use penstock_domain::ids::BotId;
use penstock_domain::ledger::Owner;
use penstock_domain::retry::Jitter;
use penstock_domain::time::Timestamp;
use penstock_outage::{FLUSH_EVERY, FRESH, Outage, Turn, USUAL};
use penstock_ports::{BreakerChange, Breakers, Changed, Debit, PortError, StoredBreaker};
use penstock_testkit::contract::RETENTION;
use penstock_testkit::{FakeLedger, Fault};

use crate::world::{BOT, millis, secs, sign};

fn owner() -> Owner {
    Owner("asker".to_owned())
}

async fn enter<B: Breakers>(outage: &Outage<B>, now: Timestamp) -> Turn {
    outage.entry(BOT, secs(0), now, Jitter::LEAST).await
}

async fn fails<B: Breakers>(outage: &Outage<B>, cause: Cause, update: usize, now: Timestamp) -> bool {
    outage.failed(BOT, cause, &sign(update, now), now).await
}

/// Shuts the door at `now` and opens it again by a good probe.
async fn ramped<B: Breakers>(outage: &Outage<B>, now: Timestamp) -> Timestamp {
    assert!(fails(outage, Cause::Unreachable, 1, now).await);
    let now = now + PROBE_EVERY;
    assert!(outage.probe_due(BOT, now, &owner()).await.is_some());
    let good = ProbeAnswer::Status(200);
    outage.probed(BOT, &owner(), good, now, Jitter::LEAST).await;
    now
}

fn is_shut(ledger: &FakeLedger) -> bool {
    let (breaker, _) = ledger.breaker_of(BOT);
    matches!(breaker, Breaker::Open { .. } | Breaker::HalfOpen { .. })
}

#[tokio::test]
async fn a_breaker_is_read_once_in_five_seconds_and_not_at_all_while_nothing_comes() {
    let ledger = FakeLedger::new(RETENTION);
    let outage = Outage::new(&ledger, "process");
    for now in (0..=4_900).step_by(100) {
        assert_eq!(enter(&outage, millis(now)).await, Turn::Free);
    }
    assert_eq!(ledger.calls(), 1);
    assert_eq!(enter(&outage, secs(0) + FRESH).await, Turn::Free);
    assert_eq!(enter(&outage, secs(900)).await, Turn::Free);
    assert_eq!(ledger.calls(), 3);
}

/// Lets others run before each call.
struct Slow<'a>(&'a FakeLedger);

impl Breakers for Slow<'_> {
    async fn breaker(&self, bot: BotId) -> Result<StoredBreaker, PortError> {
        tokio::task::yield_now().await;
        self.0.breaker(bot).await
    }

    async fn change(&self, bot: BotId, change: &BreakerChange, now: Timestamp) -> Result<Changed, PortError> {
        tokio::task::yield_now().await;
        self.0.change(bot, change, now).await
    }

    async fn reserve(&self, bot: BotId, gate: Gcra, cells: u32, now: Timestamp) -> Result<Debit, PortError> {
        tokio::task::yield_now().await;
        self.0.reserve(bot, gate, cells, now).await
    }
}

#[tokio::test]
async fn a_batch_reads_once_and_its_failures_change_the_breaker_one_after_the_other() {
    let ledger = FakeLedger::new(RETENTION);
    let outage = Outage::new(Slow(&ledger), "process");
    let turns = join_all((0..10).map(|_| enter(&outage, secs(0)))).await;
    assert_eq!(turns, [Turn::Free; 10]);
    assert_eq!(ledger.calls(), 1);
    let refunds = join_all((0..10).map(|n| fails(&outage, Cause::BadGateway, n, secs(1)))).await;
    let refunded = refunds.iter().filter(|is_refunded| **is_refunded).count();
    assert_eq!(refunded, 9, "all but the first sign");
    let (reads, changes) = (10, 2);
    assert_eq!(ledger.calls(), 1 + reads + changes);
}

#[tokio::test]
async fn another_process_that_shut_the_door_is_noticed_within_five_seconds() {
    let ledger = FakeLedger::new(RETENTION);
    let (one, other) = (Outage::new(&ledger, "one"), Outage::new(&ledger, "other"));
    assert_eq!(enter(&other, secs(0)).await, Turn::Free);
    assert!(fails(&one, Cause::Unreachable, 1, secs(1)).await);
    assert_eq!(enter(&other, secs(4)).await, Turn::Free);
    assert!(
        fails(&other, Cause::BadGateway, 2, secs(4)).await,
        "a failure reads anew"
    );
    assert!(matches!(enter(&other, secs(5)).await, Turn::Deferred(_)));
}

#[tokio::test]
async fn a_success_of_this_process_after_the_sign_takes_it_back() {
    let ledger = FakeLedger::new(RETENTION);
    let (one, other) = (Outage::new(&ledger, "one"), Outage::new(&ledger, "other"));
    // Read before there was a sign: its answers are no news to it.
    assert_eq!(enter(&other, secs(0)).await, Turn::Free);
    assert!(!fails(&one, Cause::BadGateway, 1, secs(1)).await);
    other.answered(BOT, secs(2), secs(2)).await;
    assert!(!fails(&other, Cause::BadGateway, 2, secs(3)).await);
    assert!(!is_shut(&ledger));
    assert!(
        fails(&one, Cause::BadGateway, 3, secs(4)).await,
        "two since the answer"
    );
    assert!(is_shut(&ledger));
}

#[tokio::test]
async fn an_answer_clears_the_sign_that_is_known() {
    let ledger = FakeLedger::new(RETENTION);
    let outage = Outage::new(&ledger, "process");
    assert!(!fails(&outage, Cause::BadGateway, 1, secs(1)).await);
    outage.answered(BOT, secs(2), secs(2)).await;
    let another = Outage::new(&ledger, "another");
    assert!(!fails(&another, Cause::BadGateway, 2, secs(3)).await);
    assert!(!is_shut(&ledger));
}

#[tokio::test]
async fn counts_are_stored_every_ten_seconds_and_a_lost_race_keeps_them() {
    let ledger = FakeLedger::new(RETENTION);
    let (one, other) = (Outage::new(&ledger, "one"), Outage::new(&ledger, "other"));
    for outage in [&one, &other] {
        assert_eq!(enter(outage, secs(0)).await, Turn::Free);
        for n in 0..30 {
            outage.answered(BOT, secs(n), secs(n)).await;
        }
    }
    let (_, meter) = ledger.breaker_of(BOT);
    // Flushed at 10 and 20 s with 11 and 10 answers.
    assert_eq!(meter.count, 2 * 21);
    let calls = ledger.calls();
    one.answered(BOT, secs(20) + FLUSH_EVERY, secs(20) + FLUSH_EVERY)
        .await;
    assert_eq!(ledger.breaker_of(BOT).1.count, 2 * 21 + 10);
    let lost_and_made_again = 2;
    assert_eq!(ledger.calls(), calls + lost_and_made_again);
}

#[tokio::test]
async fn counts_of_a_flush_that_failed_are_stored_by_the_next() {
    let ledger = FakeLedger::new(RETENTION);
    let outage = Outage::new(&ledger, "process");
    assert_eq!(enter(&outage, secs(0)).await, Turn::Free);
    outage.answered(BOT, secs(0), secs(0)).await;
    ledger.fail_next(1, Fault::NeverArrived);
    outage.answered(BOT, secs(10), secs(10)).await;
    assert_eq!(ledger.breaker_of(BOT).1.count, 0);
    outage.answered(BOT, secs(20), secs(20)).await;
    assert_eq!(ledger.breaker_of(BOT).1.count, 3);
}

#[tokio::test]
async fn what_a_ramp_lets_through_is_not_counted() {
    let ledger = FakeLedger::new(RETENTION);
    let outage = Outage::new(&ledger, "process");
    let now = ramped(&outage, secs(0)).await;
    for n in 0..40 {
        outage
            .answered(BOT, now + Duration::from_secs(n), now + Duration::from_secs(n))
            .await;
    }
    assert_eq!(ledger.breaker_of(BOT).1.count, 0);
}

#[tokio::test]
async fn a_store_that_is_away_opens_nothing_refunds_nothing_and_errs_to_nobody() {
    let ledger = FakeLedger::new(RETENTION);
    let outage = Outage::new(&ledger, "process");
    for fault in [Fault::Unavailable, Fault::NeverArrived, Fault::Rejected] {
        ledger.fail_next(9, fault);
        assert_eq!(enter(&outage, secs(0)).await, Turn::Free);
        assert!(!fails(&outage, Cause::Unreachable, 1, secs(1)).await);
        outage.answered(BOT, secs(2), secs(2)).await;
        assert!(outage.probe_due(BOT, secs(3), &owner()).await.is_none());
        let away = ProbeAnswer::Nothing;
        let asked = outage
            .asked_first(BOT, away, secs(0), secs(4), Jitter::LEAST)
            .await;
        assert!(
            matches!(asked, Turn::Deferred(_)),
            "the last try is kept all the same"
        );
        assert!(!is_shut(&ledger));
    }
}

#[tokio::test]
async fn a_door_that_was_shut_stays_shut_while_the_store_is_away() {
    let ledger = FakeLedger::new(RETENTION);
    let outage = Outage::new(&ledger, "process");
    assert!(fails(&outage, Cause::Unreachable, 1, secs(0)).await);
    ledger.fail_next(9, Fault::Unavailable);
    assert!(matches!(enter(&outage, secs(60)).await, Turn::Deferred(_)));
}

#[tokio::test]
async fn what_is_answered_late_is_no_measure_of_how_busy_the_backend_is() {
    let ledger = FakeLedger::new(RETENTION);
    let outage = Outage::new(&ledger, "process");
    for n in 0..600_u64 {
        let now = secs(100) + Duration::from_millis(n * 100);
        let received_at = if n % 2 == 0 { now - USUAL } else { now };
        outage.answered(BOT, received_at, now).await;
    }
    let now = secs(160) + FLUSH_EVERY;
    outage.answered(BOT, now, now).await;
    let rate = ledger.breaker_of(BOT).1.rate(secs(240));
    assert!(rate <= Rate::from_stored(5), "{rate:?}");
    assert!(rate >= Rate::from_stored(3), "{rate:?}");
}

#[tokio::test]
async fn nobody_passes_a_ramp_whose_gate_cannot_be_reached() {
    let ledger = FakeLedger::new(RETENTION);
    let outage = Outage::new(&ledger, "process");
    let now = ramped(&outage, secs(0)).await;
    ledger.fail_next(1, Fault::Unavailable);
    assert!(matches!(enter(&outage, now).await, Turn::Deferred(_)));
    assert_eq!(enter(&outage, now).await, Turn::In(Duration::ZERO));
}

#[tokio::test]
async fn a_gate_that_was_found_full_is_not_asked_again_before_it_can_have_a_place() {
    let ledger = FakeLedger::new(RETENTION);
    let outage = Outage::new(&ledger, "process");
    let now = ramped(&outage, secs(0)).await;
    for _ in 0..2 {
        assert_eq!(enter(&outage, now).await, Turn::In(Duration::ZERO));
    }
    let one = Duration::from_secs(1);
    assert_eq!(
        enter(&outage, now).await,
        Turn::In(one),
        "one a second, within the horizon"
    );
    assert_eq!(enter(&outage, now).await, Turn::Deferred(FIRST_WAIT));
    let calls = ledger.calls();
    for _ in 0..5 {
        assert!(matches!(
            enter(&outage, now + Duration::from_millis(900)).await,
            Turn::Deferred(_)
        ));
    }
    assert_eq!(ledger.calls(), calls);
    assert!(matches!(enter(&outage, now + one).await, Turn::In(_)));
}

#[tokio::test]
async fn a_ramp_is_not_closed_by_a_process_that_was_let_through_while_another_was_held_back() {
    let ledger = FakeLedger::new(RETENTION);
    let (held, passing) = (Outage::new(&ledger, "held"), Outage::new(&ledger, "passing"));
    let began_at = ramped(&held, secs(0)).await;
    // Steps of 25, 50 and 100 %.
    let mut now = began_at;
    for _ in 0..3 {
        now = now + STEP;
        enter(&passing, now).await;
    }
    for _ in 0..4 {
        enter(&held, now + Duration::from_millis(1)).await;
    }
    enter(&passing, now + STEP).await;
    let (breaker, _) = ledger.breaker_of(BOT);
    assert!(
        matches!(breaker, Breaker::Ramp { percent, .. } if percent.get() == 200),
        "{breaker:?}"
    );
    enter(&passing, now + 2 * STEP).await;
    let (breaker, _) = ledger.breaker_of(BOT);
    assert!(
        matches!(breaker, Breaker::Closed { .. }),
        "nobody was held back in this one: {breaker:?}"
    );
}

#[tokio::test]
async fn of_many_processes_one_makes_the_probe_and_the_others_wait() {
    let ledger = FakeLedger::new(RETENTION);
    let processes: Vec<_> = (0..5)
        .map(|n| Outage::new(Slow(&ledger), format!("process {n}")))
        .collect();
    assert!(fails(&processes[0], Cause::Unreachable, 1, secs(0)).await);
    let now = secs(0) + PROBE_EVERY;
    let owners: Vec<_> = (0..5).map(|n| Owner(format!("asker {n}"))).collect();
    let asked = processes.iter().zip(&owners);
    let probes = join_all(asked.map(|(process, owner)| process.probe_due(BOT, now, owner))).await;
    let made: Vec<_> = probes.into_iter().flatten().collect();
    assert_eq!(made.len(), 1, "{made:?}");
    for process in &processes {
        assert!(matches!(enter(process, now).await, Turn::Deferred(_)));
    }
}
