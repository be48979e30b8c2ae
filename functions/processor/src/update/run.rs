//! Running the bot for an Update and committing what it gives back; again where somebody changed what it had read.

use penstock_batch::Verdict;
use penstock_bot::{Context, Incoming, Outcome, Reads};
use penstock_domain::data;
use penstock_domain::expiry::is_expired_at;
use penstock_domain::failure::Disposition;
use penstock_domain::ids::chat_of_group;
use penstock_domain::intent::{LONGEST_DELAY, plan};
use penstock_domain::ledger::{Record, Refusal};
use penstock_domain::retry::RetryPolicy;
use penstock_domain::time::Timestamp;
use penstock_outage::Turn;
use penstock_ports::{
    Clock, Commit, Commitment, Deliveries, Draw, Inbox, PortError, QueueSender, RunAs, StateWrite,
    Verdict as Settled,
};

use super::{Delivery, EXPIRED, LEASE_LOST_WAIT};
use crate::dispatch::messages;
use crate::handler::Deps;
use crate::limits::{HANDLER_LIMIT, NEEDED};
use crate::logic::{Logic, Try};
use crate::run_bot::RunFailure;

/// Runs of a handler whose chat state was changed under it, before that counts as a failed try (design section 4).
const MAX_STATE_CONFLICTS: u32 = 3;

/// What became of a run.
enum Ran {
    Committed(u8),
    NotDispatched(PortError),
    LeaseLost,
    Refused(Refusal, Box<Record>),
    Failed(RunFailure),
}

/// What became of a commit.
enum Committed {
    Ran(Ran),
    /// The chat's state was changed meanwhile.
    StateConflict,
    /// A record of the bot's own was not as its outcome expected.
    Unexpected(usize),
}

/// What a run was given.
struct Given {
    /// The state as it is stored, and its version.
    state: Option<(String, u64)>,
    /// Whether it came out of this instance's memory.
    is_cached: bool,
    records: Vec<Option<data::DataItem>>,
}

