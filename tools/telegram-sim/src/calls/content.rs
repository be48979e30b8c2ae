//! What a message holds, made from the parameters of a send. Checks lengths and presence as Telegram does;
//! formatting is not parsed.

use serde_json::{Map, Value, json};

use super::Call;
use crate::api::ApiError;
use crate::params::FileParam;
use crate::world::{FileInfo, World};

/// UTF-16 units of a text (Bot API, sendMessage).
const TEXT_UNITS: usize = 4_096;
/// UTF-16 units of a caption (Bot API, sendPhoto).
const CAPTION_UNITS: usize = 1_024;
/// Faces of the die by emoji (Bot API, Dice); others have six.
const DICE: &[(&str, i64)] = &[("🏀", 5), ("⚽", 5), ("🎰", 64)];

pub(super) type Content = Map<String, Value>;

/// A text that may be sent, without the blanks around it.
pub(super) fn checked_text(text: Option<String>) -> Result<String, ApiError> {
    let text = text.unwrap_or_default();
    let text = text.trim_end().trim_start_matches('\n');
    if text.trim().is_empty() {
        return Err(ApiError::bad_request("message text is empty"));
    }
    if text.encode_utf16().count() > TEXT_UNITS {
        return Err(ApiError::bad_request("message is too long"));
    }
    Ok(text.to_owned())
}

pub(super) fn checked_caption(caption: Option<String>) -> Result<Option<String>, ApiError> {
    match caption {
        Some(caption) if caption.encode_utf16().count() > CAPTION_UNITS => {
            Err(ApiError::bad_request("message caption is too long"))
        }
        caption => Ok(caption.filter(|caption| !caption.is_empty())),
    }
}

/// What a file of this kind has beside its identifiers.
fn media_fields(kind: &str) -> Value {
    match kind {
        "audio" | "voice" => json!({ "duration": 1 }),
        "video" | "animation" | "live_photo" => json!({ "width": 320, "height": 240, "duration": 1 }),
        "video_note" => json!({ "length": 240, "duration": 1 }),
        "sticker" => json!({
            "type": "regular", "width": 512, "height": 512, "is_animated": false, "is_video": false,
        }),
        _ => json!({}),
    }
}

impl World {
    /// The File of a parameter; an upload becomes a new file.
    pub(super) fn file(&mut self, param: FileParam) -> Value {
        match param {
            FileParam::Reference(id) => {
                let size = self.files.get(&id).map(|file| file.size);
                let unique = id.chars().rev().take(12).collect::<String>();
                match size {
                    Some(size) => json!({ "file_id": id, "file_unique_id": unique, "file_size": size }),
                    None => json!({ "file_id": id, "file_unique_id": unique }),
                }
            }
            FileParam::Upload { name, size } => {
                let id = self.opaque("SIM");
                let path = format!("files/{}/{name}", self.files.len() + 1);
                self.files.insert(id.clone(), FileInfo { path, size });
                let unique = id.chars().rev().take(12).collect::<String>();
                json!({ "file_id": id, "file_unique_id": unique, "file_size": size, "file_name": name })
            }
        }
    }

    /// The value of a media field: a Photo is a list of sizes, the rest one object.
    pub(super) fn media(&mut self, kind: &str, param: FileParam) -> Value {
        let mut file = self.file(param);
        if kind == "photo" {
            if let Some(file) = file.as_object_mut() {
                file.remove("file_name");
                file.extend([
                    ("width".to_owned(), json!(320)),
                    ("height".to_owned(), json!(240)),
                ]);
            }
            return json!([file]);
        }
        if let (Some(file), Value::Object(more)) = (file.as_object_mut(), media_fields(kind)) {
            file.extend(more);
        }
        file
    }

