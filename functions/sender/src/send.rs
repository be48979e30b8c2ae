//! One delivery of one intent: claim, call, settle.

use std::time::Duration;

use penstock_batch::{Record, Verdict, growing_wait};
use penstock_domain::expiry::answer_life;
use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::{MessageGroupId, chat_of_group};
use penstock_domain::intent::{Call, IntentClaim, IntentRefusal};
use penstock_domain::ledger::Owner;
use penstock_domain::method::repeat;
use penstock_domain::secret::BotToken;
use penstock_domain::time::Timestamp;
use penstock_formats::outbound::Outbound;
use penstock_ports::{
    ApiError, ApiReply, BotApi, Clock, Draw, Inbox, IntentSettlement, IntentStart, Meaning, Outbox,
    SecretSource, SettleAs,
};

use crate::handler::{Deps, park, store_away};
use crate::limits::{LAST_CALL, LEASE};
use crate::rewrite::{Cures, has_message_id, rewritten, with_message_id};
use crate::verdict::{Next, after_failure};

/// Wait when somebody else has settled it: the next delivery reads how.
const SETTLED_WAIT: Duration = Duration::from_secs(2);
/// Shortest wait of a bot whose token is refused or missing: somebody has to put the right one there.
const NO_TOKEN_WAIT: Duration = Duration::from_secs(300);

/// Waits between the tries to settle: what a call came to is worth more than a claim.
const SETTLE_WAITS: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
];

pub(crate) struct Sending<'a, L, A, S, C, D> {
    pub(crate) deps: &'a Deps<L, A, S, C, D>,
    pub(crate) record: &'a Record,
    pub(crate) outbound: &'a Outbound,
}

