//! The example bot: /start, /help, a counter per chat, inline buttons, inline queries, pre-checkout. What a newcomer
//! talks to before there is a bot of their own.

use penstock_domain::kind::UpdateKind;
use serde_json::{Value, json};

use crate::bot::{Bot, BotError, Context, Reads};
use crate::incoming::Incoming;
use crate::outcome::Outcome;

/// Most characters of a text that are repeated: a reply must stay under Telegram's 4,096 UTF-16 units.
const MAX_REPEATED: usize = 1_000;

const HELP: &str =
    "I count the messages of this chat.\n/start - begin\n/help - this text\nAnything else - I count it.";

/// The example bot.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExampleBot;

impl Bot for ExampleBot {
    fn reads(&self, update: &Incoming) -> Reads {
        let counts = match update.kind {
            UpdateKind::Message | UpdateKind::BusinessMessage => {
                update.chat_id.is_some() && update.command().is_none() && update.text.is_some()
            }
            UpdateKind::CallbackQuery => update.chat_id.is_some(),
            _ => false,
        };
        if counts { Reads::state() } else { Reads::nothing() }
    }

    async fn handle(&self, context: &Context, update: &Incoming) -> Result<Outcome, BotError> {
        Ok(match update.kind {
            UpdateKind::Message | UpdateKind::BusinessMessage => message(context, update),
            UpdateKind::CallbackQuery => callback(context, update),
            UpdateKind::InlineQuery => answer(update, |id| {
                let article = json!({"type": "article", "id": "1", "title": "Say hello",
                    "input_message_content": {"message_text": "Hello from Penstock."}});
                (
                    "answerInlineQuery",
                    json!({"inline_query_id": id, "results": [article], "cache_time": 0}),
                )
            }),
            UpdateKind::PreCheckoutQuery => answer(update, |id| {
                (
                    "answerPreCheckoutQuery",
                    json!({"pre_checkout_query_id": id, "ok": true}),
                )
            }),
            UpdateKind::ShippingQuery => answer(update, |id| {
                let refusal = json!({"shipping_query_id": id, "ok": false, "error_message": "Nothing is shipped here."});
                ("answerShippingQuery", refusal)
            }),
            _ => Outcome::ignored(),
        })
    }
}

fn message(context: &Context, update: &Incoming) -> Outcome {
    let Some(chat_id) = update.chat_id else {
        return Outcome::ignored();
    };
    let say = |text: &str| {
        let mut params = json!({"chat_id": chat_id, "text": text});
        if let Some(connection) = &update.business_connection_id {
            params["business_connection_id"] = json!(connection);
        }
        params
    };
    match (update.command(), &update.text) {
        (Some("start"), _) => {
            let mut greeting = say("Welcome. Write me something, or press the button.");
            greeting["reply_markup"] = buttons(0);
            Outcome::of("greeted").call("sendMessage", &greeting)
        }
        (Some("help"), _) => Outcome::of("helped").call("sendMessage", &say(HELP)),
        (Some(_), _) => {
            Outcome::of("unknown_command").call("sendMessage", &say("I don't know that. Try /help."))
        }
        (None, Some(text)) => {
            let count = counted(context, "messages");
            let heard: String = text.chars().take(MAX_REPEATED).collect();
            Outcome::of("counted")
                .call(
                    "sendMessage",
                    &say(&format!("Message {count} of this chat: {heard}")),
                )
                .state(with(context, "messages", count))
        }
        // The items of an album come one by one; answering each would be a flood.
        (None, None) if update.has_media && update.media_group_id.is_none() => {
            Outcome::of("received").call("sendMessage", &say("Received, thank you."))
        }
        (None, None) => Outcome::ignored(),
    }
}

