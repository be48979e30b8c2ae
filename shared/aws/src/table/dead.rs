//! Parking an Update: with its raw body, its history and a row in the index of what needs a person.

use aws_sdk_dynamodb::types::ReturnValue;
use penstock_domain::failure::Failure;
use penstock_domain::ledger::{Fence, LEASE_MARGIN, Record, State};
use penstock_domain::time::Timestamp;
use penstock_ports::{Filed, PortError, Subject};

use super::claim::{OUTCOME, subject_values};
use super::expression::{Write, Written};
use super::raw::StoredRaw;
use super::settling::Settling;
use super::tries::{FIRST_TRY, TRY};
use super::{Ledger, attention_pk, attention_sk, read_record, update_pk};
use crate::hooks::point;

/// Sets of every write that parks, but for its tries.
const DEAD: &str = "#state = :dead, #dead_at = :now, #expires_at = :expires_at, #attn_pk = :attn_pk, \
                    #attn_sk = :attn_sk";
/// Sets of one that nobody claimed: it may make the record.
const LETTER: &str = "#v = :v, #key = :key, #bot_id = :bot_id, #update_id = :update_id, #kind = :kind, \
                      #group = :group, #received_at = :received_at, #trace_id = :trace_id, #redrive = :redrive";

/// The failure code of what came too late.
const EXPIRED: &str = "expired";

/// Where the raw body goes: what is set, and what is removed of an earlier one.
struct RawClause {
    set: String,
    removed: &'static str,
}

fn dead_values(
    write: Write,
    subject: &Subject,
    stored: &StoredRaw,
    failure: &Failure,
    now: Timestamp,
) -> (Write, RawClause) {
    let kind = match failure.code.as_str() {
        _ if subject.update_id < 0 => "quarantine",
        // Too late to matter: found by who looks for it, never an alarm.
        EXPIRED => "expired",
        _ => "dead",
    };
    let write = write
        .text("dead", "dead")
        .number("now", now)
        .text("attn_pk", attention_pk(kind, subject.bot_id, &subject.key))
        .text("attn_sk", attention_sk(now, &subject.key))
        .with_try(failure);
    match &stored.inline {
        Some(raw) => (
            write.value("raw", raw.clone()),
            RawClause {
                set: "#raw = :raw".to_owned(),
                removed: "#raw_rows, #raw_set",
            },
        ),
        None => (
            write
                .number("raw_rows", stored.rows)
                .text("raw_set", stored.set.as_str()),
            RawClause {
                set: "#raw_rows = :raw_rows, #raw_set = :raw_set".to_owned(),
                removed: "#raw",
            },
        ),
    }
}

/// Completes a settling write so that it parks the Update.
pub(crate) fn kill(
    settling: Settling,
    subject: &Subject,
    stored: &StoredRaw,
    failure: &Failure,
    now: Timestamp,
) -> Write {
    let Settling { write, set, is_first } = settling;
    let (write, raw) = dead_values(write, subject, stored, failure, now);
    if is_first {
        return write.update(&format!(
            "SET {DEAD}, {FIRST_TRY}, #open = :zero, {}{set} REMOVE #lease_until, #next_at, #discarded_at, {OUTCOME}, {}",
            raw.set, raw.removed
        ));
    }
    write.update(&format!(
        "SET {DEAD}, {TRY}, {}{set} REMOVE #lease_until, #next_at, #discarded_at, {}",
        raw.set, raw.removed
    ))
}

/// A letter that the queue gave up, on its way into the record.
struct Letter<'a> {
    subject: &'a Subject,
    redrive: u32,
    stored: StoredRaw,
    failure: &'a Failure,
    expires_at: i64,
    now: Timestamp,
}

