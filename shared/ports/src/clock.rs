//! Time and chance, so that tests and drills can set them.

use std::time::Duration;

use penstock_domain::retry::Jitter;
use penstock_domain::time::Timestamp;

/// Reads the time. Read once per delivery, in the handler.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;

    /// How long `duration` of this clock lasts on the wall: timers run on the wall, and a drill's clock runs faster.
    fn real(&self, duration: Duration) -> Duration {
        duration
    }
}

/// Draws a jitter. Taken beside the clock.
pub trait Draw: Send + Sync {
    /// A uniform draw in [0, 1).
    fn draw(&self) -> Jitter;
}
