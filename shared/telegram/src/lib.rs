//! The Bot API adapter: one HTTP client, and the one place where Telegram's error texts are understood.
//!
//! Never here: a decision to repeat a call, a wait, a gate, a table. A failure is classed and handed back; the token
//! and every URL that holds it stay inside [`BotApiClient`].

mod answer;
mod classify;
mod client;
mod errors;
mod scrub;

pub use classify::{Classed, Refusal, classify};
pub use client::{BotApiClient, ClientConfig, ClientError};
