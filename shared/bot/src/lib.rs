//! Writing a bot that runs inside the processor: implement [`Bot`], or put a [`Router`] together. A handler is given an
//! Update and what is known about the try, and gives back an [`Outcome`]: the sends, the new state and the records, which
//! are committed together. Never does I/O of Penstock's own.

mod bot;
pub mod calls;
pub mod example;
mod incoming;
mod outcome;
pub mod router;

pub use bot::{Bot, BotError, Context, Reads};
pub use incoming::{Callback, Incoming, Payment, Price};
pub use outcome::Outcome;
pub use router::{Route, Router};

// What a bot needs of the rules, so that it depends on this crate alone.
pub use penstock_domain::data::{Change, DataItem, DataKey, DataWrite, Expect, MAX_RECORDS, MAX_VALUE};
pub use penstock_domain::ids::{BotId, LedgerKey, UpdateId};
pub use penstock_domain::intent::{Call, MAX_INTENTS, OnUnknown};
pub use penstock_domain::kind::UpdateKind;
pub use penstock_domain::retry::{Preset, RetryPolicy, UpdateClass};
pub use penstock_domain::time::Timestamp;

/// The page about writing a bot: its code is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/writing-a-bot.md")]
struct WritingABot;
