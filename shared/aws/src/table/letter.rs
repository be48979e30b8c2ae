//! What a person reads: records with their places in the index, listings, the audit. Never writes.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use penstock_domain::ids::{BotId, LedgerKey, MessageGroupId, UpdateDigest};
use penstock_domain::kind::UpdateKind;
use penstock_domain::repair::Action;
use penstock_domain::time::Timestamp;
use penstock_ports::{AttentionKind, AuditRow, Letter, Page, Place, PortError, Subject};

use super::{Item, Ledger, item, read_record, update_pk};
use crate::error::port_error;
use crate::hooks::point;

/// What a listing reads of each record: all but its raw body.
const LISTED: &[&str] = &[
    "v",
    "key",
    "bot_id",
    "update_id",
    "kind",
    "group",
    "received_at",
    "trace_id",
    "redrive",
    "digest",
    "state",
    "fence",
    "attempts",
    "open",
    "tries",
    "intents",
    "expires_at",
    "dead_at",
    "redriven_at",
    "acts",
    "attn_pk",
    "attn_sk",
];

/// Reads a ledger item as a person meets it.
pub(crate) fn read_letter(operation: &'static str, stored: &Item) -> Result<Letter, PortError> {
    let need = |what: &'static str| PortError::Unreadable { operation, what };
    let record = read_record(operation, stored)?;
    let time = |name: &str| item::number(stored, name).map(Timestamp::from_millis);
    let intents = item::map(stored, "intents");
    let resent_at: BTreeMap<u8, Timestamp> = intents
        .into_iter()
        .flatten()
        .filter_map(|(n, intent)| {
            let at = item::number(intent.as_m().ok()?, "resent_at")?;
            Some((n.parse().ok()?, Timestamp::from_millis(at)))
        })
        .collect();
    let subject = Subject {
        key: record.key.clone(),
        bot_id: BotId(item::number(stored, "bot_id").ok_or_else(|| need("bot_id"))?),
        update_id: item::number(stored, "update_id").ok_or_else(|| need("update_id"))?,
        kind: item::text(stored, "kind")
            .and_then(UpdateKind::from_name)
            .unwrap_or(UpdateKind::Unknown),
        group: MessageGroupId(
            item::text(stored, "group")
                .ok_or_else(|| need("group"))?
                .to_owned(),
        ),
        received_at: time("received_at").ok_or_else(|| need("received_at"))?,
        trace_id: item::text(stored, "trace_id").unwrap_or_default().to_owned(),
        digest: record.digest,
    };
    Ok(Letter {
        attention: attention(stored),
        dead_at: time("dead_at"),
        redriven_at: time("redriven_at"),
        resent_at,
        acts: item::number(stored, "acts").unwrap_or(0),
        subject,
        record,
    })
}

/// Its place in the index, and since when: `{kind}#{bot}#{shard}` and `{13 digits}#{key}`.
fn attention(stored: &Item) -> Option<(AttentionKind, Timestamp)> {
    let kind = item::text(stored, "attn_pk")?.split('#').next()?;
    let since = item::text(stored, "attn_sk")?.split('#').next()?.parse().ok()?;
    Some((AttentionKind::from_name(kind)?, Timestamp::from_millis(since)))
}

fn read_audit(stored: &Item) -> Option<AuditRow> {
    let digest = |name| item::text(stored, name).and_then(UpdateDigest::parse);
    Some(AuditRow {
        action: Action::from_name(item::text(stored, "action")?)?,
        who: item::text(stored, "who")?.to_owned(),
        why: item::text(stored, "why")?.to_owned(),
        at: Timestamp::from_millis(item::number(stored, "at")?),
        before: item::text(stored, "before")?.to_owned(),
        redrive: item::number(stored, "redrive")?,
        send: item::number(stored, "n").zip(item::number(stored, "resend")),
        bodies: digest("digest_before").zip(digest("digest_after")),
    })
}

