//! Bot secrets from Secrets Manager, kept for a while: one call per Update would cost more than everything else.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_secretsmanager::error::ProvideErrorMetadata as _;
use penstock_domain::ids::BotId;
use penstock_domain::secret::{BackendSecret, BotSecret, BotToken, InstantAck, PathKey, WebhookSecret};
use penstock_domain::time::Timestamp;
use penstock_ports::{Clock, PortError, SecretSource};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::error::port_error;
use crate::hooks::point;

/// How long a secret is used before it is read again.
const LIFE: Duration = Duration::from_secs(300);
/// Least time between two refreshes that a mismatch asks for (design section 3: one a minute and instance).
const REFRESH_EVERY: Duration = Duration::from_secs(60);

const OPERATION: &str = "secretsmanager.get_secret_value";

#[derive(Deserialize)]
struct Stored {
    token: String,
    webhook_secret: Option<String>,
    path_key: Option<String>,
    #[serde(default)]
    instant_ack: StoredInstantAck,
    backend_secret: Option<String>,
    backend_ca: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum StoredInstantAck {
    Off,
    #[default]
    Callbacks,
    All,
}

/// Bots that are not here, looked up a minute and instance: a stranger who guesses bot ids must not run up a bill.
const STRANGERS_A_MINUTE: usize = 100;

struct Cached {
    secret: Option<BotSecret>,
    read_at: Timestamp,
}

/// Secrets named `{prefix}{bot_id}`, cached in this process.
pub struct CachedSecrets<C> {
    client: aws_sdk_secretsmanager::Client,
    prefix: String,
    clock: C,
    cache: Mutex<HashMap<BotId, Cached>>,
}

impl<C: Clock> CachedSecrets<C> {
    /// Reads secrets under that prefix.
    pub fn new(client: aws_sdk_secretsmanager::Client, prefix: String, clock: C) -> Self {
        Self {
            client,
            prefix,
            clock,
            cache: Mutex::new(HashMap::new()),
        }
    }

    async fn fetch(&self, bot: BotId) -> Result<Option<BotSecret>, PortError> {
        point("secrets.get.before");
        let answer = self
            .client
            .get_secret_value()
            .secret_id(format!("{}{bot}", self.prefix))
            .send()
            .await;
        point("secrets.get.after");
        let value = match answer {
            Ok(value) => value,
            // Deleted secrets answer InvalidRequestException until their recovery window ends.
            Err(error)
                if matches!(
                    error.code(),
                    Some("ResourceNotFoundException" | "InvalidRequestException")
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(port_error(OPERATION, error)),
        };
        // The parser's own error may quote the secret, so it is dropped here.
        let stored: Stored =
            serde_json::from_str(value.secret_string().unwrap_or_default()).map_err(|_| {
                PortError::Unreadable {
                    operation: OPERATION,
                    what: "bot secret",
                }
            })?;
        Ok(Some(BotSecret {
            token: BotToken::new(stored.token),
            webhook_secret: stored
                .webhook_secret
                .filter(|s| !s.is_empty())
                .map(WebhookSecret::new),
            path_key: stored.path_key.filter(|s| !s.is_empty()).map(PathKey::new),
            instant_ack: match stored.instant_ack {
                StoredInstantAck::Off => InstantAck::Off,
                StoredInstantAck::Callbacks => InstantAck::Callbacks,
                StoredInstantAck::All => InstantAck::All,
            },
            backend: BackendSecret {
                token: stored
                    .backend_secret
                    .filter(|s| !s.is_empty())
                    .map(WebhookSecret::new),
                authority: stored.backend_ca.filter(|s| !s.is_empty()),
            },
        }))
    }

    async fn younger_than(&self, bot: BotId, age: Duration) -> Result<Option<BotSecret>, PortError> {
        // Held across the call on purpose: a burst of requests for one bot makes one call.
        let mut cache = self.cache.lock().await;
        let now = self.clock.now();
        if let Some(cached) = cache.get(&bot)
            && now.since(cached.read_at) < age
        {
            return Ok(cached.secret.clone());
        }
        if !cache.contains_key(&bot) {
            let strangers =
                |cached: &Cached| cached.secret.is_none() && now.since(cached.read_at) < REFRESH_EVERY;
            if cache.values().filter(|cached| strangers(cached)).count() >= STRANGERS_A_MINUTE {
                // Not "no such bot": a real one that is not cached yet must not be told so because of them.
                return Err(PortError::Unavailable {
                    operation: OPERATION,
                    code: "too_many_unknown_bots".to_owned(),
                });
            }
            cache.retain(|_, cached| cached.secret.is_some() || strangers(cached));
        }
        let secret = match (self.fetch(bot).await, cache.get(&bot)) {
            (Ok(secret), _) => secret,
            (
                Err(error),
                Some(Cached {
                    secret: Some(secret), ..
                }),
            ) => {
                tracing::warn!(bot.id = bot.0, error = %error, "the secret could not be read again: the one at hand is used");
                return Ok(Some(secret.clone()));
            }
            (Err(error), _) => return Err(error),
        };
        cache.insert(
            bot,
            Cached {
                secret: secret.clone(),
                read_at: now,
            },
        );
        Ok(secret)
    }
}

impl<C: Clock> SecretSource for CachedSecrets<C> {
    async fn bot_secret(&self, bot: BotId) -> Result<Option<BotSecret>, PortError> {
        self.younger_than(bot, LIFE).await
    }

    async fn refreshed(&self, bot: BotId) -> Result<Option<BotSecret>, PortError> {
        self.younger_than(bot, REFRESH_EVERY).await
    }
}
