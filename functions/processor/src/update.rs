//! One delivery of one Update: claim, run, commit, dispatch.

mod settle;

use std::time::Duration;

use penstock_batch::{Alone, Record, Verdict, growing_wait};
use penstock_bot::{Bot, Context, Incoming, Outcome};
use penstock_domain::expiry::is_expired_at;
use penstock_domain::failure::Disposition;
use penstock_domain::ids::{LedgerKey, MessageGroupId, chat_of_group};
use penstock_domain::intent::plan;
use penstock_domain::ledger::{ClaimRequest, Owner, Refusal};
use penstock_domain::retry::RetryPolicy;
use penstock_domain::time::Timestamp;
use penstock_formats::envelope::Envelope;
use penstock_formats::outbound::Origin;
use penstock_ports::{
    Claim, ClaimAs, Clock, Commit, Commitment, Deliveries, Draw, Inbox, PortError, QueueSender, StateWrite,
    Subject, TakeOver, Verdict as Settled,
};

use crate::dispatch::{dispatch_intended, messages};
use crate::handler::{Deps, store_away};
use crate::limits::{HANDLER_LIMIT, LEASE, NEEDED};
use crate::run_bot::{RunFailure, run_bot, wants_state};

/// Runs of a handler whose chat state was changed under it, before that counts as a failed try.
const MAX_STATE_RUNS: u32 = 4;
/// Longest wait of a crash suspect for the others of its batch to end; with more, its own run might not end in time.
const MOST_WAITED: Duration = Duration::from_secs(3);
/// Wait after a lost lease: whoever has it is settling.
const LEASE_LOST_WAIT: Duration = Duration::from_secs(2);
/// Why an Update is parked whose answer nobody waits for any more. Counted, but nobody has to do anything.
const EXPIRED: &str = "expired";

pub(crate) struct Delivery<'a, I, U, O, B, C, D> {
    deps: &'a Deps<I, U, O, B, C, D>,
    record: &'a Record,
    envelope: &'a Envelope<'a>,
    subject: Subject,
}