impl Ledger {
    pub(crate) async fn read_letter(&self, key: &LedgerKey) -> Result<Option<Letter>, PortError> {
        const OPERATION: &str = "ledger.letter";
        let item = self.get(OPERATION, update_pk(key), "LEDGER").await?;
        let Some(item) = item else { return Ok(None) };
        let letter = read_letter(OPERATION, &item)?;
        // A send that is made again needs its parameters, wherever they stand.
        let record = self.completed(OPERATION, letter.record).await?;
        Ok(Some(Letter { record, ..letter }))
    }

    pub(crate) async fn list_attention(
        &self,
        bot: BotId,
        kind: AttentionKind,
        shard: u8,
        from: Option<&Place>,
    ) -> Result<Page, PortError> {
        const OPERATION: &str = "ledger.attention";
        let shard = format!("{}#{bot}#{shard}", kind.name());
        let names: HashMap<String, String> = LISTED
            .iter()
            .map(|name| (format!("#{name}"), (*name).to_owned()))
            .collect();
        let projection: Vec<_> = LISTED.iter().map(|name| format!("#{name}")).collect();
        let mut query = self
            .client
            .query()
            .table_name(self.table.as_ref())
            .index_name("attn")
            .key_condition_expression("#attn_pk = :shard")
            .projection_expression(projection.join(", "))
            .set_expression_attribute_names(Some(names))
            .expression_attribute_values(":shard", item::s(&shard));
        if let Some(Place(place)) = from {
            // The last key of an index is its own and the table's; all of it is in the sort key.
            let key = place
                .split_once('#')
                .map_or(place.as_str(), |(_, key)| key)
                .to_owned();
            query = query
                .exclusive_start_key("attn_pk", item::s(&shard))
                .exclusive_start_key("attn_sk", item::s(place))
                .exclusive_start_key("pk", item::s(update_pk(&LedgerKey::from_stored(key))))
                .exclusive_start_key("sk", item::s("LEDGER"));
        }
        point("ledger.query.before");
        let page = query.send().await.map_err(|error| port_error(OPERATION, error))?;
        point("ledger.query.after");
        let letters = page.items().iter().map(|item| read_letter(OPERATION, item));
        let next = page
            .last_evaluated_key()
            .and_then(|last| item::text(last, "attn_sk"))
            .map(|place| Place(place.to_owned()));
        Ok(Page {
            letters: letters.collect::<Result<_, _>>()?,
            next,
        })
    }

    pub(crate) async fn read_audit(&self, key: &LedgerKey) -> Result<Vec<AuditRow>, PortError> {
        const OPERATION: &str = "ledger.audit";
        let mut rows = Vec::new();
        let mut from: Option<HashMap<String, AttributeValue>> = None;
        loop {
            point("ledger.query.before");
            let page = self
                .client
                .query()
                .table_name(self.table.as_ref())
                .consistent_read(true)
                .key_condition_expression("pk = :pk AND begins_with(sk, :audit)")
                .expression_attribute_values(":pk", item::s(update_pk(key)))
                .expression_attribute_values(":audit", item::s("AUDIT#"))
                .set_exclusive_start_key(from)
                .send()
                .await
                .map_err(|error| port_error(OPERATION, error))?;
            point("ledger.query.after");
            for stored in page.items() {
                rows.push(read_audit(stored).ok_or(PortError::Unreadable {
                    operation: OPERATION,
                    what: "AUDIT row",
                })?);
            }
            from = page.last_evaluated_key().cloned();
            if from.is_none() {
                return Ok(rows);
            }
        }
    }

    /// The audit row at a place, if it is there.
    pub(crate) async fn audit_row(&self, key: &LedgerKey, sk: &str) -> Result<Option<AuditRow>, PortError> {
        let stored = self.get("ledger.audit", update_pk(key), sk).await?;
        Ok(stored.as_ref().and_then(read_audit))
    }
}
