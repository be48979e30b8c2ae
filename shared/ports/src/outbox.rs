//! The intents of the ledger, as the sender sees them.

use penstock_domain::failure::Failure;
use penstock_domain::ids::LedgerKey;
use penstock_domain::intent::{IntentClaim, IntentRefusal};
use penstock_domain::ledger::Owner;
use penstock_domain::pace::ChatGate;
use penstock_domain::time::Timestamp;

use crate::error::PortError;

/// The answer to a claim on an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntentStart {
    /// It is mine until the lease ends.
    Acquired {
        /// Which try this is, from 1.
        attempt: u32,
        /// Telegram's id of the message that it refers to; none if it refers to none, or that one was not sent.
        message_id: Option<i64>,
    },
    /// It is not; this is why.
    Refused(IntentRefusal),
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleAs {
    /// Telegram confirmed it.
    Sent {
        /// Its message id, where it has one.
        message_id: Option<i64>,
    },
    /// It is tried again, not before; `burned` says whether the try counts (a 429 does not).
    Retry {
        /// Not before.
        next_at: Timestamp,
        /// Whether the try counts.
        burned: bool,
        /// Why.
        failure: Failure,
    },
    /// It will not be sent.
    Failed {
        /// Why.
        failure: Failure,
    },
    /// Nobody knows.
    Unknown {
        /// Why.
        failure: Failure,
    },
}

/// A settling write on an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentSettlement {
    /// The Update's key.
    pub key: LedgerKey,
    /// The intent's number.
    pub n: u8,
    /// How many intents the Update has.
    pub of: u8,
    /// Whose claim it is; `None` settles a claim whose owner died.
    pub owner: Option<Owner>,
    /// How the call ended.
    pub settle: SettleAs,
    /// Now.
    pub now: Timestamp,
}

/// An intent that the queue gave up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GiveUp {
    /// The Update's key.
    pub key: LedgerKey,
    /// The intent's number.
    pub n: u8,
    /// How many intents the Update has.
    pub of: u8,
    /// The generation of the copy in hand.
    pub redrive: u32,
    /// The resending number of the copy in hand.
    pub resend: u32,
    /// The previous intent of the same group.
    pub previous: Option<u8>,
    /// Why it is given up.
    pub failure: Failure,
    /// Now.
    pub now: Timestamp,
}

impl GiveUp {
    /// As a claim of nobody's: a claim of that name is never made, so that its refusal says what is there.
    #[must_use]
    pub fn as_claim(&self) -> IntentClaim {
        IntentClaim {
            owner: Owner(String::new()),
            n: self.n,
            redrive: self.redrive,
            resend: self.resend,
            previous: self.previous,
            refers_to: None,
            now: self.now,
            lease_until: self.now,
        }
    }
}

/// The answer to giving an intent up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenUp {
    /// It has failed.
    Failed,
    /// Nobody knows whether its last try arrived.
    Unknown,
    /// It was not for us to give up; this is why.
    Refused(IntentRefusal),
}

/// The intents of the ledger, and the holds that 429s put on chats.
pub trait Outbox: Send + Sync {
    /// Claims an intent before its call.
    fn start(
        &self,
        key: &LedgerKey,
        claim: &IntentClaim,
    ) -> impl Future<Output = Result<IntentStart, PortError>> + Send;

    /// Settles an intent; `false` if the claim does not hold any more.
    fn settle(&self, settlement: &IntentSettlement) -> impl Future<Output = Result<bool, PortError>> + Send;

    /// An intent that nobody could send becomes `failed`, or `unknown` if nobody knows of its last try, in one write: whether it was never begun or waits for its next
    /// try, of exactly this generation and resending, and once the previous one of its chat has ended.
    fn give_up(&self, give_up: &GiveUp) -> impl Future<Output = Result<GivenUp, PortError>> + Send;

    /// Puts a hold on a chat: no send before then. Holds are combined by the later one and never shortened.
    fn hold_chat(
        &self,
        bot: penstock_domain::ids::BotId,
        chat: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Changes a chat's gate if its last change is still the one that was seen (`None`: none was ever made). `token` is
    /// another one for every change, so that one which landed and was repeated is known. Never touches a hold.
    fn swap_chat_gate(
        &self,
        bot: penstock_domain::ids::BotId,
        chat: &str,
        seen: Option<&str>,
        next: &ChatGate,
        token: &str,
        now: Timestamp,
    ) -> impl Future<Output = Result<Swapped, PortError>> + Send;

    /// Holds a bot's interactive sends: none before then. Combined by the later one and never shortened; who debits
    /// the gate is told.
    fn hold_bot(
        &self,
        bot: penstock_domain::ids::BotId,
        until: Timestamp,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Reserves `cells` interactive sends at the bot's gate. A reservation exists only within [`HORIZON`]; beyond it
    /// nothing is reserved, so that who waits can ask again.
    fn debit_bot(
        &self,
        bot: penstock_domain::ids::BotId,
        cells: u32,
        now: Timestamp,
    ) -> impl Future<Output = Result<Debit, PortError>> + Send;
}

/// The gate of a chat as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredChatGate {
    /// It.
    pub gate: ChatGate,
    /// The token of its last change; none before the first.
    pub last: Option<String>,
    /// No send before then, since a 429 said so.
    pub hold_until: Option<Timestamp>,
}

/// What became of a change of a chat's gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Swapped {
    /// It is stored.
    Done {
        /// No send before then all the same.
        hold_until: Option<Timestamp>,
    },
    /// Somebody has changed it since; this is what is there.
    Lost(Box<StoredChatGate>),
}

/// How far ahead sends are reserved (design section 5: 1 s, which is waited out in the function).
pub const HORIZON: std::time::Duration = penstock_domain::pace::HORIZON;

/// The answer of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Debit {
    /// Reserved: the first goes after this wait, each further one a cell later.
    Reserved {
        /// At most [`HORIZON`].
        ahead: std::time::Duration,
    },
    /// Nothing is reserved: more than the horizon is ahead, or the gate is held.
    Full {
        /// How much is ahead.
        ahead: std::time::Duration,
    },
}
