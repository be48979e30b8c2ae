//! Receive attempts: a receive that is repeated under the same attempt id, because its answer was lost, gives
//! the same messages and handles again. FIFO queues only, for five minutes.

use rusqlite::{OptionalExtension as _, params};

use super::ledger::IN_FLIGHT;
use super::receive::Row;
use super::{Call, Queue, dedup};
use crate::error::EngineError;
use crate::message::{ReceiveRequest, Received};
use crate::receipt::Receipt;
use crate::rules::names;

impl Call<'_> {
    /// The messages of an earlier receive under the same attempt id, hidden anew; empty when there is none,
    /// or when one of its messages was deleted or received again or had its visibility ended since.
    pub(super) fn repeat_attempt(
        &self,
        queue: &Queue,
        request: &ReceiveRequest,
        visibility_ms: i64,
    ) -> Result<Vec<Received>, EngineError> {
        let Some(attempt_id) = request.attempt_id.as_deref().filter(|_| queue.config.fifo) else {
            return Ok(Vec::new());
        };
        names::check_fifo_id("ReceiveRequestAttemptId", attempt_id)?;
        let handles: Option<String> = self
            .conn
            .prepare_cached(
                "SELECT handles FROM attempts WHERE queue_id = ?1 AND attempt_id = ?2 AND expires_ms > ?3",
            )?
            .query_row(params![queue.id, attempt_id, self.now], |row| row.get(0))
            .optional()?;
        let receipts: Option<Vec<Receipt>> = handles
            .iter()
            .flat_map(|h| h.split(' '))
            .map(Receipt::decode)
            .collect();
        let mut found = Vec::new();
        for receipt in receipts.unwrap_or_default() {
            match self.in_flight(receipt)? {
                Some((name, row)) => found.push((receipt.group_id, name, row)),
                None => return Ok(Vec::new()),
            }
        }
        let mut messages = Vec::new();
        for (group_id, name, row) in found {
            self.conn
                .prepare_cached("UPDATE messages SET visible_at = ?3 WHERE group_id = ?1 AND seq = ?2")?
                .execute(params![group_id, row.seq, self.now + visibility_ms])?;
            messages.extend(self.answer(queue, group_id, name, &row)?);
        }
        Ok(messages)
    }

    fn in_flight(&self, receipt: Receipt) -> Result<Option<(Option<String>, Row)>, EngineError> {
        let row = self.next_row(receipt.group_id, receipt.seq - 1)?;
        let Some(row) =
            row.filter(|row| (row.seq, row.state, row.receives) == (receipt.seq, IN_FLIGHT, receipt.receive))
        else {
            return Ok(None);
        };
        let name = self
            .conn
            .prepare_cached("SELECT coalesce(key, label) FROM groups WHERE id = ?1")?
            .query_row([receipt.group_id], |row| row.get(0))?;
        Ok(Some((name, row)))
    }

    pub(super) fn remember_attempt(
        &self,
        queue: &Queue,
        request: &ReceiveRequest,
        messages: &[Received],
    ) -> rusqlite::Result<()> {
        let Some(attempt_id) = request.attempt_id.as_deref() else {
            return Ok(());
        };
        if messages.is_empty() || !queue.config.fifo {
            return Ok(());
        }
        let handles: Vec<&str> = messages
            .iter()
            .map(|message| message.receipt_handle.as_str())
            .collect();
        self.conn
            .prepare_cached("DELETE FROM attempts WHERE queue_id = ?1 AND expires_ms <= ?2")?
            .execute(params![queue.id, self.now])?;
        self.conn
            .prepare_cached(
                "INSERT OR REPLACE INTO attempts (queue_id, attempt_id, expires_ms, handles)
                 VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                queue.id,
                attempt_id,
                self.now + dedup::WINDOW_MS,
                handles.join(" ")
            ])?;
        Ok(())
    }
}
