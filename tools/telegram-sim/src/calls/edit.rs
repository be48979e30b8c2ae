//! Methods that change or remove messages.

use serde_json::{Value, json};

use super::content::{checked_caption, checked_text};
use super::{Answer, Call, markup};
use crate::api::ApiError;
use crate::record::SimEvent;
use crate::world::World;

const NOT_MODIFIED: &str = "message is not modified: specified new message content and reply markup are \
                            exactly the same as a current content and reply markup of the message";

impl World {
    /// Any method that edits one message, and `stopPoll`.
    pub(super) fn edit(&mut self, call: &Call, chat: Option<i64>) -> Answer {
        if call.params.has("inline_message_id") {
            return Ok(json!(true));
        }
        let chat = chat.ok_or_else(|| ApiError::bad_request("chat_id is empty"))?;
        let id = call.params.int("message_id");
        let id = id.ok_or_else(|| ApiError::bad_request("message identifier is not specified"))?;
        let stops_poll = call.method.name == "stopPoll";
        let missing = if stops_poll {
            "message with poll to stop not found"
        } else {
            "message to edit not found"
        };
        let old = self
            .chat(chat)
            .message(id)
            .cloned()
            .ok_or_else(|| ApiError::bad_request(missing))?;
        if old.pointer("/from/id").and_then(Value::as_i64) != Some(call.bot)
            && old.get("sender_chat").is_none()
        {
            return Err(ApiError::bad_request("message can't be edited"));
        }
        let mut new = self.edited(call, &old)?;
        if new == old {
            return Err(ApiError::bad_request(NOT_MODIFIED));
        }
        if let Some(new) = new.as_object_mut() {
            new.insert("edit_date".to_owned(), json!(call.now / 1_000));
        }
        self.chat(chat).replace(id, new.clone());
        self.events.push(SimEvent::MessageEdited {
            chat_id: chat,
            message: new.clone(),
        });
        Ok(if stops_poll {
            new.get("poll").cloned().unwrap_or_default()
        } else {
            new
        })
    }

    /// The message after the edit, without its new date. An edit without a keyboard takes the old one away.
    fn edited(&mut self, call: &Call, old: &Value) -> Answer {
        let params = call.params;
        let mut new = old.as_object().cloned().unwrap_or_default();
        match call.method.name {
            "editMessageText" => {
                if !new.contains_key("text") && !new.contains_key("rich_message") {
                    return Err(ApiError::bad_request("there is no text in the message to edit"));
                }
                if let Some(rich) = params.json("rich_message") {
                    new.insert("rich_message".to_owned(), rich);
                } else {
                    new.insert("text".to_owned(), json!(checked_text(params.text("text"))?));
                }
                new.remove("entities");
                new.extend(
                    params
                        .json("entities")
                        .map(|entities| ("entities".to_owned(), entities)),
                );
            }
            "editMessageCaption" => {
                new.remove("caption");
                let caption = checked_caption(params.text("caption"))?;
                new.extend(caption.map(|caption| ("caption".to_owned(), json!(caption))));
            }
            "editMessageMedia" => self.edit_media(call, &mut new)?,
            "editMessageLiveLocation" => {
                let at =
                    json!({ "latitude": params.value("latitude"), "longitude": params.value("longitude") });
                new.insert("location".to_owned(), at);
            }
            "editMessageChecklist" => {
                new.extend(
                    params
                        .json("checklist")
                        .map(|list| ("checklist".to_owned(), list)),
                );
            }
            "stopPoll" => match new.get_mut("poll").and_then(Value::as_object_mut) {
                Some(poll) if poll.get("is_closed") == Some(&json!(true)) => {
                    return Err(ApiError::bad_request("poll has already been closed"));
                }
                Some(poll) => {
                    poll.insert("is_closed".to_owned(), json!(true));
                }
                None => return Err(ApiError::bad_request("message is not a poll")),
            },
            "setGameScore" => {
                new.insert(
                    "score".to_owned(),
                    params.value("score").cloned().unwrap_or_default(),
                );
            }
            _ => {}
        }
        new.remove("reply_markup");
        new.extend(
            markup::check(params.json("reply_markup"))?.map(|markup| ("reply_markup".to_owned(), markup)),
        );
        Ok(Value::Object(new))
    }

    fn edit_media(&mut self, call: &Call, new: &mut serde_json::Map<String, Value>) -> Result<(), ApiError> {
        let media = call.params.json("media").unwrap_or_default();
        let kind = media
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let file = media.get("media").and_then(|value| call.params.file_of(value));
        let file = file.ok_or_else(|| ApiError::bad_request("media not found"))?;
        let caption = checked_caption(
            media
                .get("caption")
                .and_then(Value::as_str)
                .map(ToOwned::to_owned),
        )?;
        for old in [
            "text",
            "caption",
            "photo",
            "video",
            "audio",
            "document",
            "animation",
        ] {
            new.remove(old);
        }
        new.insert(kind.clone(), self.media(&kind, file));
        new.extend(caption.map(|caption| ("caption".to_owned(), json!(caption))));
        Ok(())
    }

    pub(super) fn delete_one(&mut self, call: &Call, chat: Option<i64>) -> Answer {
        let id = call.params.int("message_id");
        let (Some(chat_id), Some(message_id)) = (chat, id) else {
            return Err(ApiError::bad_request("message identifier is not specified"));
        };
        if self.chat(chat_id).remove(message_id).is_none() {
            return Err(ApiError::bad_request("message to delete not found"));
        }
        self.events.push(SimEvent::MessageDeleted { chat_id, message_id });
        Ok(json!(true))
    }

    /// Messages that are missing do not matter here (server source).
    pub(super) fn delete_many(&mut self, call: &Call, chat: Option<i64>) -> Answer {
        let chat_id = chat.ok_or_else(|| ApiError::bad_request("chat_id is empty"))?;
        for message_id in call.params.ints("message_ids") {
            if self.chat(chat_id).remove(message_id).is_some() {
                self.events.push(SimEvent::MessageDeleted { chat_id, message_id });
            }
        }
        Ok(json!(true))
    }
}
