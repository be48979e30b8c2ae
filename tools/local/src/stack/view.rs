//! What can be seen of a running stack, for the console, for waiting, and for tests.
//!
//! Never changes anything.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use telegram_sim::Sim;

use super::depths::{Gauge, QueueDepth};
use crate::backend::BreakerReader;
use crate::clock::StackClock;
use crate::esm::{Mapping, MappingStats};
use crate::front::{AcceptedUpdate, Front};
use crate::lambda::{FunctionStats, LambdaHost};
use crate::ledger::LedgerReader;
use crate::logs::Logs;

/// Between two looks at a stack that is waited for, on the wall clock.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// Looks in a row that must find nothing to do: one could miss what just moved on.
const QUIET_LOOKS: u32 = 2;

/// A stack, to look at. Clones see the same stack.
#[derive(Clone)]
pub struct View {
    pub(super) clock: StackClock,
    pub(super) logs: Logs,
    pub(super) host: LambdaHost,
    pub(super) mappings: Arc<BTreeMap<String, Arc<Mapping>>>,
    pub(super) front: Option<Front>,
    pub(super) gauge: Gauge,
    pub(super) sim: Option<Sim>,
    pub(super) ledger: Option<LedgerReader>,
    pub(super) breaker: Option<BreakerReader>,
    pub(super) facts: Arc<Facts>,
}

/// What does not change while a stack runs.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) stack_name: String,
    pub(crate) bot_id: u64,
    pub(crate) username: String,
    pub(crate) real_bot: bool,
    pub(crate) front_url: String,
    pub(crate) api_root: String,
    pub(crate) started_at_ms: i64,
    /// Whether an earlier start left state behind.
    pub(crate) is_resumed: bool,
    pub(crate) program: String,
    /// The bot's own backend, if Updates are handed to one.
    pub(crate) backend_url: Option<String>,
}

impl View {
    /// The stack's clock.
    #[must_use]
    pub fn clock(&self) -> StackClock {
        self.clock
    }

    /// Lines of functions and stack.
    #[must_use]
    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    /// Figures of every function.
    #[must_use]
    pub fn functions(&self) -> Vec<FunctionStats> {
        self.host.stats()
    }

    /// Figures of every event source mapping, by queue.
    #[must_use]
    pub fn mappings(&self) -> Vec<MappingStats> {
        self.mappings.values().map(|mapping| mapping.stats()).collect()
    }

    /// How full the queues are; `None` when they cannot be read.
    pub async fn queues(&self) -> Option<Vec<QueueDepth>> {
        self.gauge.read().await
    }

    /// The last Updates that the front accepted, newest first.
    #[must_use]
    pub fn recent_updates(&self) -> Vec<AcceptedUpdate> {
        self.front
            .as_ref()
            .map(|front| front.recent().list())
            .unwrap_or_default()
    }

    /// Requests that the front accepted since the start.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.front.as_ref().map_or(0, |front| front.recent().accepted())
    }

    /// Simulated Telegram, when it is simulated.
    #[must_use]
    pub fn sim(&self) -> Option<&Sim> {
        self.sim.as_ref()
    }

    /// Reads the ledger; `None` when the template has no table.
    #[must_use]
    pub fn ledger(&self) -> Option<&LedgerReader> {
        self.ledger.as_ref()
    }

    /// Reads the breaker of the bot's backend; `None` where Updates are handed to none.
    pub(crate) fn breaker(&self) -> Option<&BreakerReader> {
        self.breaker.as_ref()
    }

    pub(crate) fn front(&self) -> Option<&Front> {
        self.front.as_ref()
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Whether nothing is anywhere on its way. Looked at in the direction of travel, so that what
    /// moves on meanwhile is met further down.
    pub async fn is_quiet(&self) -> bool {
        let delivering = self.sim.as_ref().is_some_and(|sim| sim.pending_updates() > 0);
        if delivering || self.host.is_busy() {
            return false;
        }
        let empty = self
            .queues()
            .await
            .is_some_and(|queues| queues.iter().all(QueueDepth::is_empty));
        empty && !self.host.is_busy()
    }

    /// Waits until nothing is on its way; `false` when that took longer than `limit` on the wall clock.
    pub async fn idle(&self, limit: Duration) -> bool {
        let wait = async {
            let mut quiet = 0;
            while quiet < QUIET_LOOKS {
                if self.is_quiet().await {
                    quiet += 1;
                } else {
                    quiet = 0;
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(limit, wait).await.is_ok()
    }
}
