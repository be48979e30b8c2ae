//! The methods, called without HTTP.

use serde_json::{Value, json};

use super::sim;
use crate::{CallError, MISSING_CHAT_ID, Sim, SimEvent, User, method_names};

async fn refusal(sim: &Sim, method: &str, params: Value) -> (u16, String) {
    match sim.call(method, params).await {
        Err(CallError::Refused(error)) => (error.code, error.description),
        other => panic!("{method} was not refused: {other:?}"),
    }
}

fn bad(text: &str) -> (u16, String) {
    (400, format!("Bad Request: {text}"))
}

async fn send(sim: &Sim, text: &str) -> i64 {
    let message = sim
        .call("sendMessage", json!({ "chat_id": 1, "text": text }))
        .await
        .unwrap();
    message["message_id"].as_i64().unwrap()
}

#[tokio::test]
async fn every_method_has_an_answer() {
    for method in method_names() {
        let (sim, _) = sim();
        sim.user_text(1, 1, "hello");
        let own = send(&sim, "mine").await;
        let poll = json!({ "chat_id": 1, "question": "?", "options": ["a", "b"] });
        let poll = sim.call("sendPoll", poll).await.unwrap()["message_id"].clone();
        for (kind, id) in [
            ("callback_query", "c"),
            ("inline_query", "i"),
            ("shipping_query", "s"),
            ("pre_checkout_query", "p"),
        ] {
            sim.user_update(kind, &json!({ "id": id, "from": { "id": 1 } }));
        }
        let message_id = if method == "stopPoll" { poll } else { json!(own) };
        let mut params = json!({
            "chat_id": 1, "from_chat_id": 1, "user_id": 1, "message_id": message_id, "message_ids": [1],
            "text": "other", "caption": "other", "question": "?", "options": ["a", "b"], "action": "typing",
            "callback_query_id": "c", "inline_query_id": "i", "shipping_query_id": "s",
            "pre_checkout_query_id": "p", "file_id": "f", "name": "n", "title": "t", "description": "d",
            "checklist": {}, "rich_message": {}, "latitude": 1, "longitude": 2, "score": 3,
            "reply_markup": { "inline_keyboard": [[{ "text": "x", "callback_data": "y" }]] },
        });
        for file in [
            "photo",
            "live_photo",
            "audio",
            "document",
            "video",
            "animation",
            "voice",
            "video_note",
            "sticker",
        ] {
            params[file] = json!("file");
        }
        params["media"] = match method {
            "editMessageMedia" => json!({ "type": "photo", "media": "file" }),
            _ => json!([{ "type": "photo", "media": "file" }, { "type": "photo", "media": "file" }]),
        };
        let result = sim.call(method, params).await;
        assert!(result.is_ok(), "{method}: {result:?}");
    }
}

#[tokio::test]
async fn an_unknown_method_is_not_found() {
    let (sim, _) = sim();
    let answer = refusal(&sim, "sendTelepathy", json!({})).await;
    assert_eq!(answer, (404, "Not Found: method not found".to_owned()));
}

#[tokio::test]
async fn message_ids_grow_within_a_chat_and_people_share_them_with_the_bot() {
    let (sim, _) = sim();
    sim.user_text(1, 1, "hello");
    assert_eq!(send(&sim, "hi").await, 2);
    sim.user_text(1, 1, "how are you?");
    assert_eq!(send(&sim, "fine").await, 4);
    let texts: Vec<_> = sim
        .chat(1)
        .unwrap()
        .messages
        .iter()
        .map(|message| message["text"].clone())
        .collect();
    assert_eq!(texts, ["hello", "hi", "how are you?", "fine"]);
}

#[tokio::test]
async fn texts_that_telegram_refuses_are_refused() {
    let (sim, _) = sim();
    let with = |text: String| json!({ "chat_id": 1, "text": text });
    assert_eq!(
        refusal(&sim, "sendMessage", with("  ".to_owned())).await,
        bad("message text is empty")
    );
    assert_eq!(
        refusal(&sim, "sendMessage", with("x".repeat(4_097))).await,
        bad("message is too long")
    );
    let missing = json!({ "chat_id": MISSING_CHAT_ID, "text": "x" });
    assert_eq!(refusal(&sim, "sendMessage", missing).await, bad("chat not found"));
    assert_eq!(
        refusal(&sim, "sendMessage", json!({ "text": "x" })).await,
        bad("chat_id is empty")
    );
    let unknown = json!({ "chat_id": "@nobody_here", "text": "x" });
    assert_eq!(refusal(&sim, "sendMessage", unknown).await, bad("chat not found"));
}

