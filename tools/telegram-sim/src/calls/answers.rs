//! Answers to queries, and files.

use serde_json::{Value, json};

use super::{Answer, Call};
use crate::api::ApiError;
use crate::record::SimEvent;
use crate::world::World;

impl World {
    /// A query can be answered once, while it lives.
    fn use_query(&mut self, call: &Call, name: &str) -> Result<(String, Option<i64>), ApiError> {
        let id = call.params.text(name).unwrap_or_default();
        match self.queries.remove(&id) {
            Some(query) if query.expires_at > call.now => Ok((id, query.chat_id)),
            _ => Err(ApiError::query_too_old()),
        }
    }

    pub(super) fn answer_callback(&mut self, call: &Call) -> Answer {
        let (query_id, chat_id) = self.use_query(call, "callback_query_id")?;
        let text = call.params.text("text").filter(|text| !text.is_empty());
        let show_alert = call.params.flag("show_alert");
        self.events.push(SimEvent::CallbackAnswered {
            chat_id,
            query_id,
            text,
            show_alert,
        });
        Ok(json!(true))
    }

    pub(super) fn answer_query(&mut self, call: &Call, name: &str) -> Answer {
        self.use_query(call, name)?;
        Ok(json!(true))
    }

    pub(super) fn get_file(&mut self, call: &Call) -> Answer {
        let id = call.params.text("file_id").filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| ApiError::bad_request("invalid file id"))?;
        let unique = id.chars().rev().take(12).collect::<String>();
        Ok(match self.files.get(&id) {
            Some(file) => json!({
                "file_id": id, "file_unique_id": unique, "file_size": file.size, "file_path": file.path,
            }),
            // A file that came in an update made by hand: it is there, and empty.
            None => {
                json!({ "file_id": id, "file_unique_id": unique, "file_path": format!("files/0/{unique}") })
            }
        })
    }

    pub(super) fn upload_sticker(&mut self, call: &Call) -> Answer {
        let file = call.params.file("sticker");
        let file = file.ok_or_else(|| ApiError::bad_request("there is no sticker in the request"))?;
        let mut file = self.file(file);
        if let Some(map) = file.as_object_mut() {
            map.remove("file_name");
        }
        Ok::<Value, ApiError>(file)
    }
}
