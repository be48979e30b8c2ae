//! The simulation as its owner holds it: options in, a cheap handle out. A call goes through here whatever
//! way it came, so that faults, latency and the record are the same for all. Never waits under the lock.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::broadcast;

use crate::api::{ApiError, BotError, CallError};
use crate::calls::{Call, Reply};
use crate::clock::{SimClock, SystemClock};
use crate::faults::{self, Fault, FaultKind};
use crate::methods;
use crate::params::Params;
use crate::rates::{Limits, Profile};
use crate::record::{ChatView, SentCall, SimEvent, Via, WebhookStatus};
use crate::webhook::pusher;
use crate::world::{World, named_chat};

/// Events kept for a subscriber that is slow to read.
const EVENT_BACKLOG: usize = 4_096;
/// Longest wait of long polling, seconds (server source).
const MAX_POLL_S: i64 = 50;
/// Updates per getUpdates (Bot API).
const MAX_POLL_UPDATES: i64 = 100;

/// How the simulation is set up.
#[derive(Clone)]
pub struct SimOptions {
    /// How hard its limits are.
    pub profile: Profile,
    /// Other numbers than the profile's.
    pub limits: Option<Limits>,
    /// Simulated milliseconds that every call takes.
    pub latency_ms: u64,
    /// Where time comes from.
    pub clock: Arc<dyn SimClock>,
    /// Start of all randomness: update ids, file ids, dice, back-off.
    pub seed: u64,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self {
            profile: Profile::Strict,
            limits: None,
            latency_ms: 0,
            clock: Arc::new(SystemClock),
            seed: 1,
        }
    }
}

/// A simulated Telegram. Clones are the same one. What people do reaches the bot chosen by [`Sim::as_bot`],
/// or else the first that was added.
#[derive(Clone)]
pub struct Sim {
    pub(crate) inner: Arc<Inner>,
    pub(crate) bot: Option<i64>,
}

pub(crate) struct Inner {
    world: Mutex<World>,
    pub(crate) clock: Arc<dyn SimClock>,
    latency_ms: u64,
    events: broadcast::Sender<SimEvent>,
    /// The client of the webhook pusher; `None` if none could be built.
    pub(crate) client: OnceLock<Option<reqwest::Client>>,
}

/// How a call ends, before it is put into HTTP.
#[derive(Debug)]
pub(crate) enum Outcome {
    Reply(Reply),
    /// Raw JSON of updates.
    Updates(Vec<Bytes>),
    Error(ApiError),
    Html502,
    Dropped,
}

/// The id in front of the colon of a token that has one.
pub(crate) fn token_id(token: &str) -> Option<i64> {
    let (id, secret) = token.split_once(':')?;
    (!secret.is_empty())
        .then(|| id.parse().ok().filter(|id| *id > 0))
        .flatten()
}

impl Inner {
    /// Runs a step under the lock and tells what it noted, in order.
    pub(crate) fn with<R>(&self, step: impl FnOnce(&mut World) -> R) -> R {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        let result = step(&mut world);
        for event in world.events.drain(..) {
            // Nobody listening is fine.
            self.events.send(event).ok();
        }
        result
    }

