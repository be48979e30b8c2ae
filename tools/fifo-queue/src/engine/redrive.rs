//! Moving a message from one queue to another: into a dead-letter queue after too many receives, and back.
//!
//! In a FIFO queue a moved message is a new one at the end of its group: new sequence, time of entry, receive
//! count. It keeps its message id, group and deduplication id, and neither end of a move looks at
//! deduplication windows. In a standard queue it keeps its time of entry.

use super::ledger::{GroupKey, Ledger, Place};
use super::{Call, Queue, payload};
use crate::error::EngineError;

impl Call<'_> {
    /// Moves the message to the dead-letter queue if it had all the receives it may have; answers whether.
    /// While the dead-letter queue does not exist, messages stay and are delivered.
    pub(super) fn dead_letter(
        &mut self,
        ledger: &mut Ledger<'_>,
        queue: &Queue,
        place: &Place,
        receives: i64,
        group: Option<&str>,
    ) -> Result<bool, EngineError> {
        let Some(policy) = queue
            .config
            .redrive
            .as_ref()
            .filter(|policy| receives >= policy.max_receives)
        else {
            return Ok(false);
        };
        let Some(target) = self.find_queue(&policy.target)? else {
            return Ok(false);
        };
        self.relocate(ledger, *place, group, &target, Some(&queue.name))?;
        Ok(true)
    }

    /// Takes the message out of the ledger's queue and appends it to `target`.
    pub(super) fn relocate(
        &mut self,
        ledger: &mut Ledger<'_>,
        place: Place,
        group: Option<&str>,
        target: &Queue,
        source: Option<&str>,
    ) -> Result<(), EngineError> {
        let sent_ms = if target.config.fifo {
            self.now
        } else {
            self.sent_ms(place)?
        };
        ledger.take(place)?;
        let seq = payload::renew(self.conn, place.seq, source)?;
        let key = match group {
            Some(group) if target.config.fifo => GroupKey::Shared(group),
            label => GroupKey::Alone(label),
        };
        let mut into = self.ledger(target);
        into.append(&key, seq, sent_ms, sent_ms)?;
        into.flush()?;
        self.wake.push(target.id);
        Ok(())
    }

    fn sent_ms(&self, place: Place) -> rusqlite::Result<i64> {
        self.conn
            .prepare_cached("SELECT sent_ms FROM messages WHERE group_id = ?1 AND seq = ?2")?
            .query_row([place.group_id, place.seq], |row| row.get(0))
    }
}
