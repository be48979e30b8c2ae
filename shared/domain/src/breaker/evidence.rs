//! What tries tell about a backend: whether two failures are an outage or one bad Update, and when it answered last.
//! Never decides what follows.

use std::time::Duration;

use super::Cause;
use crate::ids::{LedgerKey, MessageGroupId};
use crate::time::Timestamp;

/// So long after an answer a backend that has just proved to be up is taken to be up still, whatever two other Updates
/// met. Long enough that the first step of a ramp sees an answer in it: ten tries at 1/s.
pub const ANSWERED_LATELY: Duration = Duration::from_secs(10);
/// So long after a ramp bad gateways alone are doubted: Updates that fell their requests shut the door once an hour at
/// the most, for the seconds until the next probe.
pub const DOUBTED_FOR: Duration = Duration::from_secs(3_600);

/// A failed try that may be the first sign of an outage.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sign {
    /// The Update.
    pub key: LedgerKey,
    /// Its message group.
    pub group: MessageGroupId,
    /// When the try failed.
    pub at: Timestamp,
}

impl Sign {
    /// Whether two failures cannot both come of one Update or one chat.
    pub(super) fn differs_from(&self, other: &Self) -> bool {
        self.key != other.key && self.group != other.group
    }
}

/// What the tries so far have shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Evidence {
    /// A failure that no answer has followed.
    pub sign: Option<Sign>,
    /// The last answer that is known of. Not every answer is noted.
    pub answered_at: Option<Timestamp>,
}

impl Evidence {
    /// With an answer that came then, before or after what is known.
    #[must_use]
    pub(super) fn answered(&self, at: Timestamp) -> Self {
        Self {
            sign: self.sign.clone().filter(|sign| sign.at >= at),
            answered_at: self.answered_at.max(Some(at)),
        }
    }

    /// Whether the backend answers others at that time.
    pub(super) fn answers_others_at(&self, now: Timestamp) -> bool {
        self.answered_at
            .is_some_and(|answered_at| now.since(answered_at) < ANSWERED_LATELY)
    }
}

impl Cause {
    /// What a stored failure says of the backend; none if it says nothing of it.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        match code {
            "backend_unreachable" => Some(Self::Unreachable),
            "backend_502" | "backend_503" | "backend_504" => Some(Self::BadGateway),
            _ => None,
        }
    }
}

/// Whether the backend is asked by a HEAD before this try is made. A lone chat behind a gateway has no second one that
/// would open the breaker: all its tries would be used up on an outage. Only the last try asks: the waits before it take
/// minutes, so that an Update which fells the backend does not find the hole that it made itself.
#[must_use]
pub fn asks_first(attempt: u32, max_attempts: u32, last: Option<Cause>) -> bool {
    attempt > 1 && attempt >= max_attempts && last == Some(Cause::BadGateway)
}
