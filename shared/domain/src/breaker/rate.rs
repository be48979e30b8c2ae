//! How fast Updates come back to a backend: the rate that it had, and the steps of the ramp towards it. Never counts.

use std::time::Duration;

use crate::gcra::Gcra;

/// Updates a second that a backend had before its outage: the highest mean of a minute in the last 24 h.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u32);

impl Rate {
    /// Of the busiest minute's number of Updates; at least 1/s.
    #[must_use]
    pub fn of_busiest_minute(updates: u32) -> Self {
        Self(updates.div_ceil(60).max(1))
    }

    /// Updates a second.
    #[must_use]
    pub fn per_second(self) -> u32 {
        self.0
    }

    /// A gate that lets so many percent of it through, without bursts.
    #[must_use]
    pub fn gate(self, percent: Percent) -> Gcra {
        let cells = u64::from(self.0) * u64::from(percent.0);
        let micros = 100_000_000_u64.div_ceil(cells.max(1));
        Gcra {
            interval: Duration::from_micros(micros),
            tolerance: Duration::ZERO,
        }
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
