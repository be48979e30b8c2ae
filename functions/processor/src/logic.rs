//! What handles Updates: a bot inside this function, or a backend elsewhere. Never touches the ledger.

mod built_in;
mod forward;
mod standby;

use penstock_bot::{Context, Incoming, Outcome, Reads};
use penstock_domain::ids::BotId;
use penstock_domain::retry::{Jitter, RetryPolicy};
use penstock_domain::time::Timestamp;
use penstock_outage::Turn;
use penstock_ports::{Clock, RunAs, Subject};

use crate::run_bot::RunFailure;

pub use forward::{Backends, Forwarding, NoBackend};
pub use standby::{BadReplies, CoreReplies, Standby};
pub(crate) use standby::{MAX_AGE, StandIn};

/// One try of one Update.
pub struct Try<'a> {
    /// Which Update it is.
    pub subject: &'a Subject,
    /// By which right it is run.
    pub run: &'a RunAs,
    /// What a handler is told.
    pub context: &'a Context,
    /// The Update as it is read.
    pub incoming: &'a Incoming,
    /// The Update as it came.
    pub raw: &'a str,
}

/// What handles Updates.
pub trait Logic: Send + Sync {
    /// Whether an Update is claimed before its first run. It must be wherever a run is seen outside before its outcome
    /// is committed: two runs at once would be two effects.
    fn always_claims(&self) -> bool;

    /// Whether an Update may be tried now. Asked before its claim, so that waiting costs no write to its record.
    fn entry(&self, subject: &Subject, now: Timestamp, draw: Jitter) -> impl Future<Output = Turn> + Send;

    /// Whether the last of an Update's tries may be made. Asked after its claim; one that waits is given back.
    fn last_try(&self, subject: &Subject, now: Timestamp, draw: Jitter) -> impl Future<Output = Turn> + Send;

    /// Since when nothing of the bot is tried, and what stands in for its backend meanwhile. `None`: there is nothing
    /// to stand in for.
    fn standby(
        &self,
        bot: BotId,
        now: Timestamp,
    ) -> impl Future<Output = Option<(Timestamp, &Standby)>> + Send {
        let _ = (bot, now);
        async { None }
    }

    /// What handling the Update reads.
    ///
    /// # Errors
    /// What the bot asks for cannot be read.
    fn reads(&self, incoming: &Incoming) -> Result<Reads, RunFailure>;

    /// How often the Update is tried.
    fn policy(&self, incoming: &Incoming) -> RetryPolicy;

    /// Handles the Update.
    ///
    /// # Errors
    /// See [`RunFailure`].
    fn run<C: Clock>(
        &self,
        clock: &C,
        this: &Try<'_>,
    ) -> impl Future<Output = Result<Outcome, RunFailure>> + Send;
}
