//! What needs no memory: /start, /help, commands that nobody knows, and a thank-you for what is not text.

use crate::bot::Context;
use crate::incoming::Incoming;
use crate::outcome::Outcome;

use super::count;

const HELP: &str = "I count the messages of this chat.\n\
    /start - begin\n\
    /help - this text\n\
    /think - I think for two seconds\n\
    /order - order something for play stars\n\
    Anything else - I count it.";

pub(super) fn start(_: &Context, update: &Incoming) -> Outcome {
    let greeting = update.reply("Welcome. Write me something, or press the button.");
    Outcome::of("greeted").then(greeting.map(|greeting| greeting.buttons(count::buttons(0))))
}

pub(super) fn help(_: &Context, update: &Incoming) -> Outcome {
    Outcome::of("helped").then(update.reply(HELP))
}

pub(super) fn unknown(_: &Context, update: &Incoming) -> Outcome {
    Outcome::of("unknown_command").then(update.reply("I don't know that. Try /help."))
}

pub(super) fn received(_: &Context, update: &Incoming) -> Outcome {
    // The items of an album come one by one; answering each would be a flood.
    if !update.has_media || update.media_group_id.is_some() {
        return Outcome::ignored();
    }
    Outcome::of("received").then(update.reply("Received, thank you."))
}
