//! Claiming and settling intents, each in place inside its Update's record.
//!
//! ```text
//! intended ─claim─> sending ─┬─> sent        (open - 1; the last one ends the record's long life)
//!                            ├─> retrying    (next_at)
//!                            ├─> failed      (open - 1)
//!                            └─> unknown     (index row: a person settles it)
//! ```

use aws_sdk_dynamodb::types::ReturnValue;
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::intent::{IntentClaim, IntentRefusal, IntentState, judge_refusal};
use penstock_domain::ledger::LEASE_MARGIN;
use penstock_domain::time::Timestamp;
use penstock_ports::{IntentSettlement, IntentStart, PortError, SettleAs};

use super::expression::{Write, Written};
use super::record::write_failure;
use super::{Item, Ledger, attention_pk, attention_sk, item, read_record, update_pk};
use crate::hooks::point;

impl Write {
    /// Refused while the previous intent of the same chat holds this one back, see `IntentRecord::holds_successors`.
    /// Needs the values `:intended` and `:retrying`.
    pub(crate) fn behind(mut self, previous: Option<u8>) -> Self {
        let Some(previous) = previous else {
            return self;
        };
        let previous = format!("#intents.#i{previous}");
        self.condition += &format!(
            " AND NOT ({previous}.#resend = :not_resent AND {previous}.#state IN (:intended, :sending, :retrying))"
        );
        self.text("sending", "sending").number("not_resent", 0)
    }
}

impl Ledger {
    pub(crate) async fn start_intent(
        &self,
        key: &LedgerKey,
        claim: &IntentClaim,
    ) -> Result<IntentStart, PortError> {
        const OPERATION: &str = "ledger.start_intent";
        let intent = format!("#intents.#i{}", claim.n);
        let write = Write::to(update_pk(key), "LEDGER")
            .text("sending", "sending")
            .text("intended", "intended")
            .text("retrying", "retrying")
            .text("owner", claim.owner.0.as_str())
            .number("lease_until", claim.lease_until)
            .number("redrive", claim.redrive)
            .number("resend", claim.resend)
            .number("now", claim.now)
            .number("now_s", claim.now.as_millis().div_euclid(1000))
            .number("one", 1)
            .update(&format!(
                "SET {intent}.#state = :sending, {intent}.#owner = :owner, {intent}.#lease_until = :lease_until, \
                 {intent}.#attempts = {intent}.#attempts + :one REMOVE {intent}.#next_at"
            ))
            .condition(&format!(
                "#expires_at >= :now_s AND #redrive = :redrive AND {intent}.#resend = :resend AND \
                 ({intent}.#state = :intended OR ({intent}.#state = :retrying AND {intent}.#next_at <= :now))"
            ))
            .behind(claim.previous);
        point("ledger.start_intent.before");
        // What a person has sent again stays in the index until now.
        let is_resent = claim.resend > 0;
        let returned = if is_resent || claim.refers_to.is_some() {
            ReturnValue::AllNew
        } else {
            ReturnValue::UpdatedNew
        };
        let written = self.write(OPERATION, write, returned).await?;
        point("ledger.start_intent.after");
        match written {
            Written::Applied(updated) => {
                if is_resent {
                    self.leave_attention(key, &updated).await?;
                }
                let intent = |n: u8| {
                    item::map(&updated, "intents").and_then(|intents| item::map(intents, &n.to_string()))
                };
                let attempt = intent(claim.n)
                    .and_then(|intent| item::number(intent, "attempts"))
                    .ok_or(PortError::Unreadable {
                        operation: OPERATION,
                        what: "attempts",
                    })?;
                let target = claim.refers_to.and_then(intent);
                Ok(IntentStart::Acquired {
                    attempt,
                    message_id: target.and_then(|target| item::number(target, "message_id")),
                })
            }
            Written::Refused(existing) => {
                let record = existing
                    .map(|existing| read_record(OPERATION, &existing))
                    .transpose()?;
                let live =
                    record.filter(|record| record.expires_at >= claim.now.as_millis().div_euclid(1000));
                Ok(match judge_refusal(live.as_ref(), claim) {
                    IntentRefusal::Mine { attempts, message_id } => IntentStart::Acquired {
                        attempt: attempts,
                        message_id,
                    },
                    refusal => IntentStart::Refused(refusal),
                })
            }
        }
    }

