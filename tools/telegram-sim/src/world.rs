//! Everything the simulation knows, behind one lock. Small steps that look things up or note what happened;
//! the methods of the Bot API are in `calls`. Nothing here waits or talks to anyone.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::api::ApiError;
use crate::chats::Chat;
use crate::faults::Fault;
use crate::kinds;
use crate::params::{Params, int_of};
use crate::people::{ChatInfo, User};
use crate::rates::{Limits, Rates};
use crate::record::{SentCall, SimEvent};
use crate::webhook::connections::Connections;
use crate::webhook::lanes::Lanes;

/// A chat that no bot can find, for trying what a bot does then.
pub const MISSING_CHAT_ID: i64 = -404;

/// Calls remembered; older ones are forgotten.
const MAX_CALLS: usize = 200_000;
/// Where update ids start (server source: a random number of that order).
const FIRST_UPDATE_ID: std::ops::Range<i64> = 2_000_000..1_000_000_000;

/// Wakes a task when it is dropped, so that nobody waits for a bot that is gone.
pub(crate) struct Wake(pub(crate) Arc<Notify>);

impl Drop for Wake {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// The webhook of a bot.
pub(crate) struct Webhook {
    pub(crate) url: String,
    pub(crate) secret: Option<String>,
    pub(crate) max_connections: usize,
    pub(crate) custom_certificate: bool,
    pub(crate) connections: Connections,
    /// When, and what.
    pub(crate) last_error: Option<(i64, String)>,
    pub(crate) gone_since: Option<i64>,
}

/// A bot.
pub(crate) struct Bot {
    pub(crate) id: i64,
    pub(crate) username: String,
    pub(crate) rates: Rates,
    pub(crate) lanes: Lanes,
    pub(crate) webhook: Option<Webhook>,
    pub(crate) allowed: Option<Vec<String>>,
    /// What set* methods stored, by the name after `set` and scope.
    pub(crate) settings: HashMap<String, Value>,
    pub(crate) last_set_webhook_ms: Option<i64>,
    /// Grows with every change of the webhook: an older pusher ends.
    pub(crate) webhook_generation: u64,
    /// Grows with every getUpdates: an older one ends.
    pub(crate) poll_generation: u64,
    pub(crate) pusher_runs: bool,
    pub(crate) pusher: Wake,
    pub(crate) poller: Arc<Notify>,
}

impl Bot {
    pub(crate) fn to_json(&self) -> Value {
        json!({ "id": self.id, "is_bot": true, "first_name": self.first_name(), "username": self.username })
    }

    pub(crate) fn first_name(&self) -> String {
        let named = self
            .settings
            .get("MyName")
            .and_then(|name| name.get("name"))
            .and_then(Value::as_str);
        named
            .filter(|name| !name.is_empty())
            .unwrap_or(&self.username)
            .to_owned()
    }
}

/// A query that can be answered until a time.
pub(crate) struct Query {
    pub(crate) expires_at: i64,
    pub(crate) chat_id: Option<i64>,
}

/// A file somebody uploaded.
pub(crate) struct FileInfo {
    pub(crate) path: String,
    pub(crate) size: u64,
}

/// The state.
pub(crate) struct World {
    pub(crate) limits: Limits,
    pub(crate) rng: fastrand::Rng,
    /// Bots by token.
    pub(crate) tokens: HashMap<String, i64>,
    pub(crate) bots: BTreeMap<i64, Bot>,
    pub(crate) chats: BTreeMap<i64, Chat>,
    pub(crate) users: HashMap<i64, User>,
    pub(crate) queries: HashMap<String, Query>,
    pub(crate) files: HashMap<String, FileInfo>,
    /// Groups that became supergroups.
    pub(crate) migrations: HashMap<i64, i64>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) calls: VecDeque<SentCall>,
    /// Noted, and told once the lock is released.
    pub(crate) events: Vec<SimEvent>,
}

impl World {
    pub(crate) fn new(limits: Limits, seed: u64) -> Self {
        Self {
            limits,
            rng: fastrand::Rng::with_seed(seed),
            tokens: HashMap::new(),
            bots: BTreeMap::new(),
            chats: BTreeMap::new(),
            users: HashMap::new(),
            queries: HashMap::new(),
            files: HashMap::new(),
            migrations: HashMap::new(),
            faults: Vec::new(),
            calls: VecDeque::new(),
            events: Vec::new(),
        }
    }

