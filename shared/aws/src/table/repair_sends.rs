//! What a person does to a send that failed or of which nobody knows: made again, or said to have arrived.

use penstock_domain::intent::{IntentRecord, IntentState};
use penstock_domain::repair::{Act, Action};
use penstock_ports::{AuditRow, Letter, PortError, Repaired};

use super::repair::{Repair, as_read};
use super::{Ledger, attention_pk, attention_sk, item, update_pk};
use crate::hooks::point;

fn find(letter: &Letter, n: u8) -> Option<&IntentRecord> {
    letter.record.intents.iter().find(|stored| stored.intent.n == n)
}

fn send_row(action: Action, letter: &Letter, stored: &IntentRecord, resend: u32, act: &Act) -> AuditRow {
    AuditRow {
        before: stored.state.name().to_owned(),
        send: Some((stored.intent.n, resend)),
        ..AuditRow::of(action, letter, act)
    }
}

impl Ledger {
    pub(crate) async fn resend_intent(
        &self,
        letter: &Letter,
        n: u8,
        act: &Act,
    ) -> Result<Repaired, PortError> {
        let open_to_it = [IntentState::Failed, IntentState::Unknown];
        let Some(stored) = find(letter, n).filter(|stored| open_to_it.contains(&stored.state)) else {
            return Ok(Repaired::Changed);
        };
        let (key, now) = (&letter.record.key, act.at());
        let intent = format!("#intents.#i{n}");
        // A failure was closed; it is open again.
        let opened = u8::from(stored.state == IntentState::Failed);
        let write = as_read(
            letter,
            act,
            &format!(
                "{intent}.#state = :intended, {intent}.#resend = :next_resend, {intent}.#resent_at = :now, \
                 #open = #open + :opened, #expires_at = :expires_at, \
                 #attn_pk = if_not_exists(#attn_pk, :attn_pk), #attn_sk = if_not_exists(#attn_sk, :attn_sk)"
            ),
            &format!("{intent}.#next_at, {intent}.#lease_until"),
            &format!("#state = :done AND {intent}.#state = :was AND {intent}.#resend = :resend"),
        )
        .text("done", "done")
        .text("intended", "intended")
        .text("was", stored.state.name())
        .number("resend", stored.resend)
        .number("next_resend", stored.resend + 1)
        .number("opened", opened)
        .number("now", now)
        .number("expires_at", self.retention.expires_at(1, now))
        .text("attn_pk", attention_pk("unknown", letter.subject.bot_id, key))
        .text("attn_sk", attention_sk(now, key));
        let row = send_row(Action::Resend, letter, stored, stored.resend + 1, act);
        point("ledger.resend.before");
        let repair = Repair {
            operation: "ledger.resend",
            letter,
            act,
            row,
        };
        let repaired = self.repair(repair, write).await?;
        point("ledger.resend.after");
        Ok(repaired)
    }

    pub(crate) async fn settle_unknown_intent(
        &self,
        letter: &Letter,
        n: u8,
        act: &Act,
    ) -> Result<Repaired, PortError> {
        const OPERATION: &str = "ledger.settle_unknown";
        let Some(stored) = find(letter, n) else {
            return Ok(Repaired::Changed);
        };
        let (key, now) = (&letter.record.key, act.at());
        let intent = format!("#intents.#i{n}");
        let is_only_one = letter.record.intents.len() == 1;
        let mut set = format!("{intent}.#state = :sent, {intent}.#sent_at = :now, #open = #open - :one");
        let mut removed = String::new();
        if is_only_one {
            set += ", #expires_at = :expires_at";
            removed += "#attn_pk, #attn_sk";
        }
        let mut write = as_read(
            letter,
            act,
            &set,
            &removed,
            &format!("#state = :done AND {intent}.#state = :unknown AND {intent}.#resend = :resend"),
        )
        .text("done", "done")
        .text("sent", "sent")
        .text("unknown", "unknown")
        .number("resend", stored.resend)
        .number("one", 1)
        .number("now", now);
        if is_only_one {
            write = write.number("expires_at", self.retention.expires_at(0, now));
        }
        let row = send_row(Action::Settle, letter, stored, stored.resend, act);
        point("ledger.settle_unknown.before");
        let repair = Repair {
            operation: OPERATION,
            letter,
            act,
            row,
        };
        let repaired = self.repair(repair, write).await?;
        point("ledger.settle_unknown.after");
        if repaired == Repaired::Done && !is_only_one {
            // A crash before this leaves a row that listings pass over.
            if let Some(now_is) = self.get(OPERATION, update_pk(key), "LEDGER").await? {
                if item::number::<i64>(&now_is, "open") == Some(0) {
                    self.shorten_life(key, now).await?;
                }
                self.leave_attention(key, &now_is).await?;
            }
        }
        Ok(repaired)
    }
}