impl<L: Inbox + Outbox, A: BotApi, S: SecretSource, C: Clock, D: Draw> Sending<'_, L, A, S, C, D> {
    pub(crate) async fn handle(&self) -> Verdict {
        let outbound = self.outbound;
        let now = self.deps.clock.now();
        if let Some(not_before) = outbound.call.not_before.filter(|at| *at > now) {
            return Verdict::ComeBackIn(not_before.since(now));
        }
        let claim = IntentClaim {
            owner: Owner(format!(
                "{}:{}:{}",
                self.record.id, self.record.receive_count, now
            )),
            n: outbound.n,
            redrive: outbound.redrive,
            resend: outbound.resend,
            previous: outbound.previous,
            refers_to: outbound.call.refers_to,
            now,
            lease_until: now + LEASE,
        };
        let mut started = self.deps.ledger.start(&outbound.key, &claim).await;
        if started
            .as_ref()
            .is_err_and(|error| error.disposition() == Disposition::Ambiguous)
        {
            // It may have landed, and would end as a send of which nobody knows though nothing was called. The same claim
            // once more is told that it is its own.
            started = self.deps.ledger.start(&outbound.key, &claim).await;
        }
        match started {
            Ok(
                IntentStart::Acquired { attempt, message_id }
                | IntentStart::Refused(IntentRefusal::Mine {
                    attempts: attempt,
                    message_id,
                }),
            ) => self.send(&claim.owner, attempt, message_id, now).await,
            Ok(IntentStart::Refused(refusal)) => self.refused(refusal, now).await,
            Err(error) => store_away(self.deps, self.record, &error),
        }
    }

    async fn refused(&self, refusal: IntentRefusal, now: Timestamp) -> Verdict {
        match refusal {
            IntentRefusal::Settled | IntentRefusal::Mine { .. } => Verdict::Done,
            IntentRefusal::BehindPrevious => Verdict::ComeBackIn(growing_wait(
                self.record.receive_count,
                self.deps.draw.draw().get(),
            )),
            IntentRefusal::HeldUntil(until) => Verdict::held(until.since(now)),
            IntentRefusal::Lost => self.lost(now).await,
            IntentRefusal::Absent => {
                let missing = "there is no such intent in the ledger";
                park(self.deps, self.record, self.outbound.bot_id, "no_intent", missing).await
            }
        }
    }

    /// A sender died with the call on its way. How often it was tried decides whether it may be tried again.
    async fn lost(&self, now: Timestamp) -> Verdict {
        let record = match self.deps.ledger.read(&self.outbound.key).await {
            Ok(record) => record,
            Err(error) => return store_away(self.deps, self.record, &error),
        };
        let intents = record.map(|record| record.intents).unwrap_or_default();
        let stored = intents.iter().find(|stored| stored.intent.n == self.outbound.n);
        let attempt = stored.map_or(1, |stored| stored.attempts.max(1));
        let why = "the sender died with the call on its way";
        let failure = Failure::new("sender_died", why, Disposition::Ambiguous, attempt, now);
        self.after(None, attempt, failure).await
    }

    /// Sends it; `target` is the id of the message that it refers to.
    async fn send(&self, owner: &Owner, attempt: u32, target: Option<i64>, now: Timestamp) -> Verdict {
        let Call {
            method,
            params,
            refers_to,
            ..
        } = &self.outbound.call;
        let params = match (refers_to, target) {
            (None, _) => Some(params.clone()),
            (Some(_), Some(target)) => with_message_id(params, target),
            (Some(_), None) => None,
        };
        let Some(params) = params else {
            let why = "the message that it is about was not sent";
            let failure = Failure::new("no_target", why, Disposition::Permanent, attempt, now);
            return self.settle(Some(owner), SettleAs::Failed { failure }).await;
        };
        if answer_life(method).is_some_and(|life| now > self.outbound.received_at + life) {
            let failure = Failure::new(
                "expired",
                "the answer would come too late",
                Disposition::Permanent,
                attempt,
                now,
            );
            return self.settle(Some(owner), SettleAs::Failed { failure }).await;
        }
        let token = match self.deps.secrets.bot_secret(self.outbound.bot_id).await {
            Ok(Some(secret)) => secret.token,
            Ok(None) => return self.no_token(owner, attempt, "the bot has no secret").await,
            Err(error) => {
                let failure = Failure::new(
                    "secret_unavailable",
                    &error.to_string(),
                    Disposition::Transient,
                    attempt,
                    now,
                );
                let next_at = now + growing_wait(self.record.receive_count, self.deps.draw.draw().get());
                return self
                    .settle(
                        Some(owner),
                        SettleAs::Retry {
                            next_at,
                            burned: false,
                            failure,
                        },
                    )
                    .await;
            }
        };
        match self.call(&token, params, now).await {
            Ok(reply) => {
                self.settle(
                    Some(owner),
                    SettleAs::Sent {
                        message_id: reply.message_id,
                    },
                )
                .await
            }
            Err(error) => self.failed(owner, attempt, &error).await,
        }
    }

    /// Calls, and calls again where the refusal says in which form, or a fresh token is there: each of that once, and
    /// only while the lease outlasts another call.
    async fn call(
        &self,
        token: &BotToken,
        mut params: String,
        begun: Timestamp,
    ) -> Result<ApiReply, ApiError> {
        let call = &self.outbound.call;
        let mut token = token.clone();
        let mut cures = Cures::default();
        loop {
            penstock_aws::hooks::point("bot_api.call.before");
            let answer = self.deps.api.call(&token, &call.method, &params).await;
            penstock_aws::hooks::point("bot_api.call.after");
            let Err(ApiError::Refused { meaning, .. }) = &answer else {
                return answer;
            };
            if !cures.has_left(*meaning) {
                return answer;
            }
            if *meaning == Meaning::BotRefused {
                let fresh = self
                    .deps
                    .secrets
                    .refreshed(self.outbound.bot_id)
                    .await
                    .ok()
                    .flatten();
                let Some(fresh) = fresh.filter(|fresh| fresh.token != token) else {
                    return answer;
                };
                token = fresh.token;
            } else {
                let Some(cured) = rewritten(&params, *meaning) else {
                    return answer;
                };
                params = cured;
            }
            if self.deps.clock.now().since(begun) > LAST_CALL {
                // A call that outlives its lease would look like one that nobody knows about.
                return Err(ApiError::NotSent {
                    method: call.method.clone(),
                });
            }
        }
    }

    async fn failed(&self, owner: &Owner, attempt: u32, error: &ApiError) -> Verdict {
        let now = self.deps.clock.now();
        if let ApiError::Refused {
            meaning: Meaning::BotRefused,
            ..
        } = error
        {
            return self
                .no_token(
                    owner,
                    attempt,
                    "the bot's token is refused: put the right one into its secret",
                )
                .await;
        }
        let code = match error {
            ApiError::Refused {
                meaning: Meaning::Expired,
                ..
            } => "expired".to_owned(),
            ApiError::Refused {
                meaning: Meaning::ChatUnreachable,
                ..
            } => "chat_unreachable".to_owned(),
            ApiError::Refused { .. } | ApiError::NotSent { .. } | ApiError::NoAnswer { .. } => error.code(),
        };
        let failure = Failure::new(&code, &error.to_string(), error.disposition(), attempt, now);
        self.after(Some(owner), attempt, failure).await
    }

    /// Settles a try that failed.
    async fn after(&self, owner: Option<&Owner>, attempt: u32, failure: Failure) -> Verdict {
        let call = &self.outbound.call;
        let now = self.deps.clock.now();
        let draw = self.deps.draw.draw();
        let repeat = repeat(&call.method, has_message_id(&call.params));
        let settle = match after_failure(failure.disposition, repeat, call.on_unknown, attempt, draw) {
            Next::Failed => SettleAs::Failed { failure },
            Next::Unknown => SettleAs::Unknown { failure },
            Next::Again { wait, burned } => {
                if let Disposition::Throttled { .. } = failure.disposition {
                    self.hold(wait, now).await;
                }
                SettleAs::Retry {
                    next_at: now + wait,
                    burned,
                    failure,
                }
            }
        };
        self.settle(owner, settle).await
    }

    /// No send to this chat before then. Its own group needs no read for that: its head stays hidden.
    /// When several chats are refused at a time, it is the bot that is too fast.
    async fn hold(&self, wait: Duration, now: Timestamp) {
        let Deps {
            ledger, throttles, ..
        } = self.deps;
        let (bot, group) = (self.outbound.bot_id, MessageGroupId(self.record.group.clone()));
        let chat = chat_of_group(&group);
        let stored = ledger.hold_chat(bot, chat, now + wait, now).await;
        let bot_stored = match throttles.note(bot, chat, wait, now) {
            Some(until) => {
                tracing::warn!(bot.id = bot.0, "several chats were refused: the bot is held");
                ledger.hold_bot(bot, until, now).await
            }
            None => Ok(()),
        };
        if let Err(error) = stored.and(bot_stored) {
            tracing::warn!(trace_id = self.outbound.trace_id, error = %error, "a hold was not stored");
        }
    }

    async fn no_token(&self, owner: &Owner, attempt: u32, why: &str) -> Verdict {
        let now = self.deps.clock.now();
        tracing::error!(bot.id = self.outbound.bot_id.0, why, "the bot cannot send");
        let failure = Failure::new("bot_refused", why, Disposition::Transient, attempt, now);
        let next_at = now
            + NO_TOKEN_WAIT.max(growing_wait(
                self.record.receive_count,
                self.deps.draw.draw().get(),
            ));
        self.settle(
            Some(owner),
            SettleAs::Retry {
                next_at,
                burned: false,
                failure,
            },
        )
        .await
    }

    async fn settle(&self, owner: Option<&Owner>, settle: SettleAs) -> Verdict {
        let outbound = self.outbound;
        let now = self.deps.clock.now();
        let settlement = IntentSettlement {
            key: outbound.key.clone(),
            n: outbound.n,
            of: outbound.of,
            owner: owner.cloned(),
            settle,
            now,
        };
        let mut waits = SETTLE_WAITS.iter();
        loop {
            let error = match Outbox::settle(&self.deps.ledger, &settlement).await {
                Ok(true) => return self.settled(&settlement.settle, now),
                Ok(false) => return Verdict::ComeBackIn(SETTLED_WAIT),
                Err(error) => error,
            };
            // What a call came to is worth a wait: unsettled, it ends as unknown.
            match waits.next() {
                Some(wait) if error.disposition() != Disposition::Permanent => {
                    tokio::time::sleep(self.deps.clock.real(*wait)).await;
                }
                _ => return store_away(self.deps, self.record, &error),
            }
        }
    }

    fn settled(&self, settle: &SettleAs, now: Timestamp) -> Verdict {
        let outbound = self.outbound;
        let (trace_id, n, method) = (&outbound.trace_id, outbound.n, &outbound.call.method);
        let total_ms = now.millis_since(outbound.received_at);
        match settle {
            SettleAs::Sent { .. } => {
                tracing::info!(
                    trace_id,
                    bot.id = outbound.bot_id.0,
                    update.id = outbound.update_id.0,
                    intent.n = n,
                    method,
                    total_ms,
                    "sent"
                );
                Verdict::Done
            }
            SettleAs::Retry { next_at, failure, .. } => {
                let wait = next_at.since(now);
                tracing::warn!(
                    trace_id,
                    intent.n = n,
                    method,
                    code = failure.code,
                    wait_ms = next_at.millis_since(now),
                    "not sent: tried again"
                );
                Verdict::ComeBackIn(wait)
            }
            SettleAs::Failed { failure } => {
                tracing::warn!(
                    trace_id,
                    intent.n = n,
                    method,
                    code = failure.code,
                    "not sent: given up"
                );
                Verdict::Done
            }
            SettleAs::Unknown { failure } => {
                tracing::error!(
                    trace_id,
                    intent.n = n,
                    method,
                    code = failure.code,
                    "nobody knows whether it was sent"
                );
                Verdict::Done
            }
        }
    }
}
