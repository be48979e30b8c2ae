//! Behaviour of the engine and its server, from outside.

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
