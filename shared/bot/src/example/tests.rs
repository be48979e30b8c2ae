//! The example bot, tried whole against a table in memory that keeps the conditions of its writes.

mod basics;
mod interleavings;
mod orders;
mod resets;
mod world;
