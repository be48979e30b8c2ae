//! The bot's own records: read one by one, written in the outcome's transaction.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck, Delete, Put, TransactWriteItem};
use penstock_domain::data::{Change, DataItem, DataKey, DataWrite, Expect, next_version};
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::time::Timestamp;
use penstock_ports::{PortError, Subject};

use super::{ITEM_VERSION, Ledger, item};

const SK: &str = "ITEM";

fn data_pk(bot: BotId, key: &DataKey) -> String {
    format!("DATA#{bot}:{}#{}", key.collection, key.id)
}

/// What a write must find: the condition, and whether it names `:seen`.
fn condition(expect: Expect) -> Option<(&'static str, Option<u64>)> {
    match expect {
        Expect::Absent => Some(("attribute_not_exists(pk)", None)),
        Expect::Version(version) => Some(("#version = :seen", Some(version))),
        Expect::Present => Some(("attribute_exists(pk)", None)),
        Expect::Any => None,
    }
}

/// A write of the bot's own as a part of a transaction.
pub(crate) fn data_item(
    table: &str,
    subject: &Subject,
    write: &DataWrite,
    now: Timestamp,
) -> Result<TransactWriteItem, BuildError> {
    let pk = item::s(data_pk(subject.bot_id, &write.key));
    let found = condition(write.expect);
    let seen = found.and_then(|(_, seen)| seen);
    let expression = found.map(|(expression, _)| expression.to_owned());
    let names =
        seen.map(|_| std::collections::HashMap::from([("#version".to_owned(), "version".to_owned())]));
    let values = seen.map(|seen| std::collections::HashMap::from([(":seen".to_owned(), item::n(seen))]));
    let empty = TransactWriteItem::builder();
    Ok(match &write.change {
        Change::Put(value) | Change::PutUntil(value, _) => {
            let mut stored = item::m([
                ("pk", pk),
                ("sk", item::s(SK)),
                ("v", item::n(ITEM_VERSION)),
                ("version", item::n(next_version(write.expect, now))),
                ("value", item::s(value)),
                ("by", item::s(subject.key.as_str())),
                ("updated_at", item::n(now)),
            ]);
            if let Change::PutUntil(_, until) = &write.change {
                stored.insert("expires_at".to_owned(), item::n(until.as_secs_ceil()));
            }
            let put = Put::builder()
                .table_name(table)
                .set_item(Some(stored))
                .set_condition_expression(expression)
                .set_expression_attribute_names(names)
                .set_expression_attribute_values(values)
                .build()?;
            empty.put(put).build()
        }
        Change::Remove => {
            let delete = Delete::builder()
                .table_name(table)
                .key("pk", pk)
                .key("sk", item::s(SK))
                .set_condition_expression(expression)
                .set_expression_attribute_names(names)
                .set_expression_attribute_values(values)
                .build()?;
            empty.delete(delete).build()
        }
        Change::Check => {
            let check = ConditionCheck::builder()
                .table_name(table)
                .key("pk", pk)
                .key("sk", item::s(SK))
                // A check of anything is always true; the table wants an expression all the same.
                .condition_expression(
                    expression.unwrap_or_else(|| "attribute_not_exists(pk) OR attribute_exists(pk)".to_owned()),
                )
                .set_expression_attribute_names(names)
                .set_expression_attribute_values(values)
                .build()?;
            empty.condition_check(check).build()
        }
    })
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

fn read(stored: &std::collections::HashMap<String, AttributeValue>) -> Result<DataItem, PortError> {
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
