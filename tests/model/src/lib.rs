//! model
pub mod batch;
pub mod check;
mod dead_letter;
mod domain;
pub mod fault;
mod judge;
pub mod person;
pub mod pipeline;
mod processor;
pub mod promise;
pub mod queue;
pub mod scenario;
pub mod scenarios;
mod sender;
pub mod state;
pub mod step;
mod table;
