//! The generic cell rate algorithm as pure maths over a theoretical arrival time (TAT). Never stores or waits; how a
//! reservation is written is the adapter's matter.

use std::time::Duration;

use crate::time::Timestamp;

/// A rate: one cell an `interval`, and as many at once as `tolerance` has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gcra {
    /// Time that one cell costs.
    pub interval: Duration,
    /// How far the TAT may lie ahead of now.
    pub tolerance: Duration,
}

/// Whether cells may go now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Go, and store this TAT.
    Admit {
        /// The new theoretical arrival time.
        next_tat: Timestamp,
    },
    /// Not before this instant.
    Wait {
        /// The first instant at which the same cells are admitted.
        until: Timestamp,
    },
}

impl Gcra {
    /// `rate` cells a second with a burst of `burst` cells.
    #[must_use]
    pub fn per_second(rate: u32, burst: u32) -> Self {
        let interval = Duration::from_secs(1) / rate.max(1);
        Self {
            interval,
            tolerance: interval * burst.max(1).saturating_sub(1),
        }
    }

    /// Whether `cells` cells may go at `now`, given the stored TAT.
    #[must_use]
    pub fn admit(&self, tat: Option<Timestamp>, cells: u32, now: Timestamp) -> Admission {
        let start = tat.map_or(now, |tat| tat.max(now));
        let limit = now + self.tolerance;
        if start > limit {
            return Admission::Wait {
                until: start - self.tolerance,
            };
        }
        Admission::Admit {
            next_tat: start + self.interval * cells,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_burst_passes_and_then_one_an_interval() {
        let gate = Gcra::per_second(1, 3);
        let mut tat = None;
        let mut admitted = Vec::new();
        for now in (0..5_000).step_by(100) {
            if let Admission::Admit { next_tat } = gate.admit(tat, 1, at(now)) {
                tat = Some(next_tat);
                admitted.push(now);
            }
        }
        assert_eq!(admitted, [0, 100, 200, 1_000, 2_000, 3_000, 4_000]);
    }

    proptest! {
        #[test]
        fn over_any_window_no_more_than_burst_and_rate(
            rate in 1_u32..40, burst in 1_u32..6, steps in proptest::collection::vec(0_i64..400, 1..120),
        ) {
            let gate = Gcra::per_second(rate, burst);
            let (mut tat, mut now, mut admitted) = (None, 0, Vec::new());
            for step in steps {
                now += step;
                if let Admission::Admit { next_tat } = gate.admit(tat, 1, at(now)) {
                    tat = Some(next_tat);
                    admitted.push(now);
                }
            }
            for (i, from) in admitted.iter().enumerate() {
                for (j, to) in admitted.iter().enumerate().skip(i) {
                    let window = Duration::from_millis((to - from).unsigned_abs());
                    let most = u128::from(burst) + window.as_nanos() / gate.interval.as_nanos() + 1;
                    prop_assert!((j - i + 1) as u128 <= most);
                }
            }
        }

        #[test]
        fn a_wait_admits_at_its_end_and_not_a_millisecond_before(rate in 1_u32..40, burst in 1_u32..6, ahead in 0_i64..9_000) {
            let gate = Gcra::per_second(rate, burst);
            if let Admission::Wait { until } = gate.admit(Some(at(ahead)), 1, at(0)) {
                let admitted = |now| matches!(gate.admit(Some(at(ahead)), 1, now), Admission::Admit { .. });
                prop_assert!(admitted(until));
                prop_assert!(!admitted(until - Duration::from_millis(1)));
            }
        }
    }
}
