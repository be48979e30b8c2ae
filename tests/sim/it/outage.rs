//! The promise about a backend that is away (P8), through the real processor: a day of it, its end, a small bot, and an
//! Update that fells its worker. Over fakes, on a clock that jumps to the next instant at which anything can happen.
//! How the breaker decides is tested with it; here is what that comes to for Updates.

mod flow;
mod lines;
mod ports;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use fastrand::Rng;
use penstock_domain::ledger::State;
use penstock_domain::time::Timestamp;

use flow::{Flow, INSTANCES, START};
use lines::MOST_IN_A_BATCH;
use ports::Seen;

const SEEDS: Range<u64> = 0..2;
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

fn at(secs: u64) -> Timestamp {
    START + Duration::from_secs(secs)
}

/// Tells a story for each seed, on a clock of its own.
fn for_each_seed(seeds: Range<u64>, story: impl AsyncFn(Rng)) {
    for seed in seeds {
        eprintln!("seed {seed}");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(story(Rng::with_seed(seed)));
    }
}

/// Everything was handed over once, each chat's in its order, and nothing is left anywhere or was given up.
fn all_are_done(flow: &Flow) {
    let mut chats: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (update, arrived) in flow.updates.iter().enumerate() {
        let row = flow.row(update).expect("it was claimed");
        assert_eq!(row.record.state, State::Done, "{update}: {:?}", row.record);
        chats.entry(arrived.chat).or_default().push(update);
    }
    let mut handed: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for answered in flow.answered() {
        let chat = flow.updates[answered.update].chat;
        handed.entry(chat).or_default().push(answered.update);
    }
    assert_eq!(handed, chats);
    assert_eq!(flow.given_up(), 0, "dead-letter queue");
}

/// Updates that wait: came, and not yet answered well.
fn backlog(flow: &Flow, answered: &[Seen], now: Timestamp) -> usize {
    let came = flow.updates.iter().filter(|update| update.at <= now);
    came.count() - answered.iter().filter(|answered| answered.at <= now).count()
}

/// When the backend goes away, after ten minutes as ever.
const GONE: u64 = 600;
/// When it is back: a hair before the first Update that waits for it is a day old.
const BACK: u64 = GONE + 86_400 - 60;
/// Updates a minute as ever.
const STEADY: usize = 120;

/// As ever for a quarter of an hour, then less: one in 20 s, for a day and half an hour more. Over 150 chats.
fn a_day_without_the_backend(mut rng: Rng) -> Flow {
    let mut flow = Flow::new(&mut rng);
    flow.is_away(at(GONE), at(BACK));
    let (mut now, dusk, end) = (START, at(900), at(BACK) + HOUR / 2);
    while now < end {
        let chat = rng.usize(0..150);
        flow.arrive(now, chat);
        let most = if now < dusk { 1_000 } else { 40_000 };
        now = now + Duration::from_millis(rng.u64(1..=most));
    }
    flow
}

#[test]
fn a_day_without_the_backend_costs_no_attempt_and_no_update() {
    for_each_seed(SEEDS, async |rng| {
        let mut flow = a_day_without_the_backend(rng);
        flow.run_until(at(GONE) + HOUR).await;
        let written = flow.writes();
        flow.run_until(at(BACK)).await;
        // Whether one waits is decided without a write to its record: how long they wait is free.
        assert_eq!(flow.writes(), written);
        // Only what was tried before the door was shut has one.
        let refused: Vec<_> = flow.failed().iter().map(|refused| refused.update).collect();
        assert!(!refused.is_empty() && refused.len() <= INSTANCES * MOST_IN_A_BATCH);
        let since = |update: &&usize| flow.updates[**update].at >= at(GONE);
        let waiting: Vec<_> = (0..flow.updates.len()).collect();
        for update in waiting.iter().filter(since) {
            let row = flow.row(*update);
            assert_eq!(row.is_some(), refused.contains(update), "{update}: {row:?}");
        }
        flow.run_to_the_end().await;
        all_are_done(&flow);
        for update in waiting {
            let record = flow.row(update).unwrap().record;
            // The try that found it away was given back; its fence shows it.
            let tries = 1 + u64::from(refused.contains(&update));
            assert_eq!((record.attempts, record.fence.0), (1, tries), "{update}");
        }
        assert_eq!(flow.failed().len(), refused.len(), "none is tried again");
        let most = flow.most_received();
        println!("received {most} times at the most");
        assert!(most < 300, "{most}");
    });
}

