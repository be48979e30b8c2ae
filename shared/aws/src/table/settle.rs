//! Settling an Update that got no outcome: tried again, deferred, or parked.

use aws_sdk_dynamodb::types::ReturnValue;
use penstock_domain::failure::Failure;
use penstock_domain::ledger::State;
use penstock_domain::time::Timestamp;
use penstock_ports::{PortError, RunAs, Settlement, Subject, Verdict};

use super::Ledger;
use super::claim::OUTCOME;
use super::dead::kill;
use super::expression::{Write, Written};
use super::settling::{NotSettled, Settling};
use super::tries::{FIRST_TRY, TRY};
use crate::hooks::point;

/// What a first write over a record past its life removes of it, beside what every such write does.
const EARLIER_LIFE: &str = "#attn_pk, #attn_sk, #raw, #raw_rows, #raw_set, #dead_at, #discarded_at";

/// The Update waits until `next_at`; `given_back` says that the try does not count.
fn waiting(
    settling: Settling,
    state: State,
    next_at: Timestamp,
    failure: &Failure,
    given_back: bool,
) -> Write {
    let Settling { write, set, is_first } = settling;
    let write = write
        .text("next", state.name())
        .number("next_at", next_at)
        .with_try(failure);
    if is_first {
        return write.update(&format!(
            "SET #state = :next, #next_at = :next_at, #expires_at = :expires_at, #open = :zero, {FIRST_TRY}{set} \
             REMOVE #lease_until, {EARLIER_LIFE}, {OUTCOME}"
        ));
    }
    let attempts = if given_back {
        ", #attempts = #attempts - :given_back"
    } else {
        ""
    };
    let write = if given_back {
        write.number("given_back", 1)
    } else {
        write
    };
    write.update(&format!(
        "SET #state = :next, #next_at = :next_at, #expires_at = :expires_at{attempts}, {TRY}{set} REMOVE #lease_until"
    ))
}

impl Ledger {
    pub(crate) async fn settle_verdict(
        &self,
        subject: &Subject,
        run: &RunAs,
        verdict: &Verdict,
        now: Timestamp,
    ) -> Result<Settlement, PortError> {
        const OPERATION: &str = "ledger.settle";
        let expires_at = self.retention.expires_at(1, now);
        let settling = Settling::of(subject, run, expires_at, now);
        let (write, state) = match verdict {
            Verdict::Retry { next_at, failure } => {
                let write = waiting(settling, State::Retrying, *next_at, failure, false);
                (write, State::Retrying)
            }
            Verdict::Defer { next_at, failure } => {
                let is_claimed = matches!(run, RunAs::Claimed(_));
                if !is_claimed {
                    // Nothing was burned that could be given back: the delivery alone waits.
                    return Ok(Settlement::Settled);
                }
                let write = waiting(settling, State::Deferred, *next_at, failure, true);
                (write, State::Deferred)
            }
            Verdict::Dead { raw, failure } => {
                let stored = self.store_raw(&subject.key, raw, expires_at).await?;
                (kill(settling, subject, &stored, failure, now), State::Dead)
            }
        };
        point("ledger.settle.before");
        let written = self.write(OPERATION, write, ReturnValue::UpdatedNew).await?;
        point("ledger.settle.after");
        match written {
            Written::Applied(updated) => {
                self.drop_old_tries(&subject.key, &updated).await?;
                Ok(Settlement::Settled)
            }
            Written::Refused(existing) => Ok(
                match self.not_settled(OPERATION, run, existing.as_ref(), state).await? {
                    NotSettled::Landed => Settlement::Settled,
                    NotSettled::LeaseLost => Settlement::LeaseLost,
                    NotSettled::Refused(refusal, record) => Settlement::Refused(refusal, record),
                },
            ),
        }
    }
}
