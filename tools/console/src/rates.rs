//! How fast things go, out of two looks at ever-growing sums. Pure.

use std::collections::{BTreeMap, VecDeque};

use crate::model::Snapshot;

/// A rate is the mean over this time, milliseconds: long enough not to flicker, short enough to follow.
const WINDOW_MS: u64 = 3_000;

struct Look {
    at_ms: u64,
    invocations: BTreeMap<String, u64>,
    received: u64,
    sent: u64,
}

/// The looks of the last seconds.
#[derive(Default)]
pub(crate) struct Rates {
    looks: VecDeque<Look>,
}

/// Per second, rounded to tenths.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PerSecond {
    pub(crate) received: f64,
    pub(crate) sent: f64,
    pub(crate) invocations: BTreeMap<String, f64>,
}

impl Rates {
    /// Adds a look and returns the rates as of it.
    pub(crate) fn look(&mut self, snapshot: &Snapshot) -> PerSecond {
        let at_ms = snapshot.uptime_ms;
        if self.looks.back().is_some_and(|last| last.at_ms > at_ms) {
            // Another start of the stack.
            self.looks.clear();
        }
        self.looks.push_back(Look {
            at_ms,
            invocations: snapshot
                .functions
                .iter()
                .map(|f| (f.name.clone(), f.invocations))
                .collect(),
            received: snapshot.totals.received,
            sent: snapshot.totals.sent,
        });
        while self.looks.len() > 2
            && self
                .looks
                .get(1)
                .is_some_and(|look| look.at_ms + WINDOW_MS <= at_ms)
        {
            self.looks.pop_front();
        }
        match (self.looks.front(), self.looks.back()) {
            (Some(first), Some(last)) if last.at_ms > first.at_ms => between(first, last),
            _ => PerSecond::default(),
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "sums of a local stack are far below 2^52"
)]
fn between(first: &Look, last: &Look) -> PerSecond {
    let seconds = (last.at_ms - first.at_ms) as f64 / 1_000.0;
    let rate =
        |before: u64, after: u64| (after.saturating_sub(before) as f64 / seconds * 10.0).round() / 10.0;
    let of = |(name, after): (&String, &u64)| {
        (
            name.clone(),
            rate(first.invocations.get(name).copied().unwrap_or(0), *after),
        )
    };
    PerSecond {
        received: rate(first.received, last.received),
        sent: rate(first.sent, last.sent),
        invocations: last.invocations.iter().map(of).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Totals;

    fn at(uptime_ms: u64, received: u64) -> Snapshot {
        Snapshot {
            uptime_ms,
            totals: Totals {
                received,
                ..Totals::default()
            },
            ..Snapshot::default()
        }
    }

    #[test]
    fn one_look_tells_no_rate() {
        assert_eq!(Rates::default().look(&at(1_000, 50)), PerSecond::default());
    }

    #[test]
    fn a_rate_is_the_mean_of_the_last_seconds() {
        let mut rates = Rates::default();
        rates.look(&at(0, 0));
        assert!((rates.look(&at(2_000, 10)).received - 5.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_rate_falls_to_zero_when_nothing_more_comes() {
        let mut rates = Rates::default();
        rates.look(&at(0, 0));
        for tick in 1..40 {
            rates.look(&at(tick * 250, 10));
        }
        assert!(rates.look(&at(10_000, 10)).received.abs() < f64::EPSILON);
    }

    #[test]
    fn a_restarted_stack_begins_anew() {
        let mut rates = Rates::default();
        rates.look(&at(90_000, 500));
        assert_eq!(rates.look(&at(100, 0)), PerSecond::default());
    }
}