/// R093.
#[test]
fn after_a_day_the_backlog_falls_steadily_and_its_backend_gets_no_more_than_twice_its_rate() {
    for_each_seed(SEEDS, async |rng| {
        let mut flow = a_day_without_the_backend(rng);
        flow.run_to_the_end().await;
        let answered = flow.answered();
        let before = answered.iter().filter(|answered| answered.at < at(GONE)).count();
        let minutes = usize::try_from(GONE / 60).unwrap();
        assert!(before.abs_diff(STEADY * minutes) < STEADY, "as ever: {before}");
        let back = answered
            .iter()
            .find(|answered| answered.at >= at(BACK))
            .unwrap()
            .at;
        let first = flow.tried_in(back..back + MINUTE);
        println!(
            "back after {:?}, {first} in the first minute",
            back.since(at(BACK))
        );
        assert!(first * minutes <= 2 * before, "{first} in its first minute");
        let waiting: Vec<_> = (0..30)
            .map(|minute| backlog(&flow, &answered, back + MINUTE * minute))
            .collect();
        println!("backlog by the minute: {waiting:?}");
        let drained = waiting
            .iter()
            .position(|waiting| *waiting <= 5)
            .expect("it is drained");
        assert!(
            waiting[..=drained].windows(2).all(|pair| pair[1] < pair[0]),
            "{waiting:?}"
        );
        assert!(
            waiting[drained..].iter().all(|waiting| *waiting <= 5),
            "{waiting:?}"
        );
    });
}

/// When the small bot's backend is away, and when it is back.
const SMALL: Range<u64> = 8_000..20_000;

#[test]
fn a_bot_with_three_updates_an_hour_is_never_blocked_by_the_ramp() {
    for_each_seed(0..100, async |mut rng| {
        let mut flow = Flow::new(&mut rng);
        flow.is_away(at(SMALL.start), at(SMALL.end));
        let mut comes = rng.u64(0..1_200);
        for chat in 0..60 {
            flow.arrive(at(comes), chat);
            comes += rng.u64(900..1_500);
        }
        flow.run_to_the_end().await;
        all_are_done(&flow);
        for answered in flow.answered() {
            let came = flow.updates[answered.update].at;
            let waited = answered.at.since(came);
            // A probe of just before it came back is not made again within seconds.
            if !(at(SMALL.start)..at(SMALL.end) + MINUTE).contains(&came) {
                let receives = flow.receives(answered.update);
                assert_eq!((waited, receives), (Duration::ZERO, 1), "{}", answered.update);
            } else {
                let back = answered.at.since(at(SMALL.end));
                assert!(back < HOUR / 4, "{} is back {back:?} late", answered.update);
            }
        }
    });
}

/// One Update that a gateway answers for, after a minute, with another behind it in its chat; and others as often as
/// that, in as many chats, for long enough.
async fn a_poison_among(rng: &mut Rng, every: Duration, chats: usize) {
    let mut flow = Flow::new(rng);
    let (mut now, end) = (START, at(900));
    let poison_at = at(60);
    let mut poison = None;
    while now < end {
        if poison.is_none() && now >= poison_at {
            let first = flow.arrive(now, chats);
            flow.fells_its_worker(first);
            poison = Some((first, flow.arrive(now, chats)));
        }
        let chat = rng.usize(0..chats);
        flow.arrive(now, chat);
        now = now + every.mul_f64(0.5 + rng.f64());
    }
    flow.run_to_the_end().await;
    let (poison, behind) = poison.unwrap();
    let row = flow.row(poison).unwrap();
    assert_eq!((row.record.state, row.record.attempts), (State::Dead, 8));
    assert_eq!(flow.failed().len(), 8, "nothing else was felled");
    let died_at = flow.failed().last().unwrap().at;
    let answered = flow.answered();
    assert_eq!(answered.len() + 1, flow.updates.len());
    for answered in answered {
        let row = flow.row(answered.update).unwrap();
        assert_eq!((row.record.state, row.record.attempts), (State::Done, 1));
        let waited = answered.at.since(flow.updates[answered.update].at);
        if answered.update == behind {
            assert!(answered.at > died_at, "in order");
        } else {
            assert!(waited < Duration::from_secs(2), "{}: {waited:?}", answered.update);
        }
    }
    assert_eq!(flow.shut_for.len(), 0, "one Update shuts no door");
    assert_eq!(flow.given_up(), 0);
}

#[test]
fn an_update_that_always_fells_its_worker_dies_after_its_attempts_while_others_flow() {
    for_each_seed(0..20, async |mut rng| a_poison_among(&mut rng, MINUTE, 20).await);
    for_each_seed(0..1, async |mut rng| {
        a_poison_among(&mut rng, Duration::from_millis(20), 500).await;
    });
}
