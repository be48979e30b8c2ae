//! Answers to inline, pre-checkout and shipping queries. Each is answered once; a late one is dropped by the sender.

use serde_json::json;

use crate::bot::Context;
use crate::calls::{IntoCalls, accept_pre_checkout, answer_inline_query, refuse_shipping};
use crate::incoming::Incoming;
use crate::outcome::Outcome;

fn answer<C: IntoCalls>(update: &Incoming, make: impl FnOnce(&str) -> C) -> Outcome {
    match &update.query_id {
        Some(id) => Outcome::of("answered").then(make(id)),
        None => Outcome::ignored(),
    }
}

pub(super) fn inline(_: &Context, update: &Incoming) -> Outcome {
    let article = json!({"type": "article", "id": "1", "title": "Say hello",
        "input_message_content": {"message_text": "Hello from Penstock."}});
    answer(update, |id| answer_inline_query(id, vec![article]).cache_secs(0))
}

pub(super) fn checkout(_: &Context, update: &Incoming) -> Outcome {
    answer(update, accept_pre_checkout)
}

pub(super) fn shipping(_: &Context, update: &Incoming) -> Outcome {
    answer(update, |id| refuse_shipping(id, "Nothing is shipped here."))
}
