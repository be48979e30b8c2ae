//! The contract of the ledger, on the fake and on the embedded table, and what it writes there.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what fails there fails the test"
)]

mod breakers;
mod dynamodb;
mod fake;
mod golden;
mod listed;
mod rows;
