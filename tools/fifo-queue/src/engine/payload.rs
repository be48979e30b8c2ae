//! The part of a message that never changes, as it is stored. The stored form is private to this file.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::message::{AttributeValue, MessageAttribute, SendEntry};

/// Added to a stored sequence to make the 20 digits that SQS shows.
const SEQUENCE_BASE: u128 = 18_800_000_000_000_000_000;

#[derive(Serialize, Deserialize)]
struct StoredAttribute {
    #[serde(rename = "t")]
    data_type: String,
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    binary: Option<String>,
}

/// A stored payload.
pub(super) struct Payload {
    pub(super) message_id: String,
    pub(super) body: String,
    pub(super) attributes: BTreeMap<String, MessageAttribute>,
    pub(super) trace_header: Option<String>,
    pub(super) dedup_id: Option<String>,
    pub(super) source: Option<String>,
}

/// A stored sequence as SQS shows it.
pub(super) fn sequence_number(seq: i64) -> String {
    (SEQUENCE_BASE + u128::try_from(seq).unwrap_or(0)).to_string()
}

/// Stores the payload and answers its sequence, which is larger than any before.
pub(super) fn insert(
    conn: &Connection,
    entry: &SendEntry,
    message_id: &str,
    dedup_id: Option<&str>,
) -> Result<i64, EngineError> {
    let attributes = if entry.attributes.is_empty() {
        None
    } else {
        Some(write(&entry.attributes)?)
    };
    conn.prepare_cached(
        "INSERT INTO payloads (message_id, body, attributes, trace_header, dedup_id) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![message_id, entry.body, attributes, entry.trace_header, dedup_id])?;
    Ok(conn.last_insert_rowid())
}

/// Gives the payload a new sequence, at the end; `source` is the queue it was moved from.
pub(super) fn renew(conn: &Connection, seq: i64, source: Option<&str>) -> rusqlite::Result<i64> {
    conn.prepare_cached(
        "INSERT INTO payloads (message_id, body, attributes, trace_header, dedup_id, source)
         SELECT message_id, body, attributes, trace_header, dedup_id, ?2 FROM payloads WHERE seq = ?1",
    )?
    .execute(params![seq, source])?;
    let renewed = conn.last_insert_rowid();
    conn.prepare_cached("DELETE FROM payloads WHERE seq = ?1")?
        .execute([seq])?;
    Ok(renewed)
}

/// The payload with this sequence.
pub(super) fn find(conn: &Connection, seq: i64) -> Result<Option<Payload>, EngineError> {
    let row = conn
        .prepare_cached(
            "SELECT message_id, body, attributes, trace_header, dedup_id, source FROM payloads WHERE seq = ?1",
        )?
        .query_row([seq], |row| {
            let attributes: Option<String> = row.get(2)?;
            let payload = Payload {
                message_id: row.get(0)?,
                body: row.get(1)?,
                attributes: BTreeMap::new(),
                trace_header: row.get(3)?,
                dedup_id: row.get(4)?,
                source: row.get(5)?,
            };
            Ok((payload, attributes))
        })
        .optional()?;
    let Some((mut payload, attributes)) = row else {
        return Ok(None);
    };
    if let Some(stored) = attributes {
        payload.attributes = read(&stored)?;
    }
    Ok(Some(payload))
}

fn write(attributes: &BTreeMap<String, MessageAttribute>) -> Result<String, EngineError> {
    let stored: BTreeMap<&str, StoredAttribute> = attributes
        .iter()
        .map(|(name, attribute)| {
            let (text, binary) = match &attribute.value {
                AttributeValue::Text(text) => (Some(text.clone()), None),
                AttributeValue::Binary(bytes) => (None, Some(STANDARD.encode(bytes))),
            };
            (
                name.as_str(),
                StoredAttribute {
                    data_type: attribute.data_type.clone(),
                    text,
                    binary,
                },
            )
        })
        .collect();
    serde_json::to_string(&stored).map_err(|source| EngineError::Damaged {
        what: "message attributes",
        source,
    })
}

fn read(text: &str) -> Result<BTreeMap<String, MessageAttribute>, EngineError> {
    let damaged = |source| EngineError::Damaged {
        what: "message attributes",
        source,
    };
    let stored: BTreeMap<String, StoredAttribute> = serde_json::from_str(text).map_err(damaged)?;
    stored
        .into_iter()
        .map(|(name, attribute)| {
            let value = match (attribute.text, attribute.binary) {
                (_, Some(binary)) => AttributeValue::Binary(
                    STANDARD
                        .decode(binary)
                        .map_err(serde::de::Error::custom)
                        .map_err(damaged)?,
                ),
                (text, None) => AttributeValue::Text(text.unwrap_or_default()),
            };
            Ok((
                name,
                MessageAttribute {
                    data_type: attribute.data_type,
                    value,
                },
            ))
        })
        .collect()
}

/// Reads a stored map of texts: queue attributes, tags.
pub(super) fn read_texts(what: &'static str, text: &str) -> Result<BTreeMap<String, String>, EngineError> {
    serde_json::from_str(text).map_err(|source| EngineError::Damaged { what, source })
}

/// Writes a map of texts.
pub(super) fn write_texts(what: &'static str, map: &BTreeMap<String, String>) -> Result<String, EngineError> {
    serde_json::to_string(map).map_err(|source| EngineError::Damaged { what, source })
}
