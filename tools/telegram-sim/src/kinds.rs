//! The kinds of Update: which of Telegram's own queues an update waits in, how long it is kept, and whether
//! a bot gets it without asking. Pure lookups; an unknown kind must always find a queue.

use serde_json::Value;

/// Telegram keeps most updates for a day (Bot API, "Getting updates").
const DAY_MS: i64 = 86_400_000;
/// Callback, shipping and pre-checkout queries (server source, `Client.cpp`).
const QUERY_MS: i64 = 150_000;
/// Inline queries (server source).
const INLINE_MS: i64 = 30_000;
/// Chosen inline results (server source).
const CHOSEN_MS: i64 = 600_000;

/// One of Telegram's delivery queues: an id and a class. Only one update of a lane is in flight.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Lane {
    pub(crate) id: String,
    pub(crate) class: u8,
}

struct Kind {
    name: &'static str,
    /// First path found wins.
    paths: &'static [&'static str],
    class: u8,
    life_ms: i64,
    by_default: bool,
}

const fn kind(name: &'static str, paths: &'static [&'static str], class: u8, life_ms: i64) -> Kind {
    Kind {
        name,
        paths,
        class,
        life_ms,
        by_default: true,
    }
}

const fn opt_in(name: &'static str, paths: &'static [&'static str], class: u8) -> Kind {
    Kind {
        name,
        paths,
        class,
        life_ms: DAY_MS,
        by_default: false,
    }
}

/// Classes as in the server source; 14 and 15 are ours, for the two kinds that are newer than it, and 20
/// keeps poll ids apart from the rest.
const KINDS: &[Kind] = &[
    kind("message", &["chat.id"], 0, DAY_MS),
    kind("edited_message", &["chat.id"], 0, DAY_MS),
    kind("channel_post", &["chat.id"], 0, DAY_MS),
    kind("edited_channel_post", &["chat.id"], 0, DAY_MS),
    kind("business_connection", &["user.id", "user_chat_id"], 10, DAY_MS),
    kind("business_message", &["chat.id"], 11, DAY_MS),
    kind("edited_business_message", &["chat.id"], 11, DAY_MS),
    kind("deleted_business_messages", &["chat.id"], 11, DAY_MS),
    kind("guest_message", &["chat.id"], 12, DAY_MS),
    opt_in("message_reaction", &["chat.id"], 8),
    opt_in("message_reaction_count", &["chat.id"], 9),
    kind("inline_query", &["from.id"], 1, INLINE_MS),
    kind("chosen_inline_result", &["from.id"], 2, CHOSEN_MS),
    kind("callback_query", &["from.id"], 3, QUERY_MS),
    kind("shipping_query", &["from.id"], 4, QUERY_MS),
    kind("pre_checkout_query", &["from.id"], 4, QUERY_MS),
    kind("purchased_paid_media", &["from.id"], 12, DAY_MS),
    kind("poll", &["id"], 20, DAY_MS),
    kind("poll_answer", &["poll_id"], 20, DAY_MS),
    kind("my_chat_member", &["chat.id"], 5, DAY_MS),
    opt_in("chat_member", &["new_chat_member.user.id", "from.id"], 6),
    kind("chat_join_request", &["from.id"], 6, DAY_MS),
    kind("chat_boost", &["chat.id"], 7, DAY_MS),
    kind("removed_chat_boost", &["chat.id"], 7, DAY_MS),
    kind("managed_bot", &["user.id", "bot.id"], 13, DAY_MS),
    kind("subscription", &["user.id"], 14, DAY_MS),
    kind("stopped_message_generation", &["chat.id"], 15, DAY_MS),
];

/// Where an unknown kind is probed for something to queue by.
const PROBE: &[&str] = &[
    "chat.id",
    "message.chat.id",
    "user_chat_id",
    "from.id",
    "user.id",
    "poll_id",
    "id",
];
const UNKNOWN_CLASS: u8 = 255;

fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

fn at<'a>(body: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(body, |value, key| value.get(key))
        .filter(|value| !value.is_null())
}

fn first_id(body: &Value, paths: &[&str]) -> String {
    paths.iter().find_map(|path| at(body, path)).map_or_else(
        || "unknown".to_owned(),
        |value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), ToOwned::to_owned)
        },
    )
}

/// The lane of an update of this kind.
pub(crate) fn lane(name: &str, body: &Value) -> Lane {
    match find(name) {
        Some(kind) => Lane {
            id: first_id(body, kind.paths),
            class: kind.class,
        },
        None => Lane {
            id: first_id(body, PROBE),
            class: UNKNOWN_CLASS,
        },
    }
}

/// How long Telegram keeps an update of this kind, in milliseconds; unknown kinds as long as messages.
#[must_use]
pub fn life_ms(name: &str) -> i64 {
    find(name).map_or(DAY_MS, |kind| kind.life_ms)
}

/// Whether Bot API 10.3 has this kind of update.
#[must_use]
pub fn is_known_kind(name: &str) -> bool {
    find(name).is_some()
}

/// Whether a bot that listed `allowed` (or never listed any) gets this kind. An empty list means the default.
pub(crate) fn is_wanted(name: &str, allowed: Option<&[String]>) -> bool {
    match allowed {
        Some(list) if !list.is_empty() => list.iter().any(|entry| entry == name),
        _ => find(name).is_none_or(|kind| kind.by_default),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bot_api_10_3_has_twenty_seven_kinds() {
        assert_eq!(KINDS.len(), 27);
    }

    #[test]
    fn messages_edits_and_posts_of_a_chat_share_one_lane() {
        let body = json!({ "chat": { "id": -5 } });
        for name in ["edited_message", "channel_post", "edited_channel_post"] {
            assert_eq!(lane("message", &body), lane(name, &body));
        }
    }

    #[test]
    fn a_callback_waits_in_the_lane_of_the_user_not_of_the_chat() {
        let body = json!({ "from": { "id": 7 }, "message": { "chat": { "id": -5 } } });
        assert_eq!(
            lane("callback_query", &body),
            Lane {
                id: "7".to_owned(),
                class: 3
            }
        );
    }

    #[test]
    fn a_poll_and_its_answers_share_a_lane() {
        assert_eq!(
            lane("poll", &json!({ "id": "p1" })),
            lane("poll_answer", &json!({ "poll_id": "p1" }))
        );
    }

    #[test]
    fn an_unknown_kind_still_finds_a_lane_and_a_day_of_life() {
        assert_eq!(lane("telepathy", &json!({ "from": { "id": 3 } })).id, "3");
        assert_eq!(lane("telepathy", &json!({})).id, "unknown");
        assert_eq!(life_ms("telepathy"), DAY_MS);
        assert!(!is_known_kind("telepathy"));
    }

    #[test]
    fn queries_live_as_long_as_telegram_keeps_them() {
        let lives = [
            "inline_query",
            "chosen_inline_result",
            "callback_query",
            "message",
        ]
        .map(life_ms);
        assert_eq!(lives, [30_000, 600_000, 150_000, 86_400_000]);
    }

    #[test]
    fn reactions_and_members_come_only_to_those_who_ask() {
        assert!(!is_wanted("message_reaction", None));
        assert!(!is_wanted("chat_member", Some(&[])));
        assert!(is_wanted("chat_member", Some(&["chat_member".to_owned()])));
        assert!(!is_wanted("message", Some(&["chat_member".to_owned()])));
        assert!(is_wanted("message", None));
    }
}
