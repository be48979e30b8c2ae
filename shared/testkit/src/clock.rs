//! Time and chance in the hands of a test. Never moves by itself.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use penstock_domain::retry::Jitter;
use penstock_domain::time::Timestamp;
use penstock_ports::{Clock, Draw};

/// A clock that stands until it is moved.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.as_millis()))
    }

    /// Moves it to `now`, forwards or backwards.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_millis(), Ordering::SeqCst);
    }

    /// Moves it forwards; the new time.
    pub fn advance(&self, by: Duration) -> Timestamp {
        let now = self.now() + by;
        self.set(now);
        now
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Draws the same every time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedDraw(pub f64);

impl Default for FixedDraw {
    /// The middle: a wait is then its nominal length.
    fn default() -> Self {
        Self(0.5)
    }
}

impl Draw for FixedDraw {
    fn draw(&self) -> Jitter {
        Jitter::new(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stands_until_it_is_moved() {
        let clock = ManualClock::at(Timestamp::from_millis(10));
        assert_eq!(clock.now(), clock.now());
        assert_eq!(clock.advance(Duration::from_millis(5)).as_millis(), 15);
        clock.set(Timestamp::from_millis(3));
        assert_eq!(clock.now().as_millis(), 3);
    }
}
