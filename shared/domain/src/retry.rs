//! When a failed effect is tried again. Never reads a clock and never draws: the draw is an argument.

use std::time::Duration;

use crate::failure::Disposition;

/// Base of the backoff (R030: 2,000 ms).
pub const BASE: Duration = Duration::from_millis(2_000);
/// Cap of the backoff before jitter (R031: 300,000 ms).
pub const CAP: Duration = Duration::from_millis(300_000);
/// Tries in all (R050: 8).
pub const MAX_ATTEMPTS: u32 = 8;
/// Tries of a failure that nobody classed, a panic for one (R103: a limited number, then a person).
pub const MAX_UNCLASSIFIED: u32 = 3;

/// A uniform draw in [0, 1), taken beside the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jitter(f64);

impl Jitter {
    /// A draw; values outside [0, 1) are brought inside.
    #[must_use]
    pub fn new(draw: f64) -> Self {
        Self(if draw.is_finite() {
            draw.clamp(0.0, 1.0 - f64::EPSILON)
        } else {
            0.0
        })
    }

    /// The draw.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

/// Tries and the waits between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// First wait before jitter.
    pub base: Duration,
    /// Longest wait before jitter; with it the longest wait is 1.5 times that (R033).
    pub cap: Duration,
    /// Tries in all.
    pub max_attempts: u32,
}

/// The default.
impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            base: BASE,
            cap: CAP,
            max_attempts: MAX_ATTEMPTS,
        }
    }
}

/// Why there is no further try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveUp {
    /// It will never work.
    Permanent,
    /// It was tried often enough.
    Exhausted,
    /// It may have been done already: a person or a rule decides, not the backoff.
    Ambiguous,
}

/// What follows a failed try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Try again no earlier than after this wait.
    RetryIn(Duration),
    /// Don't.
    GiveUp(GiveUp),
}

impl RetryPolicy {
    /// What follows the `attempt`-th try (from 1) that failed so.
    ///
    /// `delay = floor(min(cap, base * 2^(attempt-1)) * (0.5 + draw))` (R032, R033; the first gap is the base, so that
    /// eight tries span 254 s nominally). A `retry_after` is a floor that jitter only adds to (R034, R159): up to a
    /// tenth of the backoff on top, so that many waiters don't come back in one instant.
    #[must_use]
    pub fn decide(&self, attempt: u32, disposition: Disposition, draw: Jitter) -> RetryDecision {
        let floor = match disposition {
            Disposition::Permanent => return RetryDecision::GiveUp(GiveUp::Permanent),
            Disposition::Ambiguous => return RetryDecision::GiveUp(GiveUp::Ambiguous),
            Disposition::Transient => Duration::ZERO,
            Disposition::Throttled { retry_after } => retry_after,
        };
        if attempt >= self.max_attempts {
            return RetryDecision::GiveUp(GiveUp::Exhausted);
        }
        let backoff = self.backoff(attempt, draw);
        if floor.is_zero() {
            return RetryDecision::RetryIn(backoff);
        }
        let spread = Duration::from_millis(scaled(self.exponential(attempt), 0.1 * draw.get()));
        RetryDecision::RetryIn(backoff.max(floor.saturating_add(spread)))
    }

    fn exponential(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        self.base.saturating_mul(1 << doublings).min(self.cap)
    }

    fn backoff(&self, attempt: u32, draw: Jitter) -> Duration {
        Duration::from_millis(scaled(self.exponential(attempt), 0.5 + draw.get()))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "floor of a small positive product"
)]
fn scaled(wait: Duration, factor: f64) -> u64 {
    (wait.as_millis() as f64 * factor).floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn delay(attempt: u32, disposition: Disposition, draw: f64) -> Option<u64> {
        match RetryPolicy::default().decide(attempt, disposition, Jitter::new(draw)) {
            RetryDecision::RetryIn(wait) => Some(u64::try_from(wait.as_millis()).unwrap()),
            RetryDecision::GiveUp(_) => None,
        }
    }

    #[test]
    fn waits_double_from_two_seconds_and_the_eighth_failure_is_the_last() {
        let nominal: Vec<_> = (1..=8)
            .map(|attempt| delay(attempt, Disposition::Transient, 0.5))
            .collect();
        let expected = [2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000].map(Some);
        assert_eq!(nominal[..7], expected);
        assert_eq!(nominal[7], None);
    }

    #[test]
    fn a_permanent_or_ambiguous_failure_is_never_repeated_by_the_backoff() {
        let policy = RetryPolicy::default();
        let draw = Jitter::new(0.3);
        assert_eq!(
            policy.decide(1, Disposition::Permanent, draw),
            RetryDecision::GiveUp(GiveUp::Permanent)
        );
        assert_eq!(
            policy.decide(1, Disposition::Ambiguous, draw),
            RetryDecision::GiveUp(GiveUp::Ambiguous)
        );
    }

    proptest! {
        #[test]
        fn no_retry_comes_before_retry_after(attempt in 1_u32..8, secs in 0_u64..100_000, draw in 0.0..1.0_f64) {
            let after = Duration::from_secs(secs);
            let wait = delay(attempt, Disposition::Throttled { retry_after: after }, draw).unwrap();
            prop_assert!(wait >= secs * 1000);
        }

        #[test]
        fn every_wait_lies_between_half_and_one_and_a_half_of_the_backoff(attempt in 1_u32..40, draw in 0.0..1.0_f64) {
            let policy = RetryPolicy { max_attempts: 100, ..RetryPolicy::default() };
            let RetryDecision::RetryIn(wait) = policy.decide(attempt, Disposition::Transient, Jitter::new(draw)) else {
                return Err(TestCaseError::fail("gave up"));
            };
            let nominal = policy.exponential(attempt);
            prop_assert!(wait >= nominal / 2 && wait <= nominal * 3 / 2);
            prop_assert!(wait <= CAP * 3 / 2);
        }
    }
}
