//! The ports of one worker: every call waits for the schedule, and then does what the fake does, or fails. Never decides.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use futures::FutureExt as _;
use penstock_domain::data::{DataItem, DataKey};
use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::intent::IntentClaim;
use penstock_domain::ledger::{ClaimRequest, Fence, Record};
use penstock_domain::pace::ChatGate;
use penstock_domain::retry::Jitter;
use penstock_domain::secret::{BotSecret, BotToken};
use penstock_domain::time::{Timestamp, ceil_secs};
use penstock_ports::{
    ApiError, ApiReply, BotApi, Claim, Clock, Commit, Commitment, Debit, Deliveries, Draw, Enqueue, Filed,
    GiveUp, GivenUp, Inbox, IntentSettlement, IntentStart, Meaning, Outbox, PortError, QueueSender, RunAs,
    SecretSource, Settlement, Subject, Swapped, TakeOver, Verdict, VisibilityChange,
};
use penstock_testkit::{FakeLedger, Fault};

use crate::hub::{ApiFate, Fate, Sort, WorkerId};
use crate::watch;
use crate::world::{Name, World};

/// All ports of one worker but its queues.
#[derive(Clone)]
pub(crate) struct Ports {
    pub(crate) world: Arc<World>,
    pub(crate) worker: WorkerId,
    /// How far this worker's clock is ahead of the true time, milliseconds.
    pub(crate) ahead: Arc<AtomicI64>,
}

/// A queue, as one worker reaches it.
#[derive(Clone)]
pub(crate) struct QueuePort {
    pub(crate) ports: Ports,
    pub(crate) name: Name,
}

/// The fakes never wait.
fn at_once<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().expect("a fake answers at once")
}

