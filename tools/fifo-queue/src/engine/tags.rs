//! Tags of queues: kept and given back, without effect.

use rusqlite::params;

use super::calls::Operation;
use super::{Call, Engine, payload};
use crate::error::EngineError;
use crate::rules::attributes::Attributes;

impl Engine {
    /// Adds tags, replacing those of the same name.
    ///
    /// # Errors
    /// A refusal when there is no such queue, or a failure of the storage.
    pub fn tag_queue(&self, name: &str, tags: &Attributes) -> Result<(), EngineError> {
        self.counted(Operation::TagQueue, |call| {
            call.change_tags(name, |stored| {
                stored.extend(tags.iter().map(|(k, v)| (k.clone(), v.clone())))
            })
        })
    }

    /// Removes tags; those that are not there are no mistake.
    ///
    /// # Errors
    /// A refusal when there is no such queue, or a failure of the storage.
    pub fn untag_queue(&self, name: &str, keys: &[String]) -> Result<(), EngineError> {
        self.counted(Operation::UntagQueue, |call| {
            call.change_tags(name, |stored| stored.retain(|key, _| !keys.contains(key)))
        })
    }

    /// The queue's tags.
    ///
    /// # Errors
    /// A refusal when there is no such queue, or a failure of the storage.
    pub fn queue_tags(&self, name: &str) -> Result<Attributes, EngineError> {
        self.counted(Operation::ListQueueTags, |call| {
            let queue = call.queue(name)?;
            call.tags(queue.id)
        })
    }
}

impl Call<'_> {
    fn tags(&self, queue_id: i64) -> Result<Attributes, EngineError> {
        let text: String = self
            .conn
            .prepare_cached("SELECT tags FROM queues WHERE id = ?1")?
            .query_row([queue_id], |row| row.get(0))?;
        payload::read_texts("tags", &text)
    }

    fn change_tags(&mut self, name: &str, change: impl FnOnce(&mut Attributes)) -> Result<(), EngineError> {
        let queue = self.queue(name)?;
        let mut tags = self.tags(queue.id)?;
        change(&mut tags);
        self.conn
            .prepare_cached("UPDATE queues SET tags = ?2 WHERE id = ?1")?
            .execute(params![queue.id, payload::write_texts("tags", &tags)?])?;
        Ok(())
    }
}
