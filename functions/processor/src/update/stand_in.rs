//! Standing in for a backend that is away. What is said meanwhile is committed as a record of its own, like the outcome
//! of an Update, so that it is said once and goes the way of every send; the Update itself stays without a record.

use std::time::Duration;

use penstock_batch::{Alone, Verdict};
use penstock_bot::{Incoming, Outcome};
use penstock_domain::breaker::FIRST_WAIT;
use penstock_domain::failure::Disposition;
use penstock_domain::ids::{LedgerKey, UpdateDigest};
use penstock_domain::intent::{Call, plan};
use penstock_domain::ledger::{ClaimRequest, Record, Refusal, State};
use penstock_domain::time::Timestamp;
use penstock_formats::outbound::Origin;
use penstock_ports::{
    Claim, Clock, Commit, Commitment, Deliveries, Draw, Inbox, PortError, QueueSender, RunAs, Subject,
    Verdict as Settled,
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

/// Where an Update is that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The first of its group.
    Head {
        /// Nothing is known of it.
        is_untried: bool,
    },
    /// Behind it.
    Behind,
}

impl<I: Inbox, U: Deliveries, O: QueueSender, B: Logic, C: Clock, D: Draw> Delivery<'_, I, U, O, B, C, D> {
    /// An Update whose turn it is not. `None`: it is settled already, and what a claim says of it is due now.
    pub(super) async fn wait_out(&mut self, wait: Duration, alone: &Alone) -> Option<Verdict> {
        let known = match self.known().await {
            Ok(known) => known,
            Err(error) => return Some(store_away(self.deps, self.record, &error)),
        };
        let state = known.map(|record| record.state);
        if matches!(state, Some(State::Done | State::Dead)) {
            return None;
        }
        let place = Place::Head {
            is_untried: state.is_none(),
        };
        if let Some(verdict) = self.stand_in(place, alone).await {
            return Some(verdict);
        }
        tracing::info!(
            trace_id = self.subject.trace_id,
            receive_count = self.record.receive_count,
            wait_ms = wait.as_millis(),
            "the backend is away or coming back: the update waits"
        );
        Some(Verdict::ComeBackIn(wait))
    }

    /// An Update behind one of its group that waits. A button is pressed and a core command given by somebody who looks
    /// at the screen now, so they are not held up by what waits before them.
    pub(crate) async fn passed_over(mut self, alone: &Alone) {
        self.stand_in(Place::Behind, alone).await;
    }

    /// Its record, if it can have one: a first delivery has none that says anything.
    async fn known(&self) -> Result<Option<Record>, PortError> {
        if self.record.receive_count <= 1 {
            return Ok(None);
        }
        let record = self.deps.inbox.read(&self.subject.key).await?;
        // Another Update's, of a time when Telegram had given it this id.
        let is_own = |record: &Record| record.digest.is_none_or(|digest| digest == self.envelope.digest);
        let now = self.deps.clock.now().as_millis().div_euclid(1000);
        Ok(record.filter(|record| is_own(record) && record.expires_at >= now))
    }

    /// Does what is to be done in the backend's place. `None`: the Update waits on.
    async fn stand_in(&mut self, place: Place, alone: &Alone) -> Option<Verdict> {
        let now = self.deps.clock.now();
        let (shut_since, standby) = self.deps.bot.standby(self.subject.bot_id, now).await?;
        let incoming = Incoming::read(self.subject.kind, self.envelope.update);
        match standby.stand_in(&incoming, self.waits_since(), shut_since, now) {
            StandIn::Nothing => None,
            StandIn::TooOld => match place {
                Place::Head { .. } => Some(self.park(shut_since, alone, now).await),
                // Its turn comes when it is the first of its group.
                Place::Behind => None,
            },
            StandIn::Acknowledge { id, call } => {
                let key = LedgerKey::acknowledgement(self.subject.bot_id, &id);
                self.say(standby, key, call, now).await;
                None
            }
            StandIn::Tell { hour, call } => {
                let key = LedgerKey::notice(self.subject.bot_id, hour, &self.subject.group);
                self.say(standby, key, call, now).await;
                None
            }
            StandIn::Answer(call) => match place {
                // The backend may have acted on it already.
                _ if self.envelope.redrive > 0 => None,
                Place::Head { is_untried: false } => None,
                Place::Behind if standby.is_told(&self.subject.key) => None,
                Place::Head { .. } | Place::Behind => self.answer(standby, &incoming, call, now).await,
            },
        }
    }

    /// Since when it waits: a letter that a person has redriven, since then.
    fn waits_since(&self) -> Timestamp {
        let sent_at = Timestamp::from_millis(self.record.sent_at_ms);
        if self.envelope.redrive > 0 {
            self.subject.received_at.max(sent_at)
        } else {
            self.subject.received_at
        }
    }

    /// Nobody hands it over any more: a person may, when the backend is back. Settled under a claim, as every end is.
    async fn park(&mut self, shut_since: Timestamp, alone: &Alone, now: Timestamp) -> Verdict {
        let hours = |since: Timestamp| now.since(since).as_secs() / 3600;
        let message = format!(
            "it waited {} h for a backend that is away for {} h",
            hours(self.waits_since()),
            hours(shut_since)
        );
        let request = self.request(now);
        match self.claim(&request, alone).await {
            Ok(Claimed::Mine(claim)) => {
                let run = RunAs::Claimed(claim);
                let failure = self.failure(TOO_OLD, &message, Disposition::Permanent, &run);
                let raw = self.envelope.update.to_owned();
                self.settle(&run, Settled::Dead { raw, failure }).await
            }
            Ok(Claimed::Settled(verdict)) => verdict,
            Err(error) => store_away(self.deps, self.record, &error),
        }
    }

    /// Answers the Update itself: it is claimed and done, and never reaches the backend. Only one that nobody has tried:
    /// whatever else is found, it waits.
    async fn answer(
        &self,
        standby: &Standby,
        incoming: &Incoming,
        call: Call,
        now: Timestamp,
    ) -> Option<Verdict> {
        let request = self.request(now);
        let claim = match self.deps.inbox.claim(&self.subject, &request).await {
            Ok(Claim::Acquired(claim)) => claim,
            Ok(Claim::Refused(..)) => return None,
            Err(error) => return Some(store_away(self.deps, self.record, &error)),
        };
        let (attempt, run) = (claim.attempt, RunAs::Claimed(claim));
        if attempt > 1 {
            return Some(self.wait_for_backend(&run, FIRST_WAIT).await);
        }
        let outcome = Outcome::of(ANSWERED).then(call);
        let verdict = self.commit_without_run(&run, incoming, outcome, now).await;
        if verdict == Verdict::Done {
            standby.remember(self.subject.key.clone());
        }
        Some(verdict)
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
