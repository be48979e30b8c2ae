//! Time inside an invocation, and waits that grow with the receive count.

use std::time::Duration;

use crate::run::Time;

/// First wait of what no attempt is burned for (design section 4: 5 s).
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// Longest such wait (10 min): about 160 receives a day, far from the 1,000 after which SQS gives up.
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// So many receives make a day of such waits.
const RECEIVES_OF_A_DAY: u32 = 150;
/// The wait from then on (30 min).
const WAIT_AFTER_A_DAY: Duration = Duration::from_secs(1_800);
/// About eleven days. SQS drops a message after 14 days without a word; from here on its receives are used up, so that
/// before that it goes where somebody sees it: into the dead-letter queue, after 1,000 receives.
const RECEIVES_BEFORE_THE_END: u32 = 600;
/// The wait from then on (2 min).
const WAIT_BEFORE_THE_END: Duration = Duration::from_secs(120);

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
/// from about the second day on, and short again when the time of the queue runs out; a tenth of it to either side by
/// the draw in [0, 1), so that many waiters part.
#[must_use]
pub fn growing_wait(receive_count: u32, draw: f64) -> Duration {
    let wait = if receive_count <= RECEIVES_OF_A_DAY {
        FIRST_WAIT
            .saturating_mul(1 << receive_count.saturating_sub(1).min(7))
            .min(LONGEST_WAIT)
    } else if receive_count <= RECEIVES_BEFORE_THE_END {
        WAIT_AFTER_A_DAY
    } else {
        WAIT_BEFORE_THE_END
    };
    wait.mul_f64(0.9 + 0.2 * draw.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_ever_reaches_its_dead_letter_queue_before_the_queue_drops_it_and_not_for_a_week() {
        assert_eq!(growing_wait(0, 0.5), Duration::from_secs(5));
        assert_eq!(growing_wait(2, 0.5), Duration::from_secs(10));
        let days = |draw: f64| {
            let waited: Duration = (1..1_000).map(|receives| growing_wait(receives, draw)).sum();
            waited.as_secs() / 86_400
        };
        // Whatever is drawn.
        assert!((8..13).contains(&days(0.0)) && (8..13).contains(&days(1.0)));
        let receives_of_a_day = (1..)
            .scan(Duration::ZERO, |passed, receives| {
                *passed += growing_wait(receives, 0.5);
                Some(*passed)
            })
            .take_while(|passed| passed.as_secs() < 86_400)
            .count();
        assert!(receives_of_a_day < 160, "{receives_of_a_day}");
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
