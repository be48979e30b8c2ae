//! The backend that the function is configured with, and each bot's own secret for it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aws_config::SdkConfig;
use penstock_backend::{BackendClient, Target};
use penstock_domain::ids::BotId;
use penstock_domain::secret::BackendSecret;
use penstock_ports::{Clock, SecretSource};

use crate::logic::{Backends, NoBackend};

/// One URL or function for all bots of the stack, each with its own secret.
pub(crate) struct ConfiguredBackends<S, C> {
    target: String,
    secrets: S,
    sdk: SdkConfig,
    clock: C,
    clients: Mutex<HashMap<BotId, (BackendSecret, BackendClient<C>)>>,
}

impl<S, C> ConfiguredBackends<S, C> {
    pub(crate) fn new(target: String, secrets: S, sdk: SdkConfig, clock: C) -> Self {
        Self {
            target,
            secrets,
            sdk,
            clock,
            clients: Mutex::default(),
        }
    }
}

impl<S: SecretSource, C: Clock + Clone> Backends for ConfiguredBackends<S, C> {
    type Backend = BackendClient<C>;

    async fn of(&self, bot: BotId) -> Result<BackendClient<C>, NoBackend> {
        let secret = self.secrets.bot_secret(bot).await;
        let secret = secret.map_err(|error| NoBackend::Away(error.to_string()))?;
        let secret = secret.map(|secret| secret.backend).unwrap_or_default();
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, client)) = clients.get(&bot)
            && *known == secret
        {
            return Ok(client.clone());
        }
        let unfit = |error: penstock_backend::TargetError| NoBackend::Unfit(error.to_string());
        let target =
            Target::parse(&self.target, secret.token.clone(), secret.authority.as_deref()).map_err(unfit)?;
        if target.is_exposed() {
            tracing::warn!(
                bot.id = bot.0,
                "the backend's URL is plain http on a public host: Updates and its secret can be read on the way"
            );
        }
        let client = BackendClient::new(target, &self.sdk, self.clock.clone()).map_err(unfit)?;
        clients.insert(bot, (secret, client.clone()));
        Ok(client)
    }
}
