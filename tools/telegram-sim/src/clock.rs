//! Time as the simulation sees it. The only file here that reads the machine's clock.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where the simulation gets its time from. A stack that runs faster than the wall implements it with its
/// own scaled clock, so that waits of a minute take a second everywhere alike.
pub trait SimClock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch, in simulated time.
    fn now_ms(&self) -> i64;

    /// How long the machine has to wait for `ms` simulated milliseconds to pass.
    fn real_duration(&self, ms: u64) -> Duration;

    /// Waits for `ms` simulated milliseconds.
    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(self.real_duration(ms)))
    }
}

/// The machine's clock, unscaled.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl SimClock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one adapter that reads the wall clock in this crate"
    )]
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn real_duration(&self, ms: u64) -> Duration {
        Duration::from_millis(ms)
    }
}

#[cfg(test)]
pub(crate) mod test_clock {
    //! A clock whose waits cost nothing: whoever sleeps moves the time.

    use super::{Duration, Future, Pin, SimClock};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    /// Starts at a fixed moment and is moved by sleepers and by `advance`.
    #[derive(Clone)]
    pub(crate) struct JumpClock(Arc<AtomicI64>);

    impl JumpClock {
        pub(crate) const START_MS: i64 = 1_790_000_000_000;

        pub(crate) fn new() -> Self {
            Self(Arc::new(AtomicI64::new(Self::START_MS)))
        }

        pub(crate) fn advance(&self, ms: i64) {
            self.0.fetch_add(ms, Ordering::SeqCst);
        }
    }

    impl SimClock for JumpClock {
        fn now_ms(&self) -> i64 {
            self.0.load(Ordering::SeqCst)
        }

        fn real_duration(&self, ms: u64) -> Duration {
            Duration::from_millis(ms)
        }

        fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
            let time = self.0.clone();
            Box::pin(async move {
                tokio::task::yield_now().await;
                time.fetch_add(i64::try_from(ms).unwrap(), Ordering::SeqCst);
            })
        }
    }
}
