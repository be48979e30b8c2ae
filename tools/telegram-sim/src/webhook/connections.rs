//! How many connections to a webhook there may be, and how fast new ones come. Pure: time is an argument.
//!
//! Telegram opens a burst of about ten and then twenty per second; while an endpoint only fails, it goes down
//! to one connection and one new per two seconds (server source, `WebhookActor.cpp`).

const BURST: i64 = 10;
/// Twenty new connections per second.
const INTERVAL_MS: i64 = 50;
/// Without a success for this long a failing endpoint is slow.
const SLOW_AFTER_MS: i64 = 10_000;
const SLOW_INTERVAL_MS: i64 = 2_000;

/// May one more delivery start?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Yes, over a connection that is open and idle.
    Reuse,
    /// Yes, over a new one.
    Open,
    /// Not before this time.
    At(i64),
    /// Not before another delivery ends.
    Full,
}

/// The connections of one webhook.
#[derive(Debug)]
pub(crate) struct Connections {
    max: usize,
    open: usize,
    tat_ms: i64,
    /// Since when there were only failures.
    failing_since: Option<i64>,
}

impl Connections {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            open: 0,
            tat_ms: 0,
            failing_since: None,
        }
    }

    fn is_slow(&self, now: i64) -> bool {
        self.failing_since
            .is_some_and(|since| now - since > SLOW_AFTER_MS)
    }

    /// Asks for a connection while `in_flight` are busy, and takes it if the answer is yes.
    pub(crate) fn take(&mut self, now: i64, in_flight: usize) -> Start {
        let slow = self.is_slow(now);
        let max = if slow { 1 } else { self.max };
        if in_flight >= max {
            return Start::Full;
        }
        if in_flight < self.open {
            return Start::Reuse;
        }
        let (interval, tolerance) = if slow {
            (SLOW_INTERVAL_MS, 0)
        } else {
            (INTERVAL_MS, INTERVAL_MS * (BURST - 1))
        };
        let tat = self.tat_ms.max(now);
        if tat - tolerance > now {
            return Start::At(tat - tolerance);
        }
        self.tat_ms = tat + interval;
        self.open += 1;
        Start::Open
    }

    /// A delivery ended. A failure without an answer takes its connection along.
    pub(crate) fn ended(&mut self, now: i64, success: bool, answered: bool) {
        if success {
            self.failing_since = None;
        } else {
            self.failing_since.get_or_insert(now);
        }
        if !answered {
            self.open = self.open.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_connections_open_at_once_and_then_twenty_per_second() {
        let mut connections = Connections::new(40);
        for in_flight in 0..10 {
            assert_eq!(connections.take(0, in_flight), Start::Open);
        }
        assert_eq!(connections.take(0, 10), Start::At(50));
        assert_eq!(connections.take(50, 10), Start::Open);
        assert_eq!(connections.take(50, 11), Start::At(100));
    }

    #[test]
    fn an_idle_connection_is_used_again() {
        let mut connections = Connections::new(40);
        assert_eq!(connections.take(0, 0), Start::Open);
        connections.ended(5, true, true);
        assert_eq!(connections.take(5, 0), Start::Reuse);
    }

    #[test]
    fn never_more_than_max_connections_are_busy() {
        let mut connections = Connections::new(2);
        assert_eq!(connections.take(0, 0), Start::Open);
        assert_eq!(connections.take(0, 1), Start::Open);
        assert_eq!(connections.take(0, 2), Start::Full);
    }

    #[test]
    fn after_ten_seconds_of_failures_there_is_one_connection_every_two_seconds() {
        let mut connections = Connections::new(40);
        assert_eq!(connections.take(0, 0), Start::Open);
        connections.ended(0, false, false);
        assert_eq!(connections.take(10_001, 1), Start::Full);
        assert_eq!(connections.take(10_001, 0), Start::Open);
        connections.ended(10_100, false, false);
        assert_eq!(connections.take(10_100, 0), Start::At(12_001));
    }

    #[test]
    fn one_success_ends_the_slow_mode() {
        let mut connections = Connections::new(40);
        connections.take(0, 0);
        connections.ended(0, false, true);
        assert_eq!(connections.take(20_000, 1), Start::Full);
        connections.ended(20_000, true, true);
        assert_eq!(connections.take(20_000, 1), Start::Open);
    }
}
