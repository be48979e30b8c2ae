//! The decisions of Penstock as pure functions of values.
//!
//! Never here: async, a clock, randomness, AWS, HTTP, logging. `now` and the draw come in as arguments; what is to be
//! done comes out as a value that somebody else performs.
#![warn(clippy::wildcard_enum_match_arm, clippy::iter_over_hash_type)]

pub mod breaker;
pub mod bytes;
pub mod data;
pub mod expiry;
pub mod failure;
pub mod gcra;
pub mod ids;
pub mod intent;
pub mod kind;
pub mod ledger;
pub mod method;
pub mod pace;
pub mod repair;
pub mod retry;
pub mod route;
mod scan;
pub mod secret;
pub mod throttle;
pub mod time;
