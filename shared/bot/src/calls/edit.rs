//! Calls about messages that are there: edit, delete, react. Never a new message.

use serde_json::{Value, json};

use super::{Chat, DeleteMessage, EditMessageText, Request, SetMessageReaction};
use crate::incoming::Incoming;

/// A message that can be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A message of a chat.
    Message {
        /// The chat.
        chat: Chat,
        /// The message's number in it.
        message_id: i64,
    },
    /// One that was sent through an inline query.
    Inline(String),
    /// The one that a call of the same outcome sends: its number is not known yet.
    Sent {
        /// The chat, the same as that call's.
        chat: Chat,
        /// The call's number in the outcome, from 0.
        call: u8,
    },
}

/// Edits a text. It is not an error if it was the same already.
#[must_use]
pub fn edit_message_text(place: Place, text: impl Into<String>) -> Request<EditMessageText> {
    let edit = Request::begin().param("text", text.into());
    match place {
        Place::Message { chat, message_id } => edit.param("chat_id", chat).param("message_id", message_id),
        Place::Inline(id) => edit.param("inline_message_id", id),
        Place::Sent { chat, call } => edit.param("chat_id", chat).replaces(call),
    }
}

/// Deletes a message.
#[must_use]
pub fn delete_message(chat: impl Into<Chat>, message_id: i64) -> Request<DeleteMessage> {
    Request::begin()
        .param("chat_id", chat.into())
        .param("message_id", message_id)
}

/// Sets the bot's reaction to a message: one of Telegram's emoji, or `None` to take it back.
#[must_use]
pub fn set_message_reaction(
    chat: impl Into<Chat>,
    message_id: i64,
    emoji: Option<&str>,
) -> Request<SetMessageReaction> {
    let reactions: Vec<Value> = emoji
        .map(|emoji| json!({"type": "emoji", "emoji": emoji}))
        .into_iter()
        .collect();
    Request::begin()
        .param("chat_id", chat.into())
        .param("message_id", message_id)
        .param("reaction", reactions)
}

impl Incoming {
    /// The message whose button was pressed; `None` if no button was, or its message is too old to be known.
    #[must_use]
    pub fn pressed(&self) -> Option<Place> {
        let callback = self.callback.as_ref()?;
        match (self.chat_id, callback.message_id, &callback.inline_message_id) {
            (Some(chat_id), Some(message_id), _) => Some(Place::Message {
                chat: chat_id.into(),
                message_id,
            }),
            (_, _, Some(inline)) => Some(Place::Inline(inline.clone())),
            _ => None,
        }
    }

    /// Edits the message whose button was pressed, see [`Incoming::pressed`]. Its buttons go unless new ones are given.
    #[must_use]
    pub fn edit(&self, text: impl Into<String>) -> Option<Request<EditMessageText>> {
        Some(edit_message_text(self.pressed()?, text).business_of(self))
    }
}
