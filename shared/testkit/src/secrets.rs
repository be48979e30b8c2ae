//! Bot secrets in memory, with the cache's one visible trait: after a rotation the old value is served until it is
//! refreshed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use penstock_domain::ids::BotId;
use penstock_domain::secret::BotSecret;
use penstock_ports::{PortError, SecretSource};

use crate::fault::{Fault, Faults};

#[derive(Debug, Default)]
struct Inner {
    stored: HashMap<BotId, BotSecret>,
    cached: HashMap<BotId, Option<BotSecret>>,
    refreshes: usize,
    faults: Faults,
}

/// A source of bot secrets.
#[derive(Debug, Default)]
pub struct FakeSecrets(Mutex<Inner>);

impl FakeSecrets {
    /// A source that knows one bot.
    #[must_use]
    pub fn with(bot: BotId, secret: BotSecret) -> Self {
        let secrets = Self::default();
        secrets.store(bot, secret);
        secrets
    }

    /// Stores a bot's secret. What was read before is still served until it is refreshed.
    pub fn store(&self, bot: BotId, secret: BotSecret) {
        self.inner().stored.insert(bot, secret);
    }

    /// Removes a bot.
    pub fn remove(&self, bot: BotId) {
        self.inner().stored.remove(&bot);
    }

    /// How often a refresh was asked for.
    #[must_use]
    pub fn refreshes(&self) -> usize {
        self.inner().refreshes
    }

    /// Makes the next `count` calls fail.
    pub fn fail_next(&self, count: u64, fault: Fault) {
        self.inner().faults.fail_next(count, fault);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SecretSource for FakeSecrets {
    async fn bot_secret(&self, bot: BotId) -> Result<Option<BotSecret>, PortError> {
        let mut inner = self.inner();
        let Inner {
            stored,
            cached,
            faults,
            ..
        } = &mut *inner;
        faults.call("secrets.bot_secret", || {
            cached
                .entry(bot)
                .or_insert_with(|| stored.get(&bot).cloned())
                .clone()
        })
    }

    async fn refreshed(&self, bot: BotId) -> Result<Option<BotSecret>, PortError> {
        let mut inner = self.inner();
        inner.refreshes += 1;
        let Inner {
            stored,
            cached,
            faults,
            ..
        } = &mut *inner;
        faults.call("secrets.refreshed", || {
            let secret = stored.get(&bot).cloned();
            cached.insert(bot, secret.clone());
            secret
        })
    }
}

#[cfg(test)]
mod tests {
    use penstock_domain::secret::{BotToken, InstantAck};

    use super::*;

    fn secret(token: &str) -> BotSecret {
        BotSecret {
            token: BotToken::new(token.to_owned()),
            webhook_secret: None,
            path_key: None,
            instant_ack: InstantAck::Off,
            backend: penstock_domain::secret::BackendSecret::default(),
        }
    }

    #[tokio::test]
    async fn a_rotated_secret_is_seen_only_after_a_refresh() {
        let secrets = FakeSecrets::with(BotId(1), secret("old"));
        assert_eq!(secrets.bot_secret(BotId(1)).await.unwrap(), Some(secret("old")));
        secrets.store(BotId(1), secret("new"));
        assert_eq!(secrets.bot_secret(BotId(1)).await.unwrap(), Some(secret("old")));
        assert_eq!(secrets.refreshed(BotId(1)).await.unwrap(), Some(secret("new")));
        assert_eq!(secrets.bot_secret(BotId(1)).await.unwrap(), Some(secret("new")));
        assert_eq!(secrets.bot_secret(BotId(2)).await.unwrap(), None);
        assert_eq!(secrets.refreshes(), 1);
    }
}
