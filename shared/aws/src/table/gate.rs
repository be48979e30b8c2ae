//! Holds, and reservations at a gate. DynamoDB has no `max()`, so each is two conditional branches.

use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use penstock_domain::gcra::Gcra;
use penstock_domain::ids::BotId;
use penstock_domain::pace::{ChatGate, Logged};
use penstock_domain::throttle::CELL;
use penstock_domain::time::Timestamp;
use penstock_ports::{Debit, HORIZON, PortError, StoredChatGate, Swapped};

use super::expression::{Write, Written};
use super::{ITEM_VERSION, Item, Ledger, bot_pk, chat_pk, item};
use crate::hooks::point;

/// Life of a gate after its last write: longer than any wait that Telegram was seen to ask for (14 h).
const GATE_LIFE: Duration = Duration::from_secs(2 * 86_400);

impl Ledger {
    pub(crate) async fn hold(
        &self,
        bot: BotId,
        chat: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), PortError> {
        let write = Write::to(chat_pk(bot, chat), "GATE")
            .number("v", ITEM_VERSION)
            .number("until", until)
            .number("expires_at", (until.max(now) + GATE_LIFE).as_secs_ceil())
            .update("SET #hold_until = :until, #v = :v, #expires_at = :expires_at")
            .condition("attribute_not_exists(#hold_until) OR #hold_until < :until");
        point("ledger.hold.before");
        // Refused: a longer hold is there, and nobody shortens one.
        self.write("ledger.hold", write, ReturnValue::None).await?;
        point("ledger.hold.after");
        Ok(())
    }

    pub(crate) async fn swap_gate(
        &self,
        bot: BotId,
        chat: &str,
        seen: Option<&str>,
        next: &ChatGate,
        token: &str,
        now: Timestamp,
    ) -> Result<Swapped, PortError> {
        let set = "SET #last = :last, #log = :log, #v = :v, #expires_at = :expires_at";
        let write = Write::to(chat_pk(bot, chat), "GATE")
            .number("v", ITEM_VERSION)
            .number("expires_at", (now + GATE_LIFE).as_secs_ceil())
            .text("last", token)
            .value(
                "log",
                AttributeValue::L(next.log.iter().map(written_send).collect()),
            );
        let write = match next.tat {
            Some(tat) => write.number("tat", tat).update(&format!("{set}, #tat = :tat")),
            None => write.update(&format!("{set} REMOVE #tat")),
        };
        let write = match seen {
            Some(seen) => write.text("seen", seen).condition("#last = :seen"),
            None => write.condition("attribute_not_exists(#last)"),
        };
        point("ledger.pace.before");
        let written = self.write("ledger.pace", write, ReturnValue::AllNew).await?;
        point("ledger.pace.after");
        Ok(match written {
            Written::Applied(item) => Swapped::Done {
                hold_until: hold_until(&item),
            },
            Written::Refused(Some(item)) if item::text(&item, "last") == Some(token) => Swapped::Done {
                hold_until: hold_until(&item),
            },
            Written::Refused(item) => Swapped::Lost(Box::new(stored_gate(&item.unwrap_or_default()))),
        })
    }

    pub(crate) async fn hold_bot_until(
        &self,
        bot: BotId,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), PortError> {
        let write = gate(bot, now)
            .number("until", until)
            .update("SET #hold_until = :until, #v = :v, #expires_at = :expires_at")
            .condition("attribute_not_exists(#hold_until) OR #hold_until < :until");
        point("ledger.hold_bot.before");
        self.write("ledger.hold_bot", write, ReturnValue::None).await?;
        point("ledger.hold_bot.after");
        // What is debited during the hold queues up behind its end, instead of all coming back at that instant.
        let behind = gate(bot, now)
            .number("until", until)
            .update("SET #tat = :until, #v = :v, #expires_at = :expires_at")
            .condition("attribute_not_exists(#tat) OR #tat < :until");
        point("ledger.hold_behind.before");
        self.write("ledger.hold_bot", behind, ReturnValue::None).await?;
        point("ledger.hold_behind.after");
        Ok(())
    }

