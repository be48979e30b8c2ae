//! The 429s that this instance saw, and the holds of bots that follow from them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use penstock_domain::ids::BotId;
use penstock_domain::throttle::Throttled;
use penstock_domain::time::Timestamp;

#[derive(Debug, Default)]
struct Bot {
    throttled: Throttled,
    held_until: Option<Timestamp>,
}

/// What this instance knows of its bots' limits. Others learn of a hold when they debit the gate, or as this one did.
#[derive(Debug, Default)]
pub struct Throttles {
    bots: Mutex<BTreeMap<BotId, Bot>>,
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

    /// How long the bot is still held.
    pub(crate) fn held_for(&self, bot: BotId, now: Timestamp) -> Option<Duration> {
        let until = self.bots().get(&bot)?.held_until?;
        (until > now).then(|| until.since(now))
    }
}
