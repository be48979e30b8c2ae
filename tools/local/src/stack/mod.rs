//! A whole stack: started, looked at, stopped.
//!
//! Everything of the pipeline goes through the services and the functions' processes. Never a
//! shortcut from here into a queue, a table or a function.

mod depths;
mod error;
mod options;
mod start;
mod telegram;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fifo_queue::Engine;
use telegram_sim::Sim;
use tokio::task::JoinSet;

pub use depths::QueueDepth;
pub use error::StackError;
pub use options::{
    ForwardOptions, SIMULATED_BOT_ID, SIMULATED_TOKEN, SIMULATED_USERNAME, SimulatedTelegram, StackOptions,
    Telegram,
};
pub use view::View;

use crate::aws::serve::Server;
use crate::aws::{Clients, Embedded, Endpoints, Meter};
use crate::esm::Mapping;
use crate::state::{BotIdentity, StateDir};
use crate::template::Resources;
use telegram::Delivering;

/// How long batches in functions may take to end at a shutdown, on the wall clock; then their
/// processes are stopped, and the messages come again at the next start.
const FINISH_LIMIT: Duration = Duration::from_secs(5);

/// Between two looks at a mapping that is paused, on the wall clock.
const PAUSE_LOOK_EVERY: Duration = Duration::from_millis(10);

/// No mapping of that queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no function is fed from queue {queue:?}; these are: {}", known.join(", "))]
pub struct NoSuchMapping {
    /// The queue asked for.
    pub queue: String,
    /// The queues there are.
    pub known: Vec<String>,
}

/// A running stack. Dropped without [`Stack::shutdown`] it stops too, without waiting for anything.
pub struct Stack {
    view: View,
    mappings: Arc<BTreeMap<String, Arc<Mapping>>>,
    embedded: Option<Embedded>,
    endpoints: Endpoints,
    clients: Clients,
    resources: Resources,
    telegram: Delivering,
    web: Server,
    passing: JoinSet<()>,
    identity: BotIdentity,
    // Last: the directory is unlocked, and removed if temporary, when all else is gone.
    state: StateDir,
}

impl Stack {
    /// Starts a stack. Returns when everything is created and Updates are delivered.
    ///
    /// # Errors
    /// When it cannot start; the message names the cure.
    pub async fn start(options: StackOptions) -> Result<Self, StackError> {
        start::start(options).await
    }

    /// What can be seen of it; a clone may outlive it.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Base URL of the front and the console, without a slash at the end.
    #[must_use]
    pub fn front_url(&self) -> &str {
        &self.view.facts().front_url
    }

    /// The page for a browser.
    #[must_use]
    pub fn console_url(&self) -> String {
        format!("{}/", self.front_url())
    }

    /// The webhook of the bot. Secret: it holds the path key.
    #[must_use]
    pub fn webhook_url(&self) -> String {
        start::webhook_url(self.front_url(), self.bot_id(), &self.identity)
    }

    /// What requests to the webhook carry in `X-Telegram-Bot-Api-Secret-Token`.
    #[must_use]
    pub fn webhook_secret(&self) -> &str {
        &self.identity.webhook_secret
    }

    /// The root of the Bot API that the stack calls; a bot that calls simulated Telegram by itself needs it too.
    #[must_use]
    pub fn api_root(&self) -> &str {
        &self.view.facts().api_root
    }

    /// The bot's id.
    #[must_use]
    pub fn bot_id(&self) -> u64 {
        self.view.facts().bot_id
    }

    /// The bot's user name, without `@`.
    #[must_use]
    pub fn username(&self) -> &str {
        &self.view.facts().username
    }

    /// The endpoint for `AWS_ENDPOINT_URL`: queues, tables and secrets.
    #[must_use]
    pub fn endpoint_url(&self) -> &str {
        &self.endpoints.all
    }

    /// SDK clients for the stack's services.
    #[must_use]
    pub fn clients(&self) -> &Clients {
        &self.clients
    }

    /// What the template made.
    #[must_use]
    pub fn resources(&self) -> &Resources {
        &self.resources
    }

    /// Simulated Telegram, when it is simulated.
    #[must_use]
    pub fn sim(&self) -> Option<&Sim> {
        self.telegram.sim()
    }

    /// The queue engine, when it is embedded.
    #[must_use]
    pub fn engine(&self) -> Option<&Engine> {
        self.embedded.as_ref().map(Embedded::engine)
    }

    /// The counts of calls, when calls are counted.
    #[must_use]
    pub fn meter(&self) -> Option<&Meter> {
        self.embedded.as_ref().and_then(Embedded::meter)
    }

    /// Where state is kept.
    #[must_use]
    pub fn state_dir(&self) -> &std::path::Path {
        self.state.path()
    }

    /// Turns the feeding of a function from a queue on or off, as enabling or disabling its event
    /// source mapping does.
    ///
    /// # Errors
    /// When no function is fed from that queue.
    pub fn set_mapping_enabled(&self, queue: &str, enabled: bool) -> Result<(), NoSuchMapping> {
        let Some(mapping) = self.mappings.get(queue) else {
            return Err(NoSuchMapping {
                queue: queue.to_owned(),
                known: self.mappings.keys().cloned().collect(),
            });
        };
        mapping.set_enabled(enabled);
        Ok(())
    }

    /// Turns the feeding from a queue off, and comes back when no poller asks for messages any more: what comes into the
    /// queue from now on stays there.
    ///
    /// # Errors
    /// When no function is fed from that queue.
    pub async fn pause_mapping(&self, queue: &str) -> Result<(), NoSuchMapping> {
        self.set_mapping_enabled(queue, false)?;
        let is_asking = || {
            let mapping = self.mappings.get(queue);
            mapping.is_some_and(|mapping| mapping.stats().receiving > 0)
        };
        while is_asking() {
            tokio::time::sleep(PAUSE_LOOK_EVERY).await;
        }
        // The queue's side of an abandoned request ends a moment after ours.
        tokio::time::sleep(PAUSE_LOOK_EVERY).await;
        Ok(())
    }

    /// Waits until nothing is on its way; `false` when that took longer than `limit` on the wall clock.
    pub async fn idle(&self, limit: Duration) -> bool {
        self.view.idle(limit).await
    }

    /// Waits until the bridge to a real bot has ended by itself, and gives the reason with its cure. Never comes back
    /// with simulated Telegram.
    pub async fn bridge_failed(&self) -> String {
        self.telegram.failed().await
    }

    /// Stops the stack: no more Updates, batches finished, processes stopped, files closed. What is
    /// in the queues stays there for the next start.
    pub async fn shutdown(self) {
        self.telegram.stop_updates().await;
        for mapping in self.mappings.values() {
            mapping.stop();
        }
        let finish = async {
            for mapping in self.mappings.values() {
                mapping.shutdown().await;
            }
        };
        if tokio::time::timeout(FINISH_LIMIT, finish).await.is_err() {
            self.view
                .logs()
                .note("functions still run; their processes are stopped");
        }
        self.view.host.shutdown().await;
        for mapping in self.mappings.values() {
            mapping.shutdown().await;
        }
        // Open pages end with their lines.
        drop(self.passing);
        self.web.shutdown().await;
        self.telegram.shutdown().await;
        if let Some(embedded) = self.embedded {
            embedded.shutdown().await;
        }
    }
}
