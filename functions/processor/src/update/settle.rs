//! Settling a try that got no outcome: tried again later, or parked. Never runs the bot.

use std::time::Duration;

use penstock_batch::Verdict;
use penstock_domain::expiry::handling_life;
use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::retry::{GiveUp, MAX_UNCLASSIFIED, RetryDecision, RetryPolicy};
use penstock_ports::{
    Clock, Deliveries, Draw, Inbox, PortError, QueueSender, RunAs, Settlement, Verdict as Settled,
};

use super::{Delivery, EXPIRED, LEASE_LOST_WAIT};
use crate::handler::store_away;
use crate::logic::Logic;
use crate::run_bot::RunFailure;

impl<I: Inbox, U: Deliveries, O: QueueSender, B: Logic, C: Clock, D: Draw> Delivery<'_, I, U, O, B, C, D> {
    pub(super) async fn fail(&self, run: &RunAs, policy: &RetryPolicy, failed: &RunFailure) -> Verdict {
        let policy = policy.at_most(failed.max_attempts);
        let now = self.deps.clock.now();
        let until = handling_life(self.subject.kind).map(|life| self.subject.received_at + life);
        let draw = self.deps.draw.draw();
        let decision = policy.decide_until(run.attempt(), failed.disposition, draw, now, until);
        let failure = |code: &str, message: &str| self.failure(code, message, failed.disposition, run);
        if failed.is_given_back && !matches!(decision, RetryDecision::GiveUp(GiveUp::Expired)) {
            // Longer each time: what is never mended must not use up its receives within hours.
            let next_at = now + failed.comes_back_in.unwrap_or_else(|| self.growing_wait());
            let failure = failure(&failed.code, &failed.message);
            return self.settle(run, Settled::Defer { next_at, failure }).await;
        }
        let verdict = match decision {
            RetryDecision::RetryIn(wait) => Settled::Retry {
                next_at: now + wait,
                failure: failure(&failed.code, &failed.message),
            },
            RetryDecision::GiveUp(GiveUp::Expired) => Settled::Dead {
                raw: self.envelope.update.to_owned(),
                failure: failure(
                    EXPIRED,
                    &format!("the next try would come too late; this one: {}", failed.code),
                ),
            },
            RetryDecision::GiveUp(GiveUp::Permanent | GiveUp::Exhausted | GiveUp::Ambiguous) => {
                Settled::Dead {
                    raw: self.envelope.update.to_owned(),
                    failure: failure(&failed.code, &failed.message),
                }
            }
        };
        self.settle(run, verdict).await
    }

    /// The last try is not made while the backend is away: it is given back.
    pub(super) async fn wait_for_backend(&self, run: &RunAs, wait: Duration) -> Verdict {
        let message = "it did not answer when it was asked before the last try";
        let failure = self.failure("backend_away", message, Disposition::Transient, run);
        let next_at = self.deps.clock.now() + wait;
        self.settle(run, Settled::Defer { next_at, failure }).await
    }

    pub(super) fn failure(
        &self,
        code: &str,
        message: &str,
        disposition: Disposition,
        run: &RunAs,
    ) -> Failure {
        Failure::new(code, message, disposition, run.attempt(), self.deps.clock.now())
    }

    /// A store was away after the claim: the try is given back, since the bot had no part in it. If that cannot be
    /// written either, the lease ends by itself and the try stays burned. Without a claim nothing was burned.
    pub(super) async fn give_back(&self, run: &RunAs, policy: &RetryPolicy, error: &PortError) -> Verdict {
        if error.disposition() == Disposition::Permanent {
            // Not away: it answers, and will answer the same. A few tries, then a person.
            let failed = RunFailure {
                code: "store_refuses".into(),
                message: error.to_string(),
                disposition: Disposition::Transient,
                max_attempts: Some(MAX_UNCLASSIFIED),
                is_given_back: false,
                comes_back_in: None,
            };
            return self.fail(run, policy, &failed).await;
        }
        if matches!(run, RunAs::Unclaimed(_)) {
            return store_away(self.deps, self.record, error);
        }
        let failure = self.failure("store_away", &error.to_string(), Disposition::Transient, run);
        let next_at = self.deps.clock.now() + self.growing_wait();
        self.settle(run, Settled::Defer { next_at, failure }).await
    }

    pub(super) async fn settle(&self, run: &RunAs, verdict: Settled) -> Verdict {
        let now = self.deps.clock.now();
        match self.deps.inbox.settle(&self.subject, run, &verdict, now).await {
            Ok(Settlement::Settled) => {
                self.tell(&verdict);
                match &verdict {
                    Settled::Retry { next_at, .. } | Settled::Defer { next_at, .. } => {
                        Verdict::ComeBackIn(next_at.since(now))
                    }
                    Settled::Dead { .. } => Verdict::Done,
                }
            }
            Ok(Settlement::LeaseLost) => Verdict::ComeBackIn(LEASE_LOST_WAIT),
            Ok(Settlement::Refused(refusal, record)) => self.found_a_record(&refusal, &record).await,
            Err(error) => store_away(self.deps, self.record, &error),
        }
    }

    /// One line for each settled failure: an error only where a person has to act.
    fn tell(&self, verdict: &Settled) {
        let trace_id = &self.subject.trace_id;
        match verdict {
            Settled::Retry { next_at, failure } => tracing::warn!(
                trace_id,
                code = failure.code,
                attempt = failure.attempt,
                wait_ms = next_at.millis_since(failure.at),
                "failed: tried again"
            ),
            Settled::Defer { next_at, failure } => tracing::warn!(
                trace_id,
                code = failure.code,
                wait_ms = next_at.millis_since(failure.at),
                "deferred: the try does not count"
            ),
            Settled::Dead { failure, .. } if failure.code == EXPIRED => tracing::info!(
                trace_id,
                code = failure.code,
                kind = self.subject.kind.name(),
                "parked: nobody waits for it"
            ),
            Settled::Dead { failure, .. } => {
                tracing::error!(trace_id, code = failure.code, attempt = failure.attempt, key = %self.subject.key, "dead letter");
            }
        }
    }
}
