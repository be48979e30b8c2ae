//! The body of a message that the ingress put straight into the dead-letter queue: it had the right secret, but it is
//! no Update. The bytes are kept, whatever they are.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::version::{ReadError, SCHEMA_VERSION, read};

/// Why a body was quarantined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Not UTF-8, not JSON, or no object.
    Unparseable,
    /// A JSON object without a usable `update_id`.
    BadUpdateId,
    /// An Update that would not fit into a queue message once its forbidden characters are escaped.
    TooLarge,
    /// An Update that the queue refused for its content.
    RefusedByQueue,
}

impl Reason {
    /// As stored and counted.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Unparseable => "unparseable",
            Self::BadUpdateId => "bad_update_id",
            Self::TooLarge => "too_large",
            Self::RefusedByQueue => "refused_by_queue",
        }
    }
}

/// A quarantined body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// The bot that it came for.
    pub bot_id: BotId,
    /// Its key: the body's hash.
    pub key: LedgerKey,
    /// Why.
    pub reason: Reason,
    /// When it was received.
    pub received_at: Timestamp,
    /// The bytes.
    pub body: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    schema_version: u32,
    quarantined: Reason,
    bot_id: u64,
    key: String,
    received_at: i64,
    body_base64: String,
}

impl Quarantined {
    /// Quarantines a body.
    #[must_use]
    pub fn new(bot_id: BotId, reason: Reason, received_at: Timestamp, body: &[u8]) -> Self {
        Self {
            bot_id,
            key: LedgerKey::quarantined(bot_id, body),
            reason,
            received_at,
            body: body.to_vec(),
        }
    }

    /// Reads a queue body.
    ///
    /// # Errors
    /// [`ReadError`], which tells a newer version from a body that is none of ours.
    pub fn read(body: &str) -> Result<Self, ReadError> {
        let wire: Wire = read(body, |wire: &Wire| wire.schema_version)?;
        let body = STANDARD
            .decode(&wire.body_base64)
            .map_err(|error| ReadError::Malformed(serde::de::Error::custom(error)))?;
        Ok(Self {
            bot_id: BotId(wire.bot_id),
            key: LedgerKey::from_stored(wire.key),
            reason: wire.quarantined,
            received_at: Timestamp::from_millis(wire.received_at),
            body,
        })
    }

    /// Writes the queue body.
    ///
    /// # Errors
    /// Never in practice: every member is a number or plain text.
    pub fn write(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Wire {
            schema_version: SCHEMA_VERSION,
            quarantined: self.reason,
            bot_id: self.bot_id.0,
            key: self.key.as_str().to_owned(),
            received_at: self.received_at.as_millis(),
            body_base64: STANDARD.encode(&self.body),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_survive_the_quarantine() {
        let quarantined = Quarantined::new(
            BotId(7),
            Reason::Unparseable,
            Timestamp::from_millis(1),
            b"\xff\x00{",
        );
        assert_eq!(
            Quarantined::read(&quarantined.write().unwrap()).unwrap(),
            quarantined
        );
    }
}
