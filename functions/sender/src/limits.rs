//! How long things may take, one inside the other: `call < lease < function timeout (20 s) < visibility (120 s)`. With
//! the margin of 2 s a lease is over only after its sender was killed.

use std::time::Duration;

use penstock_ports::HORIZON;

/// Longest call of the Bot API. Its server may hide waits of up to 8 s inside a call (TDLib, `NetQueryDelayer`).
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(10);
/// The lease on an intent, from the claim on.
pub(crate) const LEASE: Duration = Duration::from_secs(19);
/// What one intent may need: 1.5 s until its turn, its call, and 6 s for three calls around it, each at most 2 s (claim,
/// settle, visibility).
pub const NEEDED: Duration = Duration::from_millis(17_500);
/// Until when, from the claim on, another call may begin: it and what settles it still fit.
pub(crate) const LAST_CALL: Duration = Duration::from_secs(4);
/// How long chats that have ended wait for the others of their batch. Sends wait for their slots at the gate up to its
/// horizon, so that a full batch takes that long though nobody is slow.
pub(crate) const PATIENCE: Duration = HORIZON.saturating_add(penstock_batch::PATIENCE);
