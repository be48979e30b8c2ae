//! The right by which an Update is settled, as a condition.
//!
//! ```text
//! claimed:    processing, my owner, my fence        ─> settled
//! unclaimed:  no record, or one past its life       ─> settled, as its first try: a new fence, attempts = 1, my owner
//! refused, but it is what this very write makes     ─> settled: it had landed, and was repeated
//! ```

use penstock_domain::ledger::{ClaimRequest, State, judge_refusal};
use penstock_domain::time::Timestamp;
use penstock_ports::{ClaimAs, PortError, RunAs, Subject};

use super::claim::{IDENTITY, subject_values};
use super::expression::Write;
use super::{Item, Ledger, read_record, update_pk};

/// The claim still holds.
const CLAIM_HOLDS: &str = "#state = :processing AND #owner = :owner AND #fence = :fence";
/// There is nothing that an unclaimed run could overwrite.
const NO_RECORD: &str = "attribute_not_exists(pk) OR #expires_at < :now_s";

/// A settling write in the making: what it must find, and what it sets beside the verdict.
pub(crate) struct Settling {
    pub(crate) write: Write,
    /// Further sets, each with a comma in front.
    pub(crate) set: String,
    /// Whether it makes the record, so that nothing of an earlier life may stay.
    pub(crate) is_first: bool,
}

/// What refused it.
pub(crate) enum NotSettled {
    /// Nothing: it had landed before.
    Landed,
    /// The lease was lost.
    LeaseLost,
    /// There is a record after all.
    Refused(
        penstock_domain::ledger::Refusal,
        Box<penstock_domain::ledger::Record>,
    ),
}

pub(crate) fn claimed(write: Write, claim: &ClaimAs) -> Write {
    write
        .text("processing", "processing")
        .text("owner", claim.owner.0.as_str())
        .number("fence", claim.fence.0)
        .condition(CLAIM_HOLDS)
}

fn unclaimed(subject: &Subject, request: &ClaimRequest, expires_at: i64, now: Timestamp) -> Settling {
    let write = subject_values(
        Write::to(update_pk(&subject.key), "LEDGER"),
        subject,
        request.redrive,
        expires_at,
    )
    .text("digest", request.digest.to_string())
    .text("owner", request.owner.0.as_str())
    .number("zero", 0)
    .number("one", 1)
    .number("now_s", now.as_millis().div_euclid(1000))
    .condition(NO_RECORD);
    Settling {
        write,
        set: format!(
            ", {IDENTITY}, #owner = :owner, #fence = if_not_exists(#fence, :zero) + :one, #attempts = :one"
        ),
        is_first: true,
    }
}

impl Settling {
    /// The write of a run; the caller adds the verdict, `:expires_at` included.
    pub(crate) fn of(subject: &Subject, run: &RunAs, expires_at: i64, now: Timestamp) -> Self {
        match run {
            RunAs::Claimed(claim) => Self {
                write: claimed(Write::to(update_pk(&subject.key), "LEDGER"), claim)
                    .number("expires_at", expires_at),
                set: String::new(),
                is_first: false,
            },
            RunAs::Unclaimed(request) => unclaimed(subject, request, expires_at, now),
        }
    }
}

impl Ledger {
    /// Reads why a settling write was refused, off the item that came with the refusal.
    pub(crate) async fn not_settled(
        &self,
        operation: &'static str,
        run: &RunAs,
        existing: Option<&Item>,
        state: State,
    ) -> Result<NotSettled, PortError> {
        let record = existing.map(|item| read_record(operation, item)).transpose()?;
        match (run, record) {
            (RunAs::Claimed(claim), Some(record)) => {
                let has_landed = record.state == state
                    && record.fence == claim.fence
                    && record.owner.as_ref() == Some(&claim.owner);
                Ok(if has_landed {
                    NotSettled::Landed
                } else {
                    NotSettled::LeaseLost
                })
            }
            (RunAs::Claimed(_), None) => Ok(NotSettled::LeaseLost),
            (RunAs::Unclaimed(request), Some(record)) => {
                if record.state == state && record.owner.as_ref() == Some(&request.owner) {
                    return Ok(NotSettled::Landed);
                }
                let record = self.completed(operation, record).await?;
                Ok(NotSettled::Refused(
                    judge_refusal(&record, request),
                    Box::new(record),
                ))
            }
            // Refused without an item: it was there and went in between. The next delivery sees it absent.
            (RunAs::Unclaimed(_), None) => Err(PortError::Unavailable {
                operation,
                code: "gone".to_owned(),
            }),
        }
    }
}
