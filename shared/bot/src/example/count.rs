//! Counters in the chat's state: messages, and presses of the button. The state is written only over the version that
//! was read, so no message is counted twice and none is left out.

use serde_json::{Value, json};

use crate::bot::{Context, Reads};
use crate::calls::{Button, Keyboard};
use crate::incoming::Incoming;
use crate::outcome::Outcome;

/// Most characters of a text that are repeated: a reply must stay under Telegram's 4,096 UTF-16 units.
const MAX_REPEATED: usize = 1_000;

const MESSAGES: &str = "messages";
const PRESSES: &str = "presses";

pub(super) fn reads(update: &Incoming) -> Reads {
    if update.chat_id.is_some() {
        Reads::state()
    } else {
        Reads::nothing()
    }
}

pub(super) fn text(context: &Context, update: &Incoming) -> Outcome {
    let Some(text) = update.text.as_ref().filter(|_| update.chat_id.is_some()) else {
        return Outcome::ignored();
    };
    let count = counted(context, MESSAGES);
    let heard: String = text.chars().take(MAX_REPEATED).collect();
    Outcome::of("counted")
        .then(update.reply(format!("Message {count} of this chat: {heard}")))
        .state(with(context, &[(MESSAGES, count)]))
}

pub(super) fn press(context: &Context, update: &Incoming) -> Outcome {
    // The ingress has answered the query itself, so that the button stopped spinning at once.
    if update.pressed().is_none() {
        return Outcome::ignored();
    }
    if update.chat_id.is_none() {
        return Outcome::of("pressed").then(update.edit("Pressed."));
    }
    let count = counted(context, PRESSES);
    let edit = update.edit(format!("Button presses in this chat: {count}."));
    Outcome::of("pressed")
        .then(edit.map(|edit| edit.buttons(buttons(count))))
        .state(with(context, &[(PRESSES, count)]))
}

pub(super) fn buttons(count: u64) -> Keyboard {
    Keyboard::of([Button::callback(format!("Press me ({count})"), "press")])
}

/// The chat's state with its counters at zero.
pub(super) fn zeroed(context: &Context) -> Value {
    with(context, &[(MESSAGES, 0), (PRESSES, 0)])
}

/// The number in the chat's state, counted on by one.
fn counted(context: &Context, what: &str) -> u64 {
    context
        .state
        .as_ref()
        .and_then(|state| state[what].as_u64())
        .unwrap_or(0)
        .saturating_add(1)
}

fn with(context: &Context, counts: &[(&str, u64)]) -> Value {
    let mut state = context
        .state
        .clone()
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({}));
    for (what, count) in counts {
        state[what] = json!(count);
    }
    state
}
