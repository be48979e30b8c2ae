//! The `attn` index: what needs a person. An Update is in it once, however many of its intents are unknown.

use aws_sdk_dynamodb::types::ReturnValue;
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::intent::IntentRecord;
use penstock_domain::time::Timestamp;
use penstock_ports::PortError;

use super::expression::Write;
use super::{Item, Ledger, read_record, update_pk};
use crate::hooks::point;

/// Shard of the `attn` index for a key: what needs a person is spread over 16 partitions a kind and bot.
pub(crate) fn attention_pk(kind: &str, bot: BotId, key: &LedgerKey) -> String {
    let sum = key.as_str().bytes().fold(0_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    format!("{kind}#{bot}#{}", sum % 16)
}

/// Sort key of the `attn` index: oldest first.
pub(crate) fn attention_sk(at: Timestamp, key: &LedgerKey) -> String {
    format!("{:013}#{key}", at.as_millis())
}

impl Ledger {
    /// Takes an Update that was just written, and looks like this now, out of the index, unless one of its intents is
    /// unknown still, or was sent again and is not claimed yet.
    pub(crate) async fn leave_attention(&self, key: &LedgerKey, now_is: &Item) -> Result<(), PortError> {
        const OPERATION: &str = "ledger.leave_attention";
        if !now_is.contains_key("attn_pk") {
            return Ok(());
        }
        let intents = read_record(OPERATION, now_is)?.intents;
        if intents.iter().any(IntentRecord::needs_person) {
            return Ok(());
        }
        let none_needs: Vec<_> = intents
            .iter()
            .map(|stored| {
                let intent = format!("#intents.#i{}", stored.intent.n);
                format!(
                    "{intent}.#state <> :unknown AND NOT ({intent}.#state = :intended AND {intent}.#resend > :zero)"
                )
            })
            .collect();
        let write = Write::to(update_pk(key), "LEDGER")
            .text("done", "done")
            .text("unknown", "unknown")
            .text("intended", "intended")
            .number("zero", 0)
            .update("REMOVE #attn_pk, #attn_sk")
            .condition(&format!("#state = :done AND {}", none_needs.join(" AND ")));
        point("ledger.leave_attention.before");
        // Refused: another intent became unknown or was sent again in between, and that has to be seen.
        self.write(OPERATION, write, ReturnValue::None).await?;
        point("ledger.leave_attention.after");
        Ok(())
    }
}