    pub(crate) async fn debit(&self, bot: BotId, cells: u32, now: Timestamp) -> Result<Debit, PortError> {
        let cell = Gcra {
            interval: CELL,
            tolerance: Duration::ZERO,
        };
        let kept = "#v = :v, #expires_at = :expires_at";
        let (debit, _) = self
            .reserve_at("ledger.debit", || gate(bot, now), kept, cell, cells, now)
            .await?;
        Ok(debit)
    }

    /// Reserves at a gate within the horizon, beyond what it tolerates at once. `row` is the gate's item with the
    /// values of `kept`, the rest of what is set. A refusal comes with the item.
    ///
    /// ```text
    ///          now      now + tolerance     + HORIZON
    /// tat: idle │ at once      │  waited for   │  full
    /// ```
    pub(crate) async fn reserve_at(
        &self,
        operation: &'static str,
        row: impl Fn() -> Write,
        kept: &str,
        gate: Gcra,
        cells: u32,
        now: Timestamp,
    ) -> Result<(Debit, Item), PortError> {
        let cost = gate.interval * cells;
        let latest = now + gate.tolerance + HORIZON;
        let idle = row()
            .number("now", now)
            .number("tat", now + cost)
            .update(&format!("SET #tat = :tat, {kept}"))
            .condition("attribute_not_exists(#tat) OR #tat < :now");
        point("ledger.debit.before");
        let written = self.write(operation, idle, ReturnValue::None).await?;
        point("ledger.debit.after");
        let at_once = Debit::Reserved {
            ahead: Duration::ZERO,
        };
        if let Written::Applied(_) = written {
            return Ok((at_once, Item::new()));
        }
        let busy = row()
            .number("now", now)
            .number("latest", latest)
            .number("cost", cost.as_millis())
            .update(&format!("SET #tat = #tat + :cost, {kept}"))
            .condition("#tat >= :now AND #tat <= :latest");
        let tat = |item: &Item| item::number(item, "tat").map_or(now, Timestamp::from_millis);
        point("ledger.debit_busy.before");
        let written = self.write(operation, busy, ReturnValue::AllNew).await?;
        point("ledger.debit_busy.after");
        Ok(match written {
            Written::Applied(item) => {
                let ahead = (tat(&item) - cost - gate.tolerance).since(now);
                (Debit::Reserved { ahead }, Item::new())
            }
            Written::Refused(Some(item)) if tat(&item) > latest => {
                let ahead = (tat(&item) - gate.tolerance).since(now);
                (Debit::Full { ahead }, item)
            }
            // The gate's row went in between (its life was over): nothing is ahead of us.
            Written::Refused(_) => (at_once, Item::new()),
        })
    }
}

fn hold_until(item: &Item) -> Option<Timestamp> {
    item::number(item, "hold_until").map(Timestamp::from_millis)
}

fn written_send(sent: &Logged) -> AttributeValue {
    AttributeValue::M(item::m([
        ("at", item::n(sent.at)),
        ("token", item::s(sent.token.as_str())),
        ("cells", item::n(sent.cells)),
    ]))
}

/// What cannot be read of a log is left out: Telegram's own 429 is still obeyed.
fn stored_gate(item: &Item) -> StoredChatGate {
    let sent = |value: &AttributeValue| {
        let entry = value.as_m().ok()?;
        Some(Logged {
            at: Timestamp::from_millis(item::number(entry, "at")?),
            token: item::text(entry, "token")?.to_owned(),
            cells: item::number(entry, "cells")?,
        })
    };
    StoredChatGate {
        gate: ChatGate {
            tat: item::number(item, "tat").map(Timestamp::from_millis),
            log: item::list(item, "log").iter().filter_map(sent).collect(),
        },
        last: item::text(item, "last").map(str::to_owned),
        hold_until: hold_until(item),
    }
}

fn gate(bot: BotId, now: Timestamp) -> Write {
    Write::to(bot_pk(bot), "GATE#interactive")
        .number("v", ITEM_VERSION)
        .number("expires_at", (now + GATE_LIFE).as_secs_ceil())
}
