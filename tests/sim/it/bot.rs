//! The bot of the simulation: does with each Update what its plan says, and looks at what it is given.

use penstock_bot::{Bot, BotError, Context, Incoming, Outcome, Reads};
use penstock_domain::data::{DataKey, Expect};
use penstock_domain::intent::Call;
use penstock_domain::ledger::State;
use penstock_domain::retry::MAX_ATTEMPTS;
use serde_json::{Value, json};

use crate::book::Book;
use crate::hub::{Sort, WorkerId};
use crate::people::PATIENCE;
use crate::plan::{Act, Failing, Post};
use crate::ports::Ports;

/// Longer than any handler may run.
const FOR_EVER: std::time::Duration = std::time::Duration::from_secs(60);

pub(crate) struct SimulatedBot(pub(crate) Ports);

impl SimulatedBot {
    fn act(&self, update: &Incoming) -> Option<(usize, Act)> {
        let index: usize = update.text.as_deref()?.strip_prefix('u')?.parse().ok()?;
        Some((index, self.0.world.book().posts.get(index)?.act.clone()))
    }
}

fn record_of(order: u8) -> DataKey {
    DataKey::new("order", order)
}

impl Bot for SimulatedBot {
    fn reads(&self, update: &Incoming) -> Reads {
        let act = self.act(update).map(|(_, act)| act).unwrap_or_default();
        Reads {
            state: act.reads_state,
            records: act.order.map(record_of).into_iter().collect(),
        }
    }

    async fn handle(&self, context: &Context, update: &Incoming) -> Result<Outcome, BotError> {
        let Ports { world, worker, .. } = &self.0;
        let Some((index, act)) = self.act(update) else {
            return Ok(Outcome::ignored());
        };
        if context.attempt > self.policy(update).max_attempts {
            let how = format!("u{index} is run for the {}. time", context.attempt);
            world.broken("attempts are limited", how);
        }
        let (failing, is_cured, is_tried_too_often) = {
            let mut book = world.book();
            let run = book.runs.entry(index).or_default();
            *run += 1;
            let run = *run;
            let failing = act.failures.get(run - 1).copied();
            if act.reads_state {
                note_what_is_missing(&mut book, *worker, index, context);
            }
            (
                failing.filter(|_| !book.is_cured),
                book.is_cured,
                act.is_poison && run > most_crashes(&book, index),
            )
        };
        if is_tried_too_often {
            world.broken(
                "attempts are limited",
                format!("u{index} kills one worker after the other"),
            );
        }
        let is_poison = act.is_poison && !is_cured;
        let sort = if is_poison { Sort::Poison } else { Sort::Bot };
        world.hub.ask(*worker, sort).end(|_| ()).await;
        world.trace(|| {
            format!(
                "{worker} bot runs u{index}, attempt {}: {failing:?}",
                context.attempt
            )
        });
        if let Some(failing) = failing {
            return fail(failing).await;
        }
        Ok(outcome(index, &act, context, update))
    }
}

/// Each try of a claim is counted; only the first delivery of each message runs without one.
fn most_crashes(book: &Book, index: usize) -> usize {
    let redrives = usize::try_from(PATIENCE).unwrap();
    let generations = if book.redriven.contains(&index) {
        1 + redrives
    } else {
        1
    };
    let puts = book.puts.get(&index).copied().unwrap_or(0);
    usize::try_from(MAX_ATTEMPTS).unwrap() * generations + puts
}

/// An outcome that was committed before this run began must be in the state that it is given.
fn note_what_is_missing(book: &mut Book, worker: WorkerId, index: usize, context: &Context) {
    let seen = context.state.as_ref().and_then(|state| state["seen"].as_array());
    let is_seen = |post: usize| seen.is_some_and(|seen| seen.contains(&json!(post)));
    let group = |post: &Post| post.update.as_ref().map(|update| update.group.clone());
    let chat = group(&book.posts[index]);
    let mut posts = book.posts.iter().enumerate();
    let missing = posts.find(|(post, plan)| {
        plan.act.writes_state
            && group(plan) == chat
            // Those may be handled beside the others of their chat.
            && !book.given_up.contains(post)
            && !book.redriven.contains(post)
            && book.states.get(post) == Some(&State::Done)
            && !is_seen(*post)
    });
    let missing = missing.map(|(post, _)| post);
    let run = (index, book.run_of(worker));
    match missing {
        Some(post) => book.stale.insert(run, post),
        None => book.stale.remove(&run),
    };
}

async fn fail(failing: Failing) -> Result<Outcome, BotError> {
    let message = "as planned".to_owned();
    Err(match failing {
        Failing::Transient => BotError::Transient {
            code: "planned",
            message,
        },
        Failing::RetryAfter(secs) => BotError::RetryAfter {
            code: "planned",
            after: std::time::Duration::from_secs(secs),
        },
        Failing::Permanent => BotError::Permanent {
            code: "planned",
            message,
        },
        Failing::Unclassified => BotError::Unclassified { message },
        // As a panic, without the line that the hook of panics prints.
        Failing::Panic => std::panic::resume_unwind(Box::new("as planned")),
        Failing::Hang => {
            tokio::time::sleep(FOR_EVER).await;
            BotError::Unclassified { message }
        }
    })
}

fn outcome(index: usize, act: &Act, context: &Context, update: &Incoming) -> Outcome {
    let mut outcome = Outcome::of("done");
    for (n, planned) in act.calls.iter().enumerate() {
        let mut params = json!({"text": format!("u{index}.{n}")});
        if planned.method == "answerCallbackQuery" {
            params["callback_query_id"] = json!(update.query_id);
        } else {
            params["chat_id"] = json!(update.chat_id);
        }
        let call = Call {
            on_unknown: planned.on_unknown,
            refers_to: planned.refers_to,
            ..Call::new(planned.method, params.to_string())
        };
        outcome = outcome.then(call);
    }
    if act.writes_state {
        let mut seen = context
            .state
            .as_ref()
            .and_then(|state| state["seen"].as_array().cloned())
            .unwrap_or_default();
        seen.push(Value::from(index));
        outcome = outcome.state(json!({"seen": seen}));
    }
    match act.order.map(record_of) {
        // Only the first makes it; who finds it has nothing to do.
        Some(key) if context.record(&key).is_none() => {
            outcome.put(key, Expect::Absent, &json!({"by": index}))
        }
        _ => outcome,
    }
}
