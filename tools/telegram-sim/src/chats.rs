//! A chat and its messages as the simulation keeps them. Values only; who is told what is the caller's.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::people::{ChatInfo, User};

/// Messages kept per chat; older ones are forgotten and cannot be edited any more.
const MAX_MESSAGES: usize = 1_000;

/// A chat.
pub(crate) struct Chat {
    pub(crate) info: ChatInfo,
    /// Who has written, in the order of their first message.
    pub(crate) members: Vec<User>,
    pub(crate) description: Option<String>,
    last_message_id: i64,
    messages: BTreeMap<i64, Value>,
}

impl Chat {
    pub(crate) fn new(info: ChatInfo) -> Self {
        Self {
            info,
            members: Vec::new(),
            description: None,
            last_message_id: 0,
            messages: BTreeMap::new(),
        }
    }

    pub(crate) fn remember_member(&mut self, user: &User) {
        if self.members.iter().all(|member| member.id != user.id) {
            self.members.push(user.clone());
        }
    }

    /// Adds a message from `from` with this content and returns it whole.
    pub(crate) fn add(&mut self, now_ms: i64, from: &Value, content: Map<String, Value>) -> Value {
        self.last_message_id += 1;
        let mut message = Map::new();
        message.insert("message_id".to_owned(), json!(self.last_message_id));
        message.insert("date".to_owned(), json!(now_ms / 1_000));
        message.insert("chat".to_owned(), self.info.to_json());
        if self.info.kind == "channel" {
            message.insert("sender_chat".to_owned(), self.info.to_json());
        } else {
            message.insert("from".to_owned(), from.clone());
        }
        message.extend(content);
        let message = Value::Object(message);
        self.messages.insert(self.last_message_id, message.clone());
        while self.messages.len() > MAX_MESSAGES {
            self.messages.pop_first();
        }
        message
    }

    pub(crate) fn message(&self, message_id: i64) -> Option<&Value> {
        self.messages.get(&message_id)
    }

    /// Puts a message under its id, whether there was one or not.
    pub(crate) fn replace(&mut self, message_id: i64, message: Value) {
        self.messages.insert(message_id, message);
        self.last_message_id = self.last_message_id.max(message_id);
    }

    pub(crate) fn remove(&mut self, message_id: i64) -> Option<Value> {
        self.messages.remove(&message_id)
    }

    pub(crate) fn messages(&self) -> Vec<Value> {
        self.messages.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(chat: &mut Chat, text: &str) -> Value {
        let mut content = Map::new();
        content.insert("text".to_owned(), json!(text));
        chat.add(1_790_000_000_123, &User::synthetic(1).to_json(), content)
    }

    #[test]
    fn message_ids_of_a_chat_only_grow() {
        let mut chat = Chat::new(ChatInfo::synthetic(1, None));
        let first = say(&mut chat, "one");
        chat.remove(1);
        let second = say(&mut chat, "two");
        assert_eq!(
            (first["message_id"].as_i64(), second["message_id"].as_i64()),
            (Some(1), Some(2))
        );
        assert_eq!(second["date"], 1_790_000_000);
    }

    #[test]
    fn old_messages_are_forgotten() {
        let mut chat = Chat::new(ChatInfo::synthetic(1, None));
        for n in 0..=MAX_MESSAGES {
            say(&mut chat, &n.to_string());
        }
        assert!(chat.message(1).is_none());
        assert_eq!(chat.messages().len(), MAX_MESSAGES);
    }

    #[test]
    fn a_channel_post_has_no_author() {
        let info = ChatInfo {
            kind: "channel".to_owned(),
            ..ChatInfo::synthetic(-1_001_234_567_890, None)
        };
        let post = say(&mut Chat::new(info), "news");
        assert!(post.get("from").is_none() && post.get("sender_chat").is_some());
    }
}
