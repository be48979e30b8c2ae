//! Calls per second against a small and a large backlog: `cargo run --release --example bench [-- --full]`.
//! One caller, one transaction per call, bodies of 200 bytes, ten messages per group.
#![expect(clippy::print_stdout, reason = "the figures are this program's output")]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use fifo_queue::{Engine, Options, ReceiveRequest, SendEntry, SystemClock};

/// Backlogs to measure against.
const BACKLOGS: [usize; 2] = [1_000, 1_000_000];
/// Calls per measurement: fewer than the smaller backlog, so that it stays one.
const CALLS: usize = 500;
/// Repetitions, the middle one of which is shown; the backlog is the same before each.
const ROUNDS: usize = 11;
/// As large as a short JSON envelope.
const BODY: usize = 200;
const QUEUE: &str = "bench.fifo";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn entry(number: usize, groups: usize) -> SendEntry {
    SendEntry::fifo(
        format!("bot:{}", number % groups),
        format!("update:{number}"),
        "x".repeat(BODY),
    )
}

/// Calls per second and the slowest of 99 in 100, in microseconds.
fn measure(mut call: impl FnMut(usize) -> Outcome<()>) -> Outcome<(f64, u128)> {
    let mut took = Vec::with_capacity(CALLS);
    let started = Instant::now();
    for number in 0..CALLS {
        let call_started = Instant::now();
        call(number)?;
        took.push(call_started.elapsed().as_micros());
    }
    let rate = CALLS as f64 / started.elapsed().as_secs_f64();
    took.sort_unstable();
    Ok((rate, took[CALLS * 99 / 100]))
}

/// The middle one of the rounds, by rate.
fn median(round: impl FnMut(usize) -> Outcome<(f64, u128)>) -> Outcome<String> {
    let mut rounds = (0..ROUNDS).map(round).collect::<Outcome<Vec<_>>>()?;
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (rate, slowest) = rounds[ROUNDS / 2];
    Ok(format!("{rate:>9.0}/s (99 %: {slowest} us)"))
}

fn against(backlog: usize, options: Options) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let engine = Engine::open(
        Some(&folder.path().join("queue.db")),
        options,
        Arc::new(SystemClock),
    )?;
    let attributes = [
        ("FifoQueue", "true"),
        ("DeduplicationScope", "messageGroup"),
        ("FifoThroughputLimit", "perMessageGroupId"),
    ];
    let attributes = attributes
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    engine.create_queue(QUEUE, &attributes, &Default::default())?;
    let groups = backlog / 10;

    let started = Instant::now();
    for first in (0..backlog).step_by(10) {
        let entries: Vec<_> = (first..first + 10).map(|number| entry(number, groups)).collect();
        engine.send_batch(QUEUE, &entries)?;
    }
    let filled = backlog as f64 / started.elapsed().as_secs_f64();
    println!("backlog {backlog} in {groups} groups");
    println!("  fill, ten per call      {filled:>9.0} messages/s");

    let one = ReceiveRequest {
        max_messages: 1,
        ..Default::default()
    };
    let ten = ReceiveRequest {
        max_messages: 10,
        ..Default::default()
    };
    let receive_and_delete = || -> Outcome<()> {
        for message in engine.try_receive(QUEUE, &one)? {
            engine.delete(QUEUE, &message.receipt_handle)?;
        }
        Ok(())
    };
    let receive_and_delete_ten = || -> Outcome<usize> {
        let messages = engine.try_receive(QUEUE, &ten)?;
        let handles: Vec<&str> = messages
            .iter()
            .map(|message| message.receipt_handle.as_str())
            .collect();
        if !handles.is_empty() {
            engine.delete_batch(QUEUE, &handles)?;
        }
        Ok(handles.len())
    };
    // Each round sends as many messages as it takes out again.
    let mut next = backlog;
    let mut send = |_| -> Outcome<()> {
        engine.send(QUEUE, &entry(next, groups))?;
        next += 1;
        Ok(())
    };
    let sends = median(|_| {
        let figures = measure(&mut send)?;
        for _ in 0..CALLS / 10 {
            receive_and_delete_ten()?;
        }
        Ok(figures)
    })?;
    println!("  send                    {sends}");
    let pairs = median(|_| {
        let figures = measure(|_| receive_and_delete())?;
        (0..CALLS).try_for_each(&mut send)?;
        Ok(figures)
    })?;
    println!("  receive + delete        {pairs}");
    let empty = ReceiveRequest {
        max_messages: 1,
        visibility_s: Some(0),
        ..Default::default()
    };
    let looks = median(|_| measure(|_| Ok(engine.try_receive(QUEUE, &empty).map(|_| ())?)))?;
    println!("  receive                 {looks}");
    let stats = median(|_| measure(|_| Ok(engine.queues().map(|_| ())?)))?;
    println!("  counts and oldest age   {stats}");
    Ok(())
}

fn main() -> Outcome<()> {
    let options = Options {
        synchronous_full: std::env::args().any(|argument| argument == "--full"),
    };
    println!(
        "synchronous = {}",
        if options.synchronous_full {
            "FULL"
        } else {
            "NORMAL"
        }
    );
    BACKLOGS
        .into_iter()
        .try_for_each(|backlog| against(backlog, options))
}
