//! The bot's own records: read one by one, written in the outcome's transaction.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::TransactWriteItem;
use penstock_domain::data::{Change, DataItem, DataKey, DataWrite, Expect, first_version};
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::time::Timestamp;
use penstock_ports::{PortError, Subject};

use super::expression::Write;
use super::{ITEM_VERSION, Item, Ledger, item};

const SK: &str = "ITEM";

fn data_pk(bot: BotId, key: &DataKey) -> String {
    format!("DATA#{bot}:{}#{}", key.collection, key.id)
}

/// Always true: the table wants an expression from a check, and an update of ours always has one.
const ANYTHING: &str = "attribute_not_exists(pk) OR attribute_exists(pk)";

/// What a write must find.
fn expecting(write: Write, expect: Expect) -> Write {
    match expect {
        Expect::Absent => write.condition("attribute_not_exists(pk)"),
        Expect::Version(seen) => write.condition("#version = :seen").number("seen", seen),
        Expect::Present => write.condition("attribute_exists(pk)"),
        Expect::Any => write.condition(ANYTHING),
    }
}

/// Sets a record. The version grows over whatever is there, in the table itself: two writes of one moment leave two.
fn set(write: Write, subject: &Subject, value: &str, until: Option<Timestamp>, now: Timestamp) -> Write {
    let write = write
        .number("v", ITEM_VERSION)
        .number("before_first", first_version(now) - 1)
        .number("one", 1)
        .text("value", value)
        .text("by", subject.key.as_str())
        .number("now", now);
    let update = "SET #v = :v, #version = if_not_exists(#version, :before_first) + :one, #value = :value, #by = :by, \
                  #updated_at = :now";
    match until {
        None => write.update(&format!("{update} REMOVE #expires_at")),
        Some(until) => write
            .number("expires_at", until.as_secs_ceil())
            .update(&format!("{update}, #expires_at = :expires_at")),
    }
}

/// A write of the bot's own as a part of a transaction.
pub(crate) fn data_item(
    table: &str,
    subject: &Subject,
    write: &DataWrite,
    now: Timestamp,
) -> Result<TransactWriteItem, BuildError> {
    let found = expecting(Write::to(data_pk(subject.bot_id, &write.key), SK), write.expect);
    let item = TransactWriteItem::builder();
    Ok(match &write.change {
        Change::Put(value) => item.update(set(found, subject, value, None, now).into_transact(table)?),
        Change::PutUntil(value, until) => {
            item.update(set(found, subject, value, Some(*until), now).into_transact(table)?)
        }
        Change::Remove => item.delete(found.into_delete(table)?),
        Change::Check => item.condition_check(found.into_check(table)?),
    }
    .build())
}

impl Ledger {
    pub(crate) async fn data_items(
        &self,
        bot: BotId,
        keys: &[DataKey],
    ) -> Result<Vec<Option<DataItem>>, PortError> {
        const OPERATION: &str = "ledger.data";
        let reads = keys.iter().map(|key| self.get(OPERATION, data_pk(bot, key), SK));
        let found = futures::future::try_join_all(reads).await?;
        found
            .into_iter()
            .map(|stored| stored.as_ref().map(read).transpose())
            .collect()
    }
}

fn read(stored: &Item) -> Result<DataItem, PortError> {
    let need = |what| PortError::Unreadable {
        operation: "ledger.data",
        what,
    };
    Ok(DataItem {
        value: item::text(stored, "value")
            .ok_or_else(|| need("value"))?
            .to_owned(),
        version: item::number(stored, "version").ok_or_else(|| need("version"))?,
        by: LedgerKey::from_stored(item::text(stored, "by").ok_or_else(|| need("by"))?.to_owned()),
    })
}
