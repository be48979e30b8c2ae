//! Writing an outcome, and settling what got none. Every write shows owner and fence; one that had landed and was
//! repeated is a success.

use std::collections::HashMap;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, Put, ReturnValue, TransactWriteItem};
use penstock_domain::ledger::State;
use penstock_domain::time::Timestamp;
use penstock_ports::{ClaimAs, Commit, Commitment, PortError, StateWrite, Subject, Verdict};
use sha2::{Digest as _, Sha256};

use super::dead::kill;
use super::expression::{Write, Written};
use super::record::write_intent;
use super::tries::TRY;
use super::{ITEM_VERSION, Item, Ledger, chat_pk, item, read_record, update_pk};
use crate::error::port_error;
use crate::hooks::point;

/// The claim still holds.
pub(crate) const CLAIM_HOLDS: &str = "#state = :processing AND #owner = :owner AND #fence = :fence";

pub(crate) fn claimed(write: Write, claim: &ClaimAs) -> Write {
    write
        .text("processing", "processing")
        .text("owner", claim.owner.0.as_str())
        .number("fence", claim.fence.0)
        .condition(CLAIM_HOLDS)
}

/// Whether a refused settling write of this claim had landed before.
pub(crate) fn landed(
    operation: &'static str,
    existing: Option<&Item>,
    claim: &ClaimAs,
    state: State,
) -> Result<bool, PortError> {
    let Some(existing) = existing else {
        return Ok(false);
    };
    let record = read_record(operation, existing)?;
    Ok(record.state == state && record.fence == claim.fence && record.owner.as_ref() == Some(&claim.owner))
}

impl Ledger {
    fn done(&self, subject: &Subject, claim: &ClaimAs, commit: &Commit, now: Timestamp) -> Write {
        let open = u32::try_from(commit.intents.len()).unwrap_or(u32::MAX);
        let intents: HashMap<_, _> = commit
            .intents
            .iter()
            .map(|intent| (intent.n.to_string(), write_intent(intent)))
            .collect();
        claimed(Write::to(update_pk(&subject.key), "LEDGER"), claim)
            .text("done", "done")
            .value("intents", AttributeValue::M(intents))
            .number("open", open)
            .text("result", commit.result.as_str())
            .number("now", now)
            .number("expires_at", self.retention.expires_at(open, now))
            .update(
                "SET #state = :done, #intents = :intents, #open = :open, #result = :result, #done_at = :now, \
                 #expires_at = :expires_at REMOVE #lease_until, #next_at, #attn_pk, #attn_sk, #raw, #raw_rows, #raw_set",
            )
    }

    pub(crate) async fn commit_outcome(
        &self,
        subject: &Subject,
        claim: &ClaimAs,
        commit: &Commit,
        now: Timestamp,
    ) -> Result<Commitment, PortError> {
        const OPERATION: &str = "ledger.commit";
        let refused = match &commit.state {
            None => {
                let done = self.done(subject, claim, commit, now);
                point("ledger.commit.before");
                let written = self.write(OPERATION, done, ReturnValue::None).await?;
                point("ledger.commit.after");
                match written {
                    Written::Applied(_) => None,
                    Written::Refused(existing) => Some((existing, false)),
                }
            }
            Some(state) => {
                self.commit_with_state(OPERATION, subject, claim, commit, state, now)
                    .await?
            }
        };
        let Some((existing, state_conflict)) = refused else {
            return Ok(Commitment::Done);
        };
        if landed(OPERATION, existing.as_ref(), claim, State::Done)? {
            return Ok(Commitment::Done);
        }
        Ok(if state_conflict {
            Commitment::StateConflict
        } else {
            Commitment::LeaseLost
        })
    }

    /// Outcome and chat state in one transaction. Gives back what refused it: the ledger item, and whether only the
    /// chat state's version did.
    async fn commit_with_state(
        &self,
        operation: &'static str,
        subject: &Subject,
        claim: &ClaimAs,
        commit: &Commit,
        state: &StateWrite,
        now: Timestamp,
    ) -> Result<Option<(Option<Item>, bool)>, PortError> {
        let rejected = |error: aws_sdk_dynamodb::error::BuildError| PortError::Rejected {
            operation,
            code: "construction".to_owned(),
            source: Box::new(error),
        };
        let table = self.table.as_ref();
        let outcome = self
            .done(subject, claim, commit, now)
            .into_transact(table)
            .map_err(rejected)?;
        let put = state_put(table, subject, state, now).map_err(rejected)?;
        point("ledger.commit.before");
        let answer = self
            .client
            .transact_write_items()
            .transact_items(TransactWriteItem::builder().update(outcome).build())
            .transact_items(TransactWriteItem::builder().put(put).build())
            .client_request_token(request_token(claim, commit, now))
            .send()
            .await;
        point("ledger.commit.after");
        match answer {
            Ok(_) => Ok(None),
            Err(error) => cancelled(operation, error).map(Some),
        }
    }

