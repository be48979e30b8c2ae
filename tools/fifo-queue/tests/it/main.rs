//! Behaviour of the engine and its server, from outside.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod dead_letters;
mod dedup;
mod delivery;
mod http;
mod kill;
mod limits;
mod model;
mod model_reference;
mod move_tasks;
mod polling;
mod queues;
mod reopen;
mod support;
