//! The stack's clock: the time that queues, simulated Telegram and functions share.
//!
//! `now = origin + (wall - origin) * scale`, as the functions compute it from
//! `PENSTOCK_TIME_SCALE` and `PENSTOCK_TIME_ORIGIN_MS`. Never read the wall clock anywhere else here.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A clock that runs `scale` times as fast as the wall clock from `origin_ms` on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StackClock {
    origin_ms: i64,
    scale: f64,
}

impl StackClock {
    /// A clock with a given origin (ms since 1970). `scale` must be positive and finite.
    #[must_use]
    pub fn new(origin_ms: i64, scale: f64) -> Self {
        Self { origin_ms, scale }
    }

    /// The time now, ms since 1970 in the stack's time.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        scaled(self.origin_ms, self.scale, wall_ms())
    }

    /// How long a duration of the stack's time takes on the wall clock. Negative counts as zero.
    #[must_use]
    pub fn real_duration(&self, stack_ms: i64) -> Duration {
        let ms = u64::try_from(stack_ms).unwrap_or(0);
        Duration::from_millis(ms).div_f64(self.scale)
    }

    /// Where the stack's time and the wall clock were equal.
    #[must_use]
    pub fn origin_ms(&self) -> i64 {
        self.origin_ms
    }

    /// Stack seconds in one second.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }
}

/// The rule itself. Millisecond counts of this century fit an `f64` exactly.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "far below 2^53 ms")]
fn scaled(origin_ms: i64, scale: f64, wall_ms: i64) -> i64 {
    if scale == 1.0 {
        return wall_ms;
    }
    origin_ms + ((wall_ms - origin_ms) as f64 * scale) as i64
}

/// The wall clock, ms since 1970.
#[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the wall clock")]
pub(crate) fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_of_one_is_the_wall_clock_whatever_the_origin() {
        assert_eq!(scaled(5_000, 1.0, 123_456), 123_456);
    }

    #[test]
    fn a_scaled_clock_starts_at_its_origin_and_runs_faster() {
        assert_eq!(scaled(1_000, 20.0, 1_000), 1_000);
        assert_eq!(scaled(1_000, 20.0, 1_050), 2_000);
    }

    #[test]
    fn stack_time_is_shorter_on_the_wall_clock() {
        let clock = StackClock::new(0, 20.0);
        assert_eq!(clock.real_duration(20_000), Duration::from_secs(1));
        assert_eq!(clock.real_duration(-1), Duration::ZERO);
    }
}
