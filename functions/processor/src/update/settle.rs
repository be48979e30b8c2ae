//! Settling a try that got no outcome: tried again later, or parked. Never runs the bot.

use penstock_batch::{Verdict, growing_wait};
use penstock_bot::Bot;
use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::retry::{RetryDecision, RetryPolicy};
use penstock_ports::{ClaimAs, Clock, Deliveries, Draw, Inbox, PortError, QueueSender, Verdict as Settled};

use super::{Delivery, EXPIRED, LEASE_LOST_WAIT};
use crate::handler::store_away;
use crate::run_bot::RunFailure;

impl<I: Inbox, U: Deliveries, O: QueueSender, B: Bot, C: Clock, D: Draw> Delivery<'_, I, U, O, B, C, D> {
    pub(super) async fn fail(&self, claim: &ClaimAs, policy: &RetryPolicy, failed: &RunFailure) -> Verdict {
        let policy = RetryPolicy {
            max_attempts: failed
                .max_attempts
                .unwrap_or(policy.max_attempts)
                .min(policy.max_attempts),
            ..*policy
        };
        let now = self.deps.clock.now();
        let failure = self.failure(failed.code, &failed.message, failed.disposition, claim);
        match policy.decide(claim.attempt, failed.disposition, self.deps.draw.draw()) {
            RetryDecision::RetryIn(wait) => {
                self.settle(
                    claim,
                    Settled::Retry {
                        next_at: now + wait,
                        burned: true,
                        failure,
                    },
                )
                .await
            }
            RetryDecision::GiveUp(_) => {
                self.settle(
                    claim,
                    Settled::Dead {
                        raw: self.envelope.update.to_owned(),
                        failure,
                    },
                )
                .await
            }
        }
    }

    pub(super) fn failure(
        &self,
        code: &str,
        message: &str,
        disposition: Disposition,
        claim: &ClaimAs,
    ) -> Failure {
        Failure::new(code, message, disposition, claim.attempt, self.deps.clock.now())
    }

    /// A store was away after the claim: the try is given back, since the bot had no part in it. If that cannot be
    /// written either, the lease ends by itself and the try stays burned.
    pub(super) async fn give_back(&self, claim: &ClaimAs, error: &PortError) -> Verdict {
        let failure = self.failure("store_away", &error.to_string(), Disposition::Transient, claim);
        let next_at = self.deps.clock.now() + growing_wait(self.record.receive_count);
        let verdict = Settled::Retry {
            next_at,
            burned: false,
            failure,
        };
        self.settle(claim, verdict).await
    }

    pub(super) async fn settle(&self, claim: &ClaimAs, verdict: Settled) -> Verdict {
        let now = self.deps.clock.now();
        let (failure, comes_back) = match &verdict {
            Settled::Retry { next_at, failure, .. } => (failure, Some(next_at.since(now))),
            Settled::Dead { failure, .. } => (failure, None),
        };
        let trace_id = &self.subject.trace_id;
        match self.deps.inbox.settle(&self.subject, claim, &verdict, now).await {
            Ok(true) => match comes_back {
                Some(wait) => {
                    let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                    tracing::warn!(
                        trace_id,
                        code = failure.code,
                        attempt = failure.attempt,
                        wait_ms,
                        "failed: tried again"
                    );
                    Verdict::ComeBackIn(wait)
                }
                None if failure.code == EXPIRED => {
                    tracing::info!(
                        trace_id,
                        code = failure.code,
                        kind = self.subject.kind.name(),
                        "parked: nobody waits for it"
                    );
                    Verdict::Done
                }
                None => {
                    tracing::error!(trace_id, code = failure.code, attempt = failure.attempt, key = %self.subject.key, "dead letter");
                    Verdict::Done
                }
            },
            Ok(false) => Verdict::ComeBackIn(LEASE_LOST_WAIT),
            Err(error) => store_away(self.record, &error),
        }
    }
}
