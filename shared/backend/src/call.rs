//! Reads the body of a 2xx as Telegram reads a webhook's answer: a `method` with its parameters, in one of three
//! notations. Never runs it: the call becomes an intent.
//!
//! Telegram turns every notation into the same list of texts: a JSON string becomes its content, any other JSON value
//! its notation. So a form's fields become JSON strings, `reply_markup` too, and the Bot API reads both alike.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;

use bytes::Bytes;
use penstock_domain::intent::Call;
use penstock_domain::method::canonical;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The name of the member that asks for a method.
const METHOD: &str = "method";

/// What an answer may be written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Notation {
    /// `application/json`.
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `multipart/form-data` with its boundary.
    Multipart(String),
}

impl Notation {
    /// The notation of a content type; `None` for those in which Telegram looks for no method.
    pub(crate) fn of(content_type: &str) -> Option<Self> {
        let lower = content_type.to_ascii_lowercase();
        if lower.contains("application/json") {
            return Some(Self::Json);
        }
        if lower.contains("application/x-www-form-urlencoded") {
            return Some(Self::Form);
        }
        multer::parse_boundary(content_type).ok().map(Self::Multipart)
    }
}

/// What a body asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nothing: it holds no method.
    Nothing,
    /// It is not what its content type says.
    Unreadable,
    /// A method that Telegram would not run from an answer.
    NotRun,
    /// A method whose files are in the body.
    Files {
        /// The method.
        method: String,
    },
    /// A call.
    Call(Call),
}

/// Reads a whole body.
pub(crate) async fn read(notation: &Notation, body: &[u8]) -> Asked {
    match notation {
        Notation::Json => json(body),
        Notation::Form => asked(first_of_each(form_urlencoded::parse(body).into_owned()), false),
        Notation::Multipart(boundary) => {
            let parts = multipart(boundary, body).await;
            if parts.is_whole {
                asked(parts.fields, parts.has_files)
            } else {
                Asked::Unreadable
            }
        }
    }
}

/// What the beginning of a body shows that is too long to be read: a method with files, or nothing to rely on.
pub(crate) async fn read_beginning(notation: &Notation, body: &[u8]) -> Asked {
    let Notation::Multipart(boundary) = notation else {
        return Asked::Unreadable;
    };
    let parts = multipart(boundary, body).await;
    match asked(parts.fields, parts.has_files) {
        files @ Asked::Files { .. } => files,
        Asked::Nothing | Asked::Unreadable | Asked::NotRun | Asked::Call(_) => Asked::Unreadable,
    }
}

fn asked(mut fields: BTreeMap<String, Box<RawValue>>, has_files: bool) -> Asked {
    let Some(method) = fields.remove(METHOD) else {
        return Asked::Nothing;
    };
    let Ok(method) = serde_json::from_str::<String>(method.get()) else {
        return Asked::Nothing;
    };
    let Some(method) = runnable(&method) else {
        return Asked::NotRun;
    };
    if has_files {
        return Asked::Files { method };
    }
    match serde_json::to_string(&fields) {
        Ok(params) => Asked::Call(Call::new(&method, params)),
        Err(_) => Asked::Unreadable,
    }
}

/// The method in the Bot API's own spelling, if Telegram would run it from an answer: any but `get*`, setWebhook,
/// deleteWebhook, close and logOut (server source, Client.cpp). One that is not known is kept as it is written:
/// Telegram may be newer than the table.
fn runnable(method: &str) -> Option<String> {
    let lower = method.to_ascii_lowercase();
    let is_name = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_kept_back = lower.starts_with("get")
        || matches!(
            lower.as_str(),
            "setwebhook" | "deletewebhook" | "close" | "logout"
        );
    (is_name && !is_kept_back).then(|| canonical(method).unwrap_or(method).to_owned())
}

fn json(body: &[u8]) -> Asked {
    let Ok(text) = std::str::from_utf8(body) else {
        return Asked::Unreadable;
    };
    if !text.trim_start().starts_with('{') {
        // `"ok"`, `null` or a list: JSON that asks for nothing.
        return Asked::Nothing;
    }
    match serde_json::from_str::<Members>(text) {
        Ok(Members(members)) => asked(members, false),
        Err(_) => Asked::Unreadable,
    }
}

/// The members of an object, each as it is written. Of members with one name the first counts, as for Telegram.
struct Members(BTreeMap<String, Box<RawValue>>);

impl<'de> serde::Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    members.entry(name).or_insert(value);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

fn first_of_each(fields: impl Iterator<Item = (String, String)>) -> BTreeMap<String, Box<RawValue>> {
    let mut members = BTreeMap::new();
    for (name, value) in fields {
        // A string always has a notation.
        if let Ok(value) = serde_json::value::to_raw_value(&value) {
            members.entry(name).or_insert(value);
        }
    }
    members
}

/// The parts of a multipart body.
struct Parts {
    fields: BTreeMap<String, Box<RawValue>>,
    has_files: bool,
    /// It was read up to its end.
    is_whole: bool,
}

async fn multipart(boundary: &str, body: &[u8]) -> Parts {
    let whole = futures::stream::iter([Ok::<_, Infallible>(Bytes::copy_from_slice(body))]);
    let mut multipart = multer::Multipart::new(whole, boundary);
    let mut fields = Vec::new();
    let mut has_files = false;
    let is_whole = loop {
        let part = match multipart.next_field().await {
            Ok(Some(part)) => part,
            Ok(None) => break true,
            Err(_) => break false,
        };
        if part.file_name().is_some() {
            has_files = true;
            continue;
        }
        let Some(name) = part.name().map(str::to_owned) else {
            continue;
        };
        match part.bytes().await {
            Ok(value) => fields.push((name, String::from_utf8_lossy(&value).into_owned())),
            Err(_) => break false,
        }
    };
    Parts {
        fields: first_of_each(fields.into_iter()),
        has_files,
        is_whole,
    }
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
