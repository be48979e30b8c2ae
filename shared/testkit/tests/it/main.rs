//! The contract of the ledger, on the fake and on the embedded table.

mod dynamodb;
mod fake;
mod listed;
