//! How long an Update waits while its backend is away or coming back. Never counts receives.

use std::time::Duration;

use crate::retry::Jitter;
use crate::time::Timestamp;

/// A wait is this part of what has been waited already. Doubling would be some forty receives fewer in all, and let a button
/// that is pressed behind a waiting message, and the backend's return, be seen only after as long again.
const PART: u32 = 8;
/// First wait of an Update while the door is shut, or while the ramp has no place for it (design section 4: 5 s).
pub const FIRST_WAIT: Duration = Duration::from_secs(5);
/// Longest such wait on the first day (10 min): about 170 receives, far from the 1,000 after which SQS gives up.
pub const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// Longest from the second day on (30 min): under 900 receives in the 14 days that SQS keeps a message.
pub const LONGEST_WAIT_LATER: Duration = Duration::from_secs(1_800);
/// When the second day begins for an Update.
pub const FIRST_DAY: Duration = Duration::from_secs(86_400);
/// Longest wait for a place in the ramp before jitter (20 s): less than one of its steps, so that a step that lets more
/// through is used from its beginning; whoever finds the gate full does not ask the table again.
pub const LONGEST_RAMP_WAIT: Duration = Duration::from_secs(20);
/// Most jitter on a wait, as a part of it. It only adds: shorter waits would be more receives.
pub(super) const WAIT_SPREAD: f64 = 0.2;

/// The wait of an Update that has waited since `since` (the later of the outage's start and its own receipt): an eighth of
/// what it has waited already, from 5 s. The same for a paused bot.
#[must_use]
pub fn deferral(since: Timestamp, received_at: Timestamp, now: Timestamp, draw: Jitter) -> Duration {
    let longest = if now.since(received_at) >= FIRST_DAY {
        LONGEST_WAIT_LATER
    } else {
        LONGEST_WAIT
    };
    let wait = (now.since(since) / PART).clamp(FIRST_WAIT, longest);
    wait.mul_f64(1.0 + WAIT_SPREAD * draw.get())
}

/// The wait of an Update for which the ramp that began then has no place, `ahead` being what its gate has before it. It
/// grows with the ramp, up to 20 s, and up to doubles by jitter, which spreads what would come back together.
#[must_use]
pub fn ramp_wait(ramp_at: Timestamp, ahead: Duration, now: Timestamp, draw: Jitter) -> Duration {
    let wait = now
        .since(ramp_at)
        .saturating_add(FIRST_WAIT)
        .min(LONGEST_RAMP_WAIT);
    wait.max(ahead).mul_f64(1.0 + draw.get())
}
