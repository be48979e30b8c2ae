//! What follows a call that failed: a pure decision.

use std::time::Duration;

use penstock_domain::failure::Disposition;
use penstock_domain::intent::OnUnknown;
use penstock_domain::method::Repeat;
use penstock_domain::retry::{Jitter, RetryDecision, RetryPolicy};

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Again after this wait; `burned` says whether the try counts.
    Again { wait: Duration, burned: bool },
    /// Not again.
    Failed,
    /// Nobody knows whether it arrived.
    Unknown,
}

/// Most jitter on top of a `retry_after`: a 429 burns no attempt, so the backoff does not grow with it.
const THROTTLE_SPREAD_MS: f64 = 500.0;

/// Decides what follows the `attempt`-th try (from 1) of a call that failed so, by what repeating it would do.
pub(crate) fn after_failure(
    disposition: Disposition,
    repeat: Repeat,
    on_unknown: OnUnknown,
    attempt: u32,
    draw: Jitter,
) -> Next {
    match disposition {
        Disposition::Permanent => Next::Failed,
        Disposition::Throttled { retry_after } => {
            let spread = Duration::from_secs_f64(draw.get() * THROTTLE_SPREAD_MS / 1000.0);
            Next::Again {
                wait: retry_after.saturating_add(spread),
                burned: false,
            }
        }
        Disposition::Transient => again(attempt, draw),
        Disposition::Ambiguous => match (repeat, on_unknown) {
            (Repeat::Read | Repeat::Safe | Repeat::SafeBenign | Repeat::Hidden, _) => again(attempt, draw),
            (Repeat::Visible, OnUnknown::ResendOnce) if attempt == 1 => again(attempt, draw),
            (Repeat::Visible | Repeat::Money | Repeat::Rotates | Repeat::Never, _) => Next::Unknown,
        },
    }
}

fn again(attempt: u32, draw: Jitter) -> Next {
    match RetryPolicy::default().decide(attempt, Disposition::Transient, draw) {
        RetryDecision::RetryIn(wait) => Next::Again { wait, burned: true },
        RetryDecision::GiveUp(_) => Next::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_domain::method::repeat;

    fn next(disposition: Disposition, method: &str, on_unknown: OnUnknown, attempt: u32) -> Next {
        after_failure(
            disposition,
            repeat(method, false),
            on_unknown,
            attempt,
            Jitter::new(0.5),
        )
    }

    #[test]
    fn a_visible_send_is_never_repeated_when_nobody_knows_unless_its_caller_said_once() {
        use OnUnknown::{Hold, ResendOnce};
        assert_eq!(
            next(Disposition::Ambiguous, "sendMessage", Hold, 1),
            Next::Unknown
        );
        assert!(matches!(
            next(Disposition::Ambiguous, "sendMessage", ResendOnce, 1),
            Next::Again { burned: true, .. }
        ));
        assert_eq!(
            next(Disposition::Ambiguous, "sendMessage", ResendOnce, 2),
            Next::Unknown
        );
        assert_eq!(
            next(Disposition::Ambiguous, "sendGift", ResendOnce, 1),
            Next::Unknown
        );
        assert!(matches!(
            next(Disposition::Ambiguous, "setMyName", Hold, 1),
            Next::Again { .. }
        ));
    }

    #[test]
    fn a_429_burns_no_attempt_and_is_never_shortened() {
        let throttled = Disposition::Throttled {
            retry_after: Duration::from_secs(40),
        };
        for attempt in [1, 8, 100] {
            let Next::Again { wait, burned } = next(throttled, "sendMessage", OnUnknown::Hold, attempt)
            else {
                panic!("gave up on a 429");
            };
            assert!(wait >= Duration::from_secs(40) && !burned);
        }
    }

    #[test]
    fn what_keeps_failing_ends() {
        assert_eq!(
            next(Disposition::Transient, "sendMessage", OnUnknown::Hold, 8),
            Next::Failed
        );
        assert_eq!(
            next(Disposition::Permanent, "sendMessage", OnUnknown::Hold, 1),
            Next::Failed
        );
    }
}