#[tokio::test]
async fn an_edit_changes_the_message_that_is_there() {
    let (sim, clock) = sim();
    let id = send(&sim, "one").await;
    clock.advance(5_000);
    let edit = json!({ "chat_id": 1, "message_id": id, "text": "two" });
    let edited = sim.call("editMessageText", edit.clone()).await.unwrap();
    assert_eq!(
        (&edited["text"], edited["edit_date"].is_i64()),
        (&json!("two"), true)
    );
    assert_eq!(sim.chat(1).unwrap().messages, [edited]);
    let (code, text) = refusal(&sim, "editMessageText", edit).await;
    assert!(
        code == 400 && text.starts_with("Bad Request: message is not modified"),
        "{text}"
    );
}

#[tokio::test]
async fn only_an_own_message_that_exists_can_be_edited() {
    let (sim, _) = sim();
    sim.user_text(1, 1, "mine");
    let edit = |id: i64| json!({ "chat_id": 1, "message_id": id, "text": "yours" });
    assert_eq!(
        refusal(&sim, "editMessageText", edit(1)).await,
        bad("message can't be edited")
    );
    assert_eq!(
        refusal(&sim, "editMessageText", edit(9)).await,
        bad("message to edit not found")
    );
}

#[tokio::test]
async fn deleting_one_missing_message_fails_and_deleting_a_list_does_not() {
    let (sim, _) = sim();
    let id = send(&sim, "one").await;
    assert!(
        sim.call("deleteMessage", json!({ "chat_id": 1, "message_id": id }))
            .await
            .is_ok()
    );
    let again = refusal(&sim, "deleteMessage", json!({ "chat_id": 1, "message_id": id })).await;
    assert_eq!(again, bad("message to delete not found"));
    let list = sim
        .call("deleteMessages", json!({ "chat_id": 1, "message_ids": [id, 77] }))
        .await;
    assert_eq!(list, Ok(json!(true)));
}

#[tokio::test]
async fn a_reply_needs_its_target_unless_it_may_go_without() {
    let (sim, _) = sim();
    let id = send(&sim, "one").await;
    let reply = |target: i64, lenient: bool| {
        let parameters = json!({ "message_id": target, "allow_sending_without_reply": lenient });
        json!({ "chat_id": 1, "text": "re", "reply_parameters": parameters })
    };
    let message = sim.call("sendMessage", reply(id, false)).await.unwrap();
    assert_eq!(message["reply_to_message"]["text"], "one");
    assert_eq!(
        refusal(&sim, "sendMessage", reply(99, false)).await,
        bad("message to be replied not found")
    );
    assert!(sim.call("sendMessage", reply(99, true)).await.is_ok());
}

#[tokio::test]
async fn an_album_is_a_list_of_messages_of_one_group() {
    let (sim, _) = sim();
    let item = json!({ "type": "photo", "media": "file" });
    let media = |count: usize| json!({ "chat_id": 1, "media": vec![item.clone(); count] });
    let album = sim.call("sendMediaGroup", media(3)).await.unwrap();
    assert_eq!(album.as_array().unwrap().len(), 3);
    assert_eq!(album[0]["media_group_id"], album[2]["media_group_id"]);
    let refused = json!({ "chat_id": 2, "media": vec![item.clone(); 11] });
    assert_eq!(
        refusal(&sim, "sendMediaGroup", refused).await,
        bad("Too much messages to send as an album")
    );
}

#[tokio::test]
async fn a_copy_is_an_id_and_a_forward_names_its_origin() {
    let (sim, _) = sim();
    sim.user_text(1, 1, "original");
    let params = json!({ "chat_id": 2, "from_chat_id": 1, "message_id": 1 });
    assert_eq!(
        sim.call("copyMessage", params.clone()).await,
        Ok(json!({ "message_id": 1 }))
    );
    let forward = sim.call("forwardMessage", params).await.unwrap();
    assert_eq!(
        (&forward["text"], &forward["forward_origin"]["sender_user"]["id"]),
        (&json!("original"), &json!(1))
    );
    let missing = json!({ "chat_id": 2, "from_chat_id": 1, "message_id": 9 });
    assert_eq!(
        refusal(&sim, "copyMessage", missing.clone()).await,
        bad("message to copy not found")
    );
    assert_eq!(
        refusal(&sim, "forwardMessage", missing).await,
        bad("message to forward not found")
    );
}

