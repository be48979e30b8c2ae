//! One receive, without waiting: which messages may go out now, and marking them as in flight.
//!
//! Groups are taken in the order of their first messages. Of each, messages go out from the first up to the
//! first that is hidden: what stands behind a hidden message is held back, whatever its own state.

use rusqlite::{OptionalExtension as _, params};

use super::ledger::{IN_FLIGHT, Ledger, Place, VISIBLE};
use super::{Call, Queue, payload};
use crate::error::{EngineError, Refusal};
use crate::message::{ReceiveRequest, Received};
use crate::receipt::Receipt;
use crate::rules::batch::MAX_ENTRIES;

/// Messages in flight per queue (SQS quotas, FIFO queues). At the limit a receive is empty, not an error.
const MAX_IN_FLIGHT: usize = 120_000;
/// Messages that one receive moves to the dead-letter queue before it lets other calls in.
const MAX_MOVES: usize = 500;
/// Longest visibility timeout in seconds: 12 hours (SQS API).
pub(super) const MAX_VISIBILITY_S: i64 = 43_200;
/// Longest wait in seconds (SQS API).
const MAX_WAIT_S: i64 = 20;

/// What one look at the queue gave.
pub(super) struct Look {
    pub(super) messages: Vec<Received>,
    pub(super) queue_id: i64,
    /// Seconds that the caller is ready to wait.
    pub(super) wait_s: i64,
    /// When to look again at the latest, if nothing else happens.
    pub(super) next_change_ms: Option<i64>,
}

pub(super) struct Head {
    pub(super) group_id: i64,
    pub(super) seq: i64,
    pub(super) name: Option<String>,
}

pub(super) struct Row {
    pub(super) seq: i64,
    pub(super) state: i64,
    pub(super) receives: i64,
    pub(super) sent_ms: i64,
    pub(super) first_received_ms: i64,
}

impl Row {
    pub(super) fn is_visible(&self) -> bool {
        self.state == VISIBLE
    }

    pub(super) fn place(&self, group_id: i64) -> Place {
        Place {
            group_id,
            seq: self.seq,
            state: self.state,
        }
    }
}

/// Refuses numbers out of range.
fn check(request: &ReceiveRequest) -> Result<(), Refusal> {
    let out_of = |name: &str, value: i64, range: &str| {
        Refusal::parameter(format!(
            "value {value} for parameter {name} is invalid: {range} are allowed"
        ))
    };
    if request.max_messages > MAX_ENTRIES {
        let value = i64::try_from(request.max_messages).unwrap_or(i64::MAX);
        return Err(out_of("MaxNumberOfMessages", value, "1 to 10"));
    }
    if let Some(seconds) = request
        .visibility_s
        .filter(|s| !(0..=MAX_VISIBILITY_S).contains(s))
    {
        return Err(out_of("VisibilityTimeout", seconds, "0 to 43200"));
    }
    if let Some(seconds) = request.wait_s.filter(|s| !(0..=MAX_WAIT_S).contains(s)) {
        return Err(out_of("WaitTimeSeconds", seconds, "0 to 20"));
    }
    Ok(())
}

