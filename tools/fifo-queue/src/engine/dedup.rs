//! Deduplication: a message sent again within five minutes is answered with the first one and not stored.
//! The window belongs to the queue, not to the message: deleting or moving the message leaves it.

use rusqlite::{OptionalExtension as _, params};

use super::{Call, Queue};

/// Deduplication interval (SQS Developer Guide, exactly-once processing): 5 minutes, in milliseconds.
pub(super) const WINDOW_MS: i64 = 300_000;
/// Ended windows removed per send. More than one, so that they cannot pile up.
const REMOVED_PER_SEND: i64 = 4;

/// The earlier message.
pub(super) struct First {
    pub(super) message_id: String,
    pub(super) seq: i64,
}

/// What makes two messages one.
pub(super) struct Key<'a> {
    pub(super) group: &'a str,
    pub(super) dedup_id: &'a str,
}

fn scope<'a>(queue: &Queue, key: &Key<'a>) -> &'a str {
    // A group name is never empty, so the empty scope is the queue.
    if queue.config.dedup_per_group {
        key.group
    } else {
        ""
    }
}

impl Call<'_> {
    pub(super) fn find_first(&self, queue: &Queue, key: &Key<'_>) -> rusqlite::Result<Option<First>> {
        self.conn
            .prepare_cached(
                "SELECT message_id, seq FROM dedup
                 WHERE queue_id = ?1 AND scope = ?2 AND dedup_id = ?3 AND expires_ms > ?4",
            )?
            .query_row(
                params![queue.id, scope(queue, key), key.dedup_id, self.now],
                |row| {
                    Ok(First {
                        message_id: row.get(0)?,
                        seq: row.get(1)?,
                    })
                },
            )
            .optional()
    }

    pub(super) fn remember_first(&self, queue: &Queue, key: &Key<'_>, first: &First) -> rusqlite::Result<()> {
        self.conn
            .prepare_cached(
                "INSERT OR REPLACE INTO dedup (seq, queue_id, scope, dedup_id, message_id, expires_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                first.seq,
                queue.id,
                scope(queue, key),
                key.dedup_id,
                first.message_id,
                self.now + WINDOW_MS
            ])?;
        self.forget_ended()
    }

    /// Windows end in the order in which they began, which is the order of sequences.
    fn forget_ended(&self) -> rusqlite::Result<()> {
        let ended: Vec<i64> = self
            .conn
            .prepare_cached(
                "SELECT seq FROM (SELECT seq, expires_ms FROM dedup ORDER BY seq LIMIT ?1) WHERE expires_ms <= ?2",
            )?
            .query_map(params![REMOVED_PER_SEND, self.now], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let mut forget = self.conn.prepare_cached("DELETE FROM dedup WHERE seq = ?1")?;
        ended
            .into_iter()
            .try_for_each(|seq| forget.execute([seq]).map(|_| ()))
    }
}
