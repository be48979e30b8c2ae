//! Standing in for a backend that is away. What is said meanwhile is committed as a record of its own, like the outcome
//! of an Update, so that it is said once and goes the way of every send; the Update itself stays without a record.

use std::time::Duration;

use penstock_batch::{Alone, Verdict};
use penstock_bot::{Incoming, Outcome};
use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::{LedgerKey, UpdateDigest};
use penstock_domain::intent::{Call, plan};
use penstock_domain::ledger::{ClaimRequest, Refusal};
use penstock_domain::time::Timestamp;
use penstock_formats::outbound::Origin;
use penstock_ports::{
    Clock, Commit, Commitment, Deliveries, Draw, Filed, Inbox, PortError, QueueSender, RunAs, Subject,
};

use super::Delivery;
use super::claim::Claimed;
use crate::dispatch::{dispatch_intended, messages};
use crate::handler::store_away;
use crate::logic::{Logic, StandIn, Standby};

/// The stored result of a core command that was answered in its backend's place.
const ANSWERED: &str = "answered_in_outage";
/// The stored result of what was only said meanwhile.
const TOLD: &str = "told_in_outage";
/// Why an Update is parked that has waited for its backend as long as it may.
const TOO_OLD: &str = "too_old";

impl<I: Inbox, U: Deliveries, O: QueueSender, B: Logic, C: Clock, D: Draw> Delivery<'_, I, U, O, B, C, D> {
    /// An Update whose turn it is not.
    pub(super) async fn wait_out(mut self, wait: Duration, alone: &Alone) -> Verdict {
        if let Some(verdict) = self.stand_in(alone, true).await {
            return verdict;
        }
        tracing::info!(
            trace_id = self.subject.trace_id,
            receive_count = self.record.receive_count,
            wait_ms = wait.as_millis(),
            "the backend is away or coming back: the update waits"
        );
        Verdict::ComeBackIn(wait)
    }

    /// An Update behind one of its group that waits. A button is pressed and a core command given by somebody who looks
    /// at the screen now, so they are not held up by what waits before them.
    pub(crate) async fn passed_over(mut self, alone: &Alone) {
        self.stand_in(alone, false).await;
    }

    /// Does what is to be done in the backend's place. `None`: the Update waits on.
    async fn stand_in(&mut self, alone: &Alone, is_head: bool) -> Option<Verdict> {
        let now = self.deps.clock.now();
        let (shut_since, standby) = self.deps.bot.standby(self.subject.bot_id, now).await?;
        let incoming = Incoming::read(self.subject.kind, self.envelope.update);
        match standby.stand_in(&incoming, self.subject.received_at, shut_since, now) {
            StandIn::Nothing => None,
            // Its turn comes when it is the first of its group.
            StandIn::TooOld if !is_head => None,
            StandIn::TooOld => Some(self.park(shut_since, now).await),
            StandIn::Acknowledge(call) => {
                let key = LedgerKey::acknowledgement(&self.subject.key);
                self.say(standby, key, call, now).await;
                None
            }
            StandIn::Tell { hour, call } => {
                let key = LedgerKey::notice(self.subject.bot_id, hour, &self.subject.group);
                self.say(standby, key, call, now).await;
                None
            }
            StandIn::Answer(call) => {
                // One that was passed over and answered is done when it comes first.
                if !is_head && standby.is_told(&self.subject.key) {
                    return None;
                }
                let verdict = self.answer(&incoming, call, alone, now).await;
                if verdict == Verdict::Done {
                    standby.remember(self.subject.key.clone());
                }
                Some(verdict)
            }
        }
    }

    /// Nobody hands it over any more: a person may, when the backend is back.
    async fn park(&self, shut_since: Timestamp, now: Timestamp) -> Verdict {
        let hours = |since: Timestamp| now.since(since).as_secs() / 3600;
        let message = format!(
            "it waited {} h for a backend that is away for {} h; redrive it when the backend is back",
            hours(self.subject.received_at),
            hours(shut_since)
        );
        let failure = Failure::new(TOO_OLD, &message, Disposition::Permanent, 0, now);
        let raw = self.envelope.update;
        let redrive = self.envelope.redrive;
        let filed = self
            .deps
            .inbox
            .file_dead(&self.subject, redrive, raw, &failure, now);
        match filed.await {
            Ok(Filed::Dead) => {
                tracing::error!(trace_id = self.subject.trace_id, code = TOO_OLD, key = %self.subject.key, "dead letter");
                Verdict::Done
            }
            Ok(Filed::Already) => Verdict::Done,
            Ok(Filed::Done(record)) => self.dispatch_again(&record).await,
            Ok(Filed::HeldUntil(until)) => Verdict::held(until.since(now)),
            Err(error) => store_away(self.deps, self.record, &error),
        }
    }

    /// Answers the Update itself: it is claimed and done, and never reaches the backend.
    async fn answer(&mut self, incoming: &Incoming, call: Call, alone: &Alone, now: Timestamp) -> Verdict {
        let request = self.request(now);
        match self.claim(&request, alone).await {
            Ok(Claimed::Mine(claim)) => {
                let outcome = Outcome::of(ANSWERED).then(call);
                self.commit_without_run(&RunAs::Claimed(claim), incoming, outcome, now)
                    .await
            }
            Ok(Claimed::Settled(verdict)) => verdict,
            Err(error) => store_away(self.deps, self.record, &error),
        }
    }

    /// Says something beside the Update. What cannot be said now is said at its next delivery, or not at all.
    async fn say(&self, standby: &Standby, key: LedgerKey, call: Call, now: Timestamp) {
        if standby.is_told(&key) {
            return;
        }
        match self.commit_saying(&key, call, now).await {
            Ok(is_new) => {
                if is_new {
                    tracing::info!(trace_id = self.subject.trace_id, "told that the backend is away");
                }
                standby.remember(key);
            }
            Err(error) => {
                tracing::warn!(trace_id = self.subject.trace_id, error = %error, "not told yet that the backend is away");
            }
        }
    }

    /// Whether it was this delivery that committed it.
    async fn commit_saying(&self, key: &LedgerKey, call: Call, now: Timestamp) -> Result<bool, PortError> {
        const OPERATION: &str = "say";
        let unfit = |what| PortError::Unreadable {
            operation: OPERATION,
            what,
        };
        let intents = plan(self.subject.bot_id, vec![call]).map_err(|_| unfit("call"))?;
        let origin = Origin {
            key: key.clone(),
            redrive: 0,
            ..self.origin()
        };
        let fresh: Vec<_> = intents.iter().map(|intent| (intent, 0)).collect();
        let messages = messages(&origin, &fresh, 1).map_err(|_| unfit("call"))?;
        // A generation and a digest of its own: an Update's say nothing of it.
        let run = RunAs::Unclaimed(ClaimRequest {
            redrive: 0,
            digest: UpdateDigest::of(key.as_str().as_bytes()),
            ..self.request(now)
        });
        let subject = Subject {
            key: key.clone(),
            digest: None,
            ..self.subject.clone()
        };
        let commit = Commit {
            intents,
            state: None,
            writes: Vec::new(),
            result: TOLD.to_owned(),
        };
        match self.deps.inbox.commit(&subject, &run, &commit, now).await? {
            Commitment::Done => {
                self.deps.outbound.enqueue_all(messages).await?;
                Ok(true)
            }
            // Whoever committed it may have died before it was sent on.
            Commitment::Refused(Refusal::Done, record) => {
                dispatch_intended(&self.deps.outbound, &origin, &record).await?;
                Ok(false)
            }
            Commitment::Refused(..)
            | Commitment::LeaseLost
            | Commitment::StateConflict
            | Commitment::Unexpected { .. } => Ok(false),
        }
    }
}
