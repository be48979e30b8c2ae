//! The whole pipeline under a seeded schedule: the real handlers over fakes, in one thread, where every order of calls,
//! every fault, every crash and every step of a clock is one choice of the seed. A seed that breaks a promise gives the
//! same run every time: `SIMULATION_SEED=n cargo test --workspace --test simulation -- --nocapture` shows it.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

mod book;
mod bot;
mod hub;
mod outage;
mod people;
mod plan;
mod ports;
mod promises;
mod run;
mod watch;
mod workers;
mod world;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use run::Report;

/// Seeds of a usual run.
const SEEDS: u64 = 3_000;
/// Most lines of a trace that are shown.
const LINES_SHOWN: usize = 400;

/// A number from the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the simulation reads which seeds to run"
)]
fn asked(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number of seeds, or a seed"))
}

fn run_seed(seed: u64, is_traced: bool) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(run::run(seed, is_traced))
}

/// Runs seeds on every core; gives back what they reached, and the seeds that broke a promise.
fn run_seeds(seeds: Range<u64>) -> (BTreeSet<&'static str>, Vec<u64>) {
    let next = AtomicU64::new(seeds.start);
    let found = Mutex::new((BTreeSet::new(), Vec::new()));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let report = run_seed(seed, false);
                    let mut found = found.lock().unwrap();
                    found.0.extend(report.reached);
                    if !report.broken.is_empty() {
                        found.1.push(seed);
                    }
                }
            });
        }
    });
    let (reached, mut broken) = found.into_inner().unwrap();
    broken.sort_unstable();
    (reached, broken)
}

/// Shows how a seed goes.
fn show(seed: u64) -> Report {
    let report = run_seed(seed, true);
    let hidden = report.trace.len().saturating_sub(LINES_SHOWN);
    eprintln!(
        "seed {seed}, the last {} of {} lines:",
        report.trace.len() - hidden,
        report.trace.len()
    );
    for line in &report.trace[hidden..] {
        eprintln!("{line}");
    }
    report
}

#[test]
fn every_promise_holds_under_every_schedule() {
    if let Some(seed) = asked("SIMULATION_SEED") {
        let report = show(seed);
        assert!(report.broken.is_empty(), "seed {seed}: {:#?}", report.broken);
        return;
    }
    let seeds = asked("SIMULATION_SEEDS").unwrap_or(SEEDS);
    let (_, broken) = run_seeds(0..seeds);
    let Some(first) = broken.first() else { return };
    let report = show(*first);
    for seed in &broken {
        println!("seed {seed}: {:?}", run_seed(*seed, false).broken);
    }
    panic!(
        "{} of {seeds} seeds broke a promise; replay with SIMULATION_SEED={first}\n{:#?}",
        broken.len(),
        report.broken
    );
}

/// A schedule that meets nothing would break nothing.
#[test]
fn the_schedules_meet_every_kind_of_trouble() {
    let (reached, _) = run_seeds(0..300);
    for what in [
        "a chat is held",
        "a delivery was handed out twice",
        "a group was deleted early",
        "a late answer settled what was unknown",
        "a person had a send repeated",
        "a person sent an update again",
        "a process died",
        "a queue gave up",
        "a send is unknown",
        "a try was given back",
        "a worker went on after its time",
        "a write that was taken for lost arrived",
        "an update was taken over",
        "ids were drawn anew",
    ] {
        assert!(reached.contains(what), "no seed met: {what}");
    }
}

#[test]
fn a_seed_gives_the_same_run_every_time() {
    for seed in 0..20 {
        let (first, second) = (run_seed(seed, true).trace, run_seed(seed, true).trace);
        assert!(!first.is_empty());
        assert_eq!(first, second, "seed {seed}");
    }
}
