//! What the breaker of a bot's backend says, for a person to look at. Never changes it.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use penstock_aws::Ledger;
use penstock_domain::breaker::{Breaker, Percent, Rate};
use penstock_domain::ids::BotId;
use penstock_domain::ledger::Retention;
use penstock_domain::time::Timestamp;
use penstock_ports::{Breakers as _, PortError};
use serde::Serialize;

/// Whether a backend is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendState {
    /// It is handed every Update.
    Up,
    /// It is handed none: all wait, without an attempt burned.
    Away,
    /// It is back, and handed more and more.
    Returning,
}

/// What the breaker of a backend says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackendStatus {
    /// Whether it is tried.
    pub state: BackendState,
    /// Since when it is not tried as usual, ms since 1970 in the stack's time.
    pub since_ms: Option<i64>,
    /// Updates a second that it had before it was away.
    pub usual_per_second: Option<u32>,
    /// How much of that it is given, percent; beyond 100 as a ramp's last steps have it.
    pub percent: Option<u32>,
}

impl BackendStatus {
    /// What a breaker says.
    #[must_use]
    pub fn of(breaker: &Breaker) -> Self {
        let told = |state, since: Timestamp, rate: Rate, percent: Option<Percent>| Self {
            state,
            since_ms: Some(since.as_millis()),
            usual_per_second: Some(rate.per_second()),
            percent: percent.map(Percent::get),
        };
        match breaker {
            Breaker::Closed { .. } => Self {
                state: BackendState::Up,
                since_ms: None,
                usual_per_second: None,
                percent: None,
            },
            Breaker::Open { opened_at, rate, .. } | Breaker::HalfOpen { opened_at, rate, .. } => {
                told(BackendState::Away, *opened_at, *rate, None)
            }
            Breaker::Ramp {
                opened_at,
                rate,
                percent,
                ..
            } => told(BackendState::Returning, *opened_at, *rate, Some(*percent)),
        }
    }

    /// In words, with what to do.
    #[must_use]
    pub fn words(&self, now_ms: i64) -> String {
        let since = self.since_ms.map_or(0, |since| (now_ms - since).max(0) / 1000);
        let lasting = match since {
            0..60 => format!("{since} s"),
            60..3600 => format!("{} min", since / 60),
            _ => format!("{} h {} min", since / 3600, since % 3600 / 60),
        };
        match self.state {
            BackendState::Up => "given every update".to_owned(),
            BackendState::Away => format!(
                "for {lasting}: updates wait, none is lost. It is asked again every 10 s or so; start it, or look at its address"
            ),
            BackendState::Returning => format!(
                "after an outage: given {} % of its usual {} a second, or one; more by itself",
                self.percent.unwrap_or(100),
                self.usual_per_second.unwrap_or(1)
            ),
        }
    }
}

/// Reads the breaker of one bot's backend.
#[derive(Debug, Clone)]
pub struct BreakerReader {
    ledger: Ledger,
    bot: BotId,
}

impl BreakerReader {
    /// Of that bot, in that table.
    #[must_use]
    pub fn new(client: Client, table: &str, bot: u64) -> Self {
        // Nothing is written, so the lives of records do not matter.
        let retention = Retention {
            dedup_window: Duration::ZERO,
            dead: Duration::ZERO,
        };
        Self {
            ledger: Ledger::new(client, table, retention),
            bot: BotId(bot),
        }
    }

    /// What it says.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn read(&self) -> Result<BackendStatus, PortError> {
        let stored = self.ledger.breaker(self.bot).await?;
        Ok(BackendStatus::of(&stored.breaker))
    }
}

#[cfg(test)]
mod tests {
    use penstock_domain::breaker::Evidence;

    use super::*;

    const OPENED: Timestamp = Timestamp::from_millis(1_000_000);

    #[test]
    fn each_state_is_told_with_what_follows() {
        let open = Breaker::Open {
            opened_at: OPENED,
            rate: Rate::from_stored(50),
            probe_at: OPENED,
        };
        let ramp = Breaker::Ramp {
            opened_at: OPENED,
            rate: Rate::from_stored(50),
            ramp_at: OPENED,
            percent: Percent::from_stored(25),
            step_at: OPENED,
            evidence: Evidence::default(),
        };
        let words = |breaker: &Breaker, ms: i64| BackendStatus::of(breaker).words(1_000_000 + ms);
        assert_eq!(words(&Breaker::default(), 0), "given every update");
        for (ms, lasting) in [
            (-5, "for 0 s:"),
            (59_999, "for 59 s:"),
            (61_000, "for 1 min:"),
            (7_260_000, "for 2 h 1 min:"),
        ] {
            assert!(words(&open, ms).starts_with(lasting), "{}", words(&open, ms));
        }
        assert!(words(&ramp, 0).contains("25 % of its usual 50 a second"));
        assert_eq!(BackendStatus::of(&ramp).since_ms, Some(1_000_000));
    }
}
