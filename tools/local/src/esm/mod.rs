//! Event source mappings: what stands between a queue and a function on Lambda.
//!
//! As many pollers as `MaximumConcurrency`, each receiving a batch, invoking, and deleting what the
//! answer says. Never looks into a message, and never changes the visibility of one.

mod answer;
mod event;
mod poller;
mod settle;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::watch;
use tokio::task::JoinSet;

pub use answer::{Verdict, read_answer};

use crate::clock::StackClock;
use crate::lambda::LambdaHost;
use crate::logs::Logs;
use crate::template::QueueSource;

/// Pollers of a mapping without `ScalingConfig`.
const DEFAULT_POLLERS: u16 = 5;

/// What a mapping needs.
#[derive(Debug, Clone)]
pub struct MappingOptions {
    /// Client of the queue's service.
    pub client: aws_sdk_sqs::Client,
    /// URL of the queue.
    pub queue_url: String,
    /// The mapping as the template has it.
    pub source: QueueSource,
    /// Function it feeds.
    pub function: String,
    /// Region in the events.
    pub region: String,
    /// The host of the function.
    pub host: LambdaHost,
    /// The stack's clock.
    pub clock: StackClock,
    /// Where troubles are told.
    pub logs: Logs,
}

/// Figures of one mapping since it started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MappingStats {
    /// Name of the queue.
    pub queue: String,
    /// Function it feeds.
    pub function: String,
    /// Whether it polls.
    pub enabled: bool,
    /// Pollers that are asking the queue for messages now.
    pub receiving: usize,
    /// Batches in the function now.
    pub in_function: usize,
    /// Most batches that were in the function at the same time.
    pub peak_in_function: usize,
    /// Batches given to the function.
    pub batches: u64,
    /// Messages in them.
    pub messages: u64,
    /// Messages deleted.
    pub deleted: u64,
    /// Messages left in the queue: failed, rejected or not deletable.
    pub left: u64,
    /// Batches of which nothing was deleted.
    pub failed_batches: u64,
}

/// A running mapping.
#[derive(Debug)]
pub struct Mapping {
    shared: Arc<Shared>,
    mode: watch::Sender<Mode>,
    pollers: tokio::sync::Mutex<JoinSet<()>>,
}

/// What the pollers are to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Poll,
    Pause,
    Stop,
}

#[derive(Debug)]
struct Shared {
    options: MappingOptions,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    receiving: AtomicUsize,
    in_function: AtomicUsize,
    peak: AtomicUsize,
    batches: AtomicU64,
    messages: AtomicU64,
    deleted: AtomicU64,
    left: AtomicU64,
    failed_batches: AtomicU64,
}

impl Counters {
    /// Counts a batch into the function; out again when the guard goes.
    fn enter(&self, messages: usize) -> Counted<'_> {
        let (guard, now) = Counted::up(&self.in_function);
        self.peak.fetch_max(now, Ordering::AcqRel);
        add(&self.batches, 1);
        add(&self.messages, messages);
        guard
    }
}

/// Counts one up, and down again when it goes.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn up(counter: &'a AtomicUsize) -> (Self, usize) {
        let now = counter.fetch_add(1, Ordering::AcqRel) + 1;
        (Self(counter), now)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::AcqRel);
}

impl Mapping {
    /// Starts the pollers; they poll if the mapping is enabled.
    #[must_use]
    pub fn start(options: MappingOptions) -> Self {
        let (mode, seen) = watch::channel(if options.source.enabled {
            Mode::Poll
        } else {
            Mode::Pause
        });
        let count = options.source.max_concurrency.unwrap_or(DEFAULT_POLLERS);
        let shared = Arc::new(Shared {
            options,
            counters: Counters::default(),
        });
        let mut pollers = JoinSet::new();
        for _ in 0..count {
            pollers.spawn(poller::poll(Arc::clone(&shared), seen.clone()));
        }
        Self {
            shared,
            mode,
            pollers: tokio::sync::Mutex::new(pollers),
        }
    }

    /// Name of the queue.
    #[must_use]
    pub fn queue_name(&self) -> &str {
        self.shared.options.source.queue_name()
    }

    /// Polls, or stops polling; batches in the function are finished either way.
    pub fn set_enabled(&self, enabled: bool) {
        self.mode.send_if_modified(|mode| {
            let wanted = if enabled { Mode::Poll } else { Mode::Pause };
            let changes = *mode != Mode::Stop && *mode != wanted;
            if changes {
                *mode = wanted;
            }
            changes
        });
    }

    /// Figures.
    #[must_use]
    pub fn stats(&self) -> MappingStats {
        let counters = &self.shared.counters;
        let get = |counter: &AtomicU64| counter.load(Ordering::Acquire);
        MappingStats {
            queue: self.queue_name().to_owned(),
            function: self.shared.options.function.clone(),
            enabled: *self.mode.borrow() == Mode::Poll,
            receiving: counters.receiving.load(Ordering::Acquire),
            in_function: counters.in_function.load(Ordering::Acquire),
            peak_in_function: counters.peak.load(Ordering::Acquire),
            batches: get(&counters.batches),
            messages: get(&counters.messages),
            deleted: get(&counters.deleted),
            left: get(&counters.left),
            failed_batches: get(&counters.failed_batches),
        }
    }

    /// Stops polling, for good. Batches in the function go on.
    pub fn stop(&self) {
        self.mode.send_replace(Mode::Stop);
    }

    /// Stops polling and waits until every batch in the function has ended.
    pub async fn shutdown(&self) {
        self.stop();
        let mut pollers = self.pollers.lock().await;
        while let Some(ended) = pollers.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a poller ended badly");
            }
        }
    }
}
