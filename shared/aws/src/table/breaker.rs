//! The breaker of a bot's backend: one item, changed under its version. The gate of its ramp is in the same item and
//! moves without it.
//!
//! ```text
//! change:   IF version = seen             SET state, counts, version + 1, writer
//! reserve:  IF tat allows it              SET tat                 (gate.rs)
//!    └─full: IF held_back_at is older     SET held_back_at
//! ```

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use penstock_domain::gcra::Gcra;
use penstock_domain::ids::BotId;
use penstock_domain::time::Timestamp;
use penstock_ports::{BreakerChange, Breakers, Changed, Debit, HELD_BACK_EVERY, PortError, StoredBreaker};

use super::breaker_item::{self, OF_SOME_STATES};
use super::expression::{Write, Written};
use super::{ITEM_VERSION, Item, Ledger, bot_pk, item};
use crate::hooks::point;

const SK: &str = "BREAKER";
/// What a reservation keeps: it was made upon a state that this release could read, but a newer one may have written
/// another since.
const KEPT: &str = "#v = if_not_exists(#v, :v), #expires_at = :expires_at";

/// What is stored. What cannot be read is closed, under its version, so that the next change mends it.
fn stored(bot: BotId, item: &Item) -> StoredBreaker {
    let read = breaker_item::read(item);
    if let Err(what) = &read {
        tracing::warn!(
            bot.id = bot.0,
            what,
            "a breaker cannot be read: it is taken for closed"
        );
    }
    let (breaker, meter) = read.unwrap_or_default();
    StoredBreaker {
        breaker,
        meter,
        version: item::number(item, "version").unwrap_or(0),
        held_back_at: item::number(item, "held_back_at").map(Timestamp::from_millis),
    }
}

fn change_of(write: Write, change: &BreakerChange) -> Write {
    let values = breaker_item::written(&change.breaker, &change.meter);
    let set: String = values
        .iter()
        .map(|(name, _)| format!("#{name} = :{name}, "))
        .collect();
    let gone: Vec<_> = OF_SOME_STATES
        .iter()
        .filter(|name| values.iter().all(|(written, _)| written != *name))
        .map(|name| format!("#{name}"))
        .collect();
    let write = values
        .into_iter()
        .fold(write, |write, (name, value): (&str, AttributeValue)| {
            write.value(name, value)
        })
        .number("next", change.seen + 1)
        .text("writer", change.writer.0.as_str())
        .update(&format!(
            "SET {set}#v = :v, #version = :next, #writer = :writer, #expires_at = :expires_at REMOVE {}",
            gone.join(", ")
        ));
    if change.seen == 0 {
        write.condition("attribute_not_exists(#version)")
    } else {
        write.condition("#version = :seen").number("seen", change.seen)
    }
}

impl Ledger {
    fn breaker_row(&self, bot: BotId, now: Timestamp) -> Write {
        Write::to(bot_pk(bot), SK)
            .number("v", ITEM_VERSION)
            .number("expires_at", self.retention.expires_at(1, now))
    }

    async fn note_held_back(&self, bot: BotId, now: Timestamp) -> Result<(), PortError> {
        let write = Write::to(bot_pk(bot), SK)
            .number("now", now)
            .number("before", now - HELD_BACK_EVERY)
            .update("SET #held_back_at = :now")
            .condition(
                "attribute_exists(pk) AND (attribute_not_exists(#held_back_at) OR #held_back_at <= :before)",
            );
        point("ledger.held_back.before");
        // Refused: somebody else has noted it.
        self.write("ledger.held_back", write, ReturnValue::None).await?;
        point("ledger.held_back.after");
        Ok(())
    }
}

impl Breakers for Ledger {
    async fn breaker(&self, bot: BotId) -> Result<StoredBreaker, PortError> {
        let item = self.get("ledger.breaker", bot_pk(bot), SK).await?;
        Ok(item.map_or_else(StoredBreaker::default, |item| stored(bot, &item)))
    }

    async fn change(&self, bot: BotId, change: &BreakerChange, now: Timestamp) -> Result<Changed, PortError> {
        const OPERATION: &str = "ledger.change_breaker";
        let write = change_of(self.breaker_row(bot, now), change);
        point("ledger.change_breaker.before");
        let written = self.write(OPERATION, write, ReturnValue::None).await?;
        point("ledger.change_breaker.after");
        let found = match written {
            Written::Applied(_) => return Ok(Changed::Done),
            Written::Refused(found) => found.unwrap_or_default(),
        };
        let is_mine = item::text(&found, "writer") == Some(change.writer.0.as_str());
        let lost = stored(bot, &found);
        // The SDK repeated a write that had landed.
        if is_mine && lost.version == change.seen + 1 {
            return Ok(Changed::Done);
        }
        Ok(Changed::Lost(Box::new(lost)))
    }

    async fn reserve(&self, bot: BotId, gate: Gcra, cells: u32, now: Timestamp) -> Result<Debit, PortError> {
        let row = || self.breaker_row(bot, now);
        let (debit, found) = self
            .reserve_at("ledger.reserve", row, KEPT, gate, cells, now)
            .await?;
        let is_noted = |noted_at: i64| Timestamp::from_millis(noted_at) > now - HELD_BACK_EVERY;
        if matches!(debit, Debit::Full { .. }) && !item::number(&found, "held_back_at").is_some_and(is_noted)
        {
            self.note_held_back(bot, now).await?;
        }
        Ok(debit)
    }
}
