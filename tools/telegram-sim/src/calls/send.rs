//! Methods that put messages into a chat: sends, albums, forwards, copies, topics.

use serde_json::{Map, Value, json};

use super::content::{Content, checked_caption};
use super::{Answer, Call, markup};
use crate::api::ApiError;
use crate::record::SimEvent;
use crate::world::World;

/// Items of an album (Bot API, sendMediaGroup).
const ALBUM_ITEMS: std::ops::RangeInclusive<usize> = 2..=10;
/// Messages of copyMessages and forwardMessages (Bot API).
const MANY_MESSAGES: usize = 100;
/// What belongs to a message and not to what it holds.
const ENVELOPE: &[&str] = &[
    "message_id",
    "date",
    "edit_date",
    "chat",
    "from",
    "sender_chat",
    "reply_to_message",
    "reply_markup",
    "message_thread_id",
    "is_topic_message",
    "media_group_id",
    "forward_origin",
];

fn needs_chat(chat: Option<i64>) -> Result<i64, ApiError> {
    chat.ok_or_else(|| ApiError::bad_request("chat_id is empty"))
}

impl World {
    /// Any method that sends one message.
    pub(super) fn send(&mut self, call: &Call, chat: Option<i64>) -> Answer {
        let chat = needs_chat(chat)?;
        let mut content = self.context(call, chat)?;
        if call.method.name == "forwardMessage" {
            content.extend(self.forwarded(call, call.params.int("message_id"), true)?);
        } else {
            content.extend(self.content(call)?);
        }
        Ok(self.post(call, chat, content))
    }

    /// What a new message is attached to: topic, reply target, keyboard.
    fn context(&mut self, call: &Call, chat: i64) -> Result<Content, ApiError> {
        let mut context = Content::new();
        if let Some(markup) = markup::check(call.params.json("reply_markup"))? {
            context.insert("reply_markup".to_owned(), markup);
        }
        if let Some(thread) = call.params.int("message_thread_id") {
            context.insert("message_thread_id".to_owned(), json!(thread));
            context.insert("is_topic_message".to_owned(), json!(true));
        }
        let reply = call.params.json("reply_parameters").unwrap_or_default();
        let target = reply.get("message_id").and_then(Value::as_i64);
        if let Some(target) = target.or_else(|| call.params.int("reply_to_message_id")) {
            let lenient = reply
                .get("allow_sending_without_reply")
                .and_then(Value::as_bool)
                .unwrap_or(false)
                || call.params.flag("allow_sending_without_reply");
            match self.chat(chat).message(target) {
                Some(message) => {
                    let mut message = message.clone();
                    if let Some(message) = message.as_object_mut() {
                        message.remove("reply_to_message");
                    }
                    context.insert("reply_to_message".to_owned(), message);
                }
                None if lenient => {}
                None => return Err(ApiError::bad_request("message to be replied not found")),
            }
        }
        Ok(context)
    }

    /// Adds the message and tells about it.
    fn post(&mut self, call: &Call, chat: i64, content: Content) -> Value {
        let from = self
            .bots
            .get(&call.bot)
            .map(|bot| bot.to_json())
            .unwrap_or_default();
        let message = self.chat(chat).add(call.now, &from, content);
        self.events.push(SimEvent::MessageSent {
            chat_id: chat,
            message: message.clone(),
        });
        message
    }

