//! What a drill has collected, as plain values: what was posted, what the ledger says, what simulated Telegram was asked
//! for. All times are ms since 1970. Reads calls; never asks for them.

use std::collections::HashMap;

use serde_json::Value;
use telegram_sim::SentCall;

use super::load;

/// What the bots of `examples/`, and the one built in, say to a text, before the text.
pub(super) const ECHO: &str = "You said: ";
/// What they say in the chat to a pressed button.
pub(super) const PRESSED: &str = "You pressed.";
/// What they show over a pressed button. What stands in for them while they are away has another text, or none.
pub(super) const THANKS: &str = "Thank you";

/// Everything that is judged.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// Accepted with 200.
    pub(super) posted: Vec<Posted>,
    /// By update id; an Update without a record is not in it.
    pub(super) fates: HashMap<i64, Fate>,
    /// In the order in which simulated Telegram was asked.
    pub(super) seen: Vec<Seen>,
    /// When the first was posted.
    pub(super) begun_at: i64,
    /// When all processes of the backend were dead.
    pub(super) killed_at: i64,
    /// When it listened again.
    pub(super) back_at: i64,
}

/// An Update that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Posted {
    pub(super) update: i64,
    pub(super) chat: i64,
    /// Within its chat, from 1.
    pub(super) number: u32,
    /// A pressed button, and else a text.
    pub(super) is_press: bool,
    pub(super) at_ms: i64,
}

/// What the ledger says of an Update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fate {
    pub(super) is_done: bool,
    /// Tries burned, with the one that came to its end.
    pub(super) attempts: u32,
    /// Codes of the tries that failed.
    pub(super) failures: Vec<String>,
    pub(super) ended_at: Option<i64>,
}

/// A call as far as it tells something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) at_ms: i64,
    pub(super) what: What,
}

/// What a call tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// The bot ran for that text of a chat.
    Echoed { chat: i64, number: u32 },
    /// The bot ran for that press. Its answer was taken, or refused as one too many.
    Thanked { update: i64, is_taken: bool },
    /// The bot told the chat of a press: the last step of such a run.
    Told { chat: i64 },
    /// The press was answered in the bot's place.
    Acknowledged { update: i64 },
    /// A chat was told that it has to wait.
    Noticed { chat: i64 },
}

/// Whether a message is one that the pipeline writes while a backend is away: no bot of this drill says it.
fn is_notice(text: &str) -> bool {
    !text.starts_with(ECHO) && text != PRESSED
}

impl Seen {
    /// Reads a call; `None` if it tells nothing: a look at the bot itself, or a message that was not sent.
    pub(super) fn read(call: &SentCall) -> Option<Self> {
        let text = call.params["text"].as_str().unwrap_or_default();
        let what = match call.method.as_str() {
            "sendMessage" if call.is_done() => message(call.chat_id?, text),
            "answerCallbackQuery" => answer(&call.params["callback_query_id"], text, call.is_done()),
            _ => None,
        }?;
        Some(Self {
            at_ms: call.at_ms,
            what,
        })
    }
}

fn message(chat: i64, text: &str) -> Option<What> {
    if is_notice(text) {
        return Some(What::Noticed { chat });
    }
    match text.strip_prefix(ECHO) {
        Some(said) => Some(What::Echoed {
            chat,
            number: load::number_in(said)?,
        }),
        None => Some(What::Told { chat }),
    }
}

fn answer(query: &Value, text: &str, is_taken: bool) -> Option<What> {
    let update = query.as_str()?.parse().ok()?;
    if text == THANKS {
        return Some(What::Thanked { update, is_taken });
    }
    is_taken.then_some(What::Acknowledged { update })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use telegram_sim::{ApiError, Via};

    use super::*;

    fn seen(method: &str, params: Value, is_done: bool) -> Option<What> {
        let refused = ApiError {
            code: 400,
            description: "Bad Request".to_owned(),
            parameters: None,
        };
        let call = SentCall {
            at_ms: 5,
            bot: 424_242,
            method: method.to_owned(),
            chat_id: params["chat_id"].as_i64(),
            params,
            outcome: Some(if is_done { Ok(json!(true)) } else { Err(refused) }),
            answered: true,
            via: Via::Http,
        };
        Seen::read(&call).map(|seen| seen.what)
    }

    fn says(text: &str) -> Option<What> {
        seen("sendMessage", json!({"chat_id": 7, "text": text}), true)
    }

    #[test]
    fn what_the_bot_says_is_told_from_what_is_said_in_its_place() {
        assert_eq!(
            says("You said: load 12"),
            Some(What::Echoed { chat: 7, number: 12 })
        );
        assert_eq!(says(PRESSED), Some(What::Told { chat: 7 }));
        assert_eq!(says("We will answer."), Some(What::Noticed { chat: 7 }));
        assert_eq!(says("You said: something else"), None);
    }

    #[test]
    fn a_refused_answer_of_the_bot_is_a_run_all_the_same() {
        let press = |params, is_done| seen("answerCallbackQuery", params, is_done);
        let thanks = json!({"callback_query_id": "31", "text": THANKS});
        for is_taken in [true, false] {
            let wanted = What::Thanked { update: 31, is_taken };
            assert_eq!(press(thanks.clone(), is_taken), Some(wanted));
        }
        let others = json!({"callback_query_id": "31", "text": "We will answer."});
        assert_eq!(
            press(others.clone(), true),
            Some(What::Acknowledged { update: 31 })
        );
        assert_eq!(press(others, false), None);
        let without_text = json!({"callback_query_id": "31"});
        assert_eq!(press(without_text, true), Some(What::Acknowledged { update: 31 }));
    }

    #[test]
    fn what_was_not_sent_and_what_is_no_answer_tells_nothing() {
        let params = json!({"chat_id": 7, "text": "You said: load 1"});
        assert_eq!(seen("sendMessage", params, false), None);
        assert_eq!(seen("getMe", json!({}), true), None);
    }
}
