//! The chat with the simulated bot: a few synthetic people, a group, and what they may do.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Json, Response};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use telegram_sim::{ChatInfo, Sim, User};

use crate::model::Source;
use crate::refuse;
use crate::view;

/// The people one can speak as; each has a private chat of the same id.
pub const PEOPLE: [i64; 3] = [1, 2, 3];
/// A group with all of them.
pub const GROUP_ID: i64 = -7_001;

/// Chats in the list at most; a run with thousands of made-up chats is not for reading.
const MAX_CHATS: usize = 40;
/// Longest text a person can send (Telegram's own limit for a message), UTF-16 units.
const MAX_TEXT_UNITS: usize = 4_096;

/// Makes the people and the group known to the simulation.
pub(crate) fn introduce(sim: &Sim) {
    for id in PEOPLE {
        if sim.chat(id).is_none() {
            sim.add_user(User::synthetic(id));
            sim.add_chat(ChatInfo::synthetic(id, Some(&User::synthetic(id))));
        }
    }
    if sim.chat(GROUP_ID).is_none() {
        let title = "Lock keepers".to_owned();
        sim.add_chat(ChatInfo {
            id: GROUP_ID,
            kind: "group".to_owned(),
            title,
            username: None,
        });
    }
}

/// The chats to choose from: ours first, then what others made up.
pub(crate) fn chats(sim: &Sim) -> Vec<ChatInfo> {
    let ours = PEOPLE.into_iter().chain([GROUP_ID]);
    let others = sim
        .chat_ids()
        .into_iter()
        .filter(|id| !PEOPLE.contains(id) && *id != GROUP_ID);
    ours.chain(others)
        .take(MAX_CHATS)
        .filter_map(|id| Some(sim.chat(id)?.info))
        .collect()
}

#[derive(Deserialize)]
pub(crate) struct Which {
    chat: Option<i64>,
}

/// Body of `POST /chat/send`.
#[derive(Deserialize)]
pub(crate) struct Send {
    text: String,
    /// Who speaks: 1 to 3, or 1.
    user: Option<i64>,
    /// Where: a chat of the list, or the private chat of `user`.
    chat: Option<i64>,
}

/// Body of `POST /chat/press`.
#[derive(Deserialize)]
pub(crate) struct Press {
    message_id: i64,
    data: String,
    user: Option<i64>,
    chat: Option<i64>,
}

/// Who does it and where. In a private chat it can only be the person whose chat it is.
fn place(user: Option<i64>, chat: Option<i64>) -> Result<(i64, i64), String> {
    let user = user.unwrap_or(PEOPLE[0]);
    match chat {
        Some(chat) if chat > 0 => Ok((chat, chat)),
        _ if !PEOPLE.contains(&user) => Err(format!("there is no user {user} here; speak as 1, 2 or 3")),
        Some(chat) => Ok((user, chat)),
        None => Ok((user, user)),
    }
}

fn no_simulation() -> Response {
    refuse(
        StatusCode::CONFLICT,
        "this stack serves a real bot; talk to it in Telegram",
    )
}

/// `GET /chat`: the messages of one chat, raw and as they are shown, and the list of chats.
pub(crate) async fn history<S: Source>(State(source): State<Arc<S>>, Query(which): Query<Which>) -> Response {
    let Some(sim) = source.chat() else {
        return no_simulation();
    };
    let id = which.chat.unwrap_or(PEOPLE[0]);
    let Some(chat) = sim.chat(id) else {
        return refuse(
            StatusCode::NOT_FOUND,
            format!("there is no chat {id} yet; the list of chats is in GET /chat"),
        );
    };
    let html = view::chat::messages(&chat.messages).into_string();
    let list: Vec<Value> = chats(&sim)
        .iter()
        .map(|info| json!({ "id": info.id, "label": view::chat::label(info) }))
        .collect();
    Json(json!({ "chat": chat.info, "messages": chat.messages, "html": html, "chats": list })).into_response()
}

/// `POST /chat/send`: a person writes.
pub(crate) async fn send<S: Source>(State(source): State<Arc<S>>, Json(body): Json<Send>) -> Response {
    let Some(sim) = source.chat() else {
        return no_simulation();
    };
    let text = body.text.trim();
    if text.is_empty() || text.encode_utf16().count() > MAX_TEXT_UNITS {
        let units = text.encode_utf16().count();
        return refuse(
            StatusCode::BAD_REQUEST,
            format!("a text has 1 to {MAX_TEXT_UNITS} characters, this one {units}"),
        );
    }
    match place(body.user, body.chat) {
        Ok((user, chat)) => match sim.user_text(chat, user, text) {
            Some(update_id) => Json(json!({ "update_id": update_id, "chat": chat })).into_response(),
            None => refuse(
                StatusCode::CONFLICT,
                "the bot takes no messages; widen the allowed_updates of its webhook",
            ),
        },
        Err(text) => refuse(StatusCode::BAD_REQUEST, text),
    }
}

/// `POST /chat/press`: a person presses an inline button.
pub(crate) async fn press<S: Source>(State(source): State<Arc<S>>, Json(body): Json<Press>) -> Response {
    let Some(sim) = source.chat() else {
        return no_simulation();
    };
    match place(body.user, body.chat) {
        Ok((user, chat)) => match sim.press_button_as(chat, user, body.message_id, &body.data) {
            Ok(update_id) => Json(json!({ "update_id": update_id })).into_response(),
            Err(error) => refuse(StatusCode::CONFLICT, error.to_string()),
        },
        Err(text) => refuse(StatusCode::BAD_REQUEST, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_chat_has_one_speaker_and_a_group_any_of_the_three() {
        assert_eq!(place(None, None), Ok((1, 1)));
        assert_eq!(place(Some(3), None), Ok((3, 3)));
        assert_eq!(place(Some(3), Some(2)), Ok((2, 2)));
        assert_eq!(place(Some(3), Some(GROUP_ID)), Ok((3, GROUP_ID)));
        assert!(place(Some(4), None).is_err() && place(Some(4), Some(GROUP_ID)).is_err());
    }
}
