//! A bot that does as it was told, Update by Update, and remembers what it was given.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use penstock_bot::{Bot, BotError, Context, Incoming, Outcome};
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
    fn wants_state(&self, update: &Incoming) -> bool {
        assert!(
            !matches!(self.act(&update.raw), Some(Act::PanicAtState)),
            "a private text"
        );
        self.keeps_state
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
        let keeps_state = self.keeps_state;
        async move {
            match act {
                Some(Act::Give(outcome)) => return Ok(outcome),
                Some(Act::Fail(error)) => return Err(error),
                Some(Act::Panic) => panic!("a private text"),
                Some(Act::Work(time)) => tokio::time::sleep(time).await,
                Some(Act::PanicAtOnce | Act::PanicAtState) | None => {}
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