    /// Executes a call of a bot, with the faults that are for it.
    pub(crate) async fn execute(self: &Arc<Self>, bot: i64, name: &str, params: Params, via: Via) -> Outcome {
        let method = methods::find(name);
        if method.is_some_and(|method| method.name == "getUpdates") {
            return self.poll(bot, &params).await;
        }
        let canonical = method.map_or(name, |method| method.name).to_owned();
        let chat_id = named_chat(&params);
        let fault = self.with(|world| faults::take(&mut world.faults, &canonical, chat_id));
        let slow_ms = if let Some(FaultKind::Slow { ms }) = fault {
            ms
        } else {
            0
        };
        if slow_ms + self.latency_ms > 0 {
            self.clock.sleep(slow_ms + self.latency_ms).await;
        }
        let now = self.clock.now_ms();
        let run = |world: &mut World| match method {
            Some(method) => world.call(&Call {
                now,
                bot,
                method,
                params: &params,
            }),
            None => Err(ApiError::method_not_found()),
        };
        let outcome = self.with(|world| {
            let (outcome, result, answered) = match fault {
                Some(FaultKind::Status {
                    code,
                    description,
                    parameters,
                }) => {
                    let error = ApiError {
                        code,
                        description,
                        parameters,
                    };
                    (Outcome::Error(error.clone()), Some(Err(error)), true)
                }
                Some(FaultKind::Html502) => (Outcome::Html502, None, false),
                Some(FaultKind::NoAnswerNotDone) => (Outcome::Dropped, None, false),
                Some(FaultKind::NoAnswerButDone) => (
                    Outcome::Dropped,
                    Some(run(world).map(|reply| reply.result)),
                    false,
                ),
                Some(FaultKind::Slow { .. }) | None => match run(world) {
                    Ok(reply) => (Outcome::Reply(reply.clone()), Some(Ok(reply.result)), true),
                    Err(error) => (Outcome::Error(error.clone()), Some(Err(error)), true),
                },
            };
            let params = params.as_value();
            world.record(SentCall {
                at_ms: now,
                bot,
                method: canonical.clone(),
                params,
                chat_id,
                outcome: result,
                answered,
                via,
            });
            outcome
        });
        if canonical == "setWebhook" {
            pusher::ensure(self, bot);
        }
        outcome
    }

    /// Long polling. It ends with the first update, at its time, or when another getUpdates or a webhook
    /// takes over.
    async fn poll(&self, bot: i64, params: &Params) -> Outcome {
        const WEBHOOK: &str = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook \
                               to delete the webhook first";
        const OTHER: &str = "Conflict: terminated by other getUpdates request; make sure that only one bot \
                             instance is running";
        let offset = params.int("offset").unwrap_or(0);
        let limit = params
            .int("limit")
            .unwrap_or(MAX_POLL_UPDATES)
            .clamp(1, MAX_POLL_UPDATES);
        let limit = usize::try_from(limit).unwrap_or(1);
        let wait_ms = params.int("timeout").unwrap_or(0).clamp(0, MAX_POLL_S) * 1_000;
        let deadline = self.clock.now_ms() + wait_ms;

        let begun = self.with(|world| {
            let bot = world.bot(bot)?;
            if let Some(list) = params.json("allowed_updates") {
                bot.allowed = crate::calls::list_of_text(&list);
            }
            bot.poll_generation += 1;
            bot.poller.notify_waiters();
            Ok((bot.poll_generation, bot.poller.clone()))
        });
        let (generation, poller) = match begun {
            Ok(begun) => begun,
            Err(error) => return Outcome::Error(error),
        };
        loop {
            let mut woken = std::pin::pin!(poller.notified());
            woken.as_mut().enable();
            let now = self.clock.now_ms();
            let step = self.with(|world| {
                let bot = world.bot(bot)?;
                if bot.webhook.is_some() {
                    return Err(ApiError::new(409, WEBHOOK));
                }
                if bot.poll_generation != generation {
                    return Err(ApiError::new(409, OTHER));
                }
                Ok(bot.lanes.poll(now, offset, limit))
            });
            match step {
                Err(error) => return Outcome::Error(error),
                Ok(updates) if !updates.is_empty() || now >= deadline => return Outcome::Updates(updates),
                Ok(_) => {}
            }
            tokio::select! {
                () = woken => {}
                () = self.clock.sleep((deadline - now).unsigned_abs()) => {}
            }
        }
    }
}

impl Sim {
    /// A Telegram without bots or people.
    #[must_use]
    pub fn new(options: SimOptions) -> Self {
        let limits = options.limits.unwrap_or_else(|| options.profile.limits());
        let inner = Inner {
            world: Mutex::new(World::new(limits, options.seed)),
            clock: options.clock,
            latency_ms: options.latency_ms,
            events: broadcast::channel(EVENT_BACKLOG).0,
            client: OnceLock::new(),
        };
        Self {
            inner: Arc::new(inner),
            bot: None,
        }
    }

