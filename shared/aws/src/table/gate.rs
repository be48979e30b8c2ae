//! Holds and the bot's gate. DynamoDB has no `max()`, so each is two conditional branches.

use std::time::Duration;

use aws_sdk_dynamodb::types::ReturnValue;
use penstock_domain::ids::BotId;
use penstock_domain::throttle::CELL;
use penstock_domain::time::Timestamp;
use penstock_ports::{Debit, HORIZON, PortError};

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
        const OPERATION: &str = "ledger.debit";
        let cost = CELL * cells;
        let idle = gate(bot, now)
            .number("now", now)
            .number("tat", now + cost)
            .update("SET #tat = :tat, #v = :v, #expires_at = :expires_at")
            .condition("attribute_not_exists(#tat) OR #tat < :now");
        point("ledger.debit.before");
        let written = self.write(OPERATION, idle, ReturnValue::None).await?;
        point("ledger.debit.after");
        if let Written::Applied(_) = written {
            return Ok(Debit::Reserved {
                ahead: Duration::ZERO,
            });
        }
        let busy = gate(bot, now)
            .number("now", now)
            .number("horizon", now + HORIZON)
            .number("cost", cost.as_millis())
            .update("SET #tat = #tat + :cost, #v = :v, #expires_at = :expires_at")
            .condition("#tat >= :now AND #tat <= :horizon");
        let tat = |gate: &Item| item::number(gate, "tat").map_or(now, Timestamp::from_millis);
        point("ledger.debit_busy.before");
        let written = self.write(OPERATION, busy, ReturnValue::AllNew).await?;
        point("ledger.debit_busy.after");
        Ok(match written {
            Written::Applied(gate) => Debit::Reserved {
                ahead: (tat(&gate) - cost).since(now),
            },
            Written::Refused(Some(gate)) if tat(&gate) > now + HORIZON => Debit::Full {
                ahead: tat(&gate).since(now),
            },
            // The gate's row went in between (its life was over): nothing is ahead of us.
            Written::Refused(_) => Debit::Reserved {
                ahead: Duration::ZERO,
            },
        })
    }
}

fn gate(bot: BotId, now: Timestamp) -> Write {
    Write::to(bot_pk(bot), "GATE#interactive")
        .number("v", ITEM_VERSION)
        .number("expires_at", (now + GATE_LIFE).as_secs_ceil())
}