#[tokio::test]
async fn a_button_press_is_answered_once_and_in_time() {
    let (sim, clock) = sim();
    sim.user_text(1, 1, "/start");
    let keyboard = json!({ "inline_keyboard": [[{ "text": "Yes", "callback_data": "yes" }]] });
    let params = json!({ "chat_id": 1, "text": "?", "reply_markup": keyboard });
    let message = sim.call("sendMessage", params).await.unwrap()["message_id"]
        .as_i64()
        .unwrap();
    assert!(sim.press_button(1, message, "no").is_err());
    assert!(sim.press_button(1, 99, "yes").is_err());

    let query = |sim: &Sim, press: i64| {
        let sim = sim.clone();
        async move {
            let updates = sim.call("getUpdates", json!({ "offset": press })).await.unwrap();
            updates[0]["callback_query"]["id"].as_str().unwrap().to_owned()
        }
    };
    let press = sim.press_button(1, message, "yes").unwrap();
    let id = query(&sim, press).await;
    let mut events = sim.subscribe();
    let answer = json!({ "callback_query_id": id, "text": "Noted" });
    assert_eq!(
        sim.call("answerCallbackQuery", answer.clone()).await,
        Ok(json!(true))
    );
    let told = SimEvent::CallbackAnswered {
        chat_id: Some(1),
        query_id: id,
        text: Some("Noted".to_owned()),
        show_alert: false,
    };
    assert_eq!(events.try_recv(), Ok(told));
    let old = bad("query is too old and response timeout expired or query ID is invalid");
    assert_eq!(refusal(&sim, "answerCallbackQuery", answer).await, old);

    let press = sim.press_button(1, message, "yes").unwrap();
    let id = query(&sim, press).await;
    clock.advance(150_000);
    assert_eq!(
        refusal(&sim, "answerCallbackQuery", json!({ "callback_query_id": id })).await,
        old
    );
}

#[tokio::test]
async fn a_burst_to_one_chat_is_answered_with_429_and_a_wait() {
    let (sim, clock) = sim();
    for text in ["1", "2", "3"] {
        send(&sim, text).await;
    }
    let Err(CallError::Refused(error)) = sim
        .call("sendMessage", json!({ "chat_id": 1, "text": "4" }))
        .await
    else {
        panic!("the fourth message of a burst was not refused")
    };
    assert_eq!(
        (error.code, error.parameters),
        (429, Some(json!({ "retry_after": 1 })))
    );
    clock.advance(1_000);
    send(&sim, "4").await;
    assert_eq!(
        sim.calls()
            .iter()
            .filter(|call| call.error_code() == Some(429))
            .count(),
        1
    );
}

#[tokio::test]
async fn a_migrated_group_names_its_successor() {
    let (sim, _) = sim();
    sim.user_text(-55, 1, "hello");
    let new = sim.migrate_group(-55);
    let Err(CallError::Refused(error)) = sim
        .call("sendMessage", json!({ "chat_id": -55, "text": "x" }))
        .await
    else {
        panic!("a call to a group that is gone was not refused")
    };
    assert_eq!(error.parameters, Some(json!({ "migrate_to_chat_id": new })));
    assert!(
        sim.call("sendMessage", json!({ "chat_id": new, "text": "x" }))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn what_a_bot_sets_about_itself_it_gets_back() {
    let (sim, _) = sim();
    let commands = json!([{ "command": "start", "description": "Begin" }]);
    sim.call("setMyCommands", json!({ "commands": commands }))
        .await
        .unwrap();
    assert_eq!(sim.call("getMyCommands", json!({})).await, Ok(commands));
    assert_eq!(
        sim.call("getMyCommands", json!({ "language_code": "zh" })).await,
        Ok(json!([]))
    );
    sim.call("deleteMyCommands", json!({})).await.unwrap();
    assert_eq!(sim.call("getMyCommands", json!({})).await, Ok(json!([])));
    sim.call("setMyName", json!({ "name": "Gate" })).await.unwrap();
    assert_eq!(sim.call("getMe", json!({})).await.unwrap()["first_name"], "Gate");
}

#[tokio::test]
async fn people_have_the_names_they_were_given() {
    let (sim, _) = sim();
    let user = User {
        first_name: "Wei".to_owned(),
        language_code: "zh".to_owned(),
        ..User::synthetic(8)
    };
    sim.add_user(user.clone());
    sim.user_text(8, 8, "你好");
    assert_eq!(
        sim.call("getChat", json!({ "chat_id": 8 })).await.unwrap()["first_name"],
        "Wei"
    );
    assert_eq!(sim.chat(8).unwrap().members, [user]);
}

#[tokio::test]
async fn a_message_in_a_hand_made_update_can_be_replied_to() {
    let (sim, _) = sim();
    let message =
        json!({ "message_id": 500, "date": 1, "chat": { "id": 1, "type": "private" }, "text": "x" });
    sim.user_update("message", &message);
    let params = json!({ "chat_id": 1, "text": "y", "reply_parameters": { "message_id": 500 } });
    assert_eq!(sim.call("sendMessage", params).await.unwrap()["message_id"], 501);
}

#[tokio::test]
async fn a_bot_gets_reactions_only_if_it_asked_for_them() {
    let (sim, _) = sim();
    let body = json!({ "chat": { "id": 1 }, "message_id": 1 });
    assert_eq!(sim.user_update("message_reaction", &body), None);
    sim.call("getUpdates", json!({ "allowed_updates": ["message_reaction"] }))
        .await
        .unwrap();
    assert!(sim.user_update("message_reaction", &body).is_some());
    assert_eq!(sim.user_text(1, 1, "hello"), None);
}
