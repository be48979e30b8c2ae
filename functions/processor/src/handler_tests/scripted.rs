//! A bot that does as it was told, Update by Update, and remembers what it was given.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use penstock_bot::{Bot, BotError, Context, Incoming, Outcome, Reads};
use penstock_domain::data::{DataKey, Expect};
use penstock_domain::retry::{Preset, RetryPolicy};
use serde_json::{Value, json};

/// What the bot does.
#[derive(Clone)]
pub(super) enum Act {
    Give(Outcome),
    Fail(BotError),
    Panic,
    /// Panics before there is anything to wait for.
    PanicAtOnce,
    /// Panics when it is asked whether it wants the chat's state.
    PanicAtState,
    /// Works for so long, then gives the usual answer.
    Work(Duration),
    /// Makes the record if it is not there, else reads who made it.
    Order(DataKey),
    /// Makes the record whatever it was told.
    OrderBlindly(DataKey),
    /// Fails for good if that is the chat's state.
    FailOnState(Value),
    /// Gives the usual answer and leaves the state as it is.
    LeaveState,
}

/// A run: the Update's key, the attempt and the state that was given.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    pub(super) key: String,
    pub(super) attempt: u32,
    pub(super) state: Option<Value>,
}

/// Answers every Update with one message, unless it was told otherwise.
#[derive(Default)]
pub(super) struct ScriptedBot {
    acts: Mutex<HashMap<i64, Act>>,
    runs: Mutex<Vec<Run>>,
    keeps_state: bool,
    pub(super) preset: Preset,
}

impl ScriptedBot {
    /// One that counts in each chat's state what it has seen.
    pub(super) fn that_keeps_state() -> Self {
        Self {
            keeps_state: true,
            ..Self::default()
        }
    }

    pub(super) fn told(&self, update: i64, act: Act) {
        self.acts.lock().unwrap().insert(update, act);
    }

    pub(super) fn runs(&self) -> Vec<Run> {
        self.runs.lock().unwrap().clone()
    }

    /// The update ids that were run, in order.
    pub(super) fn ran(&self) -> Vec<i64> {
        self.runs()
            .iter()
            .map(|run| run.key.split([':', '.']).nth(1).unwrap().parse().unwrap())
            .collect()
    }

    fn act(&self, raw: &str) -> Option<Act> {
        let update: Value = serde_json::from_str(raw).unwrap();
        self.acts
            .lock()
            .unwrap()
            .get(&update["update_id"].as_i64().unwrap())
            .cloned()
    }
}

pub(super) fn reply(chat: Option<i64>) -> Outcome {
    Outcome::of("replied").call("sendMessage", &json!({"chat_id": chat, "text": "a reply"}))
}

impl Bot for ScriptedBot {
    fn reads(&self, update: &Incoming) -> Reads {
        let act = self.act(&update.raw);
        assert!(!matches!(act, Some(Act::PanicAtState)), "a private text");
        Reads {
            state: self.keeps_state,
            records: match act {
                Some(Act::Order(key)) => vec![key],
                _ => Vec::new(),
            },
        }
    }

    fn policy(&self, _update: &Incoming) -> RetryPolicy {
        self.preset.policy()
    }

    fn handle(
        &self,
        context: &Context,
        update: &Incoming,
    ) -> impl Future<Output = Result<Outcome, BotError>> + Send {
        let run = Run {
            key: context.key.to_string(),
            attempt: context.attempt,
            state: context.state.clone(),
        };
        self.runs.lock().unwrap().push(run);
        let (act, chat) = (self.act(&update.raw), update.chat_id);
        assert!(!matches!(act, Some(Act::PanicAtOnce)), "a private text");
        let seen = context
            .state
            .as_ref()
            .and_then(|state| state["seen"].as_u64())
            .unwrap_or(0);
        let keeps_state = self.keeps_state && !matches!(act, Some(Act::LeaveState));
        let found = match &act {
            Some(Act::Order(key)) => context.record(key).map(|item| item.by.to_string()),
            _ => None,
        };
        let conflict = context.conflict;
        let state = context.state.clone();
        async move {
            // So that Updates of a batch run beside one another.
            tokio::task::yield_now().await;
            match act {
                Some(Act::FailOnState(given)) if state.as_ref() == Some(&given) => {
                    return Err(BotError::Permanent {
                        code: "no_use",
                        message: String::new(),
                    });
                }
                Some(Act::Order(_)) if found.is_some() => {
                    assert!(found.is_none_or(|by| by != "unknown"));
                    return Ok(Outcome::of(if conflict { "conflict" } else { "known" }));
                }
                Some(Act::Order(key) | Act::OrderBlindly(key)) => {
                    return Ok(Outcome::of("ordered").put(key, Expect::Absent, &json!({"n": 1})));
                }
                Some(Act::Give(outcome)) => return Ok(outcome),
                Some(Act::Fail(error)) => return Err(error),
                Some(Act::Panic) => panic!("a private text"),
                Some(Act::Work(time)) => tokio::time::sleep(time).await,
                Some(Act::PanicAtOnce | Act::PanicAtState | Act::LeaveState | Act::FailOnState(_)) | None => {
                }
            }
            let outcome = reply(chat);
            Ok(if keeps_state {
                outcome.state(json!({"seen": seen + 1}))
            } else {
                outcome
            })
        }
    }
}
