//! The local stack with a scripted function, over real queues and real processes.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

mod bridge;
mod feeding;
mod front;
mod harness;
mod order;
mod pipeline;
mod processes;
mod restart;
