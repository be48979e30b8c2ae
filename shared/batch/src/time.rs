//! Time inside an invocation, and waits that grow with the receive count.

use std::time::Duration;

use crate::run::Time;

/// First wait of what no attempt is burned for (design section 4: 5 s).
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// Longest such wait (10 min): about 160 receives a day, far from the 1,000 after which SQS gives up.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// When this invocation is killed, and what one record may need until then.
pub struct Deadline<F> {
    at_ms: i64,
    now_ms: F,
    needed: Duration,
}

impl<F: Fn() -> i64 + Sync> Deadline<F> {
    /// The deadline at `at_ms` (milliseconds since the epoch) of the clock `now_ms`; one record needs at most `needed`.
    pub fn new(at_ms: u64, now_ms: F, needed: Duration) -> Self {
        Self {
            at_ms: i64::try_from(at_ms).unwrap_or(i64::MAX),
            now_ms,
            needed,
        }
    }
}

impl<F: Fn() -> i64 + Sync> Time for Deadline<F> {
    fn left(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.at_ms.saturating_sub((self.now_ms)())).unwrap_or(0))
    }

    fn needed(&self) -> Duration {
        self.needed
    }
}

/// The wait of a record that cannot be worked on now through no fault of its own: 5 s, doubling to 10 min.
#[must_use]
pub fn growing_wait(receive_count: u32) -> Duration {
    FIRST_WAIT
        .saturating_mul(1 << receive_count.saturating_sub(1).min(7))
        .min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_ten_minutes_and_a_day_of_them_is_far_from_the_limit_of_receives() {
        assert_eq!(growing_wait(0), Duration::from_secs(5));
        assert_eq!(growing_wait(2), Duration::from_secs(10));
        let mut receives = 0;
        let mut passed = Duration::ZERO;
        while passed < Duration::from_secs(86_400) {
            receives += 1;
            passed += growing_wait(receives);
        }
        assert!(receives < 200, "{receives}");
    }

    #[test]
    fn the_time_left_is_never_negative() {
        assert_eq!(Deadline::new(5, || 9, Duration::ZERO).left(), Duration::ZERO);
        assert_eq!(
            Deadline::new(9, || 5, Duration::ZERO).left(),
            Duration::from_millis(4)
        );
    }
}
