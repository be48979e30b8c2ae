//! What a person does to a dead Update: each is one transaction of the record and its audit row.
//!
//! ```text
//! read ──> transaction: record IF as it was read, and AUDIT#{at}#{n} IF absent ──ok──> done
//!                          └──refused──> is the audit row this act's own? then it had landed and was repeated: done
//!                                        else somebody was quicker: nothing was changed
//! ```

use aws_sdk_dynamodb::types::{Put, TransactWriteItem, Update};
use penstock_domain::ids::{LedgerKey, UpdateDigest};
use penstock_domain::ledger::State;
use penstock_domain::repair::{Act, Action};
use penstock_ports::{AuditRow, Letter, PortError, Repaired};

use super::expression::{Write, request_token};
use super::{ITEM_VERSION, Item, Ledger, attention_pk, attention_sk, item, update_pk};
use crate::error::port_error;
use crate::hooks::point;

/// What each repair tests beside its own: the record lives, and nobody has laid a hand on it since it was read.
const AS_READ: &str = "#expires_at >= :now_s AND #redrive = :redrive AND #acts = :acts";
/// The same where nobody ever had.
const AS_READ_FIRST: &str = "#expires_at >= :now_s AND #redrive = :redrive AND attribute_not_exists(#acts)";

/// A write of a person on its way.
pub(crate) struct Repair<'a> {
    pub(crate) operation: &'static str,
    pub(crate) letter: &'a Letter,
    pub(crate) act: &'a Act,
    pub(crate) row: AuditRow,
}

/// The record's own part of a repair: what tests that it is as it was read, and counts the act.
pub(crate) fn as_read(letter: &Letter, act: &Act, set: &str, removed: &str, condition: &str) -> Write {
    let write = Write::to(update_pk(&letter.record.key), "LEDGER")
        .number("now_s", act.at().as_millis().div_euclid(1000))
        .number("redrive", letter.record.redrive)
        .number("next_acts", letter.acts + 1);
    let (write, guard) = if letter.acts == 0 {
        (write, AS_READ_FIRST)
    } else {
        (write.number("acts", letter.acts), AS_READ)
    };
    let removed = if removed.is_empty() {
        String::new()
    } else {
        format!(" REMOVE {removed}")
    };
    write
        .update(&format!("SET #acts = :next_acts, {set}{removed}"))
        .condition(&format!("{guard} AND {condition}"))
}

fn audit_sk(letter: &Letter, act: &Act) -> String {
    format!("AUDIT#{:013}#{}", act.at().as_millis(), letter.acts)
}

fn audit_item(key: &LedgerKey, sk: &str, row: &AuditRow, expires_at: i64) -> Item {
    let mut stored = item::m([
        ("pk", item::s(update_pk(key))),
        ("sk", item::s(sk)),
        ("v", item::n(ITEM_VERSION)),
        ("action", item::s(row.action.name())),
        ("who", item::s(&row.who)),
        ("why", item::s(&row.why)),
        ("at", item::n(row.at)),
        ("before", item::s(&row.before)),
        ("redrive", item::n(row.redrive)),
        ("expires_at", item::n(expires_at)),
    ]);
    if let Some((n, resend)) = row.send {
        stored.insert("n".to_owned(), item::n(n));
        stored.insert("resend".to_owned(), item::n(resend));
    }
    if let Some((before, after)) = row.bodies {
        stored.insert("digest_before".to_owned(), item::s(before.to_string()));
        stored.insert("digest_after".to_owned(), item::s(after.to_string()));
    }
    stored
}

impl Ledger {
    /// Writes the record and the audit row in one transaction.
    pub(crate) async fn repair(&self, repair: Repair<'_>, write: Write) -> Result<Repaired, PortError> {
        let Repair {
            operation,
            letter,
            act,
            row,
        } = repair;
        let key = &letter.record.key;
        let sk = audit_sk(letter, act);
        let expires_at = self.retention.expires_at(1, act.at());
        let rejected = |error: aws_sdk_dynamodb::error::BuildError| PortError::Rejected {
            operation,
            code: "construction".to_owned(),
            source: Box::new(error),
        };
        let table = self.table.as_ref();
        let record: Update = write.into_transact(table).map_err(rejected)?;
        let audit = Put::builder()
            .table_name(table)
            .set_item(Some(audit_item(key, &sk, &row, expires_at)))
            .condition_expression("attribute_not_exists(pk)")
            .build()
            .map_err(rejected)?;
        let answer = self
            .client
            .transact_write_items()
            .transact_items(TransactWriteItem::builder().update(record).build())
            .transact_items(TransactWriteItem::builder().put(audit).build())
            .client_request_token(request_token(&format!("{key}|{row:?}|{}", letter.acts)))
            .send()
            .await;
        let Err(error) = answer else {
            return Ok(Repaired::Done);
        };
        let reasons: Vec<String> = match error.as_service_error() {
            Some(service) if service.is_transaction_canceled_exception() => cancellations(service),
            Some(_) | None => return Err(port_error(operation, error)),
        };
        if reasons.iter().any(|code| code == "ConditionalCheckFailed") {
            // The row's place names the time and the count of acts: only this very act writes it like this.
            let landed = self.audit_row(key, &sk).await?.is_some_and(|found| found == row);
            return Ok(if landed { Repaired::Done } else { Repaired::Changed });
        }
        let code = reasons
            .into_iter()
            .find(|code| code != "None")
            .unwrap_or_default();
        if code == "ValidationError" {
            return Err(PortError::Rejected {
                operation,
                code,
                source: Box::new(error),
            });
        }
        // A conflict with another transaction, or throttling: not now.
        Err(PortError::Unavailable { operation, code })
    }

