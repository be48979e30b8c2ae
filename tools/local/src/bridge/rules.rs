//! What the bridge does after a failure: a pure rule.

use std::time::Duration;

use super::BridgeError;
use super::api::CallError;

/// The first wait after a failure; doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait after a failure that names none itself.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Conflicts in a row after which it is another program, not the end of an earlier call of ours.
const CONFLICT_LIMIT: u32 = 3;

/// What to do next.
#[derive(Debug)]
pub(super) enum Next {
    /// Ask again after this long.
    Wait(Duration),
    /// Ask again after this long, but say that somebody has to do something.
    Tell(BridgeError, Duration),
    /// No use going on.
    End(BridgeError),
}

/// What follows a failed `getUpdates`, the `failures`th in a row (from 1).
pub(super) fn after_failure(error: CallError, failures: u32) -> Next {
    match error {
        CallError::Refused { code: 401 | 404, .. } => Next::End(BridgeError::Unauthorized),
        CallError::Refused { code: 409, .. } if failures >= CONFLICT_LIMIT => {
            Next::Tell(BridgeError::Conflict, LONGEST_WAIT)
        }
        CallError::Refused {
            retry_after_s: Some(seconds),
            ..
        } => Next::Wait(Duration::from_secs(seconds)),
        CallError::Refused { .. } | CallError::NoAnswer(_) | CallError::NotBotApi { .. } => {
            Next::Wait(backoff(failures))
        }
    }
}

/// The wait after the `failures`th failure in a row (from 1).
pub(super) fn backoff(failures: u32) -> Duration {
    FIRST_WAIT
        .saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)))
        .min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: i64, retry_after_s: Option<u64>) -> CallError {
        CallError::Refused {
            code,
            description: String::new(),
            retry_after_s,
        }
    }

    #[test]
    fn a_bad_token_ends_the_bridge_and_names_the_cure() {
        let Next::End(error) = after_failure(refused(401, None), 1) else {
            panic!("it goes on")
        };
        assert!(error.to_string().contains("@BotFather"), "{error}");
    }

    #[test]
    fn a_lasting_conflict_is_told_and_asked_about_slowly_but_a_passing_one_is_not_told() {
        assert!(matches!(after_failure(refused(409, None), 1), Next::Wait(_)));
        assert!(matches!(after_failure(refused(409, None), 2), Next::Wait(_)));
        let Next::Tell(error, wait) = after_failure(refused(409, None), 3) else {
            panic!("it is not told")
        };
        assert!(error.to_string().contains("second bot"), "{error}");
        assert_eq!(wait, Duration::from_secs(30));
    }

    #[test]
    fn a_wait_that_telegram_names_is_kept_in_full() {
        let Next::Wait(wait) = after_failure(refused(429, Some(77)), 9) else {
            panic!("it ends")
        };
        assert_eq!(wait, Duration::from_secs(77));
    }

    #[test]
    fn other_waits_double_up_to_a_limit() {
        let waits: Vec<u64> = (1..=7).map(|failures| backoff(failures).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(backoff(u32::MAX), LONGEST_WAIT);
    }
}
