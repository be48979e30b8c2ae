//! What a process knows of one bot's breaker. Never reads or writes the store.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use penstock_domain::breaker::{Breaker, Meter};
use penstock_domain::time::Timestamp;
use penstock_ports::{HORIZON, StoredBreaker};

/// Counts that are older were not stored in time and are dropped: a meter takes them for the minute before the running
/// one at the earliest.
const COUNTS_LIFE: Duration = Duration::from_secs(120);

/// Updates answered in the minute of `at`, not stored yet.
type Count = (Timestamp, u32);

/// What is known of a breaker.
#[derive(Debug, Default)]
pub(crate) struct Door {
    seen: Mutex<Seen>,
    /// Held by who reads or changes the stored breaker: one at a time in a process.
    pub(crate) turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Seen {
    cached: Option<(StoredBreaker, Timestamp)>,
    counts: Vec<Count>,
    flushed_at: Option<Timestamp>,
    answered_at: Option<Timestamp>,
    full_until: Option<Timestamp>,
}

impl Door {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        // A panic while it was held leaves whole values.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was read or written less than `life` ago.
    pub(crate) fn fresh(&self, life: Duration, now: Timestamp) -> Option<StoredBreaker> {
        let seen = self.seen();
        let (stored, at) = seen.cached.as_ref()?;
        let is_fresh = now.since(*at) < life && at.since(now) < life;
        is_fresh.then(|| stored.clone())
    }

    /// What was last known, however long ago.
    pub(crate) fn known(&self) -> Option<StoredBreaker> {
        self.seen().cached.as_ref().map(|(stored, _)| stored.clone())
    }

    pub(crate) fn keep(&self, stored: StoredBreaker, now: Timestamp) {
        self.seen().cached = Some((stored, now));
    }

    /// This process saw an answer.
    pub(crate) fn answered(&self, now: Timestamp) {
        let mut seen = self.seen();
        seen.answered_at = seen.answered_at.max(Some(now));
    }

    /// Counts an answer, if it was to the traffic that a backend has when nothing is wrong: what a ramp lets through of
    /// a backlog would make the next ramp too steep.
    pub(crate) fn count(&self, now: Timestamp) {
        let mut seen = self.seen();
        let is_usual = seen
            .cached
            .as_ref()
            .is_none_or(|(stored, _)| matches!(stored.breaker, Breaker::Closed { .. }));
        if !is_usual {
            return;
        }
        seen.flushed_at.get_or_insert(now);
        let minute = |at: Timestamp| at.as_millis().div_euclid(60_000);
        match seen.counts.iter_mut().find(|(at, _)| minute(*at) == minute(now)) {
            Some((_, count)) => *count += 1,
            None => seen.counts.push((now, 1)),
        }
    }

    /// Whether counts wait for longer than that.
    pub(crate) fn is_flush_due(&self, every: Duration, now: Timestamp) -> bool {
        let seen = self.seen();
        !seen.counts.is_empty() && seen.flushed_at.is_some_and(|at| now.since(at) >= every)
    }

    /// Takes the counts to store them; who cannot puts them back.
    pub(crate) fn take_counts(&self, now: Timestamp) -> Vec<Count> {
        let mut seen = self.seen();
        seen.flushed_at = Some(now);
        let mut counts = std::mem::take(&mut seen.counts);
        counts.retain(|(at, _)| now.since(*at) < COUNTS_LIFE);
        counts
    }

    pub(crate) fn put_back(&self, counts: Vec<Count>) {
        self.seen().counts.extend(counts);
    }

    /// A meter with what is not stored yet.
    pub(crate) fn metered(&self, meter: &Meter, now: Timestamp) -> Meter {
        let mut meter = meter.clone();
        for (at, count) in &self.seen().counts {
            if now.since(*at) < COUNTS_LIFE {
                meter.add(*count, *at);
            }
        }
        meter
    }

    /// The last answer that this process saw.
    pub(crate) fn answered_at(&self) -> Option<Timestamp> {
        self.seen().answered_at
    }

    /// The gate had so much ahead: until it comes within the horizon nobody need ask again, since its time never goes
    /// back.
    pub(crate) fn found_full(&self, ahead: Duration, now: Timestamp) {
        let mut seen = self.seen();
        let until = now + ahead - HORIZON;
        seen.full_until = seen.full_until.max(Some(until));
    }

    /// How much the gate has ahead at least, if it is known to be full.
    pub(crate) fn full_ahead(&self, now: Timestamp) -> Option<Duration> {
        let until = self.seen().full_until?;
        (now < until).then(|| (until + HORIZON).since(now))
    }
}
