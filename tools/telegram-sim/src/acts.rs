//! What people do: write, press, and anything else that becomes an Update.

use serde_json::{Map, Value, json};

use crate::api::PressError;
use crate::calls::inline_buttons;
use crate::people::{ChatInfo, User};
use crate::record::SimEvent;
use crate::sim::Sim;
use crate::world::World;

impl Sim {
    /// Introduces a person, instead of one made up from the id.
    pub fn add_user(&self, user: User) {
        self.inner.with(|world| world.users.insert(user.id, user));
    }

    /// Introduces a chat, instead of one made up from the id.
    pub fn add_chat(&self, info: ChatInfo) {
        self.inner.with(|world| {
            let chat = world.chat(info.id);
            chat.info = info;
        });
    }

    /// A person writes a text. Returns the update id; `None` when no bot takes messages.
    pub fn user_text(&self, chat_id: i64, user_id: i64, text: &str) -> Option<i64> {
        let now = self.inner.clock.now_ms();
        self.inner.with(|world| {
            let user = world.user(user_id);
            let chat = world.chat(chat_id);
            chat.remember_member(&user);
            let kind = if chat.info.kind == "channel" {
                "channel_post"
            } else {
                "message"
            };
            let mut content = Map::new();
            content.insert("text".to_owned(), json!(text));
            let commands = commands_in(text);
            if !commands.is_empty() {
                content.insert("entities".to_owned(), Value::Array(commands));
            }
            let message = chat.add(now, &user.to_json(), content);
            world.events.push(SimEvent::MessageSent {
                chat_id,
                message: message.clone(),
            });
            let bot = self.chosen(world)?;
            world.push_update(now, bot, kind, &message.to_string())
        })
    }

    /// Any update of this kind and content. A message in it is remembered, and a query in it can be answered
    /// for as long as Telegram would take an answer. Returns the update id; `None` when the bot does not
    /// want this kind, or the update is one that Telegram would drop.
    pub fn user_update(&self, kind: &str, body: &Value) -> Option<i64> {
        self.push(kind, body, &body.to_string())
    }

    /// As [`Sim::user_update`], from raw JSON that is passed on byte by byte: lone surrogates, big numbers.
    pub fn user_update_raw(&self, kind: &str, raw: &str) -> Option<i64> {
        self.push(kind, &serde_json::from_str(raw).unwrap_or_default(), raw)
    }

    fn push(&self, kind: &str, body: &Value, raw: &str) -> Option<i64> {
        let now = self.inner.clock.now_ms();
        self.inner.with(|world| {
            let bot = self.chosen(world)?;
            world.remember_query(now, kind, body);
            if ["message", "channel_post", "edited_message", "edited_channel_post"].contains(&kind) {
                remember_message(world, kind, body);
            }
            world.push_update(now, bot, kind, raw)
        })
    }

    /// A person presses an inline button: the owner of a private chat, or the first who wrote in a group.
    ///
    /// # Errors
    /// When there is no such message or button, or no bot takes callbacks.
    pub fn press_button(&self, chat_id: i64, message_id: i64, data: &str) -> Result<i64, PressError> {
        let member = self
            .chat(chat_id)
            .and_then(|chat| chat.members.first().map(|member| member.id));
        self.press_button_as(chat_id, member.unwrap_or(chat_id.max(1)), message_id, data)
    }

    /// As [`Sim::press_button`], by this person.
    ///
    /// # Errors
    /// When there is no such message or button, or no bot takes callbacks.
    pub fn press_button_as(
        &self,
        chat_id: i64,
        user_id: i64,
        message_id: i64,
        data: &str,
    ) -> Result<i64, PressError> {
        let now = self.inner.clock.now_ms();
        self.inner.with(|world| {
            let user = world.user(user_id);
            let message = world.chat(chat_id).message(message_id).cloned();
            let message = message.ok_or(PressError::NoMessage { chat_id, message_id })?;
            let markup = message.get("reply_markup").cloned().unwrap_or_default();
            if !inline_buttons(&markup)
                .any(|button| button.get("callback_data").is_some_and(|own| own == data))
            {
                return Err(PressError::NoButton {
                    message_id,
                    data: data.to_owned(),
                });
            }
            let query = json!({
                "id": world.rng.u64(1..).to_string(),
                "from": user.to_json(),
                "message": message,
                "chat_instance": chat_id.wrapping_mul(7_919).to_string(),
                "data": data,
            });
            let bot = self.chosen(world).ok_or(PressError::NotSubscribed)?;
            world.remember_query(now, "callback_query", &query);
            world
                .push_update(now, bot, "callback_query", &query.to_string())
                .ok_or(PressError::NotSubscribed)
        })
    }

    /// A group becomes a supergroup: calls to the old id are refused with the new one, and both chats get
    /// their service message. Returns the new id.
    pub fn migrate_group(&self, old: i64) -> i64 {
        let now = self.inner.clock.now_ms();
        let new = -1_000_000_000_000 - old.abs();
        self.inner.with(|world| {
            let title = world.chat(old).info.title.clone();
            world.chat(new).info.title = title;
            world.migrations.insert(old, new);
            let user = world.user(1).to_json();
            for (chat_id, field, other) in [
                (old, "migrate_to_chat_id", new),
                (new, "migrate_from_chat_id", old),
            ] {
                let content = Map::from_iter([(field.to_owned(), json!(other))]);
                let message = world.chat(chat_id).add(now, &user, content);
                world.events.push(SimEvent::MessageSent {
                    chat_id,
                    message: message.clone(),
                });
                if let Some(bot) = self.chosen(world) {
                    world.push_update(now, bot, "message", &message.to_string());
                }
            }
        });
        new
    }
}

fn remember_message(world: &mut World, kind: &str, body: &Value) {
    let chat_id = body.pointer("/chat/id").and_then(Value::as_i64);
    let message_id = body.get("message_id").and_then(Value::as_i64);
    if let (Some(chat_id), Some(message_id)) = (chat_id, message_id) {
        world.chat(chat_id).replace(message_id, body.clone());
        let message = body.clone();
        world.events.push(if kind.starts_with("edited") {
            SimEvent::MessageEdited { chat_id, message }
        } else {
            SimEvent::MessageSent { chat_id, message }
        });
    }
}

/// The bot_command entities of a text; offsets count UTF-16 units.
fn commands_in(text: &str) -> Vec<Value> {
    let mut entities = Vec::new();
    let mut offset = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let name = word.trim_end();
        let is_sign = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '@';
        if name.len() > 1
            && name
                .strip_prefix('/')
                .is_some_and(|name| name.chars().all(is_sign))
        {
            entities.push(json!({ "type": "bot_command", "offset": offset, "length": name.len() }));
        }
        offset += word.encode_utf16().count();
    }
    entities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_marked_where_it_stands() {
        assert_eq!(
            commands_in("/start"),
            [json!({ "type": "bot_command", "offset": 0, "length": 6 })]
        );
        assert_eq!(commands_in("😀 /help_me@my_bot now")[0]["offset"], 3);
        assert_eq!(commands_in("7/8 and / and /ü"), Vec::<Value>::new());
    }
}
