//! An Update as a built-in bot sees it: the few members that most handlers look at, and the raw JSON for the rest.
//! Reading it never fails: what is absent or odd is `None`, since a new kind must not become an error.

use penstock_domain::kind::UpdateKind;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::value::RawValue;

/// A pressed button.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Callback {
    /// Its query's id.
    pub id: String,
    /// The button's data.
    pub data: Option<String>,
    /// The message that the button belongs to.
    pub message_id: Option<i64>,
    /// That message, if it was sent through an inline query.
    pub inline_message_id: Option<String>,
}

/// An Update.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// Its kind.
    pub kind: UpdateKind,
    /// The chat that it belongs to.
    pub chat_id: Option<i64>,
    /// The business connection that it came through.
    pub business_connection_id: Option<String>,
    /// Who caused it.
    pub from_id: Option<i64>,
    /// The message's text; unpaired surrogates are replaced.
    pub text: Option<String>,
    /// Whether the message carries something that people send: a photo, a file, a voice, ...
    pub has_media: bool,
    /// The album that the message belongs to.
    pub media_group_id: Option<String>,
    /// The pressed button.
    pub callback: Option<Callback>,
    /// The id of an inline, shipping or pre-checkout query.
    pub query_id: Option<String>,
    /// The raw Update.
    pub raw: String,
}

/// A string in which unpaired surrogates are allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Lossy;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Lossy, E> {
                Ok(Lossy(text.to_owned()))
            }
        }
        // Asked for bytes, the JSON reader does not insist on paired surrogates.
        deserializer.deserialize_bytes(Bytes)
    }
}

#[derive(Deserialize, Default)]
struct Id {
    id: Option<i64>,
}

#[derive(Deserialize, Default)]
struct Message {
    message_id: Option<i64>,
    chat: Option<Id>,
    business_connection_id: Option<String>,
}

/// The members that any kind may have.
#[derive(Deserialize, Default)]
struct Body<'a> {
    chat: Option<Id>,
    from: Option<Id>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    text: Option<Lossy>,
    business_connection_id: Option<String>,
    media_group_id: Option<String>,
    message: Option<Message>,
    data: Option<Lossy>,
    inline_message_id: Option<String>,
    #[serde(borrow)]
    photo: Option<&'a RawValue>,
    #[serde(borrow)]
    document: Option<&'a RawValue>,
    #[serde(borrow)]
    voice: Option<&'a RawValue>,
    #[serde(borrow)]
    video: Option<&'a RawValue>,
    #[serde(borrow)]
    audio: Option<&'a RawValue>,
    #[serde(borrow)]
    sticker: Option<&'a RawValue>,
    #[serde(borrow)]
    location: Option<&'a RawValue>,
    #[serde(borrow)]
    contact: Option<&'a RawValue>,
}

impl Incoming {
    /// Reads an Update of that kind.
    #[must_use]
    pub fn read(kind: UpdateKind, raw: &str) -> Self {
        let members: std::collections::BTreeMap<String, &RawValue> =
            serde_json::from_str(raw).unwrap_or_default();
        let body = members.get(kind.name()).map_or("{}", |value| value.get());
        let body: Body<'_> = serde_json::from_str(body).unwrap_or_default();
        let query_id = body
            .id
            .and_then(|id| serde_json::from_str::<String>(id.get()).ok());
        let message = body.message.unwrap_or_default();
        let callback = (kind == UpdateKind::CallbackQuery).then(|| Callback {
            id: query_id.clone().unwrap_or_default(),
            data: body.data.map(|data| data.0),
            message_id: message.message_id,
            inline_message_id: body.inline_message_id,
        });
        let media = [
            body.photo,
            body.document,
            body.voice,
            body.video,
            body.audio,
            body.sticker,
            body.location,
            body.contact,
        ];
        Self {
            kind,
            chat_id: body.chat.or(message.chat).and_then(|chat| chat.id),
            business_connection_id: body.business_connection_id.or(message.business_connection_id),
            from_id: body.from.and_then(|from| from.id),
            text: body.text.map(|text| text.0),
            has_media: media.iter().any(Option::is_some),
            media_group_id: body.media_group_id,
            callback,
            query_id,
            raw: raw.to_owned(),
        }
    }
}

impl Incoming {
    /// The command that the text begins with, without its slash and the bot's name.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        let first = self
            .text
            .as_deref()?
            .strip_prefix('/')?
            .split_whitespace()
            .next()?;
        Some(first.split('@').next().unwrap_or(first)).filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unpaired_surrogate_is_read_as_a_replacement() {
        let raw = r#"{"update_id":1,"message":{"chat":{"id":5},"text":"a\ud83d"}}"#;
        let incoming = Incoming::read(UpdateKind::Message, raw);
        assert_eq!(incoming.chat_id, Some(5));
        assert!(
            incoming
                .text
                .is_some_and(|text| text.starts_with('a') && text.contains('\u{fffd}'))
        );
    }

    #[test]
    fn a_callback_names_its_message_or_its_inline_message() {
        let raw = r#"{"callback_query":{"id":"77","from":{"id":9},"data":"x","message":{"message_id":3,"chat":{"id":5}}}}"#;
        let callback = Incoming::read(UpdateKind::CallbackQuery, raw).callback.unwrap();
        assert_eq!((callback.id.as_str(), callback.message_id), ("77", Some(3)));
        let raw = r#"{"callback_query":{"id":"77","from":{"id":9},"inline_message_id":"im"}}"#;
        let callback = Incoming::read(UpdateKind::CallbackQuery, raw).callback.unwrap();
        assert_eq!(callback.inline_message_id.as_deref(), Some("im"));
    }

    #[test]
    fn what_is_odd_reads_as_absent() {
        for raw in [
            "nonsense",
            "{}",
            r#"{"message":5}"#,
            r#"{"message":{"chat":{"id":"x"}}}"#,
        ] {
            assert_eq!(Incoming::read(UpdateKind::Message, raw).chat_id, None, "{raw}");
        }
    }
}
