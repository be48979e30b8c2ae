//! A backend elsewhere: each Update is handed to it, and what it answers is the outcome. While it is away nothing is
//! tried and no attempt is burned.

use penstock_bot::{Incoming, Outcome, Reads};
use penstock_domain::breaker::{FIRST_WAIT, Sign};
use penstock_domain::failure::Disposition;
use penstock_domain::ids::BotId;
use penstock_domain::ledger::Owner;
use penstock_domain::retry::{Jitter, RetryPolicy, UpdateClass};
use penstock_domain::time::Timestamp;
use penstock_outage::{Outage, Turn};
use penstock_ports::{Backend, BackendError, Breakers, Clock, Forward, RunAs, Subject};

use super::{Logic, Standby, Try};
use crate::limits::HANDLER_LIMIT;
use crate::run_bot::RunFailure;

/// The backends of bots.
pub trait Backends: Send + Sync {
    /// A client of one.
    type Backend: Backend;

    /// The bot's backend.
    fn of(&self, bot: BotId) -> impl Future<Output = Result<Self::Backend, NoBackend>> + Send;
}

/// A bot's backend is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoBackend {
    /// Its secret cannot be read now.
    #[error("the bot's secret cannot be read now: {0}")]
    Away(String),
    /// What is configured is no backend.
    #[error("{0}")]
    Unfit(String),
}

/// Hands Updates to the bots' backends.
#[derive(Debug)]
pub struct Forwarding<K, S> {
    backends: K,
    outage: Outage<S>,
    standby: Standby,
}

impl<K: Backends, S: Breakers> Forwarding<K, S> {
    /// Hands Updates to these, with those breakers. `instance` is a name that no other process has.
    pub fn new(backends: K, breakers: S, instance: &str) -> Self {
        Self {
            backends,
            outage: Outage::new(breakers, instance),
            standby: Standby::default(),
        }
    }

    /// With that in the backend's place while it is away.
    #[must_use]
    pub fn with_standby(self, standby: Standby) -> Self {
        Self { standby, ..self }
    }

    /// Makes the one HEAD that a shut door waits for, if it is this process's turn. Whether the door may have opened.
    async fn probe(&self, subject: &Subject, now: Timestamp, draw: Jitter) -> bool {
        let owner = Owner(format!("{}:{now}", subject.key));
        if self.outage.probe_due(subject.bot_id, now, &owner).await.is_none() {
            return false;
        }
        let Ok(backend) = self.backends.of(subject.bot_id).await else {
            return false;
        };
        let answer = backend.probe().await;
        tracing::info!(
            bot.id = subject.bot_id.0,
            is_up = answer.is_up(),
            "the backend was asked whether it is back"
        );
        self.outage
            .probed(subject.bot_id, &owner, answer, now, draw)
            .await;
        answer.is_up()
    }

    /// What a failed try tells the breaker; whether it is given back.
    async fn tell(&self, subject: &Subject, error: &BackendError, now: Timestamp) -> bool {
        match (error.cause(), error) {
            (Some(cause), _) => {
                let sign = Sign {
                    key: subject.key.clone(),
                    group: subject.group.clone(),
                    at: now,
                };
                self.outage.failed(subject.bot_id, cause, &sign, now).await
            }
            // A silence says nothing: one slow Update is silent too.
            (
                None,
                BackendError::NoAnswer { .. } | BackendError::NotRun { .. } | BackendError::Unsendable { .. },
            ) => false,
            (None, _) => {
                self.outage
                    .answered(subject.bot_id, subject.received_at, now)
                    .await;
                false
            }
        }
    }
}

impl<K: Backends, S: Breakers> Logic for Forwarding<K, S> {
    /// The backend sees a run before its outcome is committed.
    fn always_claims(&self) -> bool {
        true
    }

    async fn entry(&self, subject: &Subject, now: Timestamp, draw: Jitter) -> Turn {
        let (bot, received_at) = (subject.bot_id, subject.received_at);
        let turn = self.outage.entry(bot, received_at, now, draw).await;
        if matches!(turn, Turn::Deferred(_)) && self.probe(subject, now, draw).await {
            return self.outage.entry(bot, received_at, now, draw).await;
        }
        turn
    }

    async fn standby(&self, bot: BotId, now: Timestamp) -> Option<(Timestamp, &Standby)> {
        let shut_since = self.outage.shut_since(bot, now).await?;
        Some((shut_since, &self.standby))
    }

    async fn last_try(&self, subject: &Subject, now: Timestamp, draw: Jitter) -> Turn {
        let Ok(backend) = self.backends.of(subject.bot_id).await else {
            return Turn::Free;
        };
        let answer = backend.probe().await;
        self.outage
            .asked_first(subject.bot_id, answer, subject.received_at, now, draw)
            .await
    }

    fn reads(&self, _incoming: &Incoming) -> Result<Reads, RunFailure> {
        Ok(Reads::nothing())
    }

    fn policy(&self, incoming: &Incoming) -> RetryPolicy {
        UpdateClass::of(incoming.kind, incoming.command().is_some())
            .preset()
            .policy()
    }

    async fn run<C: Clock>(&self, clock: &C, this: &Try<'_>) -> Result<Outcome, RunFailure> {
        let RunAs::Claimed(claim) = this.run else {
            return Err(RunFailure::permanent(
                "not_claimed",
                "an update is claimed before it is handed to a backend".to_owned(),
            ));
        };
        let subject = this.subject;
        let backend = match self.backends.of(subject.bot_id).await {
            Ok(backend) => backend,
            Err(error @ NoBackend::Away(_)) => return Err(given_back("backend_unknown", &error)),
            // Tried again like an outage of the configuration: it is mended by a deployment, not by a redrive.
            Err(error @ NoBackend::Unfit(_)) => return Err(given_back("backend_unfit", &error)),
        };
        let forward = Forward {
            update: this.raw,
            key: &subject.key,
            attempt: claim.attempt,
            fence: claim.fence.0,
            received_at: subject.received_at,
            trace_id: &subject.trace_id,
            limit: clock.real(HANDLER_LIMIT),
        };
        match backend.deliver(&forward).await {
            Ok(call) => {
                self.outage
                    .answered(subject.bot_id, subject.received_at, clock.now())
                    .await;
                let outcome = Outcome::of("forwarded");
                Ok(match call {
                    Some(call) => outcome.then(call),
                    None => outcome,
                })
            }
            Err(error) => {
                let is_given_back = self.tell(subject, &error, clock.now()).await;
                Err(failure(&error, is_given_back))
            }
        }
    }
}

fn given_back(code: &'static str, error: &NoBackend) -> RunFailure {
    RunFailure {
        code: code.into(),
        message: error.to_string(),
        disposition: Disposition::Transient,
        max_attempts: None,
        is_given_back: true,
        comes_back_in: None,
    }
}

/// A failed delivery as the retry policy sees it: a wait that the backend asks for is a floor, whatever the status.
fn failure(error: &BackendError, is_given_back: bool) -> RunFailure {
    let disposition = match (error.disposition(), error.retry_after()) {
        (Disposition::Transient, Some(retry_after)) => Disposition::Throttled { retry_after },
        (disposition, _) => disposition,
    };
    let message = match error.excerpt() {
        Some(excerpt) => format!("{error}: {excerpt}"),
        None => error.to_string(),
    };
    RunFailure {
        code: error.code().into(),
        message,
        disposition,
        max_attempts: None,
        is_given_back,
        // The door is shut: when it comes back it is asked, not tried.
        comes_back_in: is_given_back.then_some(FIRST_WAIT),
    }
}
