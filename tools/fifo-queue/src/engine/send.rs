//! Sending: check, deduplicate, append to the group.

use uuid::Uuid;

use super::calls::Operation;
use super::ledger::{GroupKey, Ledger};
use super::{Call, Engine, Queue, dedup, payload, per_entry};
use crate::error::{EngineError, Refusal};
use crate::message::{SendEntry, Sent};
use crate::rules::{batch, content};

impl Engine {
    /// Stores a message. When this answers, the message is in the file.
    ///
    /// # Errors
    /// A refusal, or a failure of the storage; nothing is stored then.
    pub fn send(&self, queue: &str, entry: &SendEntry) -> Result<Sent, EngineError> {
        self.counted(Operation::SendMessage, |call| {
            let queue = call.queue(queue)?;
            let mut ledger = call.ledger(&queue);
            let sent = call.store(&mut ledger, &queue, entry)?;
            ledger.flush()?;
            call.wake.push(queue.id);
            Ok(sent)
        })
    }

    /// Stores up to ten messages, each for itself: the answer has the same order as `entries`.
    ///
    /// # Errors
    /// A refusal of the batch as a whole (unknown queue, too many, more than 1 MiB), or a failure of the
    /// storage; nothing is stored then.
    pub fn send_batch(
        &self,
        queue: &str,
        entries: &[SendEntry],
    ) -> Result<Vec<Result<Sent, Refusal>>, EngineError> {
        self.counted(Operation::SendMessageBatch, |call| {
            let queue = call.queue(queue)?;
            batch::check_count(entries.len())?;
            batch::check_size(entries.iter().map(SendEntry::size).sum())?;
            let mut ledger = call.ledger(&queue);
            let sent = entries
                .iter()
                .map(|entry| per_entry(call.store(&mut ledger, &queue, entry)))
                .collect::<Result<_, _>>()?;
            ledger.flush()?;
            call.wake.push(queue.id);
            Ok(sent)
        })
    }
}

impl Call<'_> {
    /// Refuses before it writes, so that a refused entry leaves nothing behind in its batch.
    fn store(&self, ledger: &mut Ledger<'_>, queue: &Queue, entry: &SendEntry) -> Result<Sent, EngineError> {
        let accepted = content::check(entry, &queue.config)?;
        let key = match (&entry.group, &accepted.dedup_id) {
            (Some(group), Some(dedup_id)) => Some(dedup::Key { group, dedup_id }),
            _ => None,
        };
        if let Some(key) = &key
            && let Some(first) = self.find_first(queue, key)?
        {
            return Ok(sent(first.message_id, queue, first.seq, true));
        }
        let message_id = Uuid::new_v4().to_string();
        let seq = payload::insert(self.conn, entry, &message_id, accepted.dedup_id.as_deref())?;
        let group = match (&entry.group, queue.config.fifo) {
            (Some(group), true) => GroupKey::Shared(group),
            (label, _) => GroupKey::Alone(label.as_deref()),
        };
        ledger.append(&group, seq, self.now, self.now + accepted.delay_s * 1000)?;
        let first = dedup::First { message_id, seq };
        if let Some(key) = &key {
            self.remember_first(queue, key, &first)?;
        }
        Ok(sent(first.message_id, queue, seq, false))
    }
}

fn sent(message_id: String, queue: &Queue, seq: i64, duplicate: bool) -> Sent {
    Sent {
        message_id,
        sequence_number: queue.config.fifo.then(|| payload::sequence_number(seq)),
        duplicate,
    }
}
