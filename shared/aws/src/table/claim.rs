//! Claiming an Update.
//!
//! ```text
//! claim ──ok──> processing (owner, fence+1, lease)
//!    └──refused, expired record──> claim afresh, old outcome removed, fence kept
//!    └──refused──> the domain reads why, off the item that came with the refusal
//! ```

use aws_sdk_dynamodb::types::ReturnValue;
use penstock_domain::ledger::{ClaimRequest, Fence, LEASE_MARGIN, Owner, Record, Refusal, judge_refusal};
use penstock_ports::{Claim, ClaimAs, PortError, Subject, TakeOver};

use super::expression::{Write, Written};
use super::{ITEM_VERSION, Item, Ledger, item, read_record, update_pk};
use crate::hooks::point;

/// What every claim sets. The subject is written each time: the first claim makes the record.
pub(crate) const IDENTITY: &str = "#v = :v, #key = :key, #bot_id = :bot_id, #update_id = :update_id, #kind = :kind, \
                                   #group = :group, #received_at = :received_at, #trace_id = :trace_id, \
                                   #redrive = :redrive, #digest = :digest";
/// What a commit leaves, and a new life removes.
pub(crate) const OUTCOME: &str = "#intents, #result, #done_at";
const LEASE: &str = "#state = :processing, #owner = :owner, #lease_until = :lease_until";

pub(crate) fn subject_values(write: Write, subject: &Subject, redrive: u32, expires_at: i64) -> Write {
    write
        .number("v", ITEM_VERSION)
        .text("key", subject.key.as_str())
        .number("bot_id", subject.bot_id)
        .number("update_id", subject.update_id)
        .text("kind", subject.kind.name())
        .text("group", subject.group.0.as_str())
        .number("received_at", subject.received_at)
        .text("trace_id", subject.trace_id.as_str())
        .number("redrive", redrive)
        .number("expires_at", expires_at)
}

impl Ledger {
    fn lease(&self, subject: &Subject, request: &ClaimRequest) -> Write {
        let expires_at = self.retention.expires_at(1, request.now);
        subject_values(
            Write::to(update_pk(&subject.key), "LEDGER"),
            subject,
            request.redrive,
            expires_at,
        )
        .text("digest", request.digest.to_string())
        .text("processing", "processing")
        .text("owner", request.owner.0.as_str())
        .number("lease_until", request.lease_until)
        .number("one", 1)
    }

    pub(crate) async fn claim_update(
        &self,
        subject: &Subject,
        request: &ClaimRequest,
    ) -> Result<Claim, PortError> {
        const OPERATION: &str = "ledger.claim";
        // A record that was filed without a claim has no digest.
        let claimable = "attribute_not_exists(pk) OR (#expires_at >= :now_s AND #redrive = :redrive \
                         AND (attribute_not_exists(#digest) OR #digest = :digest) AND (#state = :pending OR (#state IN (:retrying, :deferred) AND #next_at <= :now)))";
        let write = self
            .lease(subject, request)
            .number("zero", 0)
            .number("now", request.now)
            .number("now_s", request.now.as_millis().div_euclid(1000))
            .text("pending", "pending")
            .text("retrying", "retrying")
            .text("deferred", "deferred")
            .update(&format!(
                "SET {IDENTITY}, #expires_at = :expires_at, {LEASE}, #fence = if_not_exists(#fence, :zero) + :one, \
                 #attempts = if_not_exists(#attempts, :zero) + :one, #open = if_not_exists(#open, :zero) \
                 REMOVE #attn_pk, #attn_sk, #next_at"
            ))
            .condition(claimable);
        point("ledger.claim.before");
        let written = self.write(OPERATION, write, ReturnValue::UpdatedNew).await?;
        point("ledger.claim.after");
        let existing = match written {
            Written::Applied(updated) => {
                return acquired(OPERATION, &request.owner, &updated).map(Claim::Acquired);
            }
            Written::Refused(existing) => existing.ok_or(PortError::Unavailable {
                operation: OPERATION,
                // Refused without an item: it was there and went in between. The next delivery sees it absent.
                code: "gone".to_owned(),
            })?,
        };
        let record = read_record(OPERATION, &existing)?;
        if record.expires_at < request.now.as_millis().div_euclid(1000) {
            return self.claim_expired(subject, request, record.fence).await;
        }
        self.refused_claim(OPERATION, request, record).await
    }

    /// What a refused claim comes to.
    async fn refused_claim(
        &self,
        operation: &'static str,
        request: &ClaimRequest,
        record: Record,
    ) -> Result<Claim, PortError> {
        let refusal = judge_refusal(&record, request);
        match refusal {
            Refusal::Mine { attempts, fence } => {
                return Ok(Claim::Acquired(ClaimAs {
                    owner: request.owner.clone(),
                    fence,
                    attempt: attempts,
                }));
            }
            Refusal::ReusedId => self.keep_for_reuse(&record, request).await?,
            Refusal::Superseded
            | Refusal::Done
            | Refusal::Dead
            | Refusal::HeldUntil(_)
            | Refusal::Suspect { .. } => {}
        }
        let record = self.completed(operation, record).await?;
        Ok(Claim::Refused(refusal, Box::new(record)))
    }