    pub(crate) async fn settle_verdict(
        &self,
        subject: &Subject,
        claim: &ClaimAs,
        verdict: &Verdict,
        now: Timestamp,
    ) -> Result<bool, PortError> {
        const OPERATION: &str = "ledger.settle";
        let write = claimed(Write::to(update_pk(&subject.key), "LEDGER"), claim);
        let (write, state) = match verdict {
            Verdict::Retry {
                next_at,
                burned,
                failure,
            } => {
                let write = write
                    .text("retrying", "retrying")
                    .number("next_at", next_at)
                    .number("expires_at", self.retention.expires_at(1, now))
                    .number("given_back", u8::from(!burned))
                    .with_try(failure)
                    .update(&format!(
                        "SET #state = :retrying, #next_at = :next_at, #expires_at = :expires_at, \
                         #attempts = #attempts - :given_back, {TRY} REMOVE #lease_until"
                    ));
                (write, State::Retrying)
            }
            Verdict::Dead { raw, failure } => {
                let expires_at = self.retention.expires_at(1, now);
                let stored = self.store_raw(&subject.key, raw, expires_at).await?;
                (
                    kill(write, subject, &stored, failure, expires_at, now),
                    State::Dead,
                )
            }
        };
        point("ledger.settle.before");
        let written = self.write(OPERATION, write, ReturnValue::UpdatedNew).await?;
        point("ledger.settle.after");
        match written {
            Written::Applied(updated) => {
                self.drop_old_tries(&subject.key, &updated).await?;
                Ok(true)
            }
            Written::Refused(existing) => landed(OPERATION, existing.as_ref(), claim, state),
        }
    }
}

fn state_put(
    table: &str,
    subject: &Subject,
    state: &StateWrite,
    now: Timestamp,
) -> Result<Put, aws_sdk_dynamodb::error::BuildError> {
    let put = Put::builder().table_name(table).set_item(Some(item::m([
        ("pk", item::s(chat_pk(subject.bot_id, &state.chat))),
        ("sk", item::s("STATE")),
        ("v", item::n(ITEM_VERSION)),
        ("version", item::n(state.read_version + 1)),
        ("state", item::s(&state.state)),
        ("updated_at", item::n(now)),
    ])));
    if state.read_version == 0 {
        return put.condition_expression("attribute_not_exists(pk)").build();
    }
    put.condition_expression("#version = :read")
        .expression_attribute_names("#version", "version")
        .expression_attribute_values(":read", item::n(state.read_version))
        .build()
}

/// The same for a repeat of the same write, different for any other: DynamoDB refuses a token that it has seen with
/// other parameters, the time included. At most 36 characters.
fn request_token(claim: &ClaimAs, commit: &Commit, now: Timestamp) -> String {
    let text = format!("{claim:?}|{commit:?}|{now}");
    Sha256::digest(text.as_bytes())[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Reads a cancelled transaction: the ledger item if it refused, and whether only the chat state did.
fn cancelled(
    operation: &'static str,
    error: SdkError<TransactWriteItemsError, HttpResponse>,
) -> Result<(Option<Item>, bool), PortError> {
    const REFUSED: &str = "ConditionalCheckFailed";
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error()
    else {
        return Err(port_error(operation, error));
    };
    let mut reasons = cancelled.cancellation_reasons().iter();
    let (ledger, state) = (reasons.next(), reasons.next());
    let code = |reason: Option<&aws_sdk_dynamodb::types::CancellationReason>| {
        reason
            .and_then(|reason| reason.code())
            .unwrap_or("None")
            .to_owned()
    };
    match (code(ledger).as_str(), code(state).as_str()) {
        (REFUSED, _) => Ok((ledger.and_then(|reason| reason.item().cloned()), false)),
        (_, REFUSED) => Ok((None, true)),
        ("ValidationError", _) | (_, "ValidationError") => Err(PortError::Rejected {
            operation,
            code: "ValidationError".to_owned(),
            source: Box::new(error),
        }),
        // TransactionConflict, throttling: not now.
        (first, "None") => Err(PortError::Unavailable {
            operation,
            code: first.to_owned(),
        }),
        (_, second) => Err(PortError::Unavailable {
            operation,
            code: second.to_owned(),
        }),
    }
}
