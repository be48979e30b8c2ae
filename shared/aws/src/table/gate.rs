//! Holds and the bot's gate. DynamoDB has no `max()`, so each is two conditional branches.

use std::time::Duration;

use aws_sdk_dynamodb::types::ReturnValue;
use penstock_domain::ids::BotId;
use penstock_domain::time::Timestamp;
use penstock_ports::PortError;

use super::expression::{Write, Written};
use super::{ITEM_VERSION, Ledger, bot_pk, chat_pk, item};
use crate::hooks::point;

/// Time of one interactive send of a bot: Telegram allows about 30 a second (Bot API FAQ).
const CELL_MILLIS: u32 = 33;
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

    pub(crate) async fn debit(&self, bot: BotId, cells: u32, now: Timestamp) -> Result<Duration, PortError> {
        const OPERATION: &str = "ledger.debit";
        let cost = i64::from(cells) * i64::from(CELL_MILLIS);
        let gate = || {
            Write::to(bot_pk(bot), "GATE#interactive")
                .number("v", ITEM_VERSION)
                .number("now", now)
                .number("expires_at", (now + GATE_LIFE).as_secs_ceil())
        };
        let idle = gate()
            .number("tat", now.as_millis() + cost)
            .update("SET #tat = :tat, #v = :v, #expires_at = :expires_at")
            .condition("attribute_not_exists(#tat) OR #tat < :now");
        point("ledger.debit.before");
        let refused = match self.write(OPERATION, idle, ReturnValue::None).await? {
            Written::Applied(_) => None,
            Written::Refused(existing) => Some(existing),
        };
        point("ledger.debit.after");
        if refused.is_none() {
            return Ok(Duration::ZERO);
        }
        let busy = gate()
            .number("cost", cost)
            .update("SET #tat = #tat + :cost, #v = :v, #expires_at = :expires_at")
            .condition("#tat >= :now");
        match self.write(OPERATION, busy, ReturnValue::UpdatedOld).await? {
            Written::Applied(old) => {
                let tat = item::number(&old, "tat").map_or(now, Timestamp::from_millis);
                Ok(tat.since(now))
            }
            // The queue ran empty between the two writes: nothing is ahead of us.
            Written::Refused(_) => Ok(Duration::ZERO),
        }
    }
}