    /// Another Update under the same id goes by a suffixed key as long as this record stands: so it must stand at least
    /// as long as that one may be open.
    async fn keep_for_reuse(&self, record: &Record, request: &ClaimRequest) -> Result<(), PortError> {
        let expires_at = self.retention.expires_at(1, request.now);
        if record.expires_at >= expires_at {
            return Ok(());
        }
        let write = Write::to(update_pk(&record.key), "LEDGER")
            .number("expires_at", expires_at)
            .number("seen", record.fence.0)
            .update("SET #expires_at = :expires_at")
            .condition("#fence = :seen AND #expires_at < :expires_at");
        point("ledger.keep_for_reuse.before");
        // Refused: it moved on meanwhile, and its own write set a life.
        self.write("ledger.keep_for_reuse", write, ReturnValue::None)
            .await?;
        point("ledger.keep_for_reuse.after");
        Ok(())
    }

    /// The record outlived its life but not yet the table's cleaning: begin anew. The fence never goes down.
    async fn claim_expired(
        &self,
        subject: &Subject,
        request: &ClaimRequest,
        seen: Fence,
    ) -> Result<Claim, PortError> {
        const OPERATION: &str = "ledger.claim_expired";
        let write = self
            .lease(subject, request)
            .number("zero", 0)
            .number("seen", seen.0)
            .number("now_s", request.now.as_millis().div_euclid(1000))
            .update(&format!(
                "SET {IDENTITY}, #expires_at = :expires_at, {LEASE}, #fence = #fence + :one, #attempts = :one, #open = :zero \
                 REMOVE #attn_pk, #attn_sk, #next_at, #tries, #raw, #raw_rows, #raw_set, #dead_at, {OUTCOME}"
            ))
            .condition("#expires_at < :now_s AND #fence = :seen");
        point("ledger.claim_expired.before");
        let written = self.write(OPERATION, write, ReturnValue::UpdatedNew).await?;
        point("ledger.claim_expired.after");
        match written {
            Written::Applied(updated) => acquired(OPERATION, &request.owner, &updated).map(Claim::Acquired),
            Written::Refused(Some(existing)) => {
                let record = read_record(OPERATION, &existing)?;
                self.refused_claim(OPERATION, request, record).await
            }
            Written::Refused(None) => Err(PortError::Unavailable {
                operation: OPERATION,
                code: "gone".to_owned(),
            }),
        }
    }

    pub(crate) async fn take_over_update(
        &self,
        subject: &Subject,
        request: &ClaimRequest,
        seen: Fence,
    ) -> Result<TakeOver, PortError> {
        const OPERATION: &str = "ledger.take_over";
        let write = self
            .lease(subject, request)
            .number("seen", seen.0)
            .number("dead_since", (request.now - LEASE_MARGIN).as_millis())
            .update(&format!(
                "SET {IDENTITY}, #expires_at = :expires_at, {LEASE}, #fence = #fence + :one, #attempts = #attempts + :one \
                 REMOVE #attn_pk, #attn_sk, #next_at"
            ))
            .condition("#state = :processing AND #fence = :seen AND #lease_until < :dead_since AND #redrive = :redrive");
        point("ledger.take_over.before");
        let written = self.write(OPERATION, write, ReturnValue::UpdatedNew).await?;
        point("ledger.take_over.after");
        match written {
            Written::Applied(updated) => {
                acquired(OPERATION, &request.owner, &updated).map(TakeOver::Acquired)
            }
            Written::Refused(Some(existing)) => {
                let record = read_record(OPERATION, &existing)?;
                Ok(match judge_refusal(&record, request) {
                    Refusal::Mine { attempts, fence } => TakeOver::Acquired(ClaimAs {
                        owner: request.owner.clone(),
                        fence,
                        attempt: attempts,
                    }),
                    _ => TakeOver::Lost,
                })
            }
            Written::Refused(None) => Ok(TakeOver::Lost),
        }
    }
}

fn acquired(operation: &'static str, owner: &Owner, updated: &Item) -> Result<ClaimAs, PortError> {
    let unreadable = |what| PortError::Unreadable { operation, what };
    Ok(ClaimAs {
        owner: owner.clone(),
        fence: Fence(item::number(updated, "fence").ok_or_else(|| unreadable("fence"))?),
        attempt: item::number(updated, "attempts").ok_or_else(|| unreadable("attempts"))?,
    })
}
