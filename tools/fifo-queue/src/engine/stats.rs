//! What a console wants to know about queues: counts, age, groups. Read from kept counts, never by scanning.

use super::{Call, Engine};
use crate::error::EngineError;

/// A queue at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueStats {
    /// Its name.
    pub name: String,
    /// Messages whose own time has come, those held back behind others of their group included.
    pub visible: i64,
    /// Messages received and neither deleted nor visible again.
    pub in_flight: i64,
    /// Messages whose delay has not ended.
    pub delayed: i64,
    /// Age of the oldest message in milliseconds, in flight or not (`ApproximateAgeOfOldestMessage`).
    pub oldest_age_ms: Option<i64>,
    /// Groups with messages in flight (`ApproximateNumberOfGroupsWithInflightMessages`).
    pub groups_in_flight: i64,
}

impl Engine {
    /// All queues, by name. Not counted as a call.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn queues(&self) -> Result<Vec<QueueStats>, EngineError> {
        self.call(|call| {
            let names = call.queue_names("")?;
            names.into_iter().map(|name| call.stats(name)).collect()
        })
    }
}

impl Call<'_> {
    fn stats(&mut self, name: String) -> Result<QueueStats, EngineError> {
        let queue = self.settled_queue(&name)?;
        let oldest_age_ms = self
            .oldest(&queue)?
            .map(|(_, sent_ms)| (self.now - sent_ms).max(0));
        let stats = self
            .conn
            .prepare_cached("SELECT visible, in_flight, delayed, groups_in_flight FROM queues WHERE id = ?1")?
            .query_row([queue.id], |row| {
                Ok(QueueStats {
                    name,
                    visible: row.get(0)?,
                    in_flight: row.get(1)?,
                    delayed: row.get(2)?,
                    oldest_age_ms,
                    groups_in_flight: row.get(3)?,
                })
            })?;
        Ok(stats)
    }
}
