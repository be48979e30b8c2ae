//! Intents that are too big for the record: their parameters go into rows of their own, written in the outcome's
//! transaction.

use aws_sdk_dynamodb::types::AttributeValue;
use penstock_domain::bytes::{ROW_BYTES, goes_into_a_row};
use penstock_domain::ids::LedgerKey;
use penstock_domain::intent::Intent;
use penstock_domain::ledger::Record;
use penstock_ports::PortError;

use super::raw::{pack, unpack};
use super::record::write_intent;
use super::{ITEM_VERSION, Item, Ledger, item, update_pk};

/// What goes into the record and what beside it.
pub(crate) struct StoredIntents {
    /// Number and entry of each.
    pub(crate) entries: Vec<(u8, AttributeValue)>,
    /// Rows of those whose parameters do not fit.
    pub(crate) rows: Vec<Item>,
}

fn bytes(packed: &AttributeValue) -> usize {
    match packed {
        AttributeValue::S(text) => text.len(),
        AttributeValue::B(blob) => blob.as_ref().len(),
        _ => 0,
    }
}

fn sk(n: u8) -> String {
    format!("INTENT#{n}")
}

/// Divides the intents of an outcome between its record and rows.
///
/// # Errors
/// [`PortError::Rejected`] for one that no row holds: no retry would cure it.
pub(crate) fn stored_intents(
    operation: &'static str,
    key: &LedgerKey,
    intents: &[Intent],
    expires_at: i64,
) -> Result<StoredIntents, PortError> {
    let packed: Vec<_> = intents.iter().map(|intent| pack(&intent.call.params)).collect();
    let sizes: Vec<_> = packed.iter().map(bytes).collect();
    if let Some(size) = sizes.iter().find(|size| **size > ROW_BYTES) {
        return Err(PortError::Rejected {
            operation,
            code: "ValidationTooLarge".to_owned(),
            source: format!("the parameters of a call take {size} bytes compressed; at most {ROW_BYTES} fit")
                .into(),
        });
    }
    let in_rows = goes_into_a_row(&sizes);
    let mut stored = StoredIntents {
        entries: Vec::with_capacity(intents.len()),
        rows: Vec::new(),
    };
    for ((intent, packed), in_row) in intents.iter().zip(packed).zip(in_rows) {
        if !in_row {
            stored
                .entries
                .push((intent.n, write_intent(intent, Some(packed))));
            continue;
        }
        stored.entries.push((intent.n, write_intent(intent, None)));
        stored.rows.push(item::m([
            ("pk", item::s(update_pk(key))),
            ("sk", item::s(sk(intent.n))),
            ("v", item::n(ITEM_VERSION)),
            ("params", packed),
            ("expires_at", item::n(expires_at)),
        ]));
    }
    Ok(stored)
}

impl Ledger {
    /// The record with the parameters of its intents that stand in rows. Those are read one by one: it is rare.
    pub(crate) async fn completed(
        &self,
        operation: &'static str,
        mut record: Record,
    ) -> Result<Record, PortError> {
        for stored in &mut record.intents {
            // Parameters are a JSON object, so that no text at all stands for "in a row".
            if !stored.intent.call.params.is_empty() {
                continue;
            }
            let unreadable = || PortError::Unreadable {
                operation,
                what: "INTENT row",
            };
            let row = self
                .get(operation, update_pk(&record.key), &sk(stored.intent.n))
                .await?
                .ok_or_else(unreadable)?;
            stored.intent.call.params = row.get("params").and_then(unpack).ok_or_else(unreadable)?;
        }
        Ok(record)
    }
}
