//! Parking an Update: with its raw body, its history and a row in the index of what needs a person.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use penstock_domain::failure::Failure;
use penstock_domain::ledger::{LEASE_MARGIN, State};
use penstock_domain::time::Timestamp;
use penstock_ports::{Filed, PortError, Subject};

use super::claim::subject_values;
use super::expression::{Write, Written};
use super::raw::StoredRaw;
use super::record::write_failure;
use super::{Ledger, attention_pk, attention_sk, read_record, update_pk};
use crate::hooks::point;

/// Sets of every write that parks.
const DEAD: &str = "#state = :dead, #dead_at = :now, #expires_at = :expires_at, #attn_pk = :attn_pk, \
                    #attn_sk = :attn_sk, #tries = list_append(if_not_exists(#tries, :none), :try)";

fn dead_values(
    write: Write,
    subject: &Subject,
    stored: StoredRaw,
    failure: &Failure,
    now: Timestamp,
) -> (Write, &'static str) {
    let kind = if subject.update_id < 0 { "quarantine" } else { "dead" };
    let write = write
        .text("dead", "dead")
        .number("now", now)
        .text("attn_pk", attention_pk(kind, subject.bot_id, &subject.key))
        .text("attn_sk", attention_sk(now, &subject.key))
        .value("none", AttributeValue::L(Vec::new()))
        .value("try", AttributeValue::L(vec![write_failure(failure)]));
    match stored.inline {
        Some(raw) => (write.value("raw", raw), "#raw = :raw"),
        None => (write.number("raw_rows", stored.rows), "#raw_rows = :raw_rows"),
    }
}

/// Completes a claimed write so that it parks the Update.
pub(crate) fn kill(
    write: Write,
    subject: &Subject,
    stored: StoredRaw,
    failure: &Failure,
    expires_at: i64,
    now: Timestamp,
) -> Write {
    let (write, raw) = dead_values(write, subject, stored, failure, now);
    write
        .number("expires_at", expires_at)
        .update(&format!("SET {DEAD}, {raw} REMOVE #lease_until, #next_at"))
}

impl Ledger {
    pub(crate) async fn file_dead_letter(
        &self,
        subject: &Subject,
        redrive: u32,
        raw: &str,
        failure: &Failure,
        now: Timestamp,
    ) -> Result<Filed, PortError> {
        const OPERATION: &str = "ledger.file_dead";
        let expires_at = self.retention.expires_at(1, now);
        let stored = self.store_raw(&subject.key, raw, expires_at).await?;
        let write = subject_values(Write::to(update_pk(&subject.key), "LEDGER"), subject, redrive, expires_at);
        let (write, raw) = dead_values(write, subject, stored, failure, now);
        let write = write
            .text("pending", "pending")
            .text("retrying", "retrying")
            .text("deferred", "deferred")
            .text("processing", "processing")
            .number("zero", 0)
            .number("one", 1)
            .number("now_s", now.as_millis().div_euclid(1000))
            .number("dead_since", now - LEASE_MARGIN)
            .update(&format!(
                "SET {DEAD}, {raw}, #v = :v, #key = :key, #bot_id = :bot_id, #update_id = :update_id, #kind = :kind, \
                 #group = :group, #received_at = :received_at, #trace_id = :trace_id, #redrive = :redrive, \
                 #fence = if_not_exists(#fence, :zero) + :one, #attempts = if_not_exists(#attempts, :zero), \
                 #open = if_not_exists(#open, :zero) REMOVE #owner, #lease_until, #next_at"
            ))
            .condition(
                "attribute_not_exists(pk) OR #expires_at < :now_s OR (#redrive <= :redrive AND \
                 (#state IN (:pending, :retrying, :deferred) OR (#state = :processing AND #lease_until < :dead_since)))",
            );
        point("ledger.file_dead.before");
        let written = self.write(OPERATION, write, ReturnValue::None).await?;
        point("ledger.file_dead.after");
        let existing = match written {
            Written::Applied(_) => return Ok(Filed::Dead),
            Written::Refused(existing) => {
                existing.ok_or(PortError::Unavailable { operation: OPERATION, code: "gone".to_owned() })?
            }
        };
        let record = read_record(OPERATION, &existing)?;
        Ok(match record.state {
            _ if redrive < record.redrive => Filed::Already,
            State::Dead => Filed::Already,
            State::Done => Filed::Done(Box::new(record)),
            State::Processing | State::Pending | State::Retrying | State::Deferred => {
                Filed::HeldUntil(record.lease_until.unwrap_or(now) + LEASE_MARGIN)
            }
        })
    }
}
