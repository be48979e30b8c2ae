//! /think: a message at once that becomes the answer later. Both are part of one outcome, so that no "Thinking..." stays
//! behind when a process dies between them.

use std::time::Duration;

use penstock_domain::ids::UpdateDigest;

use crate::bot::Context;
use crate::calls::{Place, edit_message_text};
use crate::incoming::Incoming;
use crate::outcome::Outcome;

/// How long thinking takes: long enough to be seen.
const THINKING: Duration = Duration::from_secs(2);

const THOUGHTS: [&str; 4] = [
    "I have thought about it: yes.",
    "I have thought about it: no.",
    "I have thought about it: perhaps tomorrow.",
    "I have thought about it: tea first.",
];

pub(super) fn think(context: &Context, update: &Incoming) -> Outcome {
    let (Some(chat), Some(thinking)) = (update.chat_id, update.reply("Thinking...")) else {
        return Outcome::ignored();
    };
    let sent = Place::Sent {
        chat: chat.into(),
        call: 0,
    };
    let thought = edit_message_text(sent, thought(context))
        .business_of(update)
        .not_before(context.now + THINKING);
    Outcome::of("thought").then(thinking).then(thought)
}

/// Drawn from the Update's key rather than by chance, so that every try thinks the same.
fn thought(context: &Context) -> &'static str {
    let digest = UpdateDigest::of(context.idempotency_key("think").as_bytes());
    // Far below the number of thoughts.
    let n = usize::try_from(digest.0 % THOUGHTS.len() as u64).unwrap_or(0);
    THOUGHTS[n]
}