    pub(crate) async fn settle_intent(&self, settlement: &IntentSettlement) -> Result<bool, PortError> {
        const OPERATION: &str = "ledger.settle_intent";
        let IntentSettlement {
            key, of, settle, now, ..
        } = settlement;
        let closes = matches!(settle, SettleAs::Sent { .. } | SettleAs::Failed { .. });
        let write = self.settling_write(settlement, closes);
        point("ledger.settle_intent.before");
        let is_one_of_many = closes && *of > 1;
        let returned = if is_one_of_many {
            ReturnValue::AllNew
        } else {
            ReturnValue::None
        };
        let written = self.write(OPERATION, write, returned).await?;
        point("ledger.settle_intent.after");
        let record = match written {
            Written::Applied(updated) => updated,
            Written::Refused(Some(existing)) if had_landed(&existing, settlement) => existing,
            Written::Refused(_) => return Ok(false),
        };
        if is_one_of_many {
            if item::number::<i64>(&record, "open") == Some(0) {
                self.shorten_life(key, *now).await?;
            }
            self.leave_attention(key, &record).await?;
        }
        Ok(true)
    }

    fn settling_write(&self, settlement: &IntentSettlement, closes: bool) -> Write {
        let IntentSettlement {
            key,
            n,
            of,
            owner,
            settle,
            now,
        } = settlement;
        let intent = format!("#intents.#i{n}");
        let write = Write::to(update_pk(key), "LEDGER").text("sending", "sending");
        let (write, holds) = match owner {
            // Its own worker's late confirmation also settles what was given up as unknown.
            Some(owner) if matches!(settle, SettleAs::Sent { .. }) => (
                write.text("owner", owner.0.as_str()).text("unknown", "unknown"),
                format!("{intent}.#owner = :owner AND {intent}.#state IN (:sending, :unknown)"),
            ),
            Some(owner) => (
                write.text("owner", owner.0.as_str()),
                format!("{intent}.#owner = :owner AND {intent}.#state = :sending"),
            ),
            None => (
                write.number("dead_since", *now - LEASE_MARGIN),
                format!("{intent}.#state = :sending AND {intent}.#lease_until < :dead_since"),
            ),
        };
        let mut set = format!("SET {intent}.#state = :next");
        let mut write = write.condition(&holds).text("next", next_state(settle).name());
        let mut removed = format!("{intent}.#lease_until");
        match settle {
            SettleAs::Sent { message_id } => {
                set += &format!(", {intent}.#sent_at = :now");
                write = write.number("now", now);
                if let Some(message_id) = message_id {
                    set += &format!(", {intent}.#message_id = :message_id");
                    write = write.number("message_id", message_id);
                }
            }
            SettleAs::Retry {
                next_at,
                burned,
                failure,
            } => {
                set += &format!(", {intent}.#next_at = :next_at, {intent}.#failure = :failure");
                write = write
                    .number("next_at", next_at)
                    .value("failure", write_failure(failure));
                if !burned {
                    set += &format!(", {intent}.#attempts = {intent}.#attempts - :one");
                    write = write.number("one", 1);
                }
            }
            SettleAs::Failed { failure } => {
                set += &format!(", {intent}.#failure = :failure");
                write = write.value("failure", write_failure(failure));
            }
            SettleAs::Unknown { failure } => {
                let bot = BotId::of_name(key.as_str());
                set += &format!(", {intent}.#failure = :failure, #attn_pk = :attn_pk, #attn_sk = :attn_sk");
                write = write
                    .value("failure", write_failure(failure))
                    .text("attn_pk", attention_pk("unknown", bot, key))
                    .text("attn_sk", attention_sk(*now, key));
            }
        }
        if closes {
            set += ", #open = #open - :closed";
            write = write.number("closed", 1);
            if *of == 1 {
                removed += ", #attn_pk, #attn_sk";
                set += ", #expires_at = :expires_at";
                write = write.number("expires_at", self.retention.expires_at(0, *now));
            }
        }
        write.update(&format!("{set} REMOVE {removed}"))
    }

    /// Nothing is open any more: the record lives on only to know a repeat.
    pub(crate) async fn shorten_life(&self, key: &LedgerKey, now: Timestamp) -> Result<(), PortError> {
        let write = Write::to(update_pk(key), "LEDGER")
            .number("zero", 0)
            .number("expires_at", self.retention.expires_at(0, now))
            .update("SET #expires_at = :expires_at")
            .condition("#open = :zero");
        point("ledger.shorten_life.before");
        // Refused: something was opened again in between, and that needs the long life.
        self.write("ledger.shorten_life", write, ReturnValue::None)
            .await?;
        point("ledger.shorten_life.after");
        Ok(())
    }
}

fn next_state(settle: &SettleAs) -> IntentState {
    match settle {
        SettleAs::Sent { .. } => IntentState::Sent,
        SettleAs::Retry { .. } => IntentState::Retrying,
        SettleAs::Failed { .. } => IntentState::Failed,
        SettleAs::Unknown { .. } => IntentState::Unknown,
    }
}

fn had_landed(existing: &Item, settlement: &IntentSettlement) -> bool {
    read_record("ledger.settle_intent", existing).is_ok_and(|record| {
        record.intents.iter().any(|stored| {
            stored.intent.n == settlement.n
                && stored.state == next_state(&settlement.settle)
                && settlement.owner.is_some()
                && stored.owner == settlement.owner
        })
    })
}