    pub(super) fn send_album(&mut self, call: &Call, chat: Option<i64>) -> Answer {
        let chat = needs_chat(chat)?;
        let media = call
            .params
            .json("media")
            .and_then(|list| list.as_array().cloned())
            .unwrap_or_default();
        if media.len() > *ALBUM_ITEMS.end() {
            return Err(ApiError::bad_request("Too much messages to send as an album"));
        }
        if media.len() < *ALBUM_ITEMS.start() {
            return Err(ApiError::bad_request("parameter \"media\" must have 2-10 items"));
        }
        let context = self.context(call, chat)?;
        let group = self.rng.u64(1..=1 << 53).to_string();
        let mut contents = Vec::new();
        for item in &media {
            let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
            if !["photo", "video", "audio", "document", "live_photo"].contains(&kind) {
                return Err(ApiError::bad_request(
                    "Can't use the media of the specified type in the album",
                ));
            }
            let file = item.get("media").and_then(|value| call.params.file_of(value));
            let file = file.ok_or_else(|| ApiError::bad_request("media not found"))?;
            let caption =
                checked_caption(item.get("caption").and_then(Value::as_str).map(ToOwned::to_owned))?;
            let mut content = context.clone();
            content.insert(kind.to_owned(), self.media(kind, file));
            content.insert("media_group_id".to_owned(), json!(group));
            content.extend(caption.map(|caption| ("caption".to_owned(), json!(caption))));
            contents.push(content);
        }
        Ok(contents
            .into_iter()
            .map(|content| self.post(call, chat, content))
            .collect())
    }

    /// The content of a message of another chat.
    fn forwarded(&mut self, call: &Call, id: Option<i64>, forward: bool) -> Result<Content, ApiError> {
        let from = self.target_chat(call.params.value("from_chat_id"))?;
        let verb = if forward { "forward" } else { "copy" };
        let message = id.and_then(|id| self.chat(from).message(id).cloned());
        let message =
            message.ok_or_else(|| ApiError::bad_request(&format!("message to {verb} not found")))?;
        let Value::Object(mut content) = message else {
            return Ok(Map::new());
        };
        let origin =
            json!({ "type": "user", "sender_user": content.get("from"), "date": content.get("date") });
        content.retain(|name, _| !ENVELOPE.contains(&name.as_str()));
        if forward {
            content.insert("forward_origin".to_owned(), origin);
        }
        Ok(content)
    }

    pub(super) fn copy_one(&mut self, call: &Call, chat: Option<i64>) -> Answer {
        let chat = needs_chat(chat)?;
        let mut content = self.context(call, chat)?;
        content.extend(self.forwarded(call, call.params.int("message_id"), false)?);
        if let Some(caption) = checked_caption(call.params.text("caption"))? {
            content.insert("caption".to_owned(), json!(caption));
        }
        let message = self.post(call, chat, content);
        Ok(json!({ "message_id": message.get("message_id") }))
    }

    /// Messages that are missing are skipped, as Telegram does.
    pub(super) fn copy_many(&mut self, call: &Call, chat: Option<i64>) -> Answer {
        let chat = needs_chat(chat)?;
        let ids = call.params.ints("message_ids");
        if ids.is_empty() || ids.len() > MANY_MESSAGES {
            return Err(ApiError::bad_request(
                "parameter \"message_ids\" must have 1-100 items",
            ));
        }
        let forward = call.method.name == "forwardMessages";
        let mut sent = Vec::new();
        for id in ids {
            if let Ok(content) = self.forwarded(call, Some(id), forward) {
                let message = self.post(call, chat, content);
                sent.push(json!({ "message_id": message.get("message_id") }));
            }
        }
        if sent.is_empty() {
            let verb = if forward { "forward" } else { "copy" };
            return Err(ApiError::bad_request(&format!("there are no messages to {verb}")));
        }
        Ok(Value::Array(sent))
    }

    pub(super) fn create_topic(&mut self, call: &Call, chat: Option<i64>) -> Answer {
        let chat = needs_chat(chat)?;
        let name = call.params.text("name").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| ApiError::bad_request("topic name is empty"))?;
        // Telegram's default colour of a topic icon.
        let topic = json!({ "name": name, "icon_color": 7_322_096 });
        let message = self.post(
            call,
            chat,
            Content::from_iter([("forum_topic_created".to_owned(), topic.clone())]),
        );
        let thread = message.get("message_id").cloned().unwrap_or_default();
        Ok(json!({ "message_thread_id": thread, "name": topic["name"], "icon_color": topic["icon_color"] }))
    }
}
