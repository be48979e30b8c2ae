//! Giving up an intent that its queue gave up. One write, so that there is no moment in which it looks as if a call
//! were on its way.

use aws_sdk_dynamodb::types::ReturnValue;
use penstock_domain::intent::{IntentClaim, IntentRefusal, judge_refusal};
use penstock_domain::ledger::{Owner, State};
use penstock_ports::{GiveUp, GivenUp, PortError};

use super::expression::{Write, Written};
use super::record::write_failure;
use super::{Ledger, item, read_record, update_pk};
use crate::hooks::point;

impl Ledger {
    pub(crate) async fn give_up_intent(&self, give_up: &GiveUp) -> Result<GivenUp, PortError> {
        const OPERATION: &str = "ledger.give_up";
        point("ledger.give_up.before");
        let write = self.giving_up(give_up);
        let written = self.write(OPERATION, write, ReturnValue::AllNew).await?;
        point("ledger.give_up.after");
        let item = match written {
            Written::Applied(updated) => updated,
            Written::Refused(existing) => {
                let refusal = refused(OPERATION, existing.as_ref(), give_up)?;
                let Some(existing) = existing.filter(|_| refusal == IntentRefusal::Settled) else {
                    return Ok(GivenUp::Refused(refusal));
                };
                // It may be this very write, repeated: what follows it is done again, each only if it still holds.
                self.after_giving_up(give_up, &existing).await?;
                return Ok(GivenUp::Refused(refusal));
            }
        };
        self.after_giving_up(give_up, &item).await?;
        Ok(GivenUp::Failed)
    }

    async fn after_giving_up(&self, give_up: &GiveUp, now_is: &super::Item) -> Result<(), PortError> {
        // Only an outcome has intents: what else is found is another life of the Update, whose own it is to end.
        let is_done = item::text(now_is, "state") == Some(State::Done.name());
        if give_up.of > 1 && is_done {
            if item::number::<i64>(now_is, "open") == Some(0) {
                self.shorten_life(&give_up.key, give_up.now).await?;
            }
            self.leave_attention(&give_up.key, now_is).await?;
        }
        Ok(())
    }

    fn giving_up(&self, give_up: &GiveUp) -> Write {
        let intent = format!("#intents.#i{}", give_up.n);
        let mut write = Write::to(update_pk(&give_up.key), "LEDGER")
            .text("failed", "failed")
            .text("intended", "intended")
            .text("retrying", "retrying")
            .number("redrive", give_up.redrive)
            .number("resend", give_up.resend)
            .number("now_s", give_up.now.as_millis().div_euclid(1000))
            .number("one", 1)
            .value("failure", write_failure(&give_up.failure));
        let mut set =
            format!("SET {intent}.#state = :failed, {intent}.#failure = :failure, #open = #open - :one");
        let mut removed = format!("REMOVE {intent}.#next_at");
        if give_up.of == 1 {
            set += ", #expires_at = :expires_at";
            removed += ", #attn_pk, #attn_sk";
            write = write.number("expires_at", self.retention.expires_at(0, give_up.now));
        }
        write
            .update(&format!("{set} {removed}"))
            .condition(&format!(
                "#expires_at >= :now_s AND #redrive = :redrive AND {intent}.#resend = :resend AND \
                 {intent}.#state IN (:intended, :retrying)"
            ))
            .behind(give_up.previous)
    }
}

/// What a refusal means, as a claim would have been told.
fn refused(
    operation: &'static str,
    existing: Option<&super::Item>,
    give_up: &GiveUp,
) -> Result<IntentRefusal, PortError> {
    let record = existing
        .map(|existing| read_record(operation, existing))
        .transpose()?;
    let live = record.filter(|record| record.expires_at >= give_up.now.as_millis().div_euclid(1000));
    Ok(judge_refusal(
        live.as_ref(),
        &IntentClaim {
            // Nobody's: a claim of that name is never made.
            owner: Owner(String::new()),
            n: give_up.n,
            redrive: give_up.redrive,
            resend: give_up.resend,
            previous: give_up.previous,
            refers_to: None,
            now: give_up.now,
            lease_until: give_up.now,
        },
    ))
}
