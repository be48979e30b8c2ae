//! Whole outages: what they cost, how they end, and what one bad Update can do to the others.

use std::time::Duration;

use penstock_domain::breaker::{Breaker, Cause, Rate};
use penstock_domain::ids::BotId;
use penstock_domain::retry::Jitter;
use penstock_outage::{Outage, Turn};
use penstock_testkit::FakeLedger;
use penstock_testkit::contract::RETENTION;

use crate::world::{Away, BOT, World, millis, secs, sign};

const DAY: u64 = 86_400;
const SECOND: Duration = Duration::from_secs(1);

fn away(from: u64, until: u64, cause: Cause) -> Option<Away> {
    Some(Away {
        from: secs(from),
        until: secs(until),
        cause,
    })
}

#[tokio::test]
async fn a_day_without_the_backend_burns_nothing_after_the_door_is_shut_and_no_message_is_received_too_often()
{
    for (cause, most_burned) in [(Cause::Unreachable, 0), (Cause::BadGateway, 1)] {
        let ledger = FakeLedger::new(RETENTION);
        let mut world = World::new(&ledger, 3, away(600, 600 + DAY, cause));
        // One a second until it goes, then two a second for a while, and now and then one through the day.
        world.arrive(secs(0), SECOND, 600, false);
        world.arrive(secs(601), SECOND / 2, 100, false);
        world.arrive(secs(1_000), Duration::from_secs(300), 280, false);
        world.run().await;
        let burned: u32 = world.updates.iter().map(|update| update.attempts).sum();
        let most_received = world.updates.iter().map(|update| update.receives).max();
        assert!(burned <= most_burned, "{cause:?}: {burned} attempts");
        assert!(world.updates.iter().all(|update| update.done_at.is_some()));
        assert!(most_received < Some(300), "{cause:?}: {most_received:?}");
        assert!(world.heads <= 8_700, "{cause:?}: {} HEADs", world.heads);
        assert_eq!(world.shuts, 1, "{cause:?}");
    }
}

#[tokio::test]
async fn ten_thousand_that_waited_come_back_as_a_ramp() {
    let ledger = FakeLedger::new(RETENTION);
    let mut world = World::new(&ledger, 10, away(120, 720, Cause::Unreachable));
    // 20 a second, as ever; 10,000 of them while it is away, and on for half an hour.
    world.arrive(secs(0), SECOND / 20, 50_400, false);
    world.run().await;
    let (breaker, meter) = ledger.breaker_of(BOT);
    assert!(matches!(breaker, Breaker::Closed { .. }), "{breaker:?}");
    assert!(world.updates.iter().all(|update| update.done_at.is_some()));
    assert_eq!(world.updates.iter().map(|update| update.attempts).sum::<u32>(), 0);
    let back_at = *world.tries.iter().find(|at| **at >= secs(720)).unwrap();
    let minutes = world.minutes(back_at, 16);
    assert!(minutes[0] <= 2 * 20 * 60, "R093: {minutes:?}");
    // 10 and 25 %, 50 and 100 %, 200 and 400 % of 20 a second, two at once besides; a step is late by a cache's life.
    for (minute, most) in minutes.iter().zip([210, 900, 3_600]) {
        assert!(*minute <= most + 2, "{minutes:?}");
    }
    // What waited its ten minutes and more comes back until the last of them.
    assert!(minutes[15] <= 20 * 60 * 11 / 10, "it is over: {minutes:?}");
    let rate = meter.rate(secs(2_520));
    assert!(
        rate >= Rate::from_stored(18) && rate <= Rate::from_stored(40),
        "the ramp's own traffic is no measure: {rate:?}"
    );
}

#[tokio::test]
async fn a_poison_a_minute_never_holds_the_door() {
    for outage in [None, away(60, 90, Cause::Unreachable)] {
        let ledger = FakeLedger::new(RETENTION);
        let mut world = World::new(&ledger, 2, outage);
        world.arrive(secs(0), SECOND / 5, 5 * 1_800, false);
        world.arrive(secs(300), Duration::from_secs(60), 20, true);
        world.run().await;
        assert!(world.healthy().all(|update| update.done_at.is_some()));
        assert!(world.healthy().all(|update| update.attempts == 0));
        let poison = world.updates.iter().filter(|update| update.is_poison);
        assert!(
            poison
                .clone()
                .all(|update| update.is_dead && update.attempts == 8)
        );
        let outages = usize::from(outage.is_some());
        assert!(world.shuts <= outages + 1, "{} times", world.shuts);
        let shut_for = world.shut_for.as_secs();
        assert!(shut_for <= 60, "{shut_for} s of half an hour");
    }
}

