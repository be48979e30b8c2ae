//! The outage mode over the fake ledger and a clock that the test moves: its single rules, and whole stories of outages.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what fails there fails the test"
)]

mod rules;
mod stories;
mod world;
