//! What the functions need of the world, as narrow traits in the words of the domain. No SDK type, no I/O, no policy.

mod backend;
mod botapi;
mod breakers;
mod clock;
mod error;
mod inbox;
mod outbox;
mod queue;
mod repairs;
mod secrets;

pub use backend::{Backend, BackendError, Excerpt, Forward, NotRun, Silence, Unreached};
pub use botapi::{ApiError, ApiReply, BotApi, Meaning};
pub use breakers::{BreakerChange, Breakers, Changed, HELD_BACK_EVERY, StoredBreaker};
pub use clock::{Clock, Draw};
pub use error::PortError;
pub use inbox::{
    Claim, ClaimAs, Commit, Commitment, Filed, Inbox, RunAs, Settlement, StateWrite, Subject, TakeOver,
    Verdict,
};
pub use outbox::{
    Debit, GiveUp, GivenUp, HORIZON, IntentSettlement, IntentStart, Outbox, SettleAs, StoredChatGate, Swapped,
};
pub use queue::{Deliveries, Enqueue, QueueSender, VisibilityChange};
pub use repairs::{ATTENTION_SHARDS, AttentionKind, AuditRow, Letter, Need, Page, Place, Repaired, Repairs};
pub use secrets::SecretSource;
