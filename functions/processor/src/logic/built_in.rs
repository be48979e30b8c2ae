//! A bot inside this function.

use penstock_bot::{Bot, Incoming, Outcome, Reads};
use penstock_domain::retry::{Jitter, RetryPolicy};
use penstock_domain::time::Timestamp;
use penstock_outage::Turn;
use penstock_ports::{Clock, Subject};

use super::{Logic, Try};
use crate::run_bot::{RunFailure, policy, reads, run_bot};

impl<B: Bot> Logic for B {
    /// Only its outcome is seen, and that is committed once.
    fn always_claims(&self) -> bool {
        false
    }

    async fn entry(&self, _subject: &Subject, _now: Timestamp, _draw: Jitter) -> Turn {
        Turn::Free
    }

    async fn last_try(&self, _subject: &Subject, _now: Timestamp, _draw: Jitter) -> Turn {
        Turn::Free
    }

    fn reads(&self, incoming: &Incoming) -> Result<Reads, RunFailure> {
        reads(self, incoming)
    }

    fn policy(&self, incoming: &Incoming) -> RetryPolicy {
        policy(self, incoming)
    }

    async fn run<C: Clock>(&self, clock: &C, this: &Try<'_>) -> Result<Outcome, RunFailure> {
        run_bot(self, clock, this.context, this.incoming).await
    }
}
