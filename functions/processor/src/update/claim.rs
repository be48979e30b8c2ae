//! Claiming an Update, and what a refused claim means for its delivery. Never runs the bot.

use std::time::Duration;

use penstock_batch::{Alone, Verdict, growing_wait};
use penstock_domain::failure::Disposition;
use penstock_domain::ids::LedgerKey;
use penstock_domain::ledger::{ClaimRequest, Fence, Record, Refusal};
use penstock_formats::envelope::Envelope;
use penstock_ports::{Claim, ClaimAs, Clock, Deliveries, Draw, Inbox, PortError, QueueSender, TakeOver};

use super::{Delivery, LEASE_LOST_WAIT};
use crate::limits::LEASE;
use crate::logic::Logic;

/// Longest wait of a crash suspect for the others of its batch to end; with more, its own run might not end in time.
const MOST_WAITED: Duration = Duration::from_secs(3);
/// Wait before an unclaimed run that found a record is delivered again, and then claims.
const CLAIM_NEXT_TIME: Duration = Duration::from_secs(1);

/// What became of a claim.
pub(super) enum Claimed {
    Mine(ClaimAs),
    Settled(Verdict),
}

impl<I: Inbox, U: Deliveries, O: QueueSender, B: Logic, C: Clock, D: Draw> Delivery<'_, I, U, O, B, C, D> {
    pub(super) async fn claim(
        &mut self,
        request: &ClaimRequest,
        alone: &Alone,
    ) -> Result<Claimed, PortError> {
        let inbox = &self.deps.inbox;
        let mut answer = match inbox.claim(&self.subject, request).await {
            // It may have landed, and would burn an attempt of an Update that was not run. The same claim once more is told
            // that it is its own.
            Err(error) if error.disposition() == Disposition::Ambiguous => {
                inbox.claim(&self.subject, request).await?
            }
            answer => answer?,
        };
        if matches!(answer, Claim::Refused(Refusal::ReusedId, _)) {
            // Telegram drew this id anew: another Update, under a key of its own.
            let Envelope {
                bot_id,
                update_id,
                digest,
                ..
            } = self.envelope;
            self.subject.key = LedgerKey::reused(*bot_id, *update_id, *digest);
            tracing::warn!(trace_id = self.subject.trace_id, key = %self.subject.key, "update id was used before by another update");
            answer = inbox.claim(&self.subject, request).await?;
        }
        let (refusal, record) = match answer {
            Claim::Acquired(claim) => return Ok(Claimed::Mine(claim)),
            Claim::Refused(refusal, record) => (refusal, record),
        };
        Ok(match refusal {
            Refusal::Mine { attempts, fence } => Claimed::Mine(ClaimAs {
                owner: request.owner.clone(),
                fence,
                attempt: attempts,
            }),
            Refusal::Superseded | Refusal::Dead => Claimed::Settled(Verdict::Done),
            Refusal::Done => Claimed::Settled(self.dispatch_again(&record).await),
            // Once more under the suffixed key and still reused: the digest's first 64 bits are equal. Wait for a person.
            Refusal::ReusedId => Claimed::Settled(Verdict::ComeBackIn(self.growing_wait())),
            Refusal::HeldUntil(until) => Claimed::Settled(Verdict::held(until.since(request.now))),
            Refusal::Suspect { fence } => self.take_over(request, fence, alone).await?,
        })
    }

    /// Its last worker died with it: it is run while nothing else of this batch runs, so that another crash burns
    /// nobody else's attempt.
    async fn take_over(
        &self,
        request: &ClaimRequest,
        fence: Fence,
        alone: &Alone,
    ) -> Result<Claimed, PortError> {
        if alone.claim().await.is_err() {
            return Ok(Claimed::Settled(Verdict::ComeBackIn(self.growing_wait())));
        }
        let now = self.deps.clock.now();
        if now.since(request.now) > MOST_WAITED {
            return Ok(Claimed::Settled(Verdict::ComeBackIn(self.growing_wait())));
        }
        let request = ClaimRequest {
            now,
            lease_until: now + LEASE,
            ..request.clone()
        };
        Ok(
            match self.deps.inbox.take_over(&self.subject, &request, fence).await? {
                TakeOver::Acquired(claim) => {
                    tracing::warn!(
                        trace_id = self.subject.trace_id,
                        attempt = claim.attempt,
                        "taken over from a worker that died"
                    );
                    Claimed::Mine(claim)
                }
                TakeOver::Lost => Claimed::Settled(Verdict::ComeBackIn(LEASE_LOST_WAIT)),
            },
        )
    }

    /// An unclaimed run found a record after all: what a refused claim means. Never a bare acknowledgement of what is
    /// still open; where a claim is needed the next delivery makes it.
    pub(super) async fn found_a_record(&self, refusal: &Refusal, record: &Record) -> Verdict {
        tracing::info!(
            trace_id = self.subject.trace_id,
            state = record.state.name(),
            "run without a claim, and there is a record"
        );
        match refusal {
            Refusal::Done => self.dispatch_again(record).await,
            Refusal::Superseded | Refusal::Dead => Verdict::Done,
            Refusal::HeldUntil(until) => Verdict::held(until.since(self.deps.clock.now())),
            Refusal::Mine { .. } | Refusal::ReusedId | Refusal::Suspect { .. } => {
                Verdict::ComeBackIn(CLAIM_NEXT_TIME)
            }
        }
    }

    pub(super) fn growing_wait(&self) -> Duration {
        growing_wait(self.record.receive_count, self.deps.draw.draw().get())
    }
}