impl<I: Inbox, U: Deliveries, O: QueueSender, B: Logic, C: Clock, D: Draw> Delivery<'_, I, U, O, B, C, D> {
    pub(super) async fn work(&self, run: &RunAs, now: Timestamp) -> Verdict {
        let incoming = Incoming::read(self.subject.kind, self.envelope.update);
        let policy = self.deps.bot.policy(&incoming);
        let parked = |code, message| Settled::Dead {
            raw: self.envelope.update.to_owned(),
            failure: self.failure(code, message, Disposition::Permanent, run),
        };
        if run.attempt() > policy.max_attempts {
            // The tries before this one never came back to say why.
            let verdict = parked("worker_died", "every try ended without a result");
            return self.settle(run, verdict).await;
        }
        if is_expired_at(self.subject.kind, self.subject.received_at, now) {
            let verdict = parked(EXPIRED, "its answer would come too late");
            return self.settle(run, verdict).await;
        }
        if run.attempt() > 1
            && run.attempt() == policy.max_attempts
            && let Turn::Deferred(wait) = self
                .deps
                .bot
                .last_try(&self.subject, now, self.deps.draw.draw())
                .await
        {
            return self.wait_for_backend(run, wait).await;
        }
        let ran = self.run(run, &incoming, now).await;
        self.ended(run, &policy, ran, now).await
    }

    /// What a run's end means for its delivery.
    async fn ended(
        &self,
        run: &RunAs,
        policy: &RetryPolicy,
        ran: Result<Ran, PortError>,
        now: Timestamp,
    ) -> Verdict {
        match ran {
            Ok(Ran::Committed(count)) => {
                tracing::info!(
                    trace_id = self.subject.trace_id,
                    bot.id = self.subject.bot_id.0,
                    update.id = self.subject.update_id,
                    kind = self.subject.kind.name(),
                    attempt = run.attempt(),
                    sends = count,
                    wait_ms = now.millis_since(self.subject.received_at),
                    "done"
                );
                Verdict::Done
            }
            Ok(Ran::NotDispatched(error)) => {
                tracing::warn!(trace_id = self.subject.trace_id, error = %error, "committed, not dispatched yet");
                Verdict::ComeBackIn(self.growing_wait())
            }
            Ok(Ran::LeaseLost) => {
                tracing::warn!(
                    trace_id = self.subject.trace_id,
                    "the lease was lost before the commit"
                );
                Verdict::ComeBackIn(LEASE_LOST_WAIT)
            }
            Ok(Ran::Refused(refusal, record)) => self.found_a_record(&refusal, &record).await,
            Ok(Ran::Failed(failed)) => self.fail(run, policy, &failed).await,
            Err(error) => self.give_back(run, policy, &error).await,
        }
    }

    /// Commits an outcome that no handler gave.
    pub(super) async fn commit_without_run(
        &self,
        run: &RunAs,
        incoming: &Incoming,
        outcome: Outcome,
        now: Timestamp,
    ) -> Verdict {
        let ran = match self.commit(run, outcome, &Reads::nothing(), 0).await {
            Ok(Committed::Ran(ran)) => Ok(ran),
            // It has no state and no records.
            Ok(Committed::StateConflict) => Ok(Ran::Failed(state_conflict())),
            Ok(Committed::Unexpected(n)) => Ok(Ran::Failed(condition_failed(n))),
            Err(error) => Err(error),
        };
        self.ended(run, &self.deps.bot.policy(incoming), ran, now).await
    }

    /// Runs the handler and commits; again with what is there now where that was changed under it.
    async fn run(&self, run: &RunAs, incoming: &Incoming, now: Timestamp) -> Result<Ran, PortError> {
        let Deps { bot, clock, .. } = self.deps;
        let reads = match bot.reads(incoming) {
            Ok(reads) => reads,
            Err(failed) => return Ok(Ran::Failed(failed)),
        };
        let (mut state_conflicts, mut conflict, mut may_use_cache) = (0, false, true);
        loop {
            let given = self.given(&reads, may_use_cache, now).await?;
            let context = self.context(run, &reads, &given, conflict, now);
            let this = Try {
                subject: &self.subject,
                run,
                context: &context,
                incoming,
                raw: self.envelope.update,
            };
            let ran = bot.run(clock, &this).await;
            if given.is_cached && self.is_stale(&given, ran.as_ref()).await? {
                may_use_cache = false;
                if let Some(failed) = self.out_of_time(now) {
                    return Ok(Ran::Failed(failed));
                }
                continue;
            }
            let outcome = match ran {
                Ok(outcome) => outcome,
                Err(failed) => return Ok(Ran::Failed(failed)),
            };
            match self.commit(run, outcome, &reads, context.state_version).await? {
                Committed::Ran(ran) => return Ok(ran),
                Committed::StateConflict => {
                    state_conflicts += 1;
                    if state_conflicts > MAX_STATE_CONFLICTS {
                        return Ok(Ran::Failed(state_conflict()));
                    }
                    tracing::info!(
                        trace_id = self.subject.trace_id,
                        "chat state changed meanwhile: once more"
                    );
                }
                Committed::Unexpected(n) if conflict => return Ok(Ran::Failed(condition_failed(n))),
                Committed::Unexpected(n) => {
                    conflict = true;
                    tracing::info!(
                        trace_id = self.subject.trace_id,
                        write = n,
                        "a record was not as the outcome expects: once more"
                    );
                }
            }
            may_use_cache = false;
            if let Some(failed) = self.out_of_time(now) {
                return Ok(Ran::Failed(failed));
            }
        }
    }

    /// A run that could outlast the lease would end as a crash.
    fn out_of_time(&self, begun: Timestamp) -> Option<RunFailure> {
        (self.deps.clock.now().since(begun) + HANDLER_LIMIT > NEEDED).then(state_conflict)
    }

    async fn given(&self, reads: &Reads, may_use_cache: bool, now: Timestamp) -> Result<Given, PortError> {
        let (bot, chat) = (self.subject.bot_id, chat_of_group(&self.subject.group));
        let inbox = &self.deps.inbox;
        let cached = if reads.state && may_use_cache {
            self.deps.states.get(bot, chat, now)
        } else {
            None
        };
        let state = async {
            if !reads.state || cached.is_some() {
                return Ok(cached.clone());
            }
            inbox.chat_state(bot, chat).await
        };
        let records = async {
            if reads.records.is_empty() {
                return Ok(Vec::new());
            }
            inbox.data(bot, &reads.records).await
        };
        let (state, records) = tokio::try_join!(state, records)?;
        Ok(Given {
            state,
            is_cached: cached.is_some(),
            records,
        })
    }

    /// Whether a run used a state of this instance's memory that is stored otherwise by now. Where a new state is
    /// written the commit asks for the version itself, so that the store is only asked where none is.
    async fn is_stale(&self, given: &Given, ran: Result<&Outcome, &RunFailure>) -> Result<bool, PortError> {
        if ran.is_ok_and(|outcome| outcome.new_state.is_some()) {
            return Ok(false);
        }
        let (bot, chat) = (self.subject.bot_id, chat_of_group(&self.subject.group));
        let stored = self.deps.inbox.chat_state(bot, chat).await?;
        let version = |state: &Option<(String, u64)>| state.as_ref().map(|(_, version)| *version);
        let is_stale = version(&stored) != version(&given.state);
        if is_stale {
            self.deps.states.forget(bot, chat);
        }
        Ok(is_stale)
    }

    fn context(&self, run: &RunAs, reads: &Reads, given: &Given, conflict: bool, now: Timestamp) -> Context {
        let found = reads.records.iter().cloned().zip(given.records.iter().cloned());
        Context {
            bot_id: self.subject.bot_id,
            key: self.subject.key.clone(),
            attempt: run.attempt(),
            now,
            received_at: self.subject.received_at,
            time_left: HANDLER_LIMIT,
            conflict,
            state: given
                .state
                .as_ref()
                .and_then(|(state, _)| serde_json::from_str(state).ok()),
            state_version: given.state.as_ref().map_or(0, |(_, version)| *version),
            records: found.filter_map(|(key, item)| Some((key, item?))).collect(),
            trace_id: self.subject.trace_id.clone(),
        }
    }

    /// Commits and dispatches.
    async fn commit(
        &self,
        run: &RunAs,
        outcome: Outcome,
        reads: &Reads,
        read_version: u64,
    ) -> Result<Committed, PortError> {
        let invalid =
            |code, message: String| Ok(Committed::Ran(Ran::Failed(RunFailure::permanent(code, message))));
        let intents = match plan(self.subject.bot_id, outcome.calls) {
            Ok(intents) => intents,
            Err(error) => return invalid("invalid_calls", error.to_string()),
        };
        if let Err(error) = data::check(&outcome.writes) {
            return invalid("invalid_writes", error.to_string());
        }
        let now = self.deps.clock.now();
        let is_too_far = |at: Timestamp| at > now + LONGEST_DELAY;
        if let Some(intent) = intents
            .iter()
            .find(|it| it.call.not_before.is_some_and(is_too_far))
        {
            return invalid(
                "invalid_calls",
                format!(
                    "call {} is put off for more than {} days: keep it elsewhere until then",
                    intent.n,
                    LONGEST_DELAY.as_secs() / 86_400
                ),
            );
        }
        let of = u8::try_from(intents.len()).unwrap_or(u8::MAX);
        let fresh: Vec<_> = intents.iter().map(|intent| (intent, 0)).collect();
        // Built before the commit: what the queue would refuse for ever must not become an outcome.
        let messages = match messages(&self.origin(), &fresh, of) {
            Ok(messages) => messages,
            Err(n) => {
                return invalid(
                    "invalid_calls",
                    format!("call {n} does not fit into a queue message"),
                );
            }
        };
        let chat = chat_of_group(&self.subject.group);
        let state = outcome.new_state.filter(|_| reads.state).map(|state| StateWrite {
            chat: chat.to_owned(),
            read_version,
            state: state.to_string(),
        });
        let commit = Commit {
            intents,
            state,
            writes: outcome.writes,
            result: outcome.result.to_owned(),
        };
        let committed = self.deps.inbox.commit(&self.subject, run, &commit, now).await;
        self.remember(&commit, &committed, now);
        let committed = match committed {
            // An outcome that the table will never take, for its size as a rule.
            Err(PortError::Rejected { code, .. }) if code.starts_with("Validation") => {
                let message = format!("the ledger does not take the outcome: {code}");
                return invalid("invalid_calls", message);
            }
            committed => committed?,
        };
        Ok(Committed::Ran(match committed {
            Commitment::StateConflict => return Ok(Committed::StateConflict),
            Commitment::Unexpected { n } => return Ok(Committed::Unexpected(n)),
            Commitment::LeaseLost => Ran::LeaseLost,
            Commitment::Refused(refusal, record) => Ran::Refused(refusal, record),
            Commitment::Done if messages.is_empty() => Ran::Committed(0),
            Commitment::Done => match self.deps.outbound.enqueue_all(messages).await {
                Ok(()) => Ran::Committed(of),
                Err(error) => Ran::NotDispatched(error),
            },
        }))
    }

    /// Keeps a state that was written, and forgets one of which that is not known.
    fn remember(&self, commit: &Commit, committed: &Result<Commitment, PortError>, now: Timestamp) {
        let Some(write) = &commit.state else { return };
        let (bot, states) = (self.subject.bot_id, &self.deps.states);
        if matches!(committed, Ok(Commitment::Done)) {
            states.keep(bot, &write.chat, &write.state, write.read_version + 1, now);
        } else {
            states.forget(bot, &write.chat);
        }
    }
}

fn state_conflict() -> RunFailure {
    RunFailure {
        code: "state_conflict".into(),
        message: "the chat's state changed under every run".to_owned(),
        disposition: Disposition::Transient,
        max_attempts: None,
        is_given_back: false,
        comes_back_in: None,
    }
}

fn condition_failed(n: usize) -> RunFailure {
    RunFailure::permanent(
        "condition_failed",
        format!("record {n} of the outcome's writes was not as expected, even when the handler knew"),
    )
}
