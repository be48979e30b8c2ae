//! The one place that reads the wall clock and draws chance. With the `hooks` feature the clock can run faster, so
//! that drills shorten leases, visibility and delays alike.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use penstock_domain::retry::Jitter;
use penstock_domain::time::Timestamp;
use penstock_ports::{Clock, Draw};

/// The wall clock, or in a drill `origin + (wall - origin) * scale`.
#[derive(Debug, Clone, Copy)]
pub struct WallClock {
    origin_ms: i64,
    scale: f64,
}

impl Default for WallClock {
    fn default() -> Self {
        Self {
            origin_ms: 0,
            scale: 1.0,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn wall_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl WallClock {
    /// A clock that runs `scale` times as fast as the wall clock from `origin_ms` on. A scale that is not a positive
    /// number is 1.
    #[cfg(feature = "hooks")]
    #[must_use]
    pub fn scaled(origin_ms: i64, scale: f64) -> Self {
        Self {
            origin_ms,
            scale: if scale.is_finite() && scale > 0.0 {
                scale
            } else {
                1.0
            },
        }
    }

    /// A clock that starts to run `scale` times as fast now.
    #[cfg(feature = "hooks")]
    #[must_use]
    pub fn scaled_from_now(scale: f64) -> Self {
        Self::scaled(wall_ms(), scale)
    }

    /// The clock that the environment asks for: `PENSTOCK_TIME_SCALE` and `PENSTOCK_TIME_ORIGIN_MS`, heeded only with
    /// the `hooks` feature.
    #[must_use]
    #[cfg_attr(
        not(feature = "hooks"),
        expect(unused_variables, reason = "nothing is looked up without hooks")
    )]
    pub fn from_lookup(lookup: &crate::Lookup<'_>) -> Self {
        #[cfg(feature = "hooks")]
        if let Some(scale) = lookup("PENSTOCK_TIME_SCALE").and_then(|text| text.parse().ok()) {
            let origin = lookup("PENSTOCK_TIME_ORIGIN_MS").and_then(|text| text.parse().ok());
            return Self::scaled(origin.unwrap_or_else(wall_ms), scale);
        }
        Self::default()
    }

    /// How fast it runs.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Where it began to run at that pace, milliseconds since the epoch.
    #[must_use]
    pub fn origin_ms(&self) -> i64 {
        self.origin_ms
    }
}

impl Clock for WallClock {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "milliseconds of a drill fit"
    )]
    fn now(&self) -> Timestamp {
        let wall = wall_ms();
        if (self.scale - 1.0).abs() < f64::EPSILON {
            return Timestamp::from_millis(wall);
        }
        let passed = wall.saturating_sub(self.origin_ms) as f64 * self.scale;
        Timestamp::from_millis(self.origin_ms.saturating_add(passed as i64))
    }

    fn real(&self, duration: Duration) -> Duration {
        Duration::try_from_secs_f64(duration.as_secs_f64() / self.scale).unwrap_or(Duration::MAX)
    }
}

/// Draws from the process's own generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDraw;

impl Draw for SystemDraw {
    fn draw(&self) -> Jitter {
        Jitter::new(fastrand::f64())
    }
}

#[cfg(all(test, feature = "hooks"))]
mod tests {
    use super::*;

    #[test]
    fn a_scaled_clock_never_lags_behind_the_wall() {
        let clock = WallClock::scaled_from_now(50.0);
        assert!(clock.now().as_millis() >= clock.origin_ms());
        assert_eq!(clock.real(Duration::from_secs(50)), Duration::from_secs(1));
    }

    #[test]
    fn what_is_beyond_the_clock_is_its_end_and_no_panic() {
        for origin in [i64::MIN, i64::MAX] {
            for scale in [f64::MIN_POSITIVE, f64::MAX] {
                let clock = WallClock::scaled(origin, scale);
                assert_eq!(clock.now(), clock.now());
                assert!(clock.real(Duration::MAX) >= clock.real(Duration::from_secs(1)));
            }
        }
        assert_eq!(
            WallClock::scaled(0, f64::MIN_POSITIVE).real(Duration::MAX),
            Duration::MAX
        );
        assert_eq!(WallClock::scaled(0, f64::MAX).now().as_millis(), i64::MAX);
    }
}