    /// The content of a message for any method that sends one, but a forward.
    pub(super) fn content(&mut self, call: &Call) -> Result<Content, ApiError> {
        let params = call.params;
        let mut content = Content::new();
        let mut put = |name: &str, value: Value| {
            content.insert(name.to_owned(), value);
        };
        match call.method.name {
            "sendMessage" => {
                put("text", json!(checked_text(params.text("text"))?));
                if let Some(entities) = params.json("entities") {
                    put("entities", entities);
                }
            }
            "sendDice" => {
                let emoji = params.text("emoji").unwrap_or_else(|| "🎲".to_owned());
                let faces = DICE
                    .iter()
                    .find(|(die, _)| *die == emoji)
                    .map_or(6, |(_, faces)| *faces);
                put(
                    "dice",
                    json!({ "emoji": emoji, "value": self.rng.i64(1..=faces) }),
                );
            }
            "sendPoll" => put("poll", self.poll(call)?),
            "sendLocation" => put("location", pick(call, &["latitude", "longitude", "live_period"])),
            "sendVenue" => put(
                "venue",
                pick(call, &["title", "address", "latitude", "longitude"]),
            ),
            "sendContact" => put(
                "contact",
                pick(call, &["phone_number", "first_name", "last_name"]),
            ),
            "sendGame" => put(
                "game",
                json!({ "title": params.text("game_short_name"), "description": "", "photo": [] }),
            ),
            "sendInvoice" => put(
                "invoice",
                pick(call, &["title", "description", "currency", "start_parameter"]),
            ),
            "sendChecklist" => put("checklist", required(call, "checklist")?),
            "sendRichMessage" => put("rich_message", required(call, "rich_message")?),
            "sendPaidMedia" => {
                required(call, "media")?;
                put(
                    "paid_media",
                    json!({ "star_count": params.int("star_count"), "paid_media": [] }),
                );
            }
            name => {
                let kind = media_name(name);
                let file = params.file(&kind);
                let file =
                    file.ok_or_else(|| ApiError::bad_request(&format!("there is no {kind} in the request")))?;
                put(&kind, self.media(&kind, file));
                if let Some(caption) = checked_caption(params.text("caption"))? {
                    put("caption", json!(caption));
                }
            }
        }
        Ok(content)
    }

    fn poll(&mut self, call: &Call) -> Result<Value, ApiError> {
        let question = call
            .params
            .text("question")
            .filter(|question| !question.is_empty());
        let question = question.ok_or_else(|| ApiError::bad_request("poll question must be non-empty"))?;
        let options = call
            .params
            .json("options")
            .and_then(|list| list.as_array().cloned())
            .unwrap_or_default();
        let text = |option: &Value| {
            let text = option.get("text").unwrap_or(option);
            text.as_str()
                .map(|text| json!({ "text": text, "voter_count": 0 }))
        };
        let options: Vec<Value> = options.iter().filter_map(text).collect();
        if options.len() < 2 {
            return Err(ApiError::bad_request("poll must have at least 2 option"));
        }
        Ok(json!({
            "id": self.rng.u32(1..).to_string(),
            "question": question,
            "options": options,
            "total_voter_count": 0,
            "is_closed": false,
            "is_anonymous": !call.params.has("is_anonymous") || call.params.flag("is_anonymous"),
            "type": call.params.text("type").unwrap_or_else(|| "regular".to_owned()),
            "allows_multiple_answers": call.params.flag("allows_multiple_answers"),
        }))
    }
}

/// `sendVideoNote` has `video_note`.
fn media_name(method: &str) -> String {
    let mut name = String::new();
    for letter in method.trim_start_matches("send").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn pick(call: &Call, names: &[&str]) -> Value {
    let values = names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), call.params.value(name)?.clone())));
    Value::Object(values.collect())
}

fn required(call: &Call, name: &str) -> Result<Value, ApiError> {
    call.params
        .json(name)
        .ok_or_else(|| ApiError::bad_request(&format!("parameter \"{name}\" is required")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_blanks_is_empty() {
        for text in [None, Some(""), Some(" \n\t ")] {
            let error = checked_text(text.map(ToOwned::to_owned)).unwrap_err();
            assert_eq!(error.description, "Bad Request: message text is empty");
        }
    }

    #[test]
    fn length_is_counted_in_utf_16_units() {
        assert!(checked_text(Some("x".repeat(4_096))).is_ok());
        assert!(checked_text(Some("😀".repeat(2_048))).is_ok());
        let error = checked_text(Some("😀".repeat(2_049))).unwrap_err();
        assert_eq!(error.description, "Bad Request: message is too long");
    }

    #[test]
    fn a_caption_is_shorter_than_a_text() {
        assert!(checked_caption(Some("x".repeat(1_024))).is_ok());
        assert!(checked_caption(Some("x".repeat(1_025))).is_err());
    }

    #[test]
    fn a_method_names_its_media() {
        assert_eq!(
            ["sendVideoNote", "sendPhoto"].map(media_name),
            ["video_note", "photo"]
        );
    }
}
