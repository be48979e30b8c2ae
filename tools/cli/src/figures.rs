//! Figures of a run: percentiles, rates, durations for people. Pure.

use std::time::Duration;

/// The value that `percent` of all values do not exceed (nearest rank); `None` of nothing.
pub(crate) fn percentile(values: &[u64], percent: f64) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "a run has far fewer than 2^53 values")]
    let rank = (percent / 100.0 * sorted.len() as f64).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the length"
    )]
    let index = (rank.max(1.0) as usize).saturating_sub(1);
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied()
}

/// So many a second, to one decimal.
pub(crate) fn per_second(count: usize, time: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a run has far fewer than 2^53 updates")]
    let rate = count as f64 / time.as_secs_f64().max(0.001);
    (rate * 10.0).round() / 10.0
}

/// Milliseconds of a stack's time as milliseconds on the wall clock.
pub(crate) fn on_the_wall(stack_ms: u64, scale: f64) -> u64 {
    let wall = Duration::from_millis(stack_ms).div_f64(scale);
    u64::try_from(wall.as_millis()).unwrap_or(u64::MAX)
}

/// `850 ms`, `12.3 s`.
pub(crate) fn duration(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_was_met() {
        let values: Vec<u64> = (1..=200).rev().collect();
        let met = [0.0, 50.0, 99.0, 100.0].map(|percent| percentile(&values, percent));
        assert_eq!(met, [Some(1), Some(100), Some(198), Some(200)]);
        assert_eq!(percentile(&[], 50.0), None);
        assert_eq!(percentile(&[7], 99.0), Some(7));
    }

    #[test]
    fn rates_and_durations_read_well() {
        assert_eq!(per_second(2_000, Duration::from_secs(16)), 125.0);
        assert_eq!(duration(Duration::from_millis(850)), "850 ms");
        assert_eq!(duration(Duration::from_millis(12_340)), "12.3 s");
        assert_eq!(on_the_wall(2_000, 20.0), 100);
    }
}
