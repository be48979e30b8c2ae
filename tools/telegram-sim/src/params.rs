//! The parameters of a call, whatever way they came: JSON keeps its types, forms bring text. Reading is
//! lenient as Telegram's is: a number may be text and an object may be text that holds JSON.

use serde_json::{Map, Value, json};

/// Parameters whose text stays text even if it looks like JSON.
const TEXTS: &[&str] = &[
    "text",
    "caption",
    "question",
    "title",
    "description",
    "callback_query_id",
    "payload",
    "name",
    "url",
];

/// The key under which an uploaded file is kept: its name and size stand for it.
const UPLOAD: &str = "upload";

/// Parameters by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Params(Map<String, Value>);

/// A file parameter: the identifier of a known file, an address, or something uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileParam {
    Reference(String),
    Upload { name: String, size: u64 },
}

impl Params {
    /// From a JSON body; anything but an object counts as no parameters.
    pub(crate) fn from_json(value: Value) -> Self {
        match value {
            Value::Object(map) => Self(map),
            _ => Self::default(),
        }
    }

    /// Adds what a query or a form gave as text.
    pub(crate) fn add_text(&mut self, name: String, text: String) {
        let looks_like_json = text.starts_with(['{', '[']) && !TEXTS.contains(&name.as_str());
        let value = if looks_like_json {
            serde_json::from_str(&text).ok()
        } else {
            None
        };
        self.0.insert(name, value.unwrap_or(Value::String(text)));
    }

    /// Adds an uploaded file: only what is known about it, not its bytes.
    pub(crate) fn add_upload(&mut self, name: String, file_name: &str, size: u64) {
        self.0
            .insert(name, json!({ UPLOAD: { "name": file_name, "size": size } }));
    }

    /// Adds the parameters of `other`, which win.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// Text, or a number written out.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// A whole number, or text that is one.
    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        int_of(self.value(name)?)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::Number(number)) => number.as_i64() == Some(1),
            Some(Value::String(text)) => matches!(
                text.to_ascii_lowercase().as_str(),
                "true" | "1" | "yes" | "t" | "y"
            ),
            _ => false,
        }
    }

    /// An object or a list, or text that holds one.
    pub(crate) fn json(&self, name: &str) -> Option<Value> {
        match self.value(name)? {
            Value::String(text) => serde_json::from_str(text).ok(),
            value => Some(value.clone()),
        }
    }

    /// A list of whole numbers.
    pub(crate) fn ints(&self, name: &str) -> Vec<i64> {
        match self.json(name) {
            Some(Value::Array(items)) => items.iter().filter_map(int_of).collect(),
            _ => Vec::new(),
        }
    }

    /// A file. `attach://name` refers to an upload under that name.
    pub(crate) fn file(&self, name: &str) -> Option<FileParam> {
        self.file_of(self.value(name)?)
    }

    pub(crate) fn file_of(&self, value: &Value) -> Option<FileParam> {
        if let Some(text) = value.as_str() {
            return match text.strip_prefix("attach://") {
                Some(part) => self
                    .value(part)
                    .filter(|part| part.is_object())
                    .and_then(|part| self.file_of(part)),
                None => Some(FileParam::Reference(text.to_owned())),
            };
        }
        let upload = value.get(UPLOAD)?;
        Some(FileParam::Upload {
            name: upload.get("name")?.as_str()?.to_owned(),
            size: upload.get("size").and_then(Value::as_u64).unwrap_or(0),
        })
    }

    pub(crate) fn as_value(&self) -> Value {
        Value::Object(self.0.clone())
    }
}

/// A whole number, or text that is one.
pub(crate) fn int_of(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_text(pairs: &[(&str, &str)]) -> Params {
        let mut params = Params::default();
        for (name, text) in pairs {
            params.add_text((*name).to_owned(), (*text).to_owned());
        }
        params
    }

    #[test]
    fn a_number_may_come_as_text() {
        assert_eq!(
            from_text(&[("chat_id", "-100123")]).int("chat_id"),
            Some(-100_123)
        );
        assert_eq!(Params::from_json(json!({ "chat_id": 7 })).int("chat_id"), Some(7));
    }

    #[test]
    fn an_object_in_a_form_is_read_as_json_but_a_text_is_not() {
        let params = from_text(&[("reply_markup", r#"{"a":1}"#), ("text", r#"{"a":1}"#)]);
        assert_eq!(params.value("reply_markup"), Some(&json!({ "a": 1 })));
        assert_eq!(params.text("text").as_deref(), Some(r#"{"a":1}"#));
    }

    #[test]
    fn an_attached_upload_is_found_by_its_part_name() {
        let mut params = from_text(&[("media", r#"[{"type":"photo","media":"attach://one"}]"#)]);
        params.add_upload("one".to_owned(), "cat.jpg", 9);
        let media = params.json("media").unwrap();
        let file = params.file_of(&media[0]["media"]);
        assert_eq!(
            file,
            Some(FileParam::Upload {
                name: "cat.jpg".to_owned(),
                size: 9
            })
        );
        assert_eq!(params.file_of(&json!("attach://two")), None);
    }

    #[test]
    fn an_attachment_that_names_itself_is_no_file() {
        let params = from_text(&[("photo", "attach://photo")]);
        assert_eq!(params.file("photo"), None);
    }
}
