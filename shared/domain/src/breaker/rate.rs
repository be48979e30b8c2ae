//! How fast Updates come back to a backend: the rate that it had, and the steps of the ramp towards it. Never counts.

use std::time::Duration;

use crate::gcra::Gcra;

/// So many Updates pass a gate at once that was idle. One more than none: a small bot's second Update of the same second
/// must not wait, and at the least rate, 1/s, two in a second are twice the former rate and no more.
pub const BURST: u32 = 2;

/// Least that any step of a ramp lets through: 1/s, in Updates in 100 s. It is the least rate that is ever measured, and a
/// tenth of it would let three Updates of a small bot wait for half a minute.
const LEAST_HUNDREDTHS: u64 = 100;

/// Updates a second that a backend had before its outage: the highest mean of a minute in the last 24 h.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u32);

impl Rate {
    /// Of the busiest minute's number of Updates; at least 1/s.
    #[must_use]
    pub fn of_busiest_minute(updates: u32) -> Self {
        Self(updates.div_ceil(60).max(1))
    }

    /// Reads a stored one; at least 1/s.
    #[must_use]
    pub fn from_stored(per_second: u32) -> Self {
        Self(per_second.max(1))
    }

    /// Updates a second.
    #[must_use]
    pub fn per_second(self) -> u32 {
        self.0
    }

    /// A gate that lets so many percent of it through, but at least 1/s, [`BURST`] of them at once when it was idle. Its interval is whole
    /// milliseconds, as its time is stored; rounded up, so that it never lets more through.
    #[must_use]
    pub fn gate(self, percent: Percent) -> Gcra {
        let millis = 100_000_u64.div_ceil(self.hundredths(percent).max(LEAST_HUNDREDTHS));
        let interval = Duration::from_millis(millis);
        Gcra {
            interval,
            tolerance: interval * (BURST - 1),
        }
    }

    /// Whether the gate of so many percent lets through as much as it can count, one in a millisecond: no further step
    /// would let more through.
    #[must_use]
    pub(super) fn is_beyond_its_gate(self, percent: Percent) -> bool {
        self.hundredths(percent) >= 100_000
    }

    /// Updates in 100 s.
    fn hundredths(self, percent: Percent) -> u64 {
        u64::from(self.0) * u64::from(percent.0)
    }
}

/// Where the ramp stands: 10, 25, 50, 100, then doubled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percent(u32);

impl Percent {
    /// The first step.
    pub const FIRST: Self = Self(10);
    /// The rate itself.
    pub const WHOLE: Self = Self(100);

    /// As a number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }

    /// Reads a stored one; anything that is no step counts as the step below.
    #[must_use]
    pub fn from_stored(percent: u32) -> Self {
        let mut step = Self::FIRST;
        while step.next().0 <= percent && step != step.next() {
            step = step.next();
        }
        step
    }

    /// The next step.
    #[must_use]
    pub fn next(self) -> Self {
        Self(match self.0 {
            0..10 => 10,
            10..25 => 25,
            25..50 => 50,
            50..100 => 100,
            more => more.saturating_mul(2),
        })
    }
}
