//! How a repair fails: in words that name the cure.

use penstock_domain::ids::LedgerKey;
use penstock_domain::intent::IntentState;
use penstock_domain::repair::{Misfit, Refused, SendRefused};
use penstock_domain::route::RouteError;
use penstock_ports::PortError;

/// Why a repair was not made, or not wholly.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// There is no such record.
    #[error("no record of {0}: check the key and the bot")]
    NotFound(LedgerKey),
    /// Its state does not allow it.
    #[error("{0}")]
    Refused(#[source] Refused),
    /// The send's state does not allow it.
    #[error("{0}")]
    SendRefused(#[source] SendRefused),
    /// There is no such send.
    #[error("it has no send {0}")]
    NoSuchSend(u8),
    /// The new body does not fit.
    #[error("{0}")]
    Misfit(#[source] Misfit),
    /// Its raw body is not kept.
    #[error("its raw body is not kept any more")]
    NoBody,
    /// Its raw body is no Update.
    #[error("its raw body is no update: edit it first")]
    UnfitBody(#[source] RouteError),
    /// It would not fit into a queue message.
    #[error("its message would have {0} bytes; the queue takes less than 1,048,576")]
    TooLong(usize),
    /// Somebody was quicker, again and again.
    #[error("somebody else is at it; look at it again")]
    Changed,
    /// A stored send cannot become a message.
    #[error("send {n}, which is {}, cannot be written", .state.name())]
    UnfitSend {
        /// Which.
        n: u8,
        /// Its state.
        state: IntentState,
    },
    /// The ledger did not answer as it should. What was asked may have been done: look at it again.
    #[error("{0}; look at it again")]
    Store(#[source] PortError),
    /// The ledger has it, and the queue does not: it stays listed, and can be asked for again in a minute.
    #[error("{0}; it is written down, so ask for it again in a minute")]
    NotQueued(#[source] PortError),
}

impl RepairError {
    /// Whether later ones of the same chat must wait for this one: it may still go through, and they would overtake it.
    #[must_use]
    pub fn holds_chat(&self) -> bool {
        match self {
            Self::Store(_) | Self::NotQueued(_) => true,
            Self::NotFound(_)
            | Self::Refused(_)
            | Self::SendRefused(_)
            | Self::NoSuchSend(_)
            | Self::Misfit(_)
            | Self::NoBody
            | Self::UnfitBody(_)
            | Self::TooLong(_)
            | Self::Changed
            | Self::UnfitSend { .. } => false,
        }
    }
}
