//! When 429s of single chats mean that the whole bot is too fast. Never holds anything itself.

use std::time::Duration;

use crate::time::Timestamp;

/// Time of one interactive send of a bot: 95 % of the about 30 a second that Telegram allows (Bot API FAQ), so that
/// jitter does not lead over it.
pub const CELL: Duration = Duration::from_millis(35);
/// So many chats that were refused within [`WINDOW`] mean the bot, not the chats (design section 5).
pub const CHATS: usize = 3;
/// See [`CHATS`].
pub const WINDOW: Duration = Duration::from_secs(10);
/// Longest hold of a bot that is concluded from 429s that end at different times. The answer does not say which limit
/// was met, and those are more likely the chats' own; if the bot is still too fast then, the next 429s say so again.
pub const LONGEST_HOLD: Duration = Duration::from_secs(5);
/// 429s of several chats that end within this time of each other are one limit: the bot's.
pub const SAME_END: Duration = Duration::from_secs(3);

/// The 429s of one bot that were seen lately.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Throttled {
    recent: Vec<Refused>,
}

/// A chat that was refused: when, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Refused {
    chat: String,
    at: Timestamp,
    until: Timestamp,
}

impl Throttled {
    /// Notes a 429 of a chat; gives back until when the bot is held, if that is the conclusion.
    pub fn note(&mut self, chat: &str, retry_after: Duration, now: Timestamp) -> Option<Timestamp> {
        self.recent
            .retain(|refused| refused.chat != chat && now.since(refused.at) < WINDOW);
        let until = now + retry_after;
        self.recent.push(Refused {
            chat: chat.to_owned(),
            at: now,
            until,
        });
        if self.recent.len() < CHATS {
            return None;
        }
        let ends = || self.recent.iter().map(|refused| refused.until);
        let (first, last) = (ends().min().unwrap_or(until), ends().max().unwrap_or(until));
        let is_one_limit = last.since(first) <= SAME_END;
        Some(if is_one_limit {
            last
        } else {
            now + retry_after.min(LONGEST_HOLD)
        })
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
        let waits =
            [("a", 3_600), ("b", 20), ("c", 900)].map(|(chat, secs)| (chat, Duration::from_secs(secs)));
        let held = waits.map(|(chat, wait)| throttled.note(chat, wait, now));
        assert_eq!(held, [None, None, Some(now + LONGEST_HOLD)]);
    }

    #[test]
    fn waits_that_end_together_are_the_bots_own_and_are_waited_out() {
        let mut throttled = Throttled::default();
        let at = Timestamp::from_millis;
        throttled.note("a", Duration::from_secs(40), at(0));
        throttled.note("b", Duration::from_secs(39), at(1_000));
        let held = throttled.note("c", Duration::from_secs(40), at(1_500));
        assert_eq!(held, Some(at(41_500)));
    }
}
