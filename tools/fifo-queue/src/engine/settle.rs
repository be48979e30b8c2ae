//! What time does to a queue: visibility and delays end, retention ends. Applied at the start of every call
//! that looks, so that stored states are true for `now`.
//!
//! Each message is touched once per ending, whenever it is noticed: the cost belongs to the receive or send
//! that hid the message.

use std::sync::Arc;

use rusqlite::{OptionalExtension as _, params};

use super::ledger::{Place, VISIBLE};
use super::{Call, Queue};
use crate::error::EngineError;

impl Call<'_> {
    pub(super) fn settle(&mut self, queue: &Arc<Queue>) -> Result<(), EngineError> {
        self.end_hiding(queue)?;
        self.end_retention(queue)?;
        Ok(())
    }

    fn end_hiding(&mut self, queue: &Queue) -> Result<(), EngineError> {
        if self.next_change_ms(queue)?.is_none_or(|at| at > self.now) {
            return Ok(());
        }
        let due: Vec<Place> = self
            .conn
            .prepare_cached(
                "SELECT group_id, seq, state FROM messages
                 WHERE queue_id = ?1 AND state <> 0 AND visible_at <= ?2",
            )?
            .query_map(params![queue.id, self.now], |row| {
                Ok(Place {
                    group_id: row.get(0)?,
                    seq: row.get(1)?,
                    state: row.get(2)?,
                })
            })?
            .collect::<Result<_, _>>()?;
        let mut ledger = self.ledger(queue);
        let mut show = self
            .conn
            .prepare_cached("UPDATE messages SET state = 0 WHERE group_id = ?1 AND seq = ?2")?;
        for place in due {
            show.execute(params![place.group_id, place.seq])?;
            ledger.restate(place, VISIBLE);
        }
        Ok(ledger.flush()?)
    }

    /// When the next hidden message becomes visible.
    pub(super) fn next_change_ms(&self, queue: &Queue) -> rusqlite::Result<Option<i64>> {
        self.conn
            .prepare_cached("SELECT min(visible_at) FROM messages WHERE queue_id = ?1 AND state <> 0")?
            .query_row([queue.id], |row| row.get(0))
    }

    /// The oldest message is the first of its group, so it is found among the groups' heads.
    fn end_retention(&mut self, queue: &Queue) -> Result<(), EngineError> {
        let oldest_kept = self.now - queue.config.retention_s * 1000;
        while let Some((place, sent_ms)) = self.oldest(queue)? {
            if sent_ms > oldest_kept {
                break;
            }
            let mut ledger = self.ledger(queue);
            ledger.delete(place)?;
            ledger.flush()?;
        }
        Ok(())
    }

    /// The message with the lowest sequence, and when it entered the queue.
    pub(super) fn oldest(&self, queue: &Queue) -> rusqlite::Result<Option<(Place, i64)>> {
        self.conn
            .prepare_cached(
                "SELECT m.group_id, m.seq, m.state, m.sent_ms FROM (
                     SELECT * FROM (SELECT id, head_seq FROM groups
                         WHERE queue_id = ?1 AND ready = 0 ORDER BY head_seq LIMIT 1)
                     UNION ALL
                     SELECT * FROM (SELECT id, head_seq FROM groups
                         WHERE queue_id = ?1 AND ready = 1 ORDER BY head_seq LIMIT 1)
                 ) AS heads
                 JOIN messages AS m ON m.group_id = heads.id AND m.seq = heads.head_seq
                 ORDER BY m.seq LIMIT 1",
            )?
            .query_row([queue.id], |row| {
                let place = Place {
                    group_id: row.get(0)?,
                    seq: row.get(1)?,
                    state: row.get(2)?,
                };
                Ok((place, row.get(3)?))
            })
            .optional()
    }
}
