//! The ledger, as the processor sees it: who may work on an Update, and how its outcome is kept.

use penstock_domain::data::{DataItem, DataKey, DataWrite};
use penstock_domain::failure::Failure;
use penstock_domain::ids::{BotId, LedgerKey, MessageGroupId, UpdateDigest};
use penstock_domain::intent::Intent;
use penstock_domain::kind::UpdateKind;
use penstock_domain::ledger::{ClaimRequest, Fence, Owner, Record, Refusal};
use penstock_domain::time::Timestamp;

use crate::error::PortError;

/// The Update that a record is about, as far as the ledger keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Its key.
    pub key: LedgerKey,
    /// The bot.
    pub bot_id: BotId,
    /// Its update id; -1 for a quarantined body.
    pub update_id: i64,
    /// Its kind.
    pub kind: UpdateKind,
    /// Its message group on the updates queue.
    pub group: MessageGroupId,
    /// When the ingress received it.
    pub received_at: Timestamp,
    /// The id that runs through every hop.
    pub trace_id: String,
    /// Digest of the Update; none for what is no Update.
    pub digest: Option<UpdateDigest>,
}

impl Subject {
    /// A body that is no Update of ours, under a key of its own.
    #[must_use]
    pub fn stranger(key: LedgerKey, bot_id: BotId, group: &str, now: Timestamp) -> Self {
        Self {
            key,
            bot_id,
            update_id: -1,
            kind: UpdateKind::Unknown,
            group: MessageGroupId(group.to_owned()),
            received_at: now,
            trace_id: String::new(),
            digest: None,
        }
    }
}

/// A claim in hand: what every settling write has to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimAs {
    /// Who.
    pub owner: Owner,
    /// With which fence.
    pub fence: Fence,
    /// Which try this is, from 1.
    pub attempt: u32,
}

/// By which right an Update is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunAs {
    /// By a claim in hand.
    Claimed(ClaimAs),
    /// By none: it was run without one, as the first delivery of a fresh Update. Every settling write is made only if
    /// there is no record (or one that outlived its life), and makes it: attempt 1, a new fence, this owner.
    Unclaimed(ClaimRequest),
}

impl RunAs {
    /// Which try this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        match self {
            Self::Claimed(claim) => claim.attempt,
            Self::Unclaimed(_) => 1,
        }
    }

    /// Who runs it.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        match self {
            Self::Claimed(claim) => &claim.owner,
            Self::Unclaimed(request) => &request.owner,
        }
    }
}

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It is mine until the lease ends.
    Acquired(ClaimAs),
    /// It is not; this is why, and the record that says so.
    Refused(Refusal, Box<Record>),
}

/// The answer to a take-over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakeOver {
    /// It is mine.
    Acquired(ClaimAs),
    /// Somebody was quicker.
    Lost,
}

/// New state of a chat, written with the outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateWrite {
    /// The chat's scope id, as in its group.
    pub chat: String,
    /// The version that was read; 0 for none.
    pub read_version: u64,
    /// The new state, JSON.
    pub state: String,
}

/// The outcome of a handled Update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The sends that it asks for.
    pub intents: Vec<Intent>,
    /// New chat state.
    pub state: Option<StateWrite>,
    /// The bot's own records, each under its condition.
    pub writes: Vec<DataWrite>,
    /// A short stored result, for repeats and for people; no personal data.
    pub result: String,
}

/// The answer to a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Commitment {
    /// Committed.
    Done,
    /// The lease was lost: somebody else has or will have the outcome.
    LeaseLost,
    /// The chat's state has changed since it was read: reload and run again.
    StateConflict,
    /// A write of the bot's own did not find what it expects.
    Unexpected {
        /// Which of [`Commit::writes`].
        n: usize,
    },
    /// It was run without a claim and there is a record after all: what a refused claim means, and the record.
    Refused(Refusal, Box<Record>),
}

/// The answer to settling an Update that got no outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// Settled.
    Settled,
    /// The lease was lost: somebody else settles it.
    LeaseLost,
    /// It was run without a claim and there is a record after all: what a refused claim means, and the record.
    Refused(Refusal, Box<Record>),
}

/// How an Update that did not get an outcome is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Tried again, not before. The try counts.
    Retry {
        /// Not before.
        next_at: Timestamp,
        /// Why.
        failure: Failure,
    },
    /// What it needs is away: it waits until then, and the try does not count. Only for a claimed Update; of one that
    /// was run without a claim nothing was burned.
    Defer {
        /// Not before.
        next_at: Timestamp,
        /// Why.
        failure: Failure,
    },
    /// Parked, with its raw body.
    Dead {
        /// The raw Update.
        raw: String,
        /// Why.
        failure: Failure,
    },
}

/// The ledger.
pub trait Inbox: Send + Sync {
    /// Claims an Update: one conditional write.
    fn claim(
        &self,
        subject: &Subject,
        request: &ClaimRequest,
    ) -> impl Future<Output = Result<Claim, PortError>> + Send;

    /// Takes an Update over from a worker that died, if the record is still as it was seen.
    fn take_over(
        &self,
        subject: &Subject,
        request: &ClaimRequest,
        seen: Fence,
    ) -> impl Future<Output = Result<TakeOver, PortError>> + Send;

    /// Writes the outcome with chat state, the bot's own records and the intents: all of it or nothing, and only if
    /// the right to it still holds. A repeat of a write that had landed is a success.
    fn commit(
        &self,
        subject: &Subject,
        run: &RunAs,
        commit: &Commit,
        now: Timestamp,
    ) -> impl Future<Output = Result<Commitment, PortError>> + Send;

    /// Settles an Update that got no outcome, if the right to it still holds. A repeat of a write that had landed is a
    /// success.
    fn settle(
        &self,
        subject: &Subject,
        run: &RunAs,
        verdict: &Verdict,
        now: Timestamp,
    ) -> impl Future<Output = Result<Settlement, PortError>> + Send;

    /// Files an Update that SQS or the ingress parked.
    fn file_dead(
        &self,
        subject: &Subject,
        redrive: u32,
        raw: &str,
        failure: &Failure,
        now: Timestamp,
    ) -> impl Future<Output = Result<Filed, PortError>> + Send;

    /// Reads a record.
    fn read(&self, key: &LedgerKey) -> impl Future<Output = Result<Option<Record>, PortError>> + Send;

    /// Reads a chat's state and its version.
    fn chat_state(
        &self,
        bot: BotId,
        chat: &str,
    ) -> impl Future<Output = Result<Option<(String, u64)>, PortError>> + Send;

    /// Reads records of the bot's own, in the order of the keys.
    fn data(
        &self,
        bot: BotId,
        keys: &[DataKey],
    ) -> impl Future<Output = Result<Vec<Option<DataItem>>, PortError>> + Send;
}

/// The answer to filing a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filed {
    /// It is in the ledger, dead.
    Dead,
    /// It was dead or superseded before.
    Already,
    /// It is done: dispatch what is still `intended`.
    Done(Box<Record>),
    /// A worker holds it until then.
    HeldUntil(Timestamp),
}
