//! The ledger in one DynamoDB table. Each method is one conditional write (or a transaction): build, send, map.
//! Items are documented field by field in `docs/formats.md`.

mod attention;
mod breaker;
mod breaker_item;
mod claim;
mod commit;
mod data;
mod dead;
mod expression;
mod gate;
mod give_up;
mod intent_rows;
mod intents;
mod item;
mod letter;
mod raw;
mod record;
mod repair;
mod repair_port;
mod repair_sends;
mod settle;
mod settling;
mod transact;
mod tries;

use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use penstock_domain::data::{DataItem, DataKey};
use penstock_domain::failure::Failure;
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::ledger::{ClaimRequest, Fence, Record, Retention};
use penstock_domain::pace::ChatGate;
use penstock_domain::time::Timestamp;
use penstock_ports::{
    Claim, Commit, Commitment, Filed, Inbox, IntentSettlement, IntentStart, Outbox, PortError, RunAs,
    Settlement, Subject, Swapped, TakeOver, Verdict,
};

use crate::error::port_error;
use crate::hooks::point;

pub(crate) use attention::{attention_pk, attention_sk};
pub use record::read_record;

/// Attributes of an item.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// Version of the items that are written (`v`).
pub(crate) const ITEM_VERSION: u32 = 1;

/// The ledger's table.
#[derive(Debug, Clone)]
pub struct Ledger {
    client: aws_sdk_dynamodb::Client,
    table: Arc<str>,
    retention: Retention,
}

impl Ledger {
    /// The table of that name.
    #[must_use]
    pub fn new(client: aws_sdk_dynamodb::Client, table: &str, retention: Retention) -> Self {
        Self {
            client,
            table: table.into(),
            retention,
        }
    }

    pub(crate) async fn get(
        &self,
        operation: &'static str,
        pk: String,
        sk: &str,
    ) -> Result<Option<Item>, PortError> {
        point("ledger.get.before");
        let answer = self
            .client
            .get_item()
            .table_name(self.table.as_ref())
            .consistent_read(true)
            .key("pk", AttributeValue::S(pk))
            .key("sk", AttributeValue::S(sk.to_owned()))
            .send()
            .await
            .map_err(|error| port_error(operation, error))?;
        point("ledger.get.after");
        Ok(answer.item)
    }
}

/// Partition key of an Update's items.
pub(crate) fn update_pk(key: &LedgerKey) -> String {
    format!("UPD#{key}")
}

/// Partition key of a chat's items.
pub(crate) fn chat_pk(bot: BotId, chat: &str) -> String {
    format!("CHAT#{bot}:{chat}")
}

/// Partition key of a bot's items.
pub(crate) fn bot_pk(bot: BotId) -> String {
    format!("BOT#{bot}")
}

impl Inbox for Ledger {
    async fn claim(&self, subject: &Subject, request: &ClaimRequest) -> Result<Claim, PortError> {
        self.claim_update(subject, request).await
    }

    async fn take_over(
        &self,
        subject: &Subject,
        request: &ClaimRequest,
        seen: Fence,
    ) -> Result<TakeOver, PortError> {
        self.take_over_update(subject, request, seen).await
    }

    async fn commit(
        &self,
        subject: &Subject,
        run: &RunAs,
        commit: &Commit,
        now: Timestamp,
    ) -> Result<Commitment, PortError> {
        self.commit_outcome(subject, run, commit, now).await
    }

    async fn settle(
        &self,
        subject: &Subject,
        run: &RunAs,
        verdict: &Verdict,
        now: Timestamp,
    ) -> Result<Settlement, PortError> {
        self.settle_verdict(subject, run, verdict, now).await
    }

    async fn file_dead(
        &self,
        subject: &Subject,
        redrive: u32,
        raw: &str,
        failure: &Failure,
        now: Timestamp,
    ) -> Result<Filed, PortError> {
        self.file_dead_letter(subject, redrive, raw, failure, now).await
    }

    async fn read(&self, key: &LedgerKey) -> Result<Option<Record>, PortError> {
        let item = self.get("ledger.read", update_pk(key), "LEDGER").await?;
        match item {
            None => Ok(None),
            Some(item) => {
                let record = read_record("ledger.read", &item)?;
                self.completed("ledger.read", record).await.map(Some)
            }
        }
    }

    async fn chat_state(&self, bot: BotId, chat: &str) -> Result<Option<(String, u64)>, PortError> {
        const OPERATION: &str = "ledger.chat_state";
        let Some(item) = self.get(OPERATION, chat_pk(bot, chat), "STATE").await? else {
            return Ok(None);
        };
        let unreadable = |what| PortError::Unreadable {
            operation: OPERATION,
            what,
        };
        let state = item::text(&item, "state")
            .ok_or_else(|| unreadable("state"))?
            .to_owned();
        let version = item::number(&item, "version").ok_or_else(|| unreadable("version"))?;
        Ok(Some((state, version)))
    }

    async fn data(&self, bot: BotId, keys: &[DataKey]) -> Result<Vec<Option<DataItem>>, PortError> {
        self.data_items(bot, keys).await
    }
}

impl Outbox for Ledger {
    async fn start(
        &self,
        key: &LedgerKey,
        claim: &penstock_domain::intent::IntentClaim,
    ) -> Result<IntentStart, PortError> {
        self.start_intent(key, claim).await
    }

    async fn settle(&self, settlement: &IntentSettlement) -> Result<bool, PortError> {
        self.settle_intent(settlement).await
    }

    async fn give_up(&self, give_up: &penstock_ports::GiveUp) -> Result<penstock_ports::GivenUp, PortError> {
        self.give_up_intent(give_up).await
    }

    async fn hold_chat(
        &self,
        bot: BotId,
        chat: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), PortError> {
        self.hold(bot, chat, until, now).await
    }

    async fn swap_chat_gate(
        &self,
        bot: BotId,
        chat: &str,
        seen: Option<&str>,
        next: &ChatGate,
        token: &str,
        now: Timestamp,
    ) -> Result<Swapped, PortError> {
        self.swap_gate(bot, chat, seen, next, token, now).await
    }

    async fn hold_bot(&self, bot: BotId, until: Timestamp, now: Timestamp) -> Result<(), PortError> {
        self.hold_bot_until(bot, until, now).await
    }

    async fn debit_bot(
        &self,
        bot: BotId,
        cells: u32,
        now: Timestamp,
    ) -> Result<penstock_ports::Debit, PortError> {
        self.debit(bot, cells, now).await
    }
}