    pub(crate) fn add_bot(&mut self, id: i64, token: &str, username: &str) {
        let bot = Bot {
            id,
            username: username.to_owned(),
            rates: Rates::new(self.limits.clone()),
            lanes: Lanes::new(self.rng.i64(FIRST_UPDATE_ID)),
            webhook: None,
            allowed: None,
            settings: HashMap::new(),
            last_set_webhook_ms: None,
            webhook_generation: 0,
            poll_generation: 0,
            pusher_runs: false,
            pusher: Wake(Arc::new(Notify::new())),
            poller: Arc::new(Notify::new()),
        };
        self.tokens.retain(|_, other| *other != id);
        self.tokens.insert(token.to_owned(), id);
        self.bots.insert(id, bot);
    }

    pub(crate) fn bot(&mut self, id: i64) -> Result<&mut Bot, ApiError> {
        self.bots
            .get_mut(&id)
            .ok_or_else(|| ApiError::new(401, "Unauthorized"))
    }

    pub(crate) fn user(&mut self, id: i64) -> User {
        self.users
            .entry(id)
            .or_insert_with(|| User::synthetic(id))
            .clone()
    }

    pub(crate) fn chat(&mut self, id: i64) -> &mut Chat {
        let user = if id > 0 { Some(self.user(id)) } else { None };
        self.chats
            .entry(id)
            .or_insert_with(|| Chat::new(ChatInfo::synthetic(id, user.as_ref())))
    }

    /// The chat a call is about. It is made up if nobody has heard of it.
    pub(crate) fn target_chat(&mut self, value: Option<&Value>) -> Result<i64, ApiError> {
        let not_found = || ApiError::bad_request("chat not found");
        let value = value.ok_or_else(|| ApiError::bad_request("chat_id is empty"))?;
        let named = value.as_str().map(str::trim);
        if named == Some("") {
            return Err(ApiError::bad_request("chat_id is empty"));
        }
        let id = match named.and_then(|text| text.strip_prefix('@')) {
            Some(name) => self
                .chats
                .values()
                .find(|chat| {
                    chat.info
                        .username
                        .as_deref()
                        .is_some_and(|other| other.eq_ignore_ascii_case(name))
                })
                .map(|chat| chat.info.id),
            None => int_of(value),
        };
        let id = id
            .filter(|id| *id != 0 && *id != MISSING_CHAT_ID)
            .ok_or_else(not_found)?;
        if let Some(new) = self.migrations.get(&id) {
            return Err(ApiError {
                parameters: Some(json!({ "migrate_to_chat_id": new })),
                ..ApiError::bad_request("group chat was upgraded to a supergroup chat")
            });
        }
        self.chat(id);
        Ok(id)
    }

    /// Queues an update for a bot and wakes whoever delivers it. `None` when the bot does not want this kind
    /// or Telegram would drop it.
    pub(crate) fn push_update(&mut self, now: i64, bot: i64, kind: &str, raw: &str) -> Option<i64> {
        let bot = self.bots.get_mut(&bot)?;
        if !kinds::is_wanted(kind, bot.allowed.as_deref()) {
            return None;
        }
        let id = bot.lanes.push(now, kind, raw)?;
        bot.pusher.0.notify_one();
        bot.poller.notify_waiters();
        Some(id)
    }

    /// Makes a query answerable for as long as its update lives.
    pub(crate) fn remember_query(&mut self, now: i64, kind: &str, body: &Value) {
        if ![
            "callback_query",
            "inline_query",
            "shipping_query",
            "pre_checkout_query",
        ]
        .contains(&kind)
        {
            return;
        }
        let Some(id) = body.get("id").and_then(Value::as_str) else {
            return;
        };
        let chat_id = body.pointer("/message/chat/id").and_then(Value::as_i64);
        self.queries.retain(|_, query| query.expires_at > now);
        self.queries.insert(
            id.to_owned(),
            Query {
                expires_at: now + kinds::life_ms(kind),
                chat_id,
            },
        );
    }

    pub(crate) fn record(&mut self, call: SentCall) {
        if let Some(Err(error)) = &call.outcome {
            self.events.push(SimEvent::CallRefused {
                method: call.method.clone(),
                chat_id: call.chat_id,
                code: error.code,
                description: error.description.clone(),
            });
        }
        if self.calls.len() >= MAX_CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
    }

    /// An identifier as Telegram makes them up: letters and digits that mean nothing.
    pub(crate) fn opaque(&mut self, prefix: &str) -> String {
        format!("{prefix}{:016x}", self.rng.u64(..))
    }
}

/// The chat a call names by number, for records and faults.
pub(crate) fn named_chat(params: &Params) -> Option<i64> {
    params.int("chat_id")
}
