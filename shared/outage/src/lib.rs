//! The outage mode of one process: whether an Update may be tried at its backend now, and what its tries show of that.
//! Reads the bots' breakers through a cache of seconds, asks the domain, writes what it decides. Never calls a backend,
//! never waits, never reads a clock; a store that is away is never an error to the caller.

mod door;
mod outage;

pub use outage::{FLUSH_EVERY, FRESH, Outage, Turn, USUAL};
