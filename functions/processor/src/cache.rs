//! Chat states that this instance wrote or read lately. Never trusted: what was computed from one is written only if its
//! version still stands, and where nothing is written the version is asked for.
//!
//! A hit saves one consistent read; a stale one costs a refused transaction and a second run. With a chat's Updates
//! spread over many instances stale entries would cost more than they save, so they live only seconds: long enough for
//! a conversation's next message, or the next button of the same batch.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use penstock_domain::ids::BotId;
use penstock_domain::time::Timestamp;

/// How long an entry is used.
const LIFE: Duration = Duration::from_secs(30);
/// Most entries kept.
const MAX_ENTRIES: usize = 1_000;
/// Largest state kept, in bytes; with [`MAX_ENTRIES`] the cache stays under 16 MB.
const MAX_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone)]
struct Entry {
    state: String,
    version: u64,
    at: Timestamp,
}

/// The states of one instance.
#[derive(Debug, Default)]
pub struct StateCache(Mutex<HashMap<(BotId, String), Entry>>);

impl StateCache {
    fn entries(&self) -> MutexGuard<'_, HashMap<(BotId, String), Entry>> {
        // A panic while it was held leaves whole entries.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state and version of a chat, if it was seen lately.
    pub(crate) fn get(&self, bot: BotId, chat: &str, now: Timestamp) -> Option<(String, u64)> {
        let entries = self.entries();
        let entry = entries.get(&(bot, chat.to_owned()))?;
        (entry.at + LIFE >= now).then(|| (entry.state.clone(), entry.version))
    }

    /// Keeps a state that is known to have that version.
    pub(crate) fn keep(&self, bot: BotId, chat: &str, state: &str, version: u64, now: Timestamp) {
        if state.len() > MAX_BYTES {
            return self.forget(bot, chat);
        }
        let mut entries = self.entries();
        if entries.len() >= MAX_ENTRIES {
            entries.retain(|_, entry| entry.at + LIFE >= now);
        }
        if entries.len() >= MAX_ENTRIES {
            let oldest = entries
                .iter()
                .min_by_key(|(_, entry)| entry.at)
                .map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                entries.remove(&oldest);
            }
        }
        let entry = Entry {
            state: state.to_owned(),
            version,
            at: now,
        };
        entries.insert((bot, chat.to_owned()), entry);
    }

    /// Drops a state that proved stale, or of which nobody knows whether it was written.
    pub(crate) fn forget(&self, bot: BotId, chat: &str) {
        self.entries().remove(&(bot, chat.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOT: BotId = BotId(7);
    const START: Timestamp = Timestamp::from_millis(1_000_000);

    #[test]
    fn a_state_is_used_for_half_a_minute_and_never_after_it_was_forgotten() {
        let cache = StateCache::default();
        cache.keep(BOT, "5", "{}", 3, START);
        assert_eq!(cache.get(BOT, "5", START + LIFE), Some(("{}".to_owned(), 3)));
        assert_eq!(cache.get(BOT, "5", START + LIFE + Duration::from_millis(1)), None);
        assert_eq!(cache.get(BotId(8), "5", START), None);
        cache.forget(BOT, "5");
        assert_eq!(cache.get(BOT, "5", START), None);
    }

    #[test]
    fn it_never_grows_beyond_its_bounds() {
        let cache = StateCache::default();
        for chat in 0..=MAX_ENTRIES {
            let now = START + Duration::from_millis(u64::try_from(chat).unwrap());
            cache.keep(BOT, &chat.to_string(), "{}", 1, now);
        }
        assert_eq!(cache.entries().len(), MAX_ENTRIES);
        assert_eq!(cache.get(BOT, "0", START), None, "the oldest went");
        cache.keep(BOT, "1", &"x".repeat(MAX_BYTES + 1), 2, START);
        assert_eq!(cache.get(BOT, "1", START), None, "too large to keep");
    }
}
