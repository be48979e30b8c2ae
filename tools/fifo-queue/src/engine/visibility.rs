//! Changing how long a received message stays hidden, between "not at all" and 12 hours after its receive.

use rusqlite::params;

use super::calls::Operation;
use super::delete::expired;
use super::ledger::{Ledger, VISIBLE};
use super::receive::MAX_VISIBILITY_S;
use super::{Call, Engine, Queue, per_entry};
use crate::error::{Code, EngineError, Refusal};
use crate::rules::batch;

impl Engine {
    /// Hides the received message for `visibility_s` seconds from now; 0 shows it at once.
    ///
    /// # Errors
    /// A refusal (out of range, more than 12 hours since the receive, not in flight any more), or a failure
    /// of the storage.
    pub fn change_visibility(
        &self,
        queue: &str,
        receipt_handle: &str,
        visibility_s: i64,
    ) -> Result<(), EngineError> {
        self.counted(Operation::ChangeMessageVisibility, |call| {
            let queue = call.settled_queue(queue)?;
            let mut ledger = call.ledger(&queue);
            call.hide(&mut ledger, &queue, receipt_handle, visibility_s)?;
            ledger.flush()?;
            call.wake.push(queue.id);
            Ok(())
        })
    }

    /// The same for up to ten messages, each for itself: the answer has the same order as the entries.
    ///
    /// # Errors
    /// A refusal of the batch as a whole, or a failure of the storage; nothing is changed then.
    pub fn change_visibility_batch(
        &self,
        queue: &str,
        entries: &[(&str, i64)],
    ) -> Result<Vec<Result<(), Refusal>>, EngineError> {
        self.counted(Operation::ChangeMessageVisibilityBatch, |call| {
            let queue = call.settled_queue(queue)?;
            batch::check_count(entries.len())?;
            let mut ledger = call.ledger(&queue);
            let changed = entries
                .iter()
                .map(|(handle, seconds)| per_entry(call.hide(&mut ledger, &queue, handle, *seconds)))
                .collect::<Result<_, _>>()?;
            ledger.flush()?;
            call.wake.push(queue.id);
            Ok(changed)
        })
    }
}

/// When the message becomes visible, or why it may not be hidden that long.
fn visible_at(received_ms: i64, now_ms: i64, visibility_s: i64) -> Result<i64, Refusal> {
    if !(0..=MAX_VISIBILITY_S).contains(&visibility_s) {
        return Err(Refusal::parameter(format!(
            "value {visibility_s} for parameter VisibilityTimeout is invalid: 0 to {MAX_VISIBILITY_S} are allowed"
        )));
    }
    let at = now_ms + visibility_s * 1000;
    if at > received_ms + MAX_VISIBILITY_S * 1000 {
        return Err(Refusal::parameter(format!(
            "value {visibility_s} for parameter VisibilityTimeout is invalid: \
             total VisibilityTimeout for the message is beyond the limit [{MAX_VISIBILITY_S} seconds]"
        )));
    }
    Ok(at)
}

impl Call<'_> {
    fn hide(
        &self,
        ledger: &mut Ledger<'_>,
        queue: &Queue,
        handle: &str,
        visibility_s: i64,
    ) -> Result<(), EngineError> {
        let receipt = Self::receipt(queue, handle)?;
        let Some(held) = self.held(receipt)? else {
            return Err(Refusal::parameter(format!(
                "value {handle} for parameter ReceiptHandle is invalid: \
                 message does not exist or is not available for visibility timeout change"
            ))
            .into());
        };
        let visible_at = visible_at(held.received_ms, self.now, visibility_s)?;
        if !held.is_current() {
            let refusal = if queue.config.fifo {
                expired(handle)
            } else {
                Refusal::new(
                    Code::MessageNotInflight,
                    "the message is not in flight; receive it again",
                )
            };
            return Err(refusal.into());
        }
        let state = if visibility_s == 0 {
            VISIBLE
        } else {
            held.place.state
        };
        self.conn
            .prepare_cached(
                "UPDATE messages SET state = ?3, visible_at = ?4 WHERE group_id = ?1 AND seq = ?2",
            )?
            .execute(params![held.place.group_id, held.place.seq, state, visible_at])?;
        ledger.restate(held.place, state);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_hours_count_from_the_receive() {
        let (received, hour_ms) = (1_000, 3_600_000);
        assert_eq!(
            visible_at(received, received, 43_200),
            Ok(received + 12 * hour_ms)
        );
        assert_eq!(
            visible_at(received, received + hour_ms, 39_600),
            Ok(received + 12 * hour_ms)
        );
        assert!(visible_at(received, received + hour_ms, 39_601).is_err());
        assert_eq!(
            visible_at(received, received + 11 * hour_ms, 0),
            Ok(received + 11 * hour_ms)
        );
    }

    #[test]
    fn visibility_is_from_zero_to_twelve_hours() {
        assert!(visible_at(0, 0, -1).is_err());
        assert!(visible_at(0, 0, 43_201).is_err());
    }
}