impl Call<'_> {
    pub(super) fn look(&mut self, name: &str, request: &ReceiveRequest) -> Result<Look, EngineError> {
        check(request)?;
        let queue = self.settled_queue(name)?;
        let mut ledger = self.ledger(&queue);
        let visibility_ms = request.visibility_s.unwrap_or(queue.config.visibility_s) * 1000;
        let mut messages = self.repeat_attempt(&queue, request, visibility_ms)?;
        let mut moves = 0;
        if messages.is_empty() {
            (messages, moves) = self.take_visible(&mut ledger, &queue, request, visibility_ms)?;
            ledger.flush()?;
            self.remember_attempt(&queue, request, &messages)?;
        }
        let next_change_ms = if moves >= MAX_MOVES {
            Some(self.now)
        } else {
            self.next_change_ms(&queue)?
        };
        let wait_s = request.wait_s.unwrap_or(queue.config.wait_s);
        Ok(Look {
            messages,
            queue_id: queue.id,
            wait_s,
            next_change_ms,
        })
    }

    fn take_visible(
        &mut self,
        ledger: &mut Ledger<'_>,
        queue: &Queue,
        request: &ReceiveRequest,
        visibility_ms: i64,
    ) -> Result<(Vec<Received>, usize), EngineError> {
        let in_flight: i64 = self
            .conn
            .prepare_cached("SELECT in_flight FROM queues WHERE id = ?1")?
            .query_row([queue.id], |row| row.get(0))?;
        let room = MAX_IN_FLIGHT.saturating_sub(usize::try_from(in_flight).unwrap_or(0));
        let wanted = request.max_messages.max(1).min(room);
        let mut messages = Vec::with_capacity(wanted);
        let (mut moves, mut passed) = (0, 0);
        while messages.len() < wanted && moves < MAX_MOVES {
            let Some(head) = self.next_ready(queue, passed)? else {
                break;
            };
            passed = head.seq;
            let mut after = 0;
            while messages.len() < wanted && moves < MAX_MOVES {
                let Some(row) = self.next_row(head.group_id, after)? else {
                    break;
                };
                if row.state != VISIBLE {
                    break;
                }
                after = row.seq;
                if self.dead_letter(
                    ledger,
                    queue,
                    &row.place(head.group_id),
                    row.receives,
                    head.name.as_deref(),
                )? {
                    moves += 1;
                } else {
                    messages.extend(self.hand_out(ledger, queue, &head, row, visibility_ms)?);
                }
            }
        }
        Ok((messages, moves))
    }

    pub(super) fn next_ready(&self, queue: &Queue, passed: i64) -> rusqlite::Result<Option<Head>> {
        self.conn
            .prepare_cached(
                "SELECT id, head_seq, coalesce(key, label) FROM groups
                 WHERE queue_id = ?1 AND ready = 1 AND head_seq > ?2 ORDER BY head_seq LIMIT 1",
            )?
            .query_row(params![queue.id, passed], |row| {
                Ok(Head {
                    group_id: row.get(0)?,
                    seq: row.get(1)?,
                    name: row.get(2)?,
                })
            })
            .optional()
    }

    pub(super) fn next_row(&self, group_id: i64, after: i64) -> rusqlite::Result<Option<Row>> {
        self.conn
            .prepare_cached(
                "SELECT seq, state, receives, sent_ms, first_received_ms FROM messages
                 WHERE group_id = ?1 AND seq > ?2 ORDER BY seq LIMIT 1",
            )?
            .query_row(params![group_id, after], |row| {
                Ok(Row {
                    seq: row.get(0)?,
                    state: row.get(1)?,
                    receives: row.get(2)?,
                    sent_ms: row.get(3)?,
                    first_received_ms: row.get(4)?,
                })
            })
            .optional()
    }

    /// Marks the message as received and answers it.
    fn hand_out(
        &self,
        ledger: &mut Ledger<'_>,
        queue: &Queue,
        head: &Head,
        mut row: Row,
        visibility_ms: i64,
    ) -> Result<Option<Received>, EngineError> {
        let state = if visibility_ms > 0 { IN_FLIGHT } else { VISIBLE };
        ledger.restate(row.place(head.group_id), state);
        row.receives += 1;
        if row.receives == 1 {
            row.first_received_ms = self.now;
        }
        self.conn
            .prepare_cached(
                "UPDATE messages SET state = ?3, visible_at = ?4, receives = ?5, received_ms = ?6,
                     first_received_ms = ?7 WHERE group_id = ?1 AND seq = ?2",
            )?
            .execute(params![
                head.group_id,
                row.seq,
                state,
                self.now + visibility_ms,
                row.receives,
                self.now,
                row.first_received_ms
            ])?;
        self.answer(queue, head.group_id, head.name.clone(), &row)
    }

    /// `None` when the payload is missing, which only a damaged file has.
    pub(super) fn answer(
        &self,
        queue: &Queue,
        group_id: i64,
        group: Option<String>,
        row: &Row,
    ) -> Result<Option<Received>, EngineError> {
        let Some(payload) = payload::find(self.conn, row.seq)? else {
            tracing::error!(queue = %queue.name, seq = row.seq, "a message has lost its payload");
            return Ok(None);
        };
        let receipt = Receipt {
            queue_id: queue.id,
            group_id,
            seq: row.seq,
            receive: row.receives,
        };
        Ok(Some(Received {
            message_id: payload.message_id,
            receipt_handle: receipt.encode(),
            body: payload.body,
            attributes: payload.attributes,
            trace_header: payload.trace_header,
            group,
            dedup_id: payload.dedup_id,
            sequence_number: queue.config.fifo.then(|| payload::sequence_number(row.seq)),
            sent_ms: row.sent_ms,
            first_received_ms: row.first_received_ms,
            receive_count: row.receives,
            dead_letter_source: payload.source,
        }))
    }
}
