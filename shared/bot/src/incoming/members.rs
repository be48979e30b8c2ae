//! A JSON object read member by member, so that one odd member does not hide the others. Never fails: what is absent or
//! of another type is `None`. A member that stands twice counts as its last value.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::value::RawValue;

/// A string in which unpaired surrogates are allowed; they are replaced.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Lossy;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

/// The members of an object, unread. Anything else has none.
#[derive(Debug, Clone, Default)]
pub(super) struct Members<'a>(BTreeMap<Lossy, &'a RawValue>);

impl<'a> Members<'a> {
    pub(super) fn read(raw: &'a str) -> Self {
        Self(serde_json::from_str(raw).unwrap_or_default())
    }

    fn raw(&self, name: &str) -> Option<&'a str> {
        let value = self.0.get(&Lossy(name.to_owned()))?.get();
        (value != "null").then_some(value)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    pub(super) fn value<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        // What is of another type reads as absent.
        serde_json::from_str(self.raw(name)?).ok()
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.value::<Lossy>(name).map(|text| text.0)
    }

    pub(super) fn object(&self, name: &str) -> Self {
        self.raw(name).map_or_else(Self::default, Self::read)
    }

    /// That object's members, if there is such an object.
    pub(super) fn some_object(&self, name: &str) -> Option<Self> {
        self.raw(name)
            .filter(|value| value.starts_with('{'))
            .map(Self::read)
    }
}
