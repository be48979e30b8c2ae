//! How long things may take, one inside the other: `call < lease < function timeout (20 s) < visibility (120 s)`.

use std::time::Duration;

/// Longest call of the Bot API. Its server may hide waits of up to 8 s inside a call (TDLib, `NetQueryDelayer`), so
/// this is well above that.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(12);
/// The lease on an intent, from the claim on.
pub(crate) const LEASE: Duration = Duration::from_secs(18);
/// What one intent may need: its call, and 3 s to claim and settle around it.
pub(crate) const NEEDED: Duration = Duration::from_secs(15);
