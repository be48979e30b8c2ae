//! The Telegram side of a stack: simulated, or a real bot through a bridge.

use std::sync::Arc;

use axum::middleware::from_fn;
use penstock_domain::secret::{BotToken, InstantAck, WebhookSecret};
use serde_json::json;
use telegram_sim::{Sim, SimOptions};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::error::StackError;
use super::options::{
    SIMULATED_BOT_ID, SIMULATED_TOKEN, SIMULATED_USERNAME, SimulatedTelegram, StackOptions, Telegram,
};
use crate::adapters::TelegramClock;
use crate::aws::guard::programs_only;
use crate::aws::serve::{Server, loopback};
use crate::bridge::{Bridge, BridgeError, Target};
use crate::clock::{StackClock, wall_ms};
use crate::logs::Logs;
use crate::state::BotIdentity;

/// A Telegram that is there, with nothing delivered yet.
pub(super) enum Side {
    Simulated {
        sim: Sim,
        url: String,
        server: Server,
    },
    Real {
        bridge: Bridge,
        token: BotToken,
        api_root: String,
    },
}

/// A Telegram that delivers.
pub(super) enum Delivering {
    Simulated {
        sim: Sim,
        server: Server,
    },
    Real {
        stop: watch::Sender<bool>,
        polling: JoinHandle<()>,
        ended: watch::Receiver<Option<String>>,
    },
}

impl Side {
    /// Starts simulated Telegram, or checks the real bot.
    pub(super) async fn connect(telegram: Telegram, clock: StackClock) -> Result<Self, StackError> {
        match telegram {
            Telegram::Simulated(options) => simulated(options, clock).await,
            Telegram::Real(options) => {
                let (token, api_root) = (options.token.clone(), options.api_root.clone());
                Ok(Self::Real {
                    bridge: Bridge::connect(options).await?,
                    token,
                    api_root,
                })
            }
        }
    }

    pub(super) fn bot_id(&self) -> u64 {
        match self {
            Self::Simulated { .. } => SIMULATED_BOT_ID,
            Self::Real { bridge, .. } => bridge.bot_id(),
        }
    }

    pub(super) fn username(&self) -> &str {
        match self {
            Self::Simulated { .. } => SIMULATED_USERNAME,
            Self::Real { bridge, .. } => bridge.username(),
        }
    }

    pub(super) fn sim(&self) -> Option<Sim> {
        match self {
            Self::Simulated { sim, .. } => Some(sim.clone()),
            Self::Real { .. } => None,
        }
    }

    /// The root that the sender calls.
    pub(super) fn api_root(&self) -> &str {
        match self {
            Self::Simulated { url, .. } => url,
            Self::Real { api_root, .. } => api_root,
        }
    }

    /// The bot's secret, as ingress and sender read it.
    pub(super) fn secret(&self, identity: &BotIdentity, options: &StackOptions) -> String {
        let (token, usual) = match self {
            Self::Simulated { .. } => (SIMULATED_TOKEN, InstantAck::Callbacks),
            Self::Real { token, .. } => (token.reveal(), InstantAck::Off),
        };
        // A backend may answer a press with a text of its own (design section 3): it is not answered before.
        let usual = if options.forward.is_some() {
            InstantAck::Off
        } else {
            usual
        };
        let instant_ack = match options.instant_ack.unwrap_or(usual) {
            InstantAck::Off => "off",
            InstantAck::Callbacks => "callbacks",
            InstantAck::All => "all",
        };
        let backend_secret = options
            .forward
            .as_ref()
            .and_then(|forward| forward.secret.as_ref());
        let backend_secret = backend_secret.map(WebhookSecret::reveal);
        json!({
            "token": token,
            "webhook_secret": identity.webhook_secret,
            "path_key": identity.path_key,
            "instant_ack": instant_ack,
            "backend_secret": backend_secret,
        })
        .to_string()
    }

    /// Begins to deliver.
    pub(super) async fn deliver(self, target: Target, logs: &Logs) -> Result<Delivering, StackError> {
        match self {
            Self::Simulated { sim, server, .. } => {
                let webhook = json!({ "url": target.webhook_url, "secret_token": target.webhook_secret });
                let set = sim.call("setWebhook", webhook).await;
                set.map_err(|error| StackError::Simulated {
                    reason: error.to_string(),
                })?;
                Ok(Delivering::Simulated { sim, server })
            }
            Self::Real { bridge, .. } => {
                if let Some(host) = bridge.removed_webhook() {
                    logs.note(&format!(
                        "the webhook at {host} was removed; pending updates are kept"
                    ));
                }
                let (stop, stopped) = watch::channel(false);
                let (tell, ended) = watch::channel(None);
                let logs = logs.clone();
                let polling = tokio::spawn(async move {
                    let ended: Result<(), BridgeError> = bridge.run(target, logs.clone(), stopped).await;
                    if let Err(error) = ended {
                        let told = format!("the bridge to telegram ended: {error}");
                        logs.note(&told);
                        tell.send_replace(Some(told));
                    }
                });
                Ok(Delivering::Real { stop, polling, ended })
            }
        }
    }
}

impl Delivering {
    pub(super) fn sim(&self) -> Option<&Sim> {
        match self {
            Self::Simulated { sim, .. } => Some(sim),
            Self::Real { .. } => None,
        }
    }

    /// Why Updates come no more; waits for ever while they do, and after a stop.
    pub(super) async fn failed(&self) -> String {
        if let Self::Real { ended, .. } = self {
            let mut ended = ended.clone();
            if let Ok(told) = ended.wait_for(Option::is_some).await {
                return told.clone().unwrap_or_default();
            }
        }
        std::future::pending().await
    }

    /// Stops what brings Updates in; simulated Telegram still answers calls.
    pub(super) async fn stop_updates(&self) {
        match self {
            Self::Simulated { sim, .. } => {
                if let Err(error) = sim.call("deleteWebhook", json!({})).await {
                    tracing::warn!(%error, "the simulated webhook could not be removed");
                }
            }
            Self::Real { stop, .. } => {
                stop.send_replace(true);
            }
        }
    }

    pub(super) async fn shutdown(self) {
        match self {
            Self::Simulated { server, .. } => server.shutdown().await,
            Self::Real { stop, polling, .. } => {
                stop.send_replace(true);
                if let Err(error) = polling.await {
                    tracing::error!(%error, "the bridge ended badly");
                }
            }
        }
    }
}

async fn simulated(options: SimulatedTelegram, clock: StackClock) -> Result<Side, StackError> {
    let sim = Sim::new(SimOptions {
        profile: options.profile,
        limits: options.limits,
        latency_ms: options.latency_ms,
        clock: Arc::new(TelegramClock(clock)),
        seed: options.seed.unwrap_or_else(|| wall_ms().unsigned_abs()),
    });
    sim.add_bot(SIMULATED_TOKEN, SIMULATED_USERNAME)
        .map_err(|error| StackError::Simulated {
            reason: error.to_string(),
        })?;
    let (listener, address) = loopback("simulated telegram").await?;
    let server = Server::router(
        "simulated telegram",
        listener,
        sim.router().layer(from_fn(programs_only)),
    );
    Ok(Side::Simulated {
        sim,
        url: format!("http://{address}"),
        server,
    })
}