impl<'a, I: Inbox, U: Deliveries, O: QueueSender, B: Bot, C: Clock, D: Draw> Delivery<'a, I, U, O, B, C, D> {
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
        let now = self.deps.clock.now();
        let request = ClaimRequest {
            owner: Owner(format!(
                "{}:{}:{}",
                self.record.id, self.record.receive_count, now
            )),
            redrive: self.envelope.redrive,
            digest: self.envelope.digest,
            now,
            lease_until: now + LEASE,
        };
        match self.claim(&request, alone).await {
            Ok(Claimed::Mine(claim)) => self.work(&claim, now).await,
            Ok(Claimed::Settled(verdict)) => verdict,
            Err(error) => store_away(self.record, &error),
        }
    }

    async fn claim(&mut self, request: &ClaimRequest, alone: &Alone) -> Result<Claimed, PortError> {
        let inbox = &self.deps.inbox;
        let mut answer = inbox.claim(&self.subject, request).await?;
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
            Refusal::ReusedId => {
                Claimed::Settled(Verdict::ComeBackIn(growing_wait(self.record.receive_count)))
            }
            Refusal::HeldUntil(until) => Claimed::Settled(Verdict::held(until.since(request.now))),
            Refusal::Suspect { fence } => {
                let wait = growing_wait(self.record.receive_count);
                if alone.claim().await.is_err() {
                    return Ok(Claimed::Settled(Verdict::ComeBackIn(wait)));
                }
                let now = self.deps.clock.now();
                if now.since(request.now) > MOST_WAITED {
                    return Ok(Claimed::Settled(Verdict::ComeBackIn(wait)));
                }
                let request = ClaimRequest {
                    now,
                    lease_until: now + LEASE,
                    ..request.clone()
                };
                match inbox.take_over(&self.subject, &request, fence).await? {
                    TakeOver::Acquired(claim) => {
                        tracing::warn!(
                            trace_id = self.subject.trace_id,
                            attempt = claim.attempt,
                            "taken over from a worker that died"
                        );
                        Claimed::Mine(claim)
                    }
                    TakeOver::Lost => Claimed::Settled(Verdict::ComeBackIn(LEASE_LOST_WAIT)),
                }
            }
        })
    }

    async fn work(&self, claim: &ClaimAs, now: Timestamp) -> Verdict {
        let policy = RetryPolicy::default();
        if claim.attempt > policy.max_attempts {
            // The tries before this one never came back to say why.
            let failure = self.failure(
                "worker_died",
                "every try ended without a result",
                Disposition::Permanent,
                claim,
            );
            return self
                .settle(
                    claim,
                    Settled::Dead {
                        raw: self.envelope.update.to_owned(),
                        failure,
                    },
                )
                .await;
        }
        if is_expired_at(self.subject.kind, self.subject.received_at, now) {
            let failure = self.failure(
                EXPIRED,
                "its answer would come too late",
                Disposition::Permanent,
                claim,
            );
            return self
                .settle(
                    claim,
                    Settled::Dead {
                        raw: self.envelope.update.to_owned(),
                        failure,
                    },
                )
                .await;
        }
        match self.run(claim, now).await {
            Ok(Ran::Committed(count)) => {
                tracing::info!(
                    trace_id = self.subject.trace_id,
                    bot.id = self.subject.bot_id.0,
                    update.id = self.subject.update_id,
                    kind = self.subject.kind.name(),
                    attempt = claim.attempt,
                    sends = count,
                    wait_ms = now.millis_since(self.subject.received_at),
                    "done"
                );
                Verdict::Done
            }
            Ok(Ran::NotDispatched(error)) => {
                tracing::warn!(trace_id = self.subject.trace_id, error = %error, "committed, not dispatched yet");
                Verdict::ComeBackIn(growing_wait(self.record.receive_count))
            }
            Ok(Ran::LeaseLost) => {
                tracing::warn!(
                    trace_id = self.subject.trace_id,
                    "the lease was lost before the commit"
                );
                Verdict::ComeBackIn(LEASE_LOST_WAIT)
            }
            Ok(Ran::Failed(failed)) => self.fail(claim, &policy, &failed).await,
            Err(error) => self.give_back(claim, &error).await,
        }
    }

    /// Runs the handler and commits; again with fresh state when the chat's state was changed under it.
    async fn run(&self, claim: &ClaimAs, now: Timestamp) -> Result<Ran, PortError> {
        let Deps {
            inbox, bot, clock, ..
        } = self.deps;
        let incoming = Incoming::read(self.subject.kind, self.envelope.update);
        let chat = chat_of_group(&self.subject.group);
        let wants_state = match wants_state(bot, &incoming) {
            Ok(wants_state) => wants_state,
            Err(failed) => return Ok(Ran::Failed(failed)),
        };
        for run in 1..=MAX_STATE_RUNS {
            // A run that could outlast the lease would end as a crash.
            if run > 1 && clock.now().since(now) + HANDLER_LIMIT > NEEDED {
                break;
            }
            let stored = if wants_state {
                inbox.chat_state(self.subject.bot_id, chat).await?
            } else {
                None
            };
            let read_version = stored.as_ref().map_or(0, |(_, version)| *version);
            let context = Context {
                bot_id: self.subject.bot_id,
                key: self.subject.key.clone(),
                attempt: claim.attempt,
                now,
                received_at: self.subject.received_at,
                state: stored.and_then(|(state, _)| serde_json::from_str(&state).ok()),
                trace_id: self.subject.trace_id.clone(),
            };
            let outcome = match run_bot(bot, clock, &context, &incoming).await {
                Ok(outcome) => outcome,
                Err(failed) => return Ok(Ran::Failed(failed)),
            };
            let state = outcome
                .new_state
                .as_ref()
                .filter(|_| wants_state)
                .map(|state| StateWrite {
                    chat: chat.to_owned(),
                    read_version,
                    state: state.to_string(),
                });
            match self.commit(claim, outcome, state).await? {
                Some(ran) => return Ok(ran),
                None => tracing::info!(
                    trace_id = self.subject.trace_id,
                    "chat state changed meanwhile: once more"
                ),
            }
        }
        Ok(Ran::Failed(RunFailure {
            code: "state_conflict",
            message: "the chat's state changed under every run".to_owned(),
            disposition: Disposition::Transient,
            max_attempts: None,
        }))
    }

    /// Commits and dispatches; `None` if the chat's state was changed meanwhile.
    async fn commit(
        &self,
        claim: &ClaimAs,
        outcome: Outcome,
        state: Option<StateWrite>,
    ) -> Result<Option<Ran>, PortError> {
        let invalid = |message: String| {
            Ok(Some(Ran::Failed(RunFailure {
                code: "invalid_calls",
                message,
                disposition: Disposition::Permanent,
                max_attempts: None,
            })))
        };
        let intents = match plan(self.subject.bot_id, outcome.calls) {
            Ok(intents) => intents,
            Err(error) => return invalid(error.to_string()),
        };
        let of = u8::try_from(intents.len()).unwrap_or(u8::MAX);
        let fresh: Vec<_> = intents.iter().map(|intent| (intent, 0)).collect();
        // Built before the commit: what the queue would refuse for ever must not become an outcome.
        let messages = match messages(&self.origin(), &fresh, of) {
            Ok(messages) => messages,
            Err(n) => return invalid(format!("call {n} does not fit into a queue message")),
        };
        let commit = Commit {
            intents,
            state,
            result: outcome.result.to_owned(),
        };
        let now = self.deps.clock.now();
        let committed = match self.deps.inbox.commit(&self.subject, claim, &commit, now).await {
            // An outcome that the table will never take, for its size as a rule.
            Err(PortError::Rejected { code, .. }) if code.starts_with("Validation") => {
                return invalid(format!("the ledger does not take the outcome: {code}"));
            }
            committed => committed?,
        };
        Ok(match committed {
            Commitment::StateConflict => None,
            Commitment::LeaseLost => Some(Ran::LeaseLost),
            Commitment::Done if messages.is_empty() => Some(Ran::Committed(0)),
            Commitment::Done => match self.deps.outbound.enqueue_all(messages).await {
                Ok(()) => Some(Ran::Committed(of)),
                Err(error) => Some(Ran::NotDispatched(error)),
            },
        })
    }

    /// A repeat of an Update that is done: whatever of it was not dispatched is dispatched now.
    async fn dispatch_again(&self, record: &penstock_domain::ledger::Record) -> Verdict {
        match dispatch_intended(&self.deps.outbound, &self.origin(), record).await {
            Ok(count) => {
                tracing::info!(
                    trace_id = self.subject.trace_id,
                    dispatched = count,
                    "a repeat of an update that is done"
                );
                Verdict::Done
            }
            Err(error) => store_away(self.record, &error),
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

/// What became of a claim.
enum Claimed {
    Mine(ClaimAs),
    Settled(Verdict),
}

/// What became of a run.
enum Ran {
    Committed(u8),
    NotDispatched(PortError),
    LeaseLost,
    Failed(RunFailure),
}