impl Ports {
    /// A call that the schedule decides.
    async fn call<T, F>(&self, sort: Sort, operation: &'static str, apply: F) -> Result<T, PortError>
    where
        T: Send + Debug + 'static,
        F: Fn(&World) -> Result<T, PortError> + Send + 'static,
    {
        let (world, worker) = (&self.world, self.worker);
        let call = world.hub.ask(worker, sort);
        call.end(move |fate| {
            let answer = match fate {
                Fate::Fault(fault) => {
                    if fault.applies() {
                        // Its answer is lost.
                        apply(world).map(drop).unwrap_or_default();
                    }
                    Err(fault.error(operation))
                }
                Fate::Late => {
                    world.lose_for_now(Box::new(move |world| apply(world).map(drop).unwrap_or_default()));
                    Err(Fault::NeverArrived.error(operation))
                }
                Fate::Twice => {
                    apply(world).map(drop).unwrap_or_default();
                    apply(world)
                }
                Fate::Pass | Fate::Api(_) => apply(world),
            };
            world.trace(|| format!("{worker} {operation} {fate:?} -> {}", brief(&answer)));
            answer
        })
        .await
    }

    /// A call on one record, watched.
    async fn on<T, F>(&self, operation: &'static str, key: &LedgerKey, apply: F) -> Result<T, PortError>
    where
        T: Send + Debug + 'static,
        F: Fn(&FakeLedger) -> Result<T, PortError> + Send + 'static,
    {
        // Of now: a late write belongs to who sent it.
        let (run, key) = (self.world.book().run_of(self.worker), key.clone());
        self.call(Sort::Table, operation, move |world| {
            let before = world.ledger.row(&key);
            let answer = apply(&world.ledger);
            watch::record(world, run, before.as_ref(), world.ledger.row(&key).as_ref());
            answer
        })
        .await
    }
}

/// What a trace shows of an answer.
fn brief<T: Debug>(answer: &Result<T, PortError>) -> String {
    let text = match answer {
        Ok(answer) => format!("{answer:?}"),
        Err(error) => format!("{error}"),
    };
    text.chars().take(120).collect()
}

impl Inbox for Ports {
    async fn claim(&self, subject: &Subject, request: &ClaimRequest) -> Result<Claim, PortError> {
        let (s, r) = (subject.clone(), request.clone());
        self.on("claim", &subject.key, move |ledger| at_once(ledger.claim(&s, &r)))
            .await
    }

    async fn take_over(
        &self,
        subject: &Subject,
        request: &ClaimRequest,
        seen: Fence,
    ) -> Result<TakeOver, PortError> {
        let (s, r) = (subject.clone(), request.clone());
        self.on("take_over", &subject.key, move |ledger| {
            at_once(ledger.take_over(&s, &r, seen))
        })
        .await
    }

    async fn commit(
        &self,
        subject: &Subject,
        run: &RunAs,
        commit: &Commit,
        now: Timestamp,
    ) -> Result<Commitment, PortError> {
        let (s, r, c) = (subject.clone(), run.clone(), commit.clone());
        self.on("commit", &subject.key, move |ledger| {
            at_once(ledger.commit(&s, &r, &c, now))
        })
        .await
    }

    async fn settle(
        &self,
        subject: &Subject,
        run: &RunAs,
        verdict: &Verdict,
        now: Timestamp,
    ) -> Result<Settlement, PortError> {
        let (s, r, v) = (subject.clone(), run.clone(), verdict.clone());
        self.on("settle", &subject.key, move |ledger| {
            at_once(Inbox::settle(ledger, &s, &r, &v, now))
        })
        .await
    }

    async fn file_dead(
        &self,
        subject: &Subject,
        redrive: u32,
        raw: &str,
        failure: &Failure,
        now: Timestamp,
    ) -> Result<Filed, PortError> {
        let (s, raw, f) = (subject.clone(), raw.to_owned(), failure.clone());
        self.on("file_dead", &subject.key, move |ledger| {
            at_once(ledger.file_dead(&s, redrive, &raw, &f, now))
        })
        .await
    }

    async fn read(&self, key: &LedgerKey) -> Result<Option<Record>, PortError> {
        let of = key.clone();
        self.on("read", key, move |ledger| at_once(ledger.read(&of)))
            .await
    }

    async fn chat_state(&self, bot: BotId, chat: &str) -> Result<Option<(String, u64)>, PortError> {
        let chat = chat.to_owned();
        self.call(Sort::Table, "chat_state", move |world| {
            at_once(world.ledger.chat_state(bot, &chat))
        })
        .await
    }

    async fn data(&self, bot: BotId, keys: &[DataKey]) -> Result<Vec<Option<DataItem>>, PortError> {
        let keys = keys.to_vec();
        self.call(Sort::Table, "data", move |world| {
            at_once(world.ledger.data(bot, &keys))
        })
        .await
    }
}

impl Outbox for Ports {
    async fn start(&self, key: &LedgerKey, claim: &IntentClaim) -> Result<IntentStart, PortError> {
        let (of, c) = (key.clone(), claim.clone());
        self.on("start", key, move |ledger| at_once(ledger.start(&of, &c)))
            .await
    }

    async fn settle(&self, settlement: &IntentSettlement) -> Result<bool, PortError> {
        let s = settlement.clone();
        self.on("settle_intent", &settlement.key, move |ledger| {
            at_once(Outbox::settle(ledger, &s))
        })
        .await
    }

    async fn give_up(&self, give_up: &GiveUp) -> Result<GivenUp, PortError> {
        let g = give_up.clone();
        self.on("give_up", &give_up.key, move |ledger| at_once(ledger.give_up(&g)))
            .await
    }

    async fn hold_chat(
        &self,
        bot: BotId,
        chat: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), PortError> {
        let chat = chat.to_owned();
        self.call(Sort::Table, "hold_chat", move |world| {
            at_once(world.ledger.hold_chat(bot, &chat, until, now))
        })
        .await
    }

    async fn swap_chat_gate(
        &self,
        bot: BotId,
        chat: &str,
        seen: Option<&str>,
        next: &ChatGate,
        token: &str,
        now: Timestamp,
    ) -> Result<Swapped, PortError> {
        let (chat, seen) = (chat.to_owned(), seen.map(str::to_owned));
        let (next, token) = (next.clone(), token.to_owned());
        self.call(Sort::Table, "pace", move |world| {
            at_once(
                world
                    .ledger
                    .swap_chat_gate(bot, &chat, seen.as_deref(), &next, &token, now),
            )
        })
        .await
    }

    async fn hold_bot(&self, bot: BotId, until: Timestamp, now: Timestamp) -> Result<(), PortError> {
        self.call(Sort::Table, "hold_bot", move |world| {
            at_once(world.ledger.hold_bot(bot, until, now))
        })
        .await
    }

    async fn debit_bot(&self, bot: BotId, cells: u32, now: Timestamp) -> Result<Debit, PortError> {
        self.call(Sort::Table, "debit", move |world| {
            at_once(world.ledger.debit_bot(bot, cells, now))
        })
        .await
    }
}

impl SecretSource for Ports {
    async fn bot_secret(&self, bot: BotId) -> Result<Option<BotSecret>, PortError> {
        self.call(Sort::Secret, "secret", move |world| {
            at_once(world.secrets.bot_secret(bot))
        })
        .await
    }

    async fn refreshed(&self, bot: BotId) -> Result<Option<BotSecret>, PortError> {
        self.call(Sort::Secret, "refresh", move |world| {
            at_once(world.secrets.refreshed(bot))
        })
        .await
    }
}

impl Clock for Ports {
    fn now(&self) -> Timestamp {
        let now = self.world.now().as_millis();
        Timestamp::from_millis(now + self.ahead.load(Ordering::Relaxed))
    }
}

impl Draw for Ports {
    fn draw(&self) -> Jitter {
        Jitter::new(self.world.draw())
    }
}

impl BotApi for Ports {
    async fn call(&self, _token: &BotToken, method: &str, params: &str) -> Result<ApiReply, ApiError> {
        let (world, worker) = (&self.world, self.worker);
        let call = world.hub.ask(worker, Sort::Api);
        call.end(|fate| {
            let fate = match fate {
                Fate::Api(fate) => fate,
                Fate::Pass | Fate::Twice | Fate::Fault(_) | Fate::Late => ApiFate::Sent,
            };
            let made = watch::call(world, worker, method, params, fate);
            let refused = |code, disposition, meaning| {
                Err(ApiError::Refused {
                    method: method.to_owned(),
                    code,
                    description: "as told".to_owned(),
                    disposition,
                    meaning,
                })
            };
            let method = method.to_owned();
            match fate {
                ApiFate::Sent => Ok(ApiReply {
                    message_id: Some(made),
                    already_done: false,
                }),
                ApiFate::Throttled(secs) => {
                    let retry_after = std::time::Duration::from_secs(secs.into());
                    refused(429, Disposition::Throttled { retry_after }, Meaning::Plain)
                }
                ApiFate::BadRequest => refused(400, Disposition::Permanent, Meaning::Plain),
                ApiFate::Forbidden => refused(403, Disposition::Permanent, Meaning::ChatUnreachable),
                ApiFate::TokenRefused => refused(401, Disposition::Permanent, Meaning::BotRefused),
                ApiFate::NotSent => Err(ApiError::NotSent { method }),
                ApiFate::LostAnswer | ApiFate::LostRequest => Err(ApiError::NoAnswer { method }),
            }
        })
        .await
    }
}

impl QueueSender for QueuePort {
    async fn enqueue(&self, message: Enqueue) -> Result<(), PortError> {
        let name = self.name;
        self.ports
            .call(Sort::Queue, "enqueue", move |world| {
                watch::put(world, name, message.clone());
                Ok(())
            })
            .await
    }

    async fn enqueue_all(&self, messages: Vec<Enqueue>) -> Result<(), PortError> {
        let name = self.name;
        self.ports
            .call(Sort::Queue, "enqueue_all", move |world| {
                // Now and then the queue takes only the first ones, and says so.
                let few = world.book().cuts_next_batch();
                let taken = if few { messages.len() / 2 } else { messages.len() };
                for message in &messages[..taken] {
                    watch::put(world, name, message.clone());
                }
                if few {
                    return Err(Fault::Unavailable.error("enqueue_all"));
                }
                Ok(())
            })
            .await
    }
}

impl Deliveries for QueuePort {
    async fn hide(&self, changes: Vec<VisibilityChange>) -> Result<usize, PortError> {
        let name = self.name;
        self.ports
            .call(Sort::Queue, "hide", move |world| {
                let now = world.now();
                let hide = |change: &&VisibilityChange| {
                    let secs = ceil_secs(change.hidden_for);
                    let hidden_for = std::time::Duration::from_secs(secs.into());
                    !world.queue(name, |queue| queue.hide(&change.receipt, hidden_for, now))
                };
                world.trace(|| {
                    let change =
                        |change: &VisibilityChange| format!("{} {:?}", change.receipt, change.hidden_for);
                    changes.iter().map(change).collect::<Vec<_>>().join(", ")
                });
                Ok(changes.iter().filter(hide).count())
            })
            .await
    }

    async fn delete(&self, receipts: Vec<String>) -> Result<usize, PortError> {
        let name = self.name;
        self.ports
            .call(Sort::Queue, "delete", move |world| {
                let now = world.now();
                let delete = |receipt: &&String| !world.queue(name, |queue| queue.delete(receipt, now));
                world.book().reached("a group was deleted early");
                Ok(receipts.iter().filter(delete).count())
            })
            .await
    }
}
