//! Writing an outcome: one conditional update, or one transaction where chat state, the bot's own records or big intents
//! come with it. A write that had landed and was repeated is a success.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use penstock_domain::ledger::State;
use penstock_domain::time::Timestamp;
use penstock_ports::{Commit, Commitment, PortError, RunAs, Subject};

use super::Ledger;
use super::expression::{Write, Written};
use super::intent_rows::{StoredIntents, stored_intents};
use super::settling::{NotSettled, Settling};
use super::transact::Refused;
use crate::hooks::point;

/// The Update's own part of the outcome.
fn done(
    subject: &Subject,
    run: &RunAs,
    commit: &Commit,
    intents: &StoredIntents,
    expires_at: i64,
    now: Timestamp,
) -> Write {
    let open = commit.intents.len();
    let Settling { write, set, is_first } = Settling::of(subject, run, expires_at, now);
    let entries: HashMap<_, _> = intents
        .entries
        .iter()
        .map(|(n, entry)| (n.to_string(), entry.clone()))
        .collect();
    let of_an_earlier_life = if is_first {
        ", #tries, #dead_at, #discarded_at"
    } else {
        ""
    };
    write
        .text("done", "done")
        .value("intents", AttributeValue::M(entries))
        .number("open", open)
        .text("result", commit.result.as_str())
        .number("now", now)
        .update(&format!(
            "SET #state = :done, #intents = :intents, #open = :open, #result = :result, #done_at = :now, \
             #expires_at = :expires_at{set} REMOVE #lease_until, #next_at, #attn_pk, #attn_sk, #raw, #raw_rows, \
             #raw_set{of_an_earlier_life}"
        ))
}

impl Ledger {
    pub(crate) async fn commit_outcome(
        &self,
        subject: &Subject,
        run: &RunAs,
        commit: &Commit,
        now: Timestamp,
    ) -> Result<Commitment, PortError> {
        const OPERATION: &str = "ledger.commit";
        let open = u32::try_from(commit.intents.len()).unwrap_or(u32::MAX);
        let expires_at = self.retention.expires_at(open, now);
        let intents = stored_intents(OPERATION, &subject.key, &commit.intents, expires_at)?;
        let outcome = done(subject, run, commit, &intents, expires_at, now);
        let is_alone = commit.state.is_none() && commit.writes.is_empty() && intents.rows.is_empty();
        let refused = if is_alone {
            point("ledger.commit.before");
            let written = self.write(OPERATION, outcome, ReturnValue::None).await?;
            point("ledger.commit.after");
            match written {
                Written::Applied(_) => None,
                Written::Refused(existing) => Some(Refused::Ledger(existing)),
            }
        } else {
            self.transact(OPERATION, subject, run, commit, outcome, intents.rows, now)
                .await?
        };
        let existing = match refused {
            None => return Ok(Commitment::Done),
            Some(Refused::State) => return Ok(Commitment::StateConflict),
            Some(Refused::Data(n)) => return Ok(Commitment::Unexpected { n }),
            Some(Refused::Ledger(existing)) => existing,
        };
        let why = self
            .not_settled(OPERATION, run, existing.as_ref(), State::Done)
            .await?;
        Ok(match why {
            NotSettled::Landed => Commitment::Done,
            NotSettled::LeaseLost => Commitment::LeaseLost,
            NotSettled::Refused(refusal, record) => Commitment::Refused(refusal, record),
        })
    }
}