    /// Adds a bot, or gives a known one a new token, and returns its id.
    ///
    /// # Errors
    /// When the token has no id in front of a colon.
    pub fn add_bot(&self, token: &str, username: &str) -> Result<i64, BotError> {
        let id = token_id(token).ok_or(BotError::MalformedToken)?;
        self.inner.with(|world| world.add_bot(id, token, username));
        Ok(id)
    }

    /// The same simulation, with this bot as the one that people and [`Sim::call`] mean.
    #[must_use]
    pub fn as_bot(&self, id: i64) -> Self {
        Self {
            bot: Some(id),
            ..self.clone()
        }
    }

    pub(crate) fn chosen(&self, world: &World) -> Option<i64> {
        self.bot.or_else(|| world.bots.keys().next().copied())
    }

    /// Calls a method of the Bot API as the chosen bot, without HTTP. An `Ok` result is the `result` field.
    ///
    /// # Errors
    /// What Telegram answers, or an injected fault.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        let bot = self.inner.with(|world| self.chosen(world));
        let bot = bot.ok_or_else(|| ApiError::new(401, "Unauthorized"))?;
        match self
            .inner
            .execute(bot, method, Params::from_json(params), Via::Rust)
            .await
        {
            Outcome::Reply(reply) => Ok(reply.result),
            Outcome::Updates(updates) => Ok(updates
                .iter()
                .map(|raw| serde_json::from_slice::<Value>(raw).unwrap_or_default())
                .collect()),
            Outcome::Error(error) => Err(error.into()),
            Outcome::Html502 | Outcome::Dropped => Err(CallError::NoAnswer),
        }
    }

    /// Makes the next calls that match fail.
    pub fn inject(&self, fault: Fault) {
        self.inner.with(|world| world.faults.push(fault));
    }

    /// Takes all faults back.
    pub fn clear_faults(&self) {
        self.inner.with(|world| world.faults.clear());
    }

    /// Every call of every bot but `getUpdates`, oldest first (the last 200,000).
    #[must_use]
    pub fn calls(&self) -> Vec<SentCall> {
        self.inner.with(|world| world.calls.iter().cloned().collect())
    }

    /// Forgets the calls so far.
    pub fn clear_calls(&self) {
        self.inner.with(|world| world.calls.clear());
    }

    /// How many calls there were, as [`Sim::calls`] would return.
    #[must_use]
    pub fn call_count(&self) -> usize {
        self.inner.with(|world| world.calls.len())
    }

    /// A chat, if anybody has mentioned it.
    #[must_use]
    pub fn chat(&self, chat_id: i64) -> Option<ChatView> {
        self.inner.with(|world| {
            let chat = world.chats.get(&chat_id)?;
            Some(ChatView {
                info: chat.info.clone(),
                members: chat.members.clone(),
                messages: chat.messages(),
            })
        })
    }

    /// The ids of all chats.
    #[must_use]
    pub fn chat_ids(&self) -> Vec<i64> {
        self.inner.with(|world| world.chats.keys().copied().collect())
    }

    /// Follows what happens from now on. A subscriber that falls 4,096 events behind misses the oldest.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<SimEvent> {
        self.inner.events.subscribe()
    }

    /// The webhook of the chosen bot.
    #[must_use]
    pub fn webhook(&self) -> Option<WebhookStatus> {
        self.inner.with(|world| {
            let bot = world.bots.get(&self.chosen(world)?)?;
            let webhook = bot.webhook.as_ref();
            let error = webhook.and_then(|webhook| webhook.last_error.clone());
            Some(WebhookStatus {
                url: webhook.map(|webhook| webhook.url.clone()).unwrap_or_default(),
                pending_update_count: bot.lanes.len(),
                in_flight: bot.lanes.in_flight(),
                last_error_at_ms: error.as_ref().map(|(at, _)| *at),
                last_error_message: error.map(|(_, text)| text),
            })
        })
    }

    /// Updates of all bots that nobody has confirmed yet: 0 means that the simulation is idle.
    #[must_use]
    pub fn pending_updates(&self) -> usize {
        self.inner
            .with(|world| world.bots.values().map(|bot| bot.lanes.len()).sum())
    }
}
