//! A durable, SQS-compatible FIFO queue engine on SQLite: a library, an HTTP server and a small binary.
//!
//! [`Engine`] holds the queues; [`http`] speaks the AWS JSON 1.0 protocol in front of it. Everything that
//! depends on time asks a [`Clock`]. This crate must never read the wall clock anywhere else, never open a
//! socket by itself and never deliver a message past an invisible one of the same group.

pub mod clock;
pub mod digest;
mod engine;
mod error;
pub mod http;
mod message;
mod receipt;
mod rules;

pub use clock::{Clock, ManualClock, SystemClock};
pub use engine::calls::Operation;
pub use engine::move_task::{MoveTask, MoveTaskStatus};
pub use engine::stats::QueueStats;
pub use engine::{Engine, Options};
pub use error::{Code, EngineError, Refusal};
pub use message::{AttributeValue, MessageAttribute, ReceiveRequest, Received, SendEntry, Sent};