    pub(crate) async fn redrive_letter(&self, letter: &Letter, act: &Act) -> Result<Repaired, PortError> {
        let now = act.at();
        let expires_at = self.retention.expires_at(1, now);
        self.prolong_rows(&letter.record.key, expires_at).await?;
        let write = as_read(
            letter,
            act,
            "#state = :pending, #redrive = :next, #attempts = :zero, #redriven_at = :now, #expires_at = :expires_at, \
             #attn_pk = if_not_exists(#attn_pk, :attn_pk), #attn_sk = if_not_exists(#attn_sk, :attn_sk)",
            "#discarded_at",
            "#state = :dead",
        )
        .text("pending", "pending")
        .text("dead", "dead")
        .number("next", letter.record.redrive + 1)
        .number("zero", 0)
        .number("now", now)
        .number("expires_at", expires_at)
        .text("attn_pk", attention_pk("dead", letter.subject.bot_id, &letter.record.key))
        .text("attn_sk", attention_sk(now, &letter.record.key));
        let mut row = AuditRow::of(Action::Redrive, letter, act);
        row.redrive += 1;
        point("ledger.redrive.before");
        let repair = Repair {
            operation: "ledger.redrive",
            letter,
            act,
            row,
        };
        let repaired = self.repair(repair, write).await?;
        point("ledger.redrive.after");
        Ok(repaired)
    }

    pub(crate) async fn edit_letter(
        &self,
        letter: &Letter,
        before: UpdateDigest,
        raw: &str,
        act: &Act,
    ) -> Result<Repaired, PortError> {
        let expires_at = self.retention.expires_at(1, act.at());
        let stored = self.store_raw(&letter.record.key, raw, expires_at).await?;
        const WHEN: &str = "#state = :dead AND attribute_exists(#attn_pk)";
        let write = match stored.inline {
            Some(inline) => as_read(
                letter,
                act,
                "#raw = :raw, #expires_at = :expires_at",
                "#raw_rows, #raw_set",
                WHEN,
            )
            .value("raw", inline),
            None => as_read(
                letter,
                act,
                "#raw_rows = :raw_rows, #raw_set = :raw_set, #expires_at = :expires_at",
                "#raw",
                WHEN,
            )
            .number("raw_rows", stored.rows)
            .text("raw_set", stored.set),
        };
        let write = write.text("dead", "dead").number("expires_at", expires_at);
        let mut row = AuditRow::of(Action::Edit, letter, act);
        row.bodies = Some((before, UpdateDigest::of(raw.as_bytes())));
        point("ledger.edit.before");
        let repair = Repair {
            operation: "ledger.edit",
            letter,
            act,
            row,
        };
        let repaired = self.repair(repair, write).await?;
        point("ledger.edit.after");
        Ok(repaired)
    }

    pub(crate) async fn discard_letter(&self, letter: &Letter, act: &Act) -> Result<Repaired, PortError> {
        let write = as_read(
            letter,
            act,
            "#discarded_at = :now, #expires_at = :expires_at",
            "#attn_pk, #attn_sk",
            "#state = :dead AND attribute_exists(#attn_pk)",
        )
        .text("dead", State::Dead.name())
        .number("now", act.at())
        .number("expires_at", self.retention.expires_at(0, act.at()));
        point("ledger.discard.before");
        let repair = Repair {
            operation: "ledger.discard",
            letter,
            act,
            row: AuditRow::of(Action::Discard, letter, act),
        };
        let repaired = self.repair(repair, write).await?;
        point("ledger.discard.after");
        Ok(repaired)
    }
}

/// Why each part of a cancelled transaction was cancelled, in their order.
fn cancellations(
    error: &aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError,
) -> Vec<String> {
    use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError as E;
    match error {
        E::TransactionCanceledException(cancelled) => cancelled
            .cancellation_reasons()
            .iter()
            .map(|reason| reason.code().unwrap_or("None").to_owned())
            .collect(),
        _ => Vec::new(),
    }
}
