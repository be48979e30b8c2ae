//! Time and chance, so that tests and drills can set them.

use penstock_domain::retry::Jitter;
use penstock_domain::time::Timestamp;

/// Reads the time. Read once per delivery, in the handler.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// Draws a jitter. Taken beside the clock.
pub trait Draw: Send + Sync {
    /// A uniform draw in [0, 1).
    fn draw(&self) -> Jitter;
}
