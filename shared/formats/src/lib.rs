//! The formats that travel through the queues, with their versions. Documented field by field in `docs/formats.md`.
//! Never does I/O and never decides anything; the ledger's items are the table adapter's matter.

pub mod envelope;
pub mod outbound;
pub mod quarantine;
pub mod redriven;
mod text;
mod version;

pub use version::{ReadError, SCHEMA_VERSION};
