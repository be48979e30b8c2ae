//! The stack's clock in the shapes that the queue engine and simulated Telegram ask for.

use std::time::Duration;

use crate::clock::StackClock;

/// The clock of the queue engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueClock(pub(crate) StackClock);

impl fifo_queue::Clock for QueueClock {
    fn now_ms(&self) -> i64 {
        self.0.now_ms()
    }

    fn real_duration(&self, ms: i64) -> Duration {
        self.0.real_duration(ms)
    }
}

/// The clock of simulated Telegram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TelegramClock(pub(crate) StackClock);

impl telegram_sim::SimClock for TelegramClock {
    fn now_ms(&self) -> i64 {
        self.0.now_ms()
    }

    fn real_duration(&self, ms: u64) -> Duration {
        self.0.real_duration(i64::try_from(ms).unwrap_or(i64::MAX))
    }
}
