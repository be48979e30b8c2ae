//! Raw bodies: compressed over 8 KiB, in rows of their own over 256 KiB. Rows are named after what is in them, so that a
//! write that is refused afterwards has changed no body that is in use.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use penstock_domain::bytes::{COMPRESS_OVER, Placement, ROW_BYTES, placement};
use penstock_domain::ids::{LedgerKey, UpdateDigest};
use penstock_ports::PortError;

use super::{ITEM_VERSION, Item, Ledger, item, update_pk};
use crate::error::port_error;
use crate::hooks::point;

/// Level of compression: 3 is zstd's own default, quick and close to its best on JSON.
const ZSTD_LEVEL: i32 = 3;
/// Longest body that is accepted back (a guard against a forged length).
const MAX_RAW_BYTES: usize = 4 * 1024 * 1024;

/// A raw body as it is stored: text as it is, or zstd.
pub(crate) fn pack(raw: &str) -> AttributeValue {
    if raw.len() > COMPRESS_OVER
        && let Ok(packed) = zstd::bulk::compress(raw.as_bytes(), ZSTD_LEVEL)
    {
        return AttributeValue::B(Blob::new(packed));
    }
    AttributeValue::S(raw.to_owned())
}

/// Reads it back.
pub(crate) fn unpack(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::S(text) => Some(text.clone()),
        AttributeValue::B(blob) => {
            let bytes = zstd::bulk::decompress(blob.as_ref(), MAX_RAW_BYTES).ok()?;
            String::from_utf8(bytes).ok()
        }
        _ => None,
    }
}

/// What goes into the ledger record for a raw body.
pub(crate) struct StoredRaw {
    /// The body itself, if it fits.
    pub(crate) inline: Option<AttributeValue>,
    /// How many rows hold it, if not.
    pub(crate) rows: usize,
    /// Which rows: the digest of what is in all of them.
    pub(crate) set: String,
}

impl StoredRaw {
    fn inline(packed: AttributeValue) -> Self {
        Self {
            inline: Some(packed),
            rows: 0,
            set: String::new(),
        }
    }
}

fn row_sk(set: &str, index: usize) -> String {
    format!("RAW#{set}#{index}")
}

impl Ledger {
    /// Stores the rows of a body that does not fit, before the transition that needs them.
    pub(crate) async fn store_raw(
        &self,
        key: &LedgerKey,
        raw: &str,
        expires_at: i64,
    ) -> Result<StoredRaw, PortError> {
        let packed = pack(raw);
        let bytes = match &packed {
            AttributeValue::B(blob) => blob.as_ref(),
            _ => return Ok(StoredRaw::inline(packed)),
        };
        let Placement::Rows(rows) = placement(bytes.len()) else {
            return Ok(StoredRaw::inline(packed));
        };
        let set = UpdateDigest::of(bytes).to_string();
        for (index, piece) in bytes.chunks(ROW_BYTES).enumerate() {
            let row = item::m([
                ("pk", item::s(update_pk(key))),
                ("sk", item::s(row_sk(&set, index))),
                ("v", item::n(ITEM_VERSION)),
                ("of", item::n(rows)),
                ("raw", AttributeValue::B(Blob::new(piece))),
                ("expires_at", item::n(expires_at)),
            ]);
            point("ledger.raw.before");
            self.client
                .put_item()
                .table_name(self.table.as_ref())
                .set_item(Some(row))
                .send()
                .await
                .map_err(|error| port_error("ledger.store_raw", error))?;
            point("ledger.raw.after");
        }
        Ok(StoredRaw {
            inline: None,
            rows,
            set,
        })
    }

    /// Lets the rows of a body, if it is kept in rows, live as long as a record that is about to live longer.
    pub(crate) async fn prolong_rows(&self, key: &LedgerKey, expires_at: i64) -> Result<(), PortError> {
        const OPERATION: &str = "ledger.prolong_rows";
        let Some(record) = self.get(OPERATION, update_pk(key), "LEDGER").await? else {
            return Ok(());
        };
        let rows: usize = item::number(&record, "raw_rows").unwrap_or(0);
        let set = item::text(&record, "raw_set").unwrap_or_default();
        for index in 0..rows {
            point("ledger.raw.before");
            self.client
                .update_item()
                .table_name(self.table.as_ref())
                .key("pk", item::s(update_pk(key)))
                .key("sk", item::s(row_sk(set, index)))
                .update_expression("SET expires_at = :expires_at")
                // A row that is gone stays gone: half a body is none.
                .condition_expression("attribute_exists(pk)")
                .expression_attribute_values(":expires_at", item::n(expires_at))
                .send()
                .await
                .map_err(|error| port_error(OPERATION, error))?;
            point("ledger.raw.after");
        }
        Ok(())
    }

    /// The raw body of a dead letter, from its record or its rows; `None` if the record holds none.
    ///
    /// # Errors
    /// [`PortError::Unreadable`] if rows are missing or do not fit together.
    pub async fn raw_body(&self, key: &LedgerKey) -> Result<Option<String>, PortError> {
        const OPERATION: &str = "ledger.raw_body";
        let unreadable = |what| PortError::Unreadable {
            operation: OPERATION,
            what,
        };
        let Some(record) = self.get(OPERATION, update_pk(key), "LEDGER").await? else {
            return Ok(None);
        };
        if let Some(inline) = record.get("raw") {
            return unpack(inline).map(Some).ok_or_else(|| unreadable("raw"));
        }
        let rows: usize = item::number(&record, "raw_rows").unwrap_or(0);
        if rows == 0 {
            return Ok(None);
        }
        let set = item::text(&record, "raw_set").ok_or_else(|| unreadable("raw_set"))?;
        let mut bytes = Vec::new();
        for index in 0..rows {
            let row: Item = self
                .get(OPERATION, update_pk(key), &row_sk(set, index))
                .await?
                .ok_or_else(|| unreadable("RAW row"))?;
            let piece = row
                .get("raw")
                .and_then(|value| value.as_b().ok())
                .ok_or_else(|| unreadable("RAW row"))?;
            bytes.extend_from_slice(piece.as_ref());
        }
        unpack(&AttributeValue::B(Blob::new(bytes)))
            .map(Some)
            .ok_or_else(|| unreadable("RAW rows"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_compressed_only_over_eight_kibibytes() {
        let small = "x".repeat(COMPRESS_OVER);
        assert!(pack(&small).is_s());
        let big = "x".repeat(COMPRESS_OVER + 1);
        assert!(pack(&big).is_b());
        assert_eq!(unpack(&pack(&small)), Some(small));
        assert_eq!(unpack(&pack(&big)), Some(big));
    }
}
