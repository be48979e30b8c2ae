//! Time as the engine sees it. The system clock is read here and nowhere else in this crate.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Source of the engine's time.
///
/// A clock may run faster or slower than the wall clock: what the engine stores is in the clock's
/// milliseconds, and how long to really wait for some of them is asked of the clock as well.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch, as this clock tells them.
    fn now_ms(&self) -> i64;

    /// How long `ms` milliseconds of this clock take in real time. One to one unless overridden.
    fn real_duration(&self, ms: i64) -> Duration {
        Duration::from_millis(u64::try_from(ms).unwrap_or(0))
    }
}

/// The wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one adapter to the wall clock")]
    fn now_ms(&self) -> i64 {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
    }
}

/// A clock that stands still until it is moved. For tests.
///
/// A long poll on it looks again every real millisecond, so that it notices when the clock was moved.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock standing at `now_ms`.
    pub fn at(now_ms: i64) -> Self {
        Self(AtomicI64::new(now_ms))
    }

    /// Moves the clock forward by `ms` milliseconds (backward when negative).
    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn real_duration(&self, _ms: i64) -> Duration {
        Duration::from_millis(1)
    }
}
