//! One delivery of one Update: claim or not, run, commit, dispatch.
//!
//! ```text
//! fresh, first delivery ──> run unclaimed ──> settled as "no record yet" ──refused──> what a refused claim means
//! anything else ──────────> claim ──> run ──> settled as "my claim holds"
//! ```

mod claim;
mod run;
mod settle;
mod stand_in;

use std::time::Duration;

use penstock_batch::{Alone, Record, Verdict};
use penstock_domain::expiry::is_expired_at;
use penstock_domain::ids::MessageGroupId;
use penstock_domain::ledger::{ClaimRequest, Owner};
use penstock_domain::time::Timestamp;
use penstock_formats::envelope::Envelope;
use penstock_formats::outbound::Origin;
use penstock_outage::Turn;
use penstock_ports::{Clock, Deliveries, Draw, Inbox, QueueSender, RunAs, Subject};

use crate::dispatch::dispatch_intended;
use crate::handler::{Deps, store_away};
use crate::limits::LEASE;
use crate::logic::Logic;
use claim::Claimed;

/// Wait after a lost lease: whoever has it is settling.
const LEASE_LOST_WAIT: Duration = Duration::from_secs(2);
/// A message that lay longer than SQS's deduplication window before it was sent on is no fresh Update: it was moved
/// (design section 4: 5 min).
const FRESH: Duration = Duration::from_secs(300);
/// Why an Update is parked whose answer nobody waits for any more. Counted, but nobody has to do anything.
const EXPIRED: &str = "expired";

pub(crate) struct Delivery<'a, I, U, O, B, C, D> {
    deps: &'a Deps<I, U, O, B, C, D>,
    record: &'a Record,
    envelope: &'a Envelope<'a>,
    subject: Subject,
}

impl<'a, I: Inbox, U: Deliveries, O: QueueSender, B: Logic, C: Clock, D: Draw>
    Delivery<'a, I, U, O, B, C, D>
{
    pub(crate) fn new(
        deps: &'a Deps<I, U, O, B, C, D>,
        record: &'a Record,
        envelope: &'a Envelope<'a>,
    ) -> Self {
        let subject = Subject {
            key: envelope.ledger_key(),
            bot_id: envelope.bot_id,
            update_id: envelope.update_id.0,
            kind: envelope.kind,
            group: MessageGroupId(record.group.clone()),
            received_at: envelope.received_at,
            trace_id: envelope.trace_id.to_owned(),
            digest: Some(envelope.digest),
        };
        Self {
            deps,
            record,
            envelope,
            subject,
        }
    }

    pub(crate) async fn handle(mut self, alone: &Alone) -> Verdict {
        match self.turn().await {
            Turn::Free => {}
            // Its place in a ramp, at most a second away.
            Turn::In(wait) => tokio::time::sleep(self.deps.clock.real(wait)).await,
            Turn::Deferred(wait) => {
                if let Some(verdict) = self.wait_out(wait, alone).await {
                    return verdict;
                }
            }
        }
        let now = self.deps.clock.now();
        let request = self.request(now);
        if self.is_fresh() && !self.deps.bot.always_claims() {
            return self.work(&RunAs::Unclaimed(request), now).await;
        }
        match self.claim(&request, alone).await {
            Ok(Claimed::Mine(claim)) => self.work(&RunAs::Claimed(claim), now).await,
            Ok(Claimed::Settled(verdict)) => verdict,
            Err(error) => store_away(self.deps, self.record, &error),
        }
    }

    /// What nobody waits for any more takes no place and no wait: it is settled at once.
    async fn turn(&self) -> Turn {
        let now = self.deps.clock.now();
        if is_expired_at(self.subject.kind, self.subject.received_at, now) {
            return Turn::Free;
        }
        let draw = self.deps.draw.draw();
        self.deps.bot.entry(&self.subject, now, draw).await
    }

    fn request(&self, now: Timestamp) -> ClaimRequest {
        ClaimRequest {
            owner: Owner(format!(
                "{}:{}:{}",
                self.record.id, self.record.receive_count, now
            )),
            redrive: self.envelope.redrive,
            digest: self.envelope.digest,
            now,
            lease_until: now + LEASE,
        }
    }

    /// Whether nobody can have run it before: then the claim is saved, since the write that settles it is refused if
    /// that proves wrong.
    fn is_fresh(&self) -> bool {
        let sent_at = Timestamp::from_millis(self.record.sent_at_ms);
        self.record.receive_count == 1
            && self.envelope.redrive == 0
            && self.record.sent_at_ms > 0
            && sent_at.since(self.envelope.received_at) < FRESH
    }

    /// A repeat of an Update that is done: whatever of it was not dispatched is dispatched now.
    async fn dispatch_again(&self, record: &penstock_domain::ledger::Record) -> Verdict {
        match dispatch_intended(&self.deps.outbound, &self.origin(), record).await {
            Ok(count) => {
                tracing::info!(
                    trace_id = self.subject.trace_id,
                    dispatched = count,
                    result = record.result,
                    "a repeat of an update that is done"
                );
                Verdict::Done
            }
            Err(error) => store_away(self.deps, self.record, &error),
        }
    }

    fn origin(&self) -> Origin {
        Origin {
            bot_id: self.subject.bot_id,
            update_id: self.envelope.update_id,
            key: self.subject.key.clone(),
            redrive: self.envelope.redrive,
            received_at: self.subject.received_at,
            trace_id: self.subject.trace_id.clone(),
        }
    }
}
