//! The program itself, started as a person would start it. Never looks into it: only at its outputs and exit codes.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

mod dead;
mod dev;
mod forward;
mod headless;
mod load;
mod program;
mod readme;
mod refusals;
mod unknown;
