//! The methods of the Bot API over the state. Each takes what it needs from the parameters, in the order
//! Telegram checks it: method, chat, rate, content. Nothing here waits: `getUpdates` and faults are elsewhere.

mod answers;
mod content;
mod edit;
mod markup;
mod profile;
mod send;
mod webhook;

use serde_json::{Value, json};

pub(crate) use markup::inline_buttons;
pub(crate) use webhook::list_of_text;

use crate::api::ApiError;
use crate::methods::{Method, Shape};
use crate::params::Params;
use crate::rates::{RetryAfter, Weight};
use crate::record::SimEvent;
use crate::world::World;

/// One call, being executed.
pub(crate) struct Call<'a> {
    pub(crate) now: i64,
    pub(crate) bot: i64,
    pub(crate) method: Method,
    pub(crate) params: &'a Params,
}

/// A result, and the text beside it that a few methods have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    pub(crate) result: Value,
    pub(crate) description: Option<&'static str>,
}

impl From<Value> for Reply {
    fn from(result: Value) -> Self {
        Self {
            result,
            description: None,
        }
    }
}

type Answer = Result<Value, ApiError>;

/// What a call weighs against the limits: edits like sends, albums and lists by their items.
fn weight(call: &Call) -> Weight {
    let items = |name| {
        call.params
            .json(name)
            .and_then(|list| list.as_array().map(Vec::len))
            .unwrap_or(1)
    };
    match call.method {
        method if method.is_action() => Weight::Action,
        Method {
            name: "sendMediaGroup",
            ..
        } => Weight::Send(items("media")),
        Method {
            name: "copyMessages" | "forwardMessages",
            ..
        } => Weight::Send(items("message_ids")),
        method if method.is_send() || method.shape == Shape::Edited => Weight::Send(1),
        _ => Weight::Free,
    }
}

impl World {
    /// Executes a call. `getUpdates` is not among them.
    pub(crate) fn call(&mut self, call: &Call) -> Result<Reply, ApiError> {
        self.bot(call.bot)?;
        let chat = self.chat_of(call)?;
        let weight = weight(call);
        if let Some(chat) = chat {
            let admission = self.bot(call.bot)?.rates.admit(call.now, chat, weight);
            admission.map_err(|RetryAfter(seconds)| ApiError::too_many_requests(seconds))?;
        }
        if let Some(reply) = self.webhook_call(call)? {
            return Ok(reply);
        }
        let answer = self.execute(call, chat);
        if let (Err(_), Some(chat)) = (&answer, chat) {
            self.bot(call.bot)?.rates.give_back(chat, weight);
        }
        answer.map(Reply::from)
    }

    /// The chat of a call that has one or needs one.
    fn chat_of(&mut self, call: &Call) -> Result<Option<i64>, ApiError> {
        let needs = call.method.is_send() || call.method.is_action();
        if needs || call.params.has("chat_id") {
            return self.target_chat(call.params.value("chat_id")).map(Some);
        }
        Ok(None)
    }

    fn execute(&mut self, call: &Call, chat: Option<i64>) -> Answer {
        match call.method.shape {
            Shape::True => Ok(json!(true)),
            Shape::List => Ok(json!([])),
            Shape::Text => Ok(json!(self.opaque("https://t.me/simulated/"))),
            Shape::Fixed(json) => Ok(serde_json::from_str(json).unwrap_or_default()),
            Shape::Sent => self.send(call, chat),
            Shape::Edited => self.edit(call, chat),
            Shape::Own => self.own(call, chat),
        }
    }

    fn own(&mut self, call: &Call, chat: Option<i64>) -> Answer {
        match call.method.name {
            "sendMediaGroup" => self.send_album(call, chat),
            "copyMessage" => self.copy_one(call, chat),
            "copyMessages" | "forwardMessages" => self.copy_many(call, chat),
            "deleteMessage" => self.delete_one(call, chat),
            "deleteMessages" => self.delete_many(call, chat),
            "sendChatAction" | "sendMessageDraft" | "sendRichMessageDraft" => self.show_action(call, chat),
            "setMessageReaction" => self.react(call, chat),
            "answerCallbackQuery" => self.answer_callback(call),
            "answerInlineQuery" => self.answer_query(call, "inline_query_id"),
            "answerShippingQuery" => self.answer_query(call, "shipping_query_id"),
            "answerPreCheckoutQuery" => self.answer_query(call, "pre_checkout_query_id"),
            "getFile" => self.get_file(call),
            "uploadStickerFile" => self.upload_sticker(call),
            "createForumTopic" => self.create_topic(call, chat),
            _ => self.profile(call, chat),
        }
    }

    fn show_action(&mut self, call: &Call, chat: Option<i64>) -> Answer {
        let draft = call.method.name != "sendChatAction";
        let action = if draft {
            Some("draft".to_owned())
        } else {
            call.params.text("action")
        };
        let action = action.ok_or_else(|| ApiError::bad_request("wrong parameter action in request"))?;
        if let Some(chat_id) = chat {
            self.events.push(SimEvent::ChatAction {
                chat_id,
                action,
                text: call.params.text("text"),
            });
        }
        Ok(json!(true))
    }

    fn react(&mut self, call: &Call, chat: Option<i64>) -> Answer {
        let (Some(chat_id), Some(message_id)) = (chat, call.params.int("message_id")) else {
            return Err(ApiError::bad_request("message identifier is not specified"));
        };
        if self.chat(chat_id).message(message_id).is_none() {
            return Err(ApiError::bad_request("message to react not found"));
        }
        let list = call.params.json("reaction").unwrap_or_default();
        let list = list.as_array().cloned().unwrap_or_default();
        let emoji = list
            .iter()
            .filter_map(|one| one.get("emoji")?.as_str().map(ToOwned::to_owned))
            .collect();
        self.events.push(SimEvent::Reaction {
            chat_id,
            message_id,
            emoji,
        });
        Ok(json!(true))
    }
}
