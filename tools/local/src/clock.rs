//! The stack's clock: the time that queues, simulated Telegram and functions share.
//!
//! It is the functions' own clock, `origin + (wall - origin) * scale`; they are told origin and scale
//! in `PENSTOCK_TIME_ORIGIN_MS` and `PENSTOCK_TIME_SCALE`. Never reads the wall clock in another way.

use std::time::Duration;

use penstock_aws::WallClock;
use penstock_ports::Clock as _;

/// A clock that runs `scale` times as fast as the wall clock from `origin_ms` on.
#[derive(Debug, Clone, Copy)]
pub struct StackClock(WallClock);

impl StackClock {
    /// A clock with a given origin (ms since 1970). `scale` must be positive and finite.
    #[must_use]
    pub fn new(origin_ms: i64, scale: f64) -> Self {
        Self(WallClock::scaled(origin_ms, scale))
    }

    /// The time now, ms since 1970 in the stack's time.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.0.now().as_millis()
    }

    /// How long a duration of the stack's time takes on the wall clock. Negative counts as zero.
    #[must_use]
    pub fn real_duration(&self, stack_ms: i64) -> Duration {
        self.0
            .real(Duration::from_millis(u64::try_from(stack_ms).unwrap_or(0)))
    }

    /// Where the stack's time and the wall clock were equal.
    #[must_use]
    pub fn origin_ms(&self) -> i64 {
        self.0.origin_ms()
    }

    /// Stack seconds in one second.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.0.scale()
    }
}

/// The wall clock, ms since 1970.
pub(crate) fn wall_ms() -> i64 {
    WallClock::default().now().as_millis()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stack_time_is_shorter_on_the_wall_clock() {
        let clock = StackClock::new(0, 20.0);
        assert_eq!(clock.real_duration(20_000), Duration::from_secs(1));
        assert_eq!(clock.real_duration(-1), Duration::ZERO);
    }

    #[test]
    fn a_scaled_clock_runs_ahead_from_its_origin() {
        let origin = wall_ms() - 10_000;
        assert!(StackClock::new(origin, 20.0).now_ms() >= origin + 200_000);
    }
}
