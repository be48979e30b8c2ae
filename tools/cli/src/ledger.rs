//! The ledger as the commands read it: one record with its times. Never writes.

use std::collections::{BTreeMap, HashMap};

use anyhow::anyhow;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_dynamodb::types::AttributeValue;
use penstock_aws::read_record;
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::intent::IntentState;
use penstock_domain::ledger::Record;
use penstock_domain::route::route;

type Item = HashMap<String, AttributeValue>;

/// Reads one table.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    client: Client,
    table: String,
}

/// A record, and the times around it, ms since 1970 in the stack's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) record: Record,
    /// The Update's kind as the ledger names it.
    pub(crate) kind: String,
    pub(crate) received_at: Option<i64>,
    /// When it was done or given up.
    pub(crate) ended_at: Option<i64>,
    /// When each intent was sent, by its number.
    pub(crate) sent_at: BTreeMap<u8, i64>,
}

/// How many sends of an Update are in which end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SendCounts {
    pub(crate) sent: usize,
    /// Failed or cancelled.
    pub(crate) failed: usize,
    pub(crate) unknown: usize,
    /// Not ended.
    pub(crate) open: usize,
}

impl SendCounts {
    pub(crate) fn total(self) -> usize {
        self.sent + self.failed + self.unknown + self.open
    }
}

/// The key under which a request's body is, or would be, in the ledger: an Update's own, or that of a body that is none.
pub(crate) fn key_of(bot: BotId, body: &[u8]) -> LedgerKey {
    match route(body) {
        Ok(route) => LedgerKey::new(bot, route.update_id),
        Err(_) => LedgerKey::quarantined(bot, body),
    }
}

impl Records {
    pub(crate) fn new(client: Client, table: &str) -> Self {
        Self {
            client,
            table: table.to_owned(),
        }
    }

    /// Its record; `None` when there is none.
    pub(crate) async fn read(&self, key: &LedgerKey) -> Result<Option<Entry>, anyhow::Error> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .consistent_read(true)
            .key("pk", AttributeValue::S(format!("UPD#{key}")))
            .key("sk", AttributeValue::S("LEDGER".to_owned()))
            .send()
            .await
            .map_err(|error| {
                anyhow!(
                    "table {} cannot be read: {}",
                    self.table,
                    DisplayErrorContext(error)
                )
            })?;
        answer.item.map(|item| Entry::of(&item)).transpose()
    }
}

impl Entry {
    fn of(item: &Item) -> Result<Self, anyhow::Error> {
        let record = read_record("trace", item)?;
        let intents = item.get("intents").and_then(|value| value.as_m().ok());
        let sent_at = intents
            .into_iter()
            .flatten()
            .filter_map(|(n, intent)| Some((n.parse().ok()?, number(intent.as_m().ok()?, "sent_at")?)));
        Ok(Self {
            kind: item
                .get("kind")
                .and_then(|value| value.as_s().ok())
                .cloned()
                .unwrap_or_default(),
            received_at: number(item, "received_at"),
            ended_at: number(item, "done_at").or_else(|| number(item, "dead_at")),
            sent_at: sent_at.collect(),
            record,
        })
    }

    /// How its sends ended.
    pub(crate) fn sends(&self) -> SendCounts {
        let mut counts = SendCounts::default();
        for intent in &self.record.intents {
            match intent.state {
                IntentState::Sent => counts.sent += 1,
                IntentState::Failed | IntentState::Cancelled => counts.failed += 1,
                IntentState::Unknown => counts.unknown += 1,
                IntentState::Intended | IntentState::Sending | IntentState::Retrying => counts.open += 1,
            }
        }
        counts
    }

    /// From receipt to the last send, or to the end where nothing was sent; ms.
    pub(crate) fn latency_ms(&self) -> Option<u64> {
        let end = self.sent_at.values().copied().max().or(self.ended_at)?;
        u64::try_from(end - self.received_at?).ok()
    }
}

fn number(item: &Item, name: &str) -> Option<i64> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

#[cfg(test)]
pub(crate) mod samples {
    //! Entries for the tests of other modules.

    use super::*;

    fn s(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    fn n(number: i64) -> AttributeValue {
        AttributeValue::N(number.to_string())
    }

    fn m<const N: usize>(fields: [(&str, AttributeValue); N]) -> Item {
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    fn intent(state: &str, more: Item) -> AttributeValue {
        let mut entry = m([
            ("state", s(state)),
            ("method", s("sendMessage")),
            ("params", s(r#"{"chat_id":5,"text":"a private text"}"#)),
            ("group", s("424242:c:5")),
            ("on_unknown", s("hold")),
            ("resend", n(0)),
            ("attempts", n(1)),
        ]);
        entry.extend(more);
        AttributeValue::M(entry)
    }

    fn failure() -> AttributeValue {
        AttributeValue::M(m([
            ("code", s("bot_api_400")),
            ("message", s("bad request: message to edit not found")),
            ("disposition", s("permanent")),
            ("attempt", n(1)),
            ("at", n(1_790_000_000_200)),
        ]))
    }

    /// A record in that state whose intents are in these states.
    pub(crate) fn entry(state: &str, intents: &[&str]) -> Entry {
        let stored = intents.iter().enumerate().map(|(at, state)| {
            let more = match *state {
                "sent" => m([("message_id", n(71)), ("sent_at", n(1_790_000_000_143))]),
                "failed" => m([("failure", failure())]),
                _ => Item::new(),
            };
            (at.to_string(), intent(state, more))
        });
        Entry::of(&m([
            ("key", s("424242:500000001")),
            ("state", s(state)),
            ("kind", s("message")),
            ("fence", n(2)),
            ("attempts", n(1)),
            ("expires_at", n(1_800_000_000)),
            ("received_at", n(1_790_000_000_000)),
            (
                if state == "dead" { "dead_at" } else { "done_at" },
                n(1_790_000_000_060),
            ),
            (
                "tries",
                AttributeValue::L(if state == "dead" {
                    vec![failure()]
                } else {
                    Vec::new()
                }),
            ),
            ("intents", AttributeValue::M(stored.collect())),
        ]))
        .unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_are_counted_by_their_end() {
        let entry = samples::entry(
            "done",
            &["sent", "failed", "unknown", "retrying", "intended", "cancelled"],
        );
        assert_eq!(
            entry.sends(),
            SendCounts {
                sent: 1,
                failed: 2,
                unknown: 1,
                open: 2
            }
        );
        assert_eq!(entry.sends().total(), 6);
    }

    #[test]
    fn latency_ends_with_the_last_send_or_else_with_the_update() {
        assert_eq!(samples::entry("done", &["sent"]).latency_ms(), Some(143));
        assert_eq!(samples::entry("done", &[]).latency_ms(), Some(60));
    }

    #[test]
    fn a_body_that_is_no_update_has_the_key_of_its_bytes() {
        let bot = BotId(7);
        assert_eq!(key_of(bot, br#"{"update_id":5,"poll":{}}"#).as_str(), "7:5");
        assert!(key_of(bot, b"nonsense").as_str().starts_with("7:q:"));
    }
}
