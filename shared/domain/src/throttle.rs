//! When 429s of single chats mean that the whole bot is too fast. Never holds anything itself.

use std::time::Duration;

use crate::time::Timestamp;

/// So many chats that were refused within [`WINDOW`] mean the bot, not the chats (design section 5).
pub const CHATS: usize = 3;
/// See [`CHATS`].
pub const WINDOW: Duration = Duration::from_secs(10);
/// Longest hold of a bot that is concluded from 429s of chats. The answer does not say which limit was met, and a long
/// wait is more likely a chat's own; if the bot is still too fast then, the next 429s say so again.
pub const LONGEST_HOLD: Duration = Duration::from_secs(5);

/// The 429s of one bot that were seen lately.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Throttled {
    recent: Vec<(String, Timestamp)>,
}

impl Throttled {
    /// Notes a 429 of a chat; gives back until when the bot is held, if that is the conclusion.
    pub fn note(&mut self, chat: &str, retry_after: Duration, now: Timestamp) -> Option<Timestamp> {
        self.recent
            .retain(|(other, at)| other != chat && now.since(*at) < WINDOW);
        self.recent.push((chat.to_owned(), now));
        (self.recent.len() >= CHATS).then(|| now + retry_after.min(LONGEST_HOLD))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(notes: &[(&str, i64)]) -> bool {
        let mut throttled = Throttled::default();
        let after = Duration::from_secs(1);
        let conclusions = notes
            .iter()
            .map(|(chat, at)| throttled.note(chat, after, Timestamp::from_millis(*at)));
        conclusions.last().flatten().is_some()
    }

    #[test]
    fn three_chats_within_ten_seconds_hold_the_bot_and_one_chat_never_does() {
        assert!(held(&[("a", 0), ("b", 4_000), ("c", 9_000)]));
        assert!(!held(&[("a", 0), ("b", 4_000), ("c", 10_000)]));
        assert!(!held(&[("a", 0), ("a", 1), ("a", 2), ("b", 3)]));
    }

    #[test]
    fn a_long_wait_of_a_chat_holds_the_bot_only_for_seconds() {
        let mut throttled = Throttled::default();
        let now = Timestamp::from_millis(0);
        let long = Duration::from_secs(3_600);
        let held = ["a", "b", "c"].map(|chat| throttled.note(chat, long, now));
        assert_eq!(held, [None, None, Some(now + LONGEST_HOLD)]);
    }
}
