//! The people and chats of the simulation: synthetic, made up from their ids where nobody named them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Given names for ids that nobody named; none belongs to anybody.
const NAMES: &[&str] = &["Ada", "Boris", "Chen", "Dana", "Emil", "Farah", "Goro", "Hana"];

/// A person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Telegram's id of the person; also the id of the private chat with them.
    pub id: i64,
    /// Given name.
    pub first_name: String,
    /// Name without the at sign, if they have one.
    pub username: Option<String>,
    /// IETF tag of their application's language.
    pub language_code: String,
}

impl User {
    /// A person made up from an id.
    #[must_use]
    pub fn synthetic(id: i64) -> Self {
        let slot = usize::try_from((id - 1).rem_euclid(8)).unwrap_or(0);
        let name = NAMES.get(slot).copied().unwrap_or("Ada");
        Self {
            id,
            first_name: name.to_owned(),
            username: Some(format!("{}_{id}_example", name.to_ascii_lowercase())),
            language_code: "en".to_owned(),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut user = json!({
            "id": self.id,
            "is_bot": false,
            "first_name": self.first_name,
            "language_code": self.language_code,
        });
        if let (Some(username), Some(map)) = (&self.username, user.as_object_mut()) {
            map.insert("username".to_owned(), json!(username));
        }
        user
    }
}

/// What a chat is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatInfo {
    /// Telegram's id: positive for a private chat, negative for a group, under -10^12 for a supergroup.
    pub id: i64,
    /// `private`, `group`, `supergroup` or `channel`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Title, or the given name of the person.
    pub title: String,
    /// Name without the at sign, if it has one.
    pub username: Option<String>,
}

impl ChatInfo {
    /// A chat made up from an id; a private chat is named after `user`.
    #[must_use]
    pub fn synthetic(id: i64, user: Option<&User>) -> Self {
        // Supergroups and channels are marked by -100 before their number (Bot API dialog ids).
        const SUPERGROUP_FROM: i64 = -1_000_000_000_000;
        let (kind, title, username) = match (id, user) {
            (1.., Some(user)) => ("private", user.first_name.clone(), user.username.clone()),
            (1.., None) => {
                let user = User::synthetic(id);
                ("private", user.first_name, user.username)
            }
            (..SUPERGROUP_FROM, _) => ("supergroup", format!("Supergroup {id}"), None),
            _ => ("group", format!("Group {id}"), None),
        };
        Self {
            id,
            kind: kind.to_owned(),
            title,
            username,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let name = if self.kind == "private" {
            "first_name"
        } else {
            "title"
        };
        let mut chat = json!({ "id": self.id, "type": self.kind, name: self.title });
        if let (Some(username), Some(map)) = (&self.username, chat.as_object_mut()) {
            map.insert("username".to_owned(), json!(username));
        }
        chat
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_of_an_id_tells_the_kind_of_chat() {
        let kinds = [5, -5, -1_001_234_567_890].map(|id| ChatInfo::synthetic(id, None).kind);
        assert_eq!(kinds, ["private", "group", "supergroup"]);
    }

    #[test]
    fn a_person_of_any_id_has_a_name() {
        for id in [i64::MIN + 1, -1, 0, 1, 8, i64::MAX] {
            assert!(!User::synthetic(id).first_name.is_empty());
        }
    }

    #[test]
    fn a_private_chat_has_a_first_name_and_a_group_a_title() {
        assert!(ChatInfo::synthetic(5, None).to_json().get("first_name").is_some());
        assert!(ChatInfo::synthetic(-5, None).to_json().get("title").is_some());
    }
}
