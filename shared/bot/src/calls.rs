//! Calls of the Bot API, built member by member. Each method takes only what it knows, so that a silent answer to a
//! query does not compile. Any other method or member is within reach by [`raw`] and [`Request::param`]. Never calls one.

mod answer;
mod edit;
mod keyboard;
mod send;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use penstock_domain::ids::ChatId;
use penstock_domain::intent::{Call, OnUnknown};
use penstock_domain::time::Timestamp;
use serde_json::{Map, Value, json};

pub use answer::{
    accept_pre_checkout, answer_callback_query, answer_inline_query, offer_shipping, refuse_pre_checkout,
    refuse_shipping,
};
pub use edit::{Place, delete_message, edit_message_text, set_message_reaction};
pub use keyboard::{Button, Keyboard, MAX_CALLBACK_DATA};
pub use send::{
    ChatAction, ParseMode, escape_html, send_chat_action, send_document, send_message, send_photo,
};

/// A chat as calls name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chat {
    /// By its number.
    Id(i64),
    /// A public channel or group by its name, with `@`.
    Name(String),
}

impl From<i64> for Chat {
    fn from(id: i64) -> Self {
        Self::Id(id)
    }
}

impl From<ChatId> for Chat {
    fn from(id: ChatId) -> Self {
        Self::Id(id.0)
    }
}

impl From<&str> for Chat {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<Chat> for Value {
    fn from(chat: Chat) -> Self {
        match chat {
            Chat::Id(id) => json!(id),
            Chat::Name(name) => json!(name),
        }
    }
}

/// A method of the Bot API that has a builder.
pub trait Method {
    /// Its name.
    const NAME: &'static str;
}

macro_rules! abilities {
    ($($(#[$doc:meta])* $name:ident)*) => { $($(#[$doc])* pub trait $name {})* };
}
abilities! {
    /// Puts a new message into a chat.
    Sends
    /// Knows topics of a forum.
    InTopic
    /// Knows business connections.
    InBusiness
    /// Has a text or caption with formatting.
    Formatted
    /// Takes a caption.
    Captioned
    /// Takes inline buttons.
    WithButtons
    /// Is about a message that is there already.
    OnMessage
    /// Answers a pressed button.
    AnswersPress
    /// Answers an inline query.
    AnswersInline
}

macro_rules! methods {
    ($($name:ident $text:literal: $($ability:ident)*;)*) => { $(
        #[doc = concat!("`", $text, "`.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {}
        impl Method for $name { const NAME: &'static str = $text; }
        $(impl $ability for $name {})*
    )* };
}
methods! {
    SendMessage "sendMessage": Sends InTopic InBusiness Formatted WithButtons;
    SendPhoto "sendPhoto": Sends InTopic InBusiness Formatted Captioned WithButtons;
    SendDocument "sendDocument": Sends InTopic InBusiness Formatted Captioned WithButtons;
    SendChatAction "sendChatAction": InTopic InBusiness;
    EditMessageText "editMessageText": InBusiness Formatted WithButtons OnMessage;
    DeleteMessage "deleteMessage": OnMessage;
    SetMessageReaction "setMessageReaction": OnMessage;
    AnswerCallbackQuery "answerCallbackQuery": AnswersPress;
    AnswerInlineQuery "answerInlineQuery": AnswersInline;
    AnswerPreCheckoutQuery "answerPreCheckoutQuery": ;
    AnswerShippingQuery "answerShippingQuery": ;
}

/// Any method, see [`raw`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raw {}
impl OnMessage for Raw {}

/// A call of the method `M` that is being built.
#[derive(Debug, Clone, PartialEq)]
pub struct Request<M> {
    method: String,
    params: Map<String, Value>,
    on_unknown: OnUnknown,
    not_before: Option<Timestamp>,
    refers_to: Option<u8>,
    of: PhantomData<M>,
}

/// A call of any method, without its parameters: see [`Request::param`].
#[must_use]
pub fn raw(method: &str) -> Request<Raw> {
    Request::named(method)
}

impl<M: Method> Request<M> {
    fn begin() -> Self {
        Self::named(M::NAME)
    }
}

impl<M> Request<M> {
    fn named(method: &str) -> Self {
        Self {
            method: method.to_owned(),
            params: Map::new(),
            on_unknown: OnUnknown::default(),
            not_before: None,
            refers_to: None,
            of: PhantomData,
        }
    }

    /// Sets any member of the parameters, over what was there.
    #[must_use]
    pub fn param(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }

    /// Not to be sent before this instant. Later sends of the same chat wait with it.
    #[must_use]
    pub fn not_before(mut self, at: Timestamp) -> Self {
        self.not_before = Some(at);
        self
    }

    /// What to do when nobody knows whether it arrived; otherwise a person decides.
    #[must_use]
    pub fn on_unknown(mut self, rule: OnUnknown) -> Self {
        self.on_unknown = rule;
        self
    }
}

impl<M: OnMessage> Request<M> {
    /// About the message that the outcome's call of this number (from 0) sends, rather than one whose id is known.
    #[must_use]
    pub fn replaces(mut self, call: u8) -> Self {
        self.params.remove("message_id");
        self.params.remove("inline_message_id");
        self.refers_to = Some(call);
        self
    }
}

impl<M> From<Request<M>> for Call {
    fn from(request: Request<M>) -> Self {
        Self {
            on_unknown: request.on_unknown,
            not_before: request.not_before,
            refers_to: request.refers_to,
            ..Self::new(&request.method, Value::Object(request.params).to_string())
        }
    }
}

/// What an outcome can send: a call, perhaps one, or several.
pub trait IntoCalls {
    /// Appends them in order.
    fn add_to(self, calls: &mut Vec<Call>);
}

impl IntoCalls for Call {
    fn add_to(self, calls: &mut Vec<Call>) {
        calls.push(self);
    }
}

impl<M> IntoCalls for Request<M> {
    fn add_to(self, calls: &mut Vec<Call>) {
        calls.push(self.into());
    }
}

impl<C: IntoCalls> IntoCalls for Option<C> {
    fn add_to(self, calls: &mut Vec<Call>) {
        if let Some(call) = self {
            call.add_to(calls);
        }
    }
}

impl<C: IntoCalls> IntoCalls for Vec<C> {
    fn add_to(self, calls: &mut Vec<Call>) {
        self.into_iter().for_each(|call| call.add_to(calls));
    }
}

impl<C: IntoCalls, const N: usize> IntoCalls for [C; N] {
    fn add_to(self, calls: &mut Vec<Call>) {
        self.into_iter().for_each(|call| call.add_to(calls));
    }
}
