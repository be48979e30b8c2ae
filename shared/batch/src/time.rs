//! Time inside an invocation, and waits that grow with the receive count.

use std::time::Duration;

use crate::run::Time;

/// First wait of what no attempt is burned for (design section 4: 5 s).
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// Longest such wait (10 min): about 160 receives a day, far from the 1,000 after which SQS gives up.
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// So many receives make a day of such waits.
const RECEIVES_OF_A_DAY: u32 = 150;
/// The wait from then on (30 min): about 770 receives in the 14 days that SQS keeps a message.
const WAIT_AFTER_A_DAY: Duration = Duration::from_secs(1_800);

/// When this invocation is killed, and what one record may need until then.
pub struct Deadline<F> {
    at_ms: i64,
    now_ms: F,
    needed: Duration,
    patience: Duration,
}

/// How long ended groups wait for the others of their batch (design section 4: 250 ms).
pub const PATIENCE: Duration = Duration::from_millis(250);

impl<F: Fn() -> i64 + Sync> Deadline<F> {
    /// The deadline at `at_ms` (milliseconds since the epoch) of the clock `now_ms`; one record needs at most `needed`;
    /// `patience` is [`PATIENCE`] on the wall.
    pub fn new(at_ms: u64, now_ms: F, needed: Duration, patience: Duration) -> Self {
        Self {
            at_ms: i64::try_from(at_ms).unwrap_or(i64::MAX),
            now_ms,
            needed,
            patience,
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

    fn patience(&self) -> Duration {
        self.patience
    }
}

/// The wait of a record that cannot be worked on now through no fault of its own: 5 s, doubling to 10 min, half an hour
/// from about the second day on; a tenth of it to either side by the draw in [0, 1), so that many waiters part.
#[must_use]
pub fn growing_wait(receive_count: u32, draw: f64) -> Duration {
    let wait = if receive_count > RECEIVES_OF_A_DAY {
        WAIT_AFTER_A_DAY
    } else {
        FIRST_WAIT
            .saturating_mul(1 << receive_count.saturating_sub(1).min(7))
            .min(LONGEST_WAIT)
    };
    wait.mul_f64(0.9 + 0.2 * draw.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_fourteen_days_of_them_are_fewer_receives_than_sqs_allows() {
        assert_eq!(growing_wait(0, 0.5), Duration::from_secs(5));
        assert_eq!(growing_wait(2, 0.5), Duration::from_secs(10));
        let receives_in = |days: u64, draw: f64| {
            let mut receives = 0;
            let mut passed = Duration::ZERO;
            while passed < Duration::from_secs(days * 86_400) {
                receives += 1;
                passed += growing_wait(receives, draw);
            }
            receives
        };
        assert!(receives_in(1, 0.5) < 160, "{}", receives_in(1, 0.5));
        // Even if every draw made the shortest wait.
        assert!(receives_in(14, 0.0) < 1_000, "{}", receives_in(14, 0.0));
    }

    #[test]
    fn the_time_left_is_never_negative() {
        assert_eq!(
            Deadline::new(5, || 9, Duration::ZERO, PATIENCE).left(),
            Duration::ZERO
        );
        assert_eq!(
            Deadline::new(9, || 5, Duration::ZERO, PATIENCE).left(),
            Duration::from_millis(4)
        );
    }
}
