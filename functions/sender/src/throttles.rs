//! The 429s that this instance saw, and the holds of bots that follow from them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use penstock_domain::ids::BotId;
use penstock_domain::throttle::Throttled;
use penstock_domain::time::Timestamp;
use penstock_ports::StoredChatGate;

/// Most chats whose gates an instance remembers: a few kilobytes each at the most.
const MOST_CHATS: usize = 2_000;

#[derive(Debug, Default)]
struct Bot {
    throttled: Throttled,
    held_until: Option<Timestamp>,
}

/// What this instance knows of its bots' limits. Others learn of a hold when they debit the gate, or as this one did.
#[derive(Debug, Default)]
pub struct Throttles {
    bots: Mutex<BTreeMap<BotId, Bot>>,
    chats: Mutex<HashMap<(BotId, String), StoredChatGate>>,
}

impl Throttles {
    fn bots(&self) -> MutexGuard<'_, BTreeMap<BotId, Bot>> {
        // What a panic left is right at every step.
        self.bots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a 429; gives back until when the bot is held, if that follows and was not known.
    pub(crate) fn note(
        &self,
        bot: BotId,
        chat: &str,
        retry_after: Duration,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let mut bots = self.bots();
        let bot = bots.entry(bot).or_default();
        let until = bot.throttled.note(chat, retry_after, now)?;
        let longer = bot.held_until.is_none_or(|held| held < until);
        longer.then(|| *bot.held_until.insert(until))
    }

    fn chats(&self) -> MutexGuard<'_, HashMap<(BotId, String), StoredChatGate>> {
        // As above.
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The gate of a chat as it was last seen here: as of nobody's if it was not.
    pub(crate) fn gate(&self, bot: BotId, chat: &str) -> StoredChatGate {
        self.chats()
            .get(&(bot, chat.to_owned()))
            .cloned()
            .unwrap_or_default()
    }

    /// Remembers the gate of a chat. One that is forgotten costs one more write.
    pub(crate) fn keep_gate(&self, bot: BotId, chat: &str, gate: StoredChatGate) {
        let mut chats = self.chats();
        if chats.len() >= MOST_CHATS {
            chats.clear();
        }
        chats.insert((bot, chat.to_owned()), gate);
    }

    /// Forgets all, as a new instance.
    #[cfg(test)]
    pub(crate) fn forget(&self) {
        self.chats().clear();
        self.bots().clear();
    }

    /// Whether a private chat is known to have sends ahead.
    pub(crate) fn is_ahead(&self, bot: BotId, chat: &str, now: Timestamp) -> bool {
        let chats = self.chats();
        chats
            .get(&(bot, chat.to_owned()))
            .is_some_and(|stored| stored.gate.is_ahead(now))
    }

    /// How long the bot is still held.
    pub(crate) fn held_for(&self, bot: BotId, now: Timestamp) -> Option<Duration> {
        let until = self.bots().get(&bot)?.held_until?;
        (until > now).then(|| until.since(now))
    }
}
