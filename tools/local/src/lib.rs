//! The whole pipeline on one machine: what `penstock dev` and the tests run.
//!
//! [`Stack::start`] reads the template, creates its queues and table in embedded services, runs its
//! functions as separate processes, feeds them as Lambda would, and puts a Telegram in front. This
//! crate must never contain a rule of the pipeline: those are in the functions it runs.

mod adapters;
pub mod aws;
pub mod backend;
pub mod bridge;
pub mod calls;
pub mod clock;
mod console;
pub mod esm;
pub mod front;
mod functions;
pub mod lambda;
pub mod ledger;
pub mod logs;
mod stack;
pub mod state;
pub mod template;

pub use functions::{end_with_the_host, function_main, function_main_with};
pub use stack::{
    ForwardOptions, NoSuchMapping, QueueDepth, SIMULATED_BOT_ID, SIMULATED_TOKEN, SIMULATED_USERNAME,
    SimulatedTelegram, Stack, StackError, StackOptions, Telegram, View,
};
