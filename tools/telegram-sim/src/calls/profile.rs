//! What a bot asks and sets about itself and its chats.

use serde_json::{Value, json};

use super::{Answer, Call};
use crate::api::ApiError;
use crate::world::World;

impl World {
    pub(super) fn profile(&mut self, call: &Call, chat: Option<i64>) -> Answer {
        let params = call.params;
        let name = call.method.name;
        match name {
            "getMe" => self.get_me(call.bot),
            "logOut" | "close" => Ok(json!(true)),
            "getChat" => self.get_chat(chat),
            "getChatMember" => {
                let id = params
                    .int("user_id")
                    .ok_or_else(|| ApiError::bad_request("user not found"))?;
                self.member(call.bot, id)
            }
            "getChatAdministrators" => Ok(json!([self.member(call.bot, call.bot)?])),
            "setChatTitle" => {
                let title = params.text("title").filter(|title| !title.is_empty());
                let title = title.ok_or_else(|| ApiError::bad_request("chat title is empty"))?;
                self.chat(need(chat)?).info.title = title;
                Ok(json!(true))
            }
            "setChatDescription" => {
                let description = params.text("description").unwrap_or_default();
                let chat = self.chat(need(chat)?);
                if chat.description.as_deref().unwrap_or_default() == description {
                    return Err(ApiError::bad_request("chat description is not modified"));
                }
                chat.description = Some(description);
                Ok(json!(true))
            }
            _ => self.setting(call),
        }
    }

    fn get_me(&mut self, bot: i64) -> Answer {
        let mut me = self.bot(bot)?.to_json();
        if let Some(me) = me.as_object_mut() {
            for can in [
                "can_join_groups",
                "supports_inline_queries",
                "can_connect_to_business",
            ] {
                me.insert(can.to_owned(), json!(true));
            }
            for cannot in ["can_read_all_group_messages", "has_main_web_app"] {
                me.insert(cannot.to_owned(), json!(false));
            }
        }
        Ok(me)
    }

    fn get_chat(&mut self, chat: Option<i64>) -> Answer {
        let chat = self.chat(need(chat)?);
        let mut full = chat.info.to_json();
        let description = chat.description.clone();
        if let Some(full) = full.as_object_mut() {
            full.insert("accent_color_id".to_owned(), json!(0));
            full.insert("max_reaction_count".to_owned(), json!(11));
            let gifts = json!({
                "unlimited_gifts": true, "limited_gifts": true, "unique_gifts": true,
                "premium_subscription": true, "gifts_from_channels": true,
            });
            full.insert("accepted_gift_types".to_owned(), gifts);
            full.extend(description.map(|text| ("description".to_owned(), json!(text))));
        }
        Ok(full)
    }

    fn member(&mut self, bot: i64, id: i64) -> Answer {
        if id == bot {
            return Ok(
                json!({ "status": "administrator", "user": self.bot(bot)?.to_json(), "can_be_edited": false }),
            );
        }
        Ok(json!({ "status": "member", "user": self.user(id).to_json() }))
    }

    /// `setX`, `getX` and `deleteX` of the same X, scope and language.
    fn setting(&mut self, call: &Call) -> Answer {
        let name = call.method.name;
        let verb = ["set", "get", "delete"]
            .into_iter()
            .find(|verb| name.starts_with(verb))
            .unwrap_or_default();
        let what = &name[verb.len()..];
        let params = call.params;
        let of = |name| params.json(name).or_else(|| params.value(name).cloned());
        let mut key = what.to_owned();
        for part in ["scope", "language_code", "chat_id", "for_channels"] {
            if let Some(value) = of(part) {
                key = format!("{key} {part}={value}");
            }
        }
        let settings = &mut self.bot(call.bot)?.settings;
        match verb {
            "get" => Ok(settings
                .get(&key)
                .cloned()
                .unwrap_or_else(|| default_setting(what))),
            "delete" => {
                settings.remove(&key);
                Ok(json!(true))
            }
            _ => {
                let value = match what {
                    "MyCommands" => of("commands"),
                    "MyName" => Some(json!({ "name": params.text("name").unwrap_or_default() })),
                    "MyDescription" => {
                        Some(json!({ "description": params.text("description").unwrap_or_default() }))
                    }
                    "MyShortDescription" => Some(
                        json!({ "short_description": params.text("short_description").unwrap_or_default() }),
                    ),
                    "ChatMenuButton" => of("menu_button"),
                    _ => of("rights"),
                };
                settings.insert(key, value.unwrap_or_else(|| default_setting(what)));
                Ok(json!(true))
            }
        }
    }
}

fn need(chat: Option<i64>) -> Result<i64, ApiError> {
    chat.ok_or_else(|| ApiError::bad_request("chat_id is empty"))
}

fn default_setting(what: &str) -> Value {
    match what {
        "MyCommands" => json!([]),
        "MyName" => json!({ "name": "" }),
        "MyDescription" => json!({ "description": "" }),
        "MyShortDescription" => json!({ "short_description": "" }),
        "ChatMenuButton" => json!({ "type": "commands" }),
        _ => json!({
            "is_anonymous": false, "can_manage_chat": false, "can_delete_messages": false,
            "can_manage_video_chats": false, "can_restrict_members": false, "can_promote_members": false,
            "can_change_info": false, "can_invite_users": false, "can_post_stories": false,
            "can_edit_stories": false, "can_delete_stories": false,
        }),
    }
}
