//! Deleting: the end of a message that was dealt with. Deleting it twice is fine; deleting it with the handle
//! of a receive whose visibility has ended is not, since another receiver may be working on it.

use rusqlite::{OptionalExtension as _, params};

use super::calls::Operation;
use super::ledger::{IN_FLIGHT, Ledger, Place};
use super::{Call, Engine, Queue, per_entry};
use crate::error::{EngineError, Refusal};
use crate::receipt::Receipt;
use crate::rules::batch;

/// A message in the state that its receipt handle meets.
pub(super) struct Held {
    pub(super) place: Place,
    pub(super) received_ms: i64,
    /// Whether the handle is of the latest receive.
    pub(super) latest: bool,
}

impl Held {
    pub(super) fn is_current(&self) -> bool {
        self.latest && self.place.state == IN_FLIGHT
    }
}

impl Engine {
    /// Deletes the received message.
    ///
    /// # Errors
    /// A refusal (a handle of another queue; on a FIFO queue, one whose visibility has ended), or a failure
    /// of the storage.
    pub fn delete(&self, queue: &str, receipt_handle: &str) -> Result<(), EngineError> {
        self.counted(Operation::DeleteMessage, |call| {
            let queue = call.settled_queue(queue)?;
            let mut ledger = call.ledger(&queue);
            call.remove(&mut ledger, &queue, receipt_handle)?;
            ledger.flush()?;
            call.wake.push(queue.id);
            Ok(())
        })
    }

    /// Deletes up to ten messages, each for itself: the answer has the same order as the handles.
    ///
    /// # Errors
    /// A refusal of the batch as a whole, or a failure of the storage; nothing is deleted then.
    pub fn delete_batch(
        &self,
        queue: &str,
        receipt_handles: &[&str],
    ) -> Result<Vec<Result<(), Refusal>>, EngineError> {
        self.counted(Operation::DeleteMessageBatch, |call| {
            let queue = call.settled_queue(queue)?;
            batch::check_count(receipt_handles.len())?;
            let mut ledger = call.ledger(&queue);
            let deleted = receipt_handles
                .iter()
                .map(|handle| per_entry(call.remove(&mut ledger, &queue, handle)))
                .collect::<Result<_, _>>()?;
            ledger.flush()?;
            call.wake.push(queue.id);
            Ok(deleted)
        })
    }
}

impl Call<'_> {
    fn remove(&self, ledger: &mut Ledger<'_>, queue: &Queue, handle: &str) -> Result<(), EngineError> {
        let receipt = Self::receipt(queue, handle)?;
        // A message that is gone was deleted before (or moved, or has outlived its retention).
        let Some(held) = self.held(receipt)? else {
            return Ok(());
        };
        match (queue.config.fifo, held.is_current(), held.latest) {
            (true, true, _) | (false, _, true) => Ok(ledger.delete(held.place)?),
            // SQS accepts an older handle on a standard queue and may keep the message.
            (false, _, false) => Ok(()),
            (true, false, _) => Err(expired(handle).into()),
        }
    }

    /// The message of this receipt, if it is still in the queue.
    pub(super) fn held(&self, receipt: Receipt) -> rusqlite::Result<Option<Held>> {
        self.conn
            .prepare_cached(
                "SELECT state, receives, received_ms FROM messages WHERE group_id = ?1 AND seq = ?2",
            )?
            .query_row(params![receipt.group_id, receipt.seq], |row| {
                let receives: i64 = row.get(1)?;
                Ok(Held {
                    place: Place {
                        group_id: receipt.group_id,
                        seq: receipt.seq,
                        state: row.get(0)?,
                    },
                    received_ms: row.get(2)?,
                    latest: receives == receipt.receive,
                })
            })
            .optional()
    }
}

pub(super) fn expired(handle: &str) -> Refusal {
    Refusal::parameter(format!(
        "value {handle} for parameter ReceiptHandle is invalid: the receipt handle has expired; receive again"
    ))
}
