//! Writing a bot that runs inside the processor: implement [`Bot`]. A handler is given an Update and what is known
//! about the try, and gives back an [`Outcome`]: the sends and the new state, which are committed together.
//! Never does I/O of Penstock's own.

mod bot;
pub mod example;
mod incoming;

pub use bot::{Bot, BotError, Context, Outcome, Reads};
pub use incoming::{Callback, Incoming, Payment, Price};
