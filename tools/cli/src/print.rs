//! The two outputs: data on standard output, progress and errors on standard error. Never mixes them.

use std::io::Write as _;

use serde::Serialize;
use tracing_subscriber::EnvFilter;

/// What is heard of the libraries below. The embedded table warns at every condition that fails, which is how the ledger
/// asks.
const FILTER: &str = "warn,dynoxide=error";

/// A line of data. A reader that went away is no failure of the command.
pub(crate) fn data(line: &str) {
    writeln!(std::io::stdout().lock(), "{line}").ok();
}

/// A value as one line of JSON.
pub(crate) fn json(value: &impl Serialize) {
    data(&serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}")));
}

/// A line of progress or an error.
pub(crate) fn note(line: &str) {
    writeln!(std::io::stderr().lock(), "{line}").ok();
}

/// Warnings of the libraries below go to standard error. The lines of functions are not among them: the console shows
/// those.
pub(crate) fn init_tracing() {
    let subscriber = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_env_filter(EnvFilter::new(FILTER))
        .finish();
    // Set once, at the start.
    tracing::subscriber::set_global_default(subscriber).ok();
}