fn callback(context: &Context, update: &Incoming) -> Outcome {
    let Some(callback) = &update.callback else {
        return Outcome::ignored();
    };
    // The ingress has answered the query itself, so that the button stopped spinning at once.
    let place = match (update.chat_id, callback.message_id, &callback.inline_message_id) {
        (Some(chat_id), Some(message_id), _) => json!({"chat_id": chat_id, "message_id": message_id}),
        (_, _, Some(inline)) => json!({"inline_message_id": inline}),
        _ => return Outcome::ignored(),
    };
    let count = counted(context, "presses");
    let mut edit = place;
    edit["text"] = json!(format!("Button presses in this chat: {count}."));
    if update.chat_id.is_some() {
        edit["reply_markup"] = buttons(count);
        return Outcome::of("pressed")
            .call("editMessageText", &edit)
            .state(with(context, "presses", count));
    }
    edit["text"] = json!("Pressed.");
    Outcome::of("pressed").call("editMessageText", &edit)
}

fn answer(update: &Incoming, make: impl FnOnce(&str) -> (&'static str, Value)) -> Outcome {
    let Some(id) = &update.query_id else {
        return Outcome::ignored();
    };
    let (method, params) = make(id);
    Outcome::of("answered").call(method, &params)
}

fn buttons(count: u64) -> Value {
    json!({"inline_keyboard": [[{"text": format!("Press me ({count})"), "callback_data": "press"}]]})
}

/// The number in the chat's state, counted on by one.
fn counted(context: &Context, what: &str) -> u64 {
    context
        .state
        .as_ref()
        .and_then(|state| state[what].as_u64())
        .unwrap_or(0)
        + 1
}

fn with(context: &Context, what: &str, count: u64) -> Value {
    let mut state = context
        .state
        .clone()
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({}));
    state[what] = json!(count);
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_domain::ids::{BotId, LedgerKey, UpdateId};
    use penstock_domain::time::Timestamp;

    async fn outcome(kind: UpdateKind, body: &str, state: Option<Value>) -> Outcome {
        let incoming = Incoming::read(kind, &format!(r#"{{"update_id":1,"{}":{body}}}"#, kind.name()));
        let context = Context {
            bot_id: BotId(1),
            key: LedgerKey::new(BotId(1), UpdateId(1)),
            attempt: 1,
            now: Timestamp::from_millis(0),
            received_at: Timestamp::from_millis(0),
            time_left: std::time::Duration::from_secs(10),
            conflict: false,
            state,
            state_version: 0,
            records: std::collections::BTreeMap::new(),
            trace_id: String::new(),
        };
        ExampleBot.handle(&context, &incoming).await.unwrap()
    }

    #[tokio::test]
    async fn it_counts_the_messages_of_a_chat() {
        let hello = r#"{"chat":{"id":5},"text":"hello"}"#;
        let first = outcome(UpdateKind::Message, hello, None).await;
        assert_eq!(first.new_state, Some(json!({"messages": 1})));
        let second = outcome(UpdateKind::Message, hello, first.new_state).await;
        assert!(
            second.calls[0].params.contains("Message 2 of this chat: hello"),
            "{}",
            second.calls[0].params
        );
    }

    #[tokio::test]
    async fn a_pressed_button_edits_its_message_and_keeps_the_other_counter() {
        let press = r#"{"id":"7","from":{"id":9},"data":"press","message":{"message_id":3,"chat":{"id":5}}}"#;
        let pressed = outcome(UpdateKind::CallbackQuery, press, Some(json!({"messages": 4}))).await;
        assert_eq!(pressed.calls[0].method, "editMessageText");
        assert_eq!(pressed.new_state, Some(json!({"messages": 4, "presses": 1})));
    }

    #[tokio::test]
    async fn kinds_that_it_does_not_handle_are_ignored_not_failed() {
        for kind in [
            UpdateKind::Unknown,
            UpdateKind::PollAnswer,
            UpdateKind::EditedMessage,
        ] {
            assert_eq!(
                outcome(kind, r#"{"chat":{"id":5},"text":"x"}"#, None).await,
                Outcome::ignored()
            );
        }
        assert_eq!(
            outcome(
                UpdateKind::Message,
                r#"{"chat":{"id":5},"migrate_to_chat_id":-1001}"#,
                None
            )
            .await,
            Outcome::ignored()
        );
    }
}
