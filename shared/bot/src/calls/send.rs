//! New messages: texts, photos, documents, and what a chat shows meanwhile. Never splits a text: Telegram takes 4,096
//! UTF-16 units, and captions of 1,024.

use serde_json::json;

use super::{
    Captioned, Chat, Formatted, InBusiness, InTopic, Keyboard, Request, SendChatAction, SendDocument,
    SendMessage, SendPhoto, Sends, WithButtons,
};
use crate::incoming::Incoming;

/// A text to a chat.
#[must_use]
pub fn send_message(chat: impl Into<Chat>, text: impl Into<String>) -> Request<SendMessage> {
    Request::begin()
        .param("chat_id", chat.into())
        .param("text", text.into())
}

/// A photo to a chat, by its `file_id` or a URL that Telegram fetches.
#[must_use]
pub fn send_photo(chat: impl Into<Chat>, file: impl Into<String>) -> Request<SendPhoto> {
    Request::begin()
        .param("chat_id", chat.into())
        .param("photo", file.into())
}

/// A file to a chat, by its `file_id` or a URL that Telegram fetches.
#[must_use]
pub fn send_document(chat: impl Into<Chat>, file: impl Into<String>) -> Request<SendDocument> {
    Request::begin()
        .param("chat_id", chat.into())
        .param("document", file.into())
}

/// What the bot is shown to be doing, for 5 s or until its next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the Bot API's own names")]
pub enum ChatAction {
    Typing,
    UploadPhoto,
    RecordVideo,
    UploadVideo,
    RecordVoice,
    UploadVoice,
    UploadDocument,
    ChooseSticker,
    FindLocation,
}

impl ChatAction {
    fn name(self) -> &'static str {
        match self {
            Self::Typing => "typing",
            Self::UploadPhoto => "upload_photo",
            Self::RecordVideo => "record_video",
            Self::UploadVideo => "upload_video",
            Self::RecordVoice => "record_voice",
            Self::UploadVoice => "upload_voice",
            Self::UploadDocument => "upload_document",
            Self::ChooseSticker => "choose_sticker",
            Self::FindLocation => "find_location",
        }
    }
}

/// Shows in a chat what the bot is doing.
#[must_use]
pub fn send_chat_action(chat: impl Into<Chat>, action: ChatAction) -> Request<SendChatAction> {
    Request::begin()
        .param("chat_id", chat.into())
        .param("action", action.name())
}

/// How a text is formatted. What people wrote must be escaped, or they format the bot's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseMode {
    /// A few HTML tags; see [`escape_html`].
    Html,
    /// Telegram's second Markdown.
    MarkdownV2,
}

/// A text that stands in [`ParseMode::Html`] for itself.
#[must_use]
pub fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

impl<M: Sends> Request<M> {
    /// Without a sound.
    #[must_use]
    pub fn silent(self) -> Self {
        self.param("disable_notification", true)
    }

    /// As an answer to that message of the chat; an ordinary message if that one is gone.
    #[must_use]
    pub fn reply_to(self, message_id: i64) -> Self {
        let to = json!({"message_id": message_id, "allow_sending_without_reply": true});
        self.param("reply_parameters", to)
    }
}

impl<M: InTopic> Request<M> {
    /// Into that topic of a forum.
    #[must_use]
    pub fn thread(self, message_thread_id: i64) -> Self {
        self.param("message_thread_id", message_thread_id)
    }
}

impl<M: InBusiness> Request<M> {
    /// On behalf of a business account.
    #[must_use]
    pub fn business(self, connection_id: impl Into<String>) -> Self {
        self.param("business_connection_id", connection_id.into())
    }

    /// On behalf of the business account that the Update came through, if any: the same chat number without it is
    /// another chat.
    #[must_use]
    pub fn business_of(self, update: &Incoming) -> Self {
        match &update.business_connection_id {
            Some(connection) => self.business(connection),
            None => self,
        }
    }
}

impl<M: Formatted> Request<M> {
    /// The text or caption is formatted so.
    #[must_use]
    pub fn parse_mode(self, mode: ParseMode) -> Self {
        let name = match mode {
            ParseMode::Html => "HTML",
            ParseMode::MarkdownV2 => "MarkdownV2",
        };
        self.param("parse_mode", name)
    }
}

impl<M: Captioned> Request<M> {
    /// With that caption.
    #[must_use]
    pub fn caption(self, caption: impl Into<String>) -> Self {
        self.param("caption", caption.into())
    }
}

impl<M: WithButtons> Request<M> {
    /// With inline buttons below.
    #[must_use]
    pub fn buttons(self, keyboard: Keyboard) -> Self {
        self.param("reply_markup", keyboard)
    }
}

impl Incoming {
    /// A text to the chat that the Update came from: into its topic, through its business connection. `None` if it came
    /// from no chat.
    #[must_use]
    pub fn reply(&self, text: impl Into<String>) -> Option<Request<SendMessage>> {
        let reply = send_message(self.chat_id?, text).business_of(self);
        Some(match self.thread_id {
            Some(thread) => reply.thread(thread),
            None => reply,
        })
    }
}