impl Letter<'_> {
    fn values(&self) -> (Write, RawClause) {
        let to = Write::to(update_pk(&self.subject.key), "LEDGER");
        let write = subject_values(to, self.subject, self.redrive, self.expires_at)
            .number("zero", 0)
            .number("one", 1)
            .number("now_s", self.now.as_millis().div_euclid(1000));
        let (write, mut raw) = dead_values(write, self.subject, &self.stored, self.failure, self.now);
        // Without the digest a later Update under the same id could not be told from this one.
        match self.subject.digest {
            Some(digest) => {
                raw.set += ", #digest = :digest";
                (write.text("digest", digest.to_string()), raw)
            }
            None => (write, raw),
        }
    }

    /// Over no record, or one that nobody works on.
    fn over_idle(&self) -> Write {
        let (write, raw) = self.values();
        write
            .text("pending", "pending")
            .text("retrying", "retrying")
            .text("deferred", "deferred")
            .text("processing", "processing")
            .number("dead_since", self.now - LEASE_MARGIN)
            .update(&format!(
                "SET {DEAD}, {TRY}, {}, {LETTER}, #fence = if_not_exists(#fence, :zero) + :one, \
                 #attempts = if_not_exists(#attempts, :zero), #open = if_not_exists(#open, :zero) \
                 REMOVE #owner, #lease_until, #next_at, #discarded_at, {}",
                raw.set, raw.removed
            ))
            .condition(
                "attribute_not_exists(pk) OR (#expires_at >= :now_s AND #redrive <= :redrive AND \
                 (#state IN (:pending, :retrying, :deferred) OR (#state = :processing AND #lease_until < :dead_since)))",
            )
    }

    /// Over a record that outlived its life: nothing of it stays but the fence.
    fn over_expired(&self, seen: Fence) -> Write {
        let (write, raw) = self.values();
        let digest = if self.subject.digest.is_some() {
            ""
        } else {
            ", #digest"
        };
        write
            .number("seen", seen.0)
            .update(&format!(
                "SET {DEAD}, {FIRST_TRY}, {}, {LETTER}, #fence = #fence + :one, \
                 #attempts = :zero, #open = :zero REMOVE #owner, #lease_until, #next_at, #discarded_at, {OUTCOME}, {}{digest}",
                raw.set, raw.removed
            ))
            .condition("#expires_at < :now_s AND #fence = :seen")
    }
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
        let expires_at = self.retention.expires_at(1, now);
        let stored = self.store_raw(&subject.key, raw, expires_at).await?;
        let letter = Letter {
            subject,
            redrive,
            stored,
            failure,
            expires_at,
            now,
        };
        let Some(record) = self.file(&letter, letter.over_idle()).await? else {
            return Ok(Filed::Dead);
        };
        if record.expires_at >= now.as_millis().div_euclid(1000) {
            return Ok(refused(
                self.completed("ledger.file_dead", record).await?,
                redrive,
                now,
            ));
        }
        let again = self.file(&letter, letter.over_expired(record.fence)).await?;
        match again {
            None => Ok(Filed::Dead),
            Some(record) => Ok(refused(
                self.completed("ledger.file_dead", record).await?,
                redrive,
                now,
            )),
        }
    }

    /// The record that refused it, if one did.
    async fn file(&self, letter: &Letter<'_>, write: Write) -> Result<Option<Record>, PortError> {
        const OPERATION: &str = "ledger.file_dead";
        point("ledger.file_dead.before");
        let written = self.write(OPERATION, write, ReturnValue::UpdatedNew).await?;
        point("ledger.file_dead.after");
        match written {
            Written::Applied(updated) => {
                self.drop_old_tries(&letter.subject.key, &updated).await?;
                Ok(None)
            }
            Written::Refused(existing) => {
                let gone = PortError::Unavailable {
                    operation: OPERATION,
                    code: "gone".to_owned(),
                };
                read_record(OPERATION, &existing.ok_or(gone)?).map(Some)
            }
        }
    }
}

/// What a refused letter means.
fn refused(record: Record, redrive: u32, now: Timestamp) -> Filed {
    match record.state {
        _ if redrive < record.redrive => Filed::Already,
        State::Dead => Filed::Already,
        State::Done => Filed::Done(Box::new(record)),
        State::Processing | State::Pending | State::Retrying | State::Deferred => {
            Filed::HeldUntil(record.lease_until.unwrap_or(now) + LEASE_MARGIN)
        }
    }
}
