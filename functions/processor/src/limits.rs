//! How long things may take, one inside the other:
//! `handler limit < lease < function timeout (20 s) < visibility (120 s)`. A worker that still runs has its lease, and
//! one that was killed has lost it before its message comes back.

use std::time::Duration;

/// Longest run of a handler.
pub(crate) const HANDLER_LIMIT: Duration = Duration::from_secs(12);
/// The lease on an Update, from the claim on.
pub(crate) const LEASE: Duration = Duration::from_secs(18);
/// What one Update may need: its handler, and 3 s to claim, commit and dispatch around it.
pub(crate) const NEEDED: Duration = Duration::from_secs(15);
