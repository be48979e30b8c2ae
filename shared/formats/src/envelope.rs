//! The body of a message on the updates queue: what routing found, around the raw Update.

use std::fmt::Write as _;

use penstock_domain::ids::{BotId, LedgerKey, UpdateDigest, UpdateId};
use penstock_domain::kind::UpdateKind;
use penstock_domain::route::Route;
use penstock_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::version::{ReadError, SCHEMA_VERSION, read};

/// An Update on its way, read from a queue body.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'a> {
    /// The bot that it came for.
    pub bot_id: BotId,
    /// Its id.
    pub update_id: UpdateId,
    /// Its ledger key, as text.
    pub key: &'a str,
    /// Its generation.
    pub redrive: u32,
    /// Its kind.
    pub kind: UpdateKind,
    /// The name of its kind in the Update.
    pub kind_name: &'a str,
    /// When the ingress received it.
    pub received_at: Timestamp,
    /// The id that runs through every hop.
    pub trace_id: &'a str,
    /// Digest of the kind's raw value.
    pub digest: UpdateDigest,
    /// The Update itself, as Telegram sent it.
    pub update: &'a str,
}

#[derive(Serialize, Deserialize)]
struct Wire<'a> {
    schema_version: u32,
    bot_id: u64,
    update_id: i64,
    key: &'a str,
    redrive: u32,
    kind: &'a str,
    received_at: i64,
    trace_id: &'a str,
    digest: &'a str,
    #[serde(borrow)]
    update: &'a RawValue,
}

impl<'a> Envelope<'a> {
    /// Reads a queue body.
    ///
    /// # Errors
    /// [`ReadError`], which tells a newer version from a body that is none of ours.
    pub fn read(body: &'a str) -> Result<Self, ReadError> {
        let wire: Wire<'a> = read(body, |wire: &Wire<'_>| wire.schema_version)?;
        let digest = UpdateDigest::parse(wire.digest)
            .ok_or_else(|| ReadError::Malformed(serde::de::Error::custom("digest is not 16 hex digits")))?;
        Ok(Self {
            bot_id: BotId(wire.bot_id),
            update_id: UpdateId(wire.update_id),
            key: wire.key,
            redrive: wire.redrive,
            kind: UpdateKind::from_name(wire.kind).unwrap_or(UpdateKind::Unknown),
            kind_name: wire.kind,
            received_at: Timestamp::from_millis(wire.received_at),
            trace_id: wire.trace_id,
            digest,
            update: wire.update.get(),
        })
    }

    /// The ledger key.
    #[must_use]
    pub fn ledger_key(&self) -> LedgerKey {
        LedgerKey::from_stored(self.key.to_owned())
    }

    /// Writes the body again, for another generation.
    #[must_use]
    pub fn write(&self) -> String {
        let mut body = head(self);
        body.push_str(self.update);
        body.push('}');
        body
    }
}

/// Everything before the raw Update. All of it is numbers and plain words, so nothing needs escaping.
fn head(envelope: &Envelope<'_>) -> String {
    let Envelope {
        bot_id,
        update_id,
        key,
        redrive,
        kind_name,
        received_at,
        trace_id,
        digest,
        update,
        ..
    } = envelope;
    let mut body = String::with_capacity(update.len() + 320);
    // Writing to a String cannot fail.
    write!(
        body,
        "{{\"schema_version\":{SCHEMA_VERSION},\"bot_id\":{bot_id},\"update_id\":{update_id},\"key\":\"{key}\",\
         \"redrive\":{redrive},\"kind\":\"{kind_name}\",\"received_at\":{received_at},\"trace_id\":\"{trace_id}\",\
         \"digest\":\"{digest}\",\"update\":"
    )
    .ok();
    body
}

/// Writes the body for an Update that was just received. U+FFFE and U+FFFF, which SQS refuses, become escapes: the
/// Update stays equal as JSON.
#[must_use]
pub fn enclose(bot: BotId, route: &Route, trace_id: &str, raw: &str, received_at: Timestamp) -> String {
    let key = LedgerKey::new(bot, route.update_id);
    let mut body = head(&Envelope {
        bot_id: bot,
        update_id: route.update_id,
        key: key.as_str(),
        redrive: 0,
        kind: route.kind,
        kind_name: &route.kind_name,
        received_at,
        trace_id,
        digest: route.digest,
        update: raw,
    });
    let mut from = 0;
    for at in &route.noncharacters {
        body.push_str(&raw[from..*at]);
        // Three bytes in UTF-8: EF BF BE or EF BF BF.
        body.push_str(if raw.as_bytes()[at + 2] == 0xbe {
            "\\ufffe"
        } else {
            "\\uffff"
        });
        from = at + 3;
    }
    body.push_str(raw[from..].trim_end());
    body.push('}');
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_domain::route::route;

    fn enclosed(raw: &str) -> String {
        enclose(
            BotId(7),
            &route(raw.as_bytes()).unwrap(),
            "abc",
            raw,
            Timestamp::from_millis(9),
        )
    }

    #[test]
    fn what_was_enclosed_is_read_back() {
        let raw = r#"{"update_id":5,"message":{"chat":{"id":1},"text":"\ud83d"}}"#;
        let body = enclosed(raw);
        let read = Envelope::read(&body).unwrap();
        assert_eq!(
            (read.bot_id, read.update_id, read.key, read.redrive),
            (BotId(7), UpdateId(5), "7:5", 0)
        );
        assert_eq!(
            (read.kind, read.trace_id, read.received_at.as_millis()),
            (UpdateKind::Message, "abc", 9)
        );
        assert_eq!(read.update, raw);
        assert_eq!(read.write(), body);
    }

    #[test]
    fn noncharacters_become_escapes_and_the_update_stays_equal_as_json() {
        let raw = "{\"update_id\":5,\"message\":{\"chat\":{\"id\":1},\"text\":\"a\u{ffff}b\u{fffe}\"}}\n";
        let body = enclosed(raw);
        assert!(!body.contains('\u{ffff}') && !body.contains('\u{fffe}'));
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(json(Envelope::read(&body).unwrap().update), json(raw));
    }

    #[test]
    fn a_newer_version_is_told_from_a_body_that_is_none_of_ours() {
        assert!(matches!(
            Envelope::read(r#"{"schema_version":2,"anything":[]}"#),
            Err(ReadError::Newer(2))
        ));
        assert!(matches!(
            Envelope::read(r#"{"schema_version":1}"#),
            Err(ReadError::Malformed(_))
        ));
        assert!(matches!(Envelope::read("nonsense"), Err(ReadError::Malformed(_))));
    }
}
