//! How fast a backend was worked before its death and after its return. Pure.

use serde::Serialize;

/// The steady rate is the mean of at most so long before the kill, ms.
const STEADY_MS: i64 = 60_000;
/// What a return is judged by: design section 4 promises its first minute.
const MINUTE_MS: i64 = 60_000;
/// The peak of that minute is taken over so long, ms: a flood of what has waited shows at once, and no single second
/// counts.
const PEAK_MS: i64 = 5_000;

/// When what happened, ms since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) begun_at: i64,
    pub(super) killed_at: i64,
    pub(super) back_at: i64,
}

/// Runs of the bot a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Rates {
    /// In the last minute before the kill, or the later nine tenths of what there was.
    pub(super) before: f64,
    /// In the minute after the first run that followed the return.
    pub(super) first_minute: f64,
    /// In the busiest five seconds of that minute.
    pub(super) peak: f64,
    /// In the busiest minute of all that followed.
    pub(super) busiest_minute: f64,
    /// The peak as a multiple of the rate before; `None` if either is nothing.
    pub(super) peak_ratio: Option<f64>,
}

impl Rates {
    /// Of runs at these times, in any order.
    pub(super) fn of(runs: &[i64], times: Times) -> Self {
        let mut runs = runs.to_vec();
        runs.sort_unstable();
        // The first tenth is left out: functions and bot start in it.
        let warm_at = times.begun_at + (times.killed_at - times.begun_at) / 10;
        let from = warm_at.max(times.killed_at - STEADY_MS);
        let before = per_second(within(&runs, from, times.killed_at).len(), times.killed_at - from);
        let after = within(&runs, times.back_at, i64::MAX);
        let Some(first) = after.first() else {
            return Self {
                before,
                ..Self::default()
            };
        };
        let minute = within(after, *first, first + MINUTE_MS);
        let peak = per_second(busiest(minute, PEAK_MS), PEAK_MS);
        Self {
            before,
            first_minute: per_second(minute.len(), MINUTE_MS),
            peak,
            busiest_minute: per_second(busiest(after, MINUTE_MS), MINUTE_MS),
            peak_ratio: (before > 0.0).then(|| (peak / before * 100.0).round() / 100.0),
        }
    }
}

/// Those of a sorted list in `[from, to)`.
fn within(sorted: &[i64], from: i64, to: i64) -> &[i64] {
    let begin = sorted.partition_point(|at| *at < from);
    let end = sorted.partition_point(|at| *at < to);
    sorted.get(begin..end).unwrap_or_default()
}

/// The most in any window of that length.
fn busiest(sorted: &[i64], window_ms: i64) -> usize {
    let windows = sorted
        .iter()
        .map(|from| within(sorted, *from, from + window_ms).len());
    windows.max().unwrap_or(0)
}

fn per_second(count: usize, time_ms: i64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a run has far fewer than 2^53 of either"
    )]
    let rate = count as f64 * 1_000.0 / time_ms.max(1) as f64;
    tenth(rate)
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times {
        begun_at: 0,
        killed_at: 100_000,
        back_at: 120_000,
    };

    /// Evenly spread, so many a second.
    fn steady(from: i64, to: i64, per_second: i64) -> impl Iterator<Item = i64> {
        (from..to).filter(move |at| at % (1_000 / per_second) == 0)
    }

    #[test]
    fn a_ramp_stays_below_the_former_rate() {
        let runs: Vec<i64> = steady(0, 100_000, 50)
            .chain(steady(130_000, 160_000, 5))
            .chain(steady(160_000, 250_000, 50))
            .collect();
        let rates = Rates::of(&runs, TIMES);
        let wanted = Rates {
            before: 50.0,
            first_minute: 27.5,
            peak: 50.0,
            busiest_minute: 50.0,
            peak_ratio: Some(1.0),
        };
        assert_eq!(rates, wanted);
    }

    #[test]
    fn a_flood_of_a_few_seconds_is_seen_though_its_minute_is_moderate() {
        let runs: Vec<i64> = steady(0, 100_000, 10)
            .chain(steady(121_000, 126_000, 50))
            .collect();
        let rates = Rates::of(&runs, TIMES);
        assert_eq!((rates.first_minute, rates.peak), (4.2, 50.0));
        assert_eq!(rates.peak_ratio, Some(5.0));
    }

    #[test]
    fn nothing_before_or_after_gives_no_ratio() {
        let only_before: Vec<i64> = steady(0, 100_000, 10).collect();
        let only_after: Vec<i64> = steady(120_000, 130_000, 10).collect();
        for runs in [only_before, only_after, Vec::new()] {
            assert_eq!(Rates::of(&runs, TIMES).peak_ratio, None);
        }
    }

    #[test]
    fn a_short_time_before_is_measured_without_its_start() {
        let times = Times {
            begun_at: 80_000,
            ..TIMES
        };
        let runs: Vec<i64> = steady(82_000, 100_000, 20).collect();
        assert_eq!(Rates::of(&runs, times).before, 20.0);
    }
}