#[tokio::test]
async fn fifty_poisons_a_second_shut_the_door_once_and_do_not_hold_it() {
    let ledger = FakeLedger::new(RETENTION);
    let mut world = World::new(&ledger, 4, None);
    world.arrive(secs(0), SECOND / 20, 20 * 900, false);
    world.arrive(secs(120), SECOND / 50, 50 * 120, true);
    world.run().await;
    assert!(world.healthy().all(|update| update.done_at.is_some()));
    assert!(world.healthy().all(|update| update.attempts == 0));
    let poison = world.updates.iter().filter(|update| update.is_poison);
    assert!(poison.clone().all(|update| update.is_dead));
    assert!(world.shuts <= 3, "{} times", world.shuts);
    let shut_for = world.shut_for.as_secs();
    assert!(shut_for <= 60, "{shut_for} s of a quarter of an hour");
    let (breaker, _) = ledger.breaker_of(BOT);
    assert!(matches!(breaker, Breaker::Closed { .. }), "{breaker:?}");
}

#[tokio::test]
async fn a_lone_chat_loses_no_update_to_a_gateway_that_answers_for_its_backend() {
    let ledger = FakeLedger::new(RETENTION);
    let mut world = World::new(&ledger, 1, away(0, 7_200, Cause::BadGateway));
    world.arrive(secs(0), SECOND, 1, false);
    world.run().await;
    let update = &world.updates[0];
    assert!(update.done_at.is_some() && !update.is_dead, "{update:?}");
    assert_eq!(update.attempts, 7, "the last one was kept for the end");
    assert_eq!(world.shuts, 1);
}

#[tokio::test]
async fn a_poison_that_is_alone_dies_by_its_last_try_and_shuts_nothing() {
    let ledger = FakeLedger::new(RETENTION);
    let mut world = World::new(&ledger, 1, None);
    world.arrive(secs(0), SECOND, 1, true);
    world.run().await;
    assert!(world.updates[0].is_dead);
    assert_eq!((world.updates[0].attempts, world.shuts, world.heads), (8, 0, 1));
}

#[tokio::test]
async fn a_small_bot_is_never_held_back_by_its_ramp() {
    let ledger = FakeLedger::new(RETENTION);
    let mut world = World::new(&ledger, 1, away(3_000, 6_000, Cause::Unreachable));
    world.arrive(secs(0), Duration::from_secs(1_200), 6, false);
    world.run().await;
    let (breaker, _) = ledger.breaker_of(BOT);
    assert!(
        matches!(breaker, Breaker::Ramp { .. }),
        "it is so seldom asked: {breaker:?}"
    );
    let outage = Outage::new(&ledger, "another");
    for second in [7_300, 8_500, 9_700, 10_900, 12_100] {
        // Two in the same second, each time.
        for now in [millis(second * 1_000), millis(second * 1_000 + 200)] {
            let turn = outage.entry(BOT, now, now, Jitter::LEAST).await;
            assert!(
                matches!(turn, Turn::Free | Turn::In(Duration::ZERO)),
                "{turn:?} at {now}"
            );
            outage.answered(BOT, now, now).await;
        }
    }
    let (breaker, _) = ledger.breaker_of(BOT);
    assert!(matches!(breaker, Breaker::Closed { .. }), "{breaker:?}");
}

#[tokio::test]
async fn an_outage_of_one_bots_backend_is_none_of_anothers() {
    let ledger = FakeLedger::new(RETENTION);
    let outage = Outage::new(&ledger, "process");
    let now = secs(0);
    assert!(outage.failed(BOT, Cause::Unreachable, &sign(1, now), now).await);
    assert!(matches!(
        outage.entry(BOT, now, now, Jitter::LEAST).await,
        Turn::Deferred(_)
    ));
    assert_eq!(outage.entry(BotId(8), now, now, Jitter::LEAST).await, Turn::Free);
}
