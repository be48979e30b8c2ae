//! How long things may take, one inside the other:
//! `handler limit < lease < function timeout (20 s) < visibility (120 s)`. With the margin of 2 s a lease is over only
//! after its worker was killed.

use std::time::Duration;

/// Longest run of a handler.
pub(crate) const HANDLER_LIMIT: Duration = Duration::from_secs(10);
/// The lease on an Update, from the claim on.
pub(crate) const LEASE: Duration = Duration::from_secs(19);
/// What one Update may need: its handler, and 6 s for three calls around it, each at most 2 s (claim, commit, dispatch).
pub const NEEDED: Duration = Duration::from_secs(16);
