//! Giving up an intent that its queue gave up. One write, so that there is no moment in which it looks as if a call
//! were on its way.

use aws_sdk_dynamodb::types::ReturnValue;
use penstock_domain::failure::Disposition;
use penstock_domain::ids::BotId;
use penstock_domain::intent::{IntentRefusal, IntentState, judge_refusal};
use penstock_domain::ledger::{Record, State};
use penstock_ports::{GiveUp, GivenUp, PortError};

use super::expression::{Write, Written};
use super::record::write_failure;
use super::{Ledger, attention_pk, attention_sk, item, read_record, update_pk};
use crate::hooks::point;

impl Ledger {
    pub(crate) async fn give_up_intent(&self, give_up: &GiveUp) -> Result<GivenUp, PortError> {
        match self.give_up_as(give_up, IntentState::Failed).await? {
            None => Ok(GivenUp::Failed),
            Some(AsItIs::Ambiguous) => match self.give_up_as(give_up, IntentState::Unknown).await? {
                None => Ok(GivenUp::Unknown),
                // Somebody was at it in between: the letter comes again and finds out.
                Some(AsItIs::Ambiguous) => Ok(GivenUp::Refused(IntentRefusal::HeldUntil(give_up.now))),
                Some(AsItIs::Refuses(refusal)) => Ok(GivenUp::Refused(refusal)),
            },
            Some(AsItIs::Refuses(refusal)) => Ok(GivenUp::Refused(refusal)),
        }
    }

    /// What kept it from becoming that, if something did.
    async fn give_up_as(&self, give_up: &GiveUp, end: IntentState) -> Result<Option<AsItIs>, PortError> {
        const OPERATION: &str = "ledger.give_up";
        let write = self.giving_up(give_up, end);
        point("ledger.give_up.before");
        let written = self.write(OPERATION, write, ReturnValue::AllNew).await?;
        point("ledger.give_up.after");
        let existing = match written {
            Written::Applied(updated) => {
                self.after_giving_up(give_up, &updated).await?;
                return Ok(None);
            }
            Written::Refused(existing) => existing,
        };
        let found = as_it_is(OPERATION, existing.as_ref(), give_up)?;
        if let (AsItIs::Refuses(IntentRefusal::Settled), Some(existing)) = (&found, &existing) {
            // It may be this very write, repeated: what follows it is done again, each only if it still holds.
            self.after_giving_up(give_up, existing).await?;
        }
        Ok(Some(found))
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

    fn giving_up(&self, give_up: &GiveUp, end: IntentState) -> Write {
        let intent = format!("#intents.#i{}", give_up.n);
        let mut write = Write::to(update_pk(&give_up.key), "LEDGER")
            .text("end", end.name())
            .text("intended", "intended")
            .text("retrying", "retrying")
            .text("ambiguous", Disposition::Ambiguous.name())
            .number("redrive", give_up.redrive)
            .number("resend", give_up.resend)
            .number("now_s", give_up.now.as_millis().div_euclid(1000));
        let mut set = format!("SET {intent}.#state = :end");
        let mut removed = format!("REMOVE {intent}.#next_at");
        let is_known = if end == IntentState::Unknown {
            // What is not known stays open, and keeps the failure that says why.
            set += ", #attn_pk = :attn_pk, #attn_sk = :attn_sk";
            let bot = BotId::of_name(give_up.key.as_str());
            write = write
                .text("attn_pk", attention_pk("unknown", bot, &give_up.key))
                .text("attn_sk", attention_sk(give_up.now, &give_up.key));
            format!("{intent}.#failure.#disposition = :ambiguous")
        } else {
            set += &format!(", {intent}.#failure = :failure, #open = #open - :one");
            write = write
                .value("failure", write_failure(&give_up.failure))
                .number("one", 1);
            if give_up.of == 1 {
                set += ", #expires_at = :expires_at";
                removed += ", #attn_pk, #attn_sk";
                write = write.number("expires_at", self.retention.expires_at(0, give_up.now));
            }
            format!("NOT {intent}.#failure.#disposition = :ambiguous")
        };
        write
            .update(&format!("{set} {removed}"))
            .condition(&format!(
                "#expires_at >= :now_s AND #redrive = :redrive AND {intent}.#resend = :resend AND \
                 {intent}.#state IN (:intended, :retrying) AND {is_known}"
            ))
            .behind(give_up.previous)
    }
}

/// What a refused write has found.
enum AsItIs {
    /// It could be given up, but nobody knows whether its last try arrived.
    Ambiguous,
    /// It is not for us to give up, as a claim would have been told.
    Refuses(IntentRefusal),
}

fn as_it_is(
    operation: &'static str,
    existing: Option<&super::Item>,
    give_up: &GiveUp,
) -> Result<AsItIs, PortError> {
    let record = existing
        .map(|existing| read_record(operation, existing))
        .transpose()?;
    let live = record.filter(|record| record.expires_at >= give_up.now.as_millis().div_euclid(1000));
    let refusal = judge_refusal(live.as_ref(), &give_up.as_claim());
    let mut intents = live.iter().flat_map(|record| &record.intents);
    let may_have_arrived = intents.any(|stored| stored.intent.n == give_up.n && stored.may_have_arrived());
    Ok(match refusal {
        // Idle: nothing refuses but what nobody knows.
        IntentRefusal::HeldUntil(_) if may_have_arrived && is_idle(live.as_ref(), give_up.n) => {
            AsItIs::Ambiguous
        }
        refusal => AsItIs::Refuses(refusal),
    })
}

fn is_idle(record: Option<&Record>, n: u8) -> bool {
    let mut intents = record.into_iter().flat_map(|record| &record.intents);
    intents.any(|stored| {
        stored.intent.n == n && matches!(stored.state, IntentState::Intended | IntentState::Retrying)
    })
}
