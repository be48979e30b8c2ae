//! How busy a backend was: the busiest minute of each of the last hours, in 28 numbers whatever it handles. Never counts
//! by itself; never reads a clock.

use super::Rate;
use crate::time::Timestamp;

/// Hours that are kept: the running one and 24 before, so that the last 24 h are always covered.
pub const HOURS: usize = 25;
/// A clock that is further than this ahead of another (minutes) was wrong, and what it wrote is not waited for.
const CLOCKS_APART: i64 = 5;

/// Updates answered, as far as the highest count of a minute within 24 h needs it.
///
/// Two minutes are open: instances report some seconds late, and their clocks differ. What comes later still counts
/// for the earlier of the two.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meter {
    /// The running minute, since the epoch.
    pub minute: i64,
    /// Updates answered in it so far.
    pub count: u32,
    /// In the minute before it.
    pub count_before: u32,
    /// The most in any minute that is closed: of the running minute's hour first, then of each hour before.
    pub hours: [u32; HOURS],
}

fn minute_of(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(60_000)
}

fn hour_of(minute: i64) -> i64 {
    minute.div_euclid(60)
}

impl Meter {
    /// Counts Updates that were answered in the minute of `at`.
    pub fn add(&mut self, count: u32, at: Timestamp) {
        let minute = minute_of(at);
        if self.minute - minute > CLOCKS_APART {
            // Written by a clock that was far ahead: begin again from here, with the maxima that there are.
            self.hours[0] = self.hours[0].max(self.count).max(self.count_before);
            (self.minute, self.count, self.count_before) = (minute, 0, 0);
        }
        self.advance(minute);
        let open = if minute >= self.minute {
            &mut self.count
        } else {
            &mut self.count_before
        };
        *open = open.saturating_add(count);
    }

    /// The highest count of a minute in the 24 h before `now` (up to 25 h, by whole hours), as a rate.
    #[must_use]
    pub fn rate(&self, now: Timestamp) -> Rate {
        let mut then = self.clone();
        then.advance(minute_of(now));
        let hours = then.hours.iter().copied().max().unwrap_or(0);
        Rate::of_busiest_minute(hours.max(then.count).max(then.count_before))
    }

    /// Closes minutes up to that one.
    fn advance(&mut self, minute: i64) {
        if minute <= self.minute {
            return;
        }
        self.close(self.minute - 1, self.count_before);
        self.count_before = if minute == self.minute + 1 {
            self.count
        } else {
            self.close(self.minute, self.count);
            0
        };
        self.count = 0;
        let passed = hour_of(minute) - hour_of(self.minute);
        let passed = usize::try_from(passed).map_or(HOURS, |passed| passed.min(HOURS));
        self.hours.rotate_right(passed);
        self.hours[..passed].fill(0);
        self.minute = minute;
    }

    /// A minute's count becomes its hour's, if it is the highest.
    fn close(&mut self, minute: i64, count: u32) {
        let hours_ago = hour_of(self.minute) - hour_of(minute);
        let hour = usize::try_from(hours_ago)
            .ok()
            .and_then(|ago| self.hours.get_mut(ago));
        if let Some(most) = hour {
            *most = count.max(*most);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_millis(minute * 60_000)
    }

    fn counted(counts: &[(i64, u32)]) -> Meter {
        let mut meter = Meter::default();
        for (minute, count) in counts {
            meter.add(*count, at(*minute));
        }
        meter
    }

    #[test]
    fn the_busiest_minute_counts_for_a_day_and_then_no_more() {
        let day = 24 * 60;
        let meter = counted(&[(1_000, 600), (1_001, 60), (1_002, 1_200), (1_100, 60)]);
        let rate = |minute| meter.rate(at(minute)).per_second();
        assert_eq!(rate(1_100), 20);
        assert_eq!(rate(1_002 + day), 20);
        assert_eq!(rate(1_002 + day + 60), 1, "only the later ones are left");
        assert_eq!(rate(9_000_000), 1);
        assert_eq!(Meter::default().rate(at(1_000)).per_second(), 1);
    }

    #[test]
    fn the_running_minute_counts_before_it_has_ended() {
        assert_eq!(counted(&[(1_000, 300)]).rate(at(1_000)).per_second(), 5);
        assert_eq!(counted(&[(1_000, 300)]).rate(at(1_001)).per_second(), 5);
    }

    #[test]
    fn a_report_of_the_minute_before_is_counted_there() {
        let meter = counted(&[(1_000, 300), (1_001, 60), (1_000, 300)]);
        assert_eq!((meter.count, meter.count_before), (60, 600));
        assert_eq!(meter.rate(at(1_001)).per_second(), 10);
    }

    #[test]
    fn a_clock_that_was_an_hour_ahead_is_not_waited_for() {
        let mut meter = counted(&[(1_000, 600), (1_060, 60)]);
        for minute in 1_000..1_010 {
            meter.add(60, at(minute));
        }
        assert_eq!(meter.minute, 1_009);
        assert_eq!(meter.rate(at(1_009)).per_second(), 10, "no minutes were added up");
    }

    proptest! {
        /// Against a plain table of all minutes; only what is older than 24 h may be in or out.
        #[test]
        fn it_is_the_highest_count_of_a_day_whatever_the_order_of_neighbouring_minutes(
            steps in proptest::collection::vec((0_i64..200, 0_i64..2, 1_u32..2_000), 1..80), later in 0_i64..3_000,
        ) {
            let (mut meter, mut all, mut now) = (Meter::default(), BTreeMap::new(), 29_000_000);
            for (step, late, count) in steps {
                now += step;
                // One minute late at the most, as long as nobody was further.
                let minute = now - late;
                meter.add(count, at(minute));
                *all.entry(minute).or_insert(0_u32) += count;
            }
            now += later;
            let most = |hours: i64| {
                let from = all.range(now - hours * 60..);
                from.map(|(_, count)| *count).max().unwrap_or(0)
            };
            let rate = meter.rate(at(now));
            prop_assert!(rate >= Rate::of_busiest_minute(most(24)));
            prop_assert!(rate <= Rate::of_busiest_minute(most(25)));
        }

        /// However far clocks are apart, no count is lost from sight and none is doubled.
        #[test]
        fn no_minute_has_more_than_all_that_was_counted(
            reports in proptest::collection::vec((0_i64..10_000, 0_u32..100), 1..50),
        ) {
            let meter = counted(&reports);
            let all: u32 = reports.iter().map(|(_, count)| count).sum();
            let now = reports.iter().map(|(minute, _)| *minute).max().unwrap_or(0);
            prop_assert!(meter.rate(at(now)) <= Rate::of_busiest_minute(all));
        }
    }
}
