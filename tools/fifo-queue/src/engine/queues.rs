//! Queues themselves: creating, settings, listing, purging, deleting.

use rusqlite::params;

use super::calls::Operation;
use super::{Call, Engine, Queue, payload};
use crate::error::{Code, EngineError, Refusal};
use crate::rules::attributes::{self, Attributes, QueueConfig};

/// Least time between two purges of a queue (SQS API, PurgeQueue): 60 seconds, in milliseconds.
const PURGE_INTERVAL_MS: i64 = 60_000;

impl Engine {
    /// Creates a queue. Creating it again with the same attributes does nothing; those that are not given
    /// are not compared.
    ///
    /// # Errors
    /// A refusal (name or attributes not allowed, name taken by a queue with others), or a failure of the
    /// storage.
    pub fn create_queue(
        &self,
        name: &str,
        attributes: &Attributes,
        tags: &Attributes,
    ) -> Result<(), EngineError> {
        self.counted(Operation::CreateQueue, |call| {
            if let Some(queue) = call.find_queue(name)? {
                return match attributes::first_difference(&queue.attributes, attributes) {
                    None => Ok(()),
                    Some(different) => Err(Refusal::new(
                        Code::QueueNameExists,
                        format!("the queue `{name}` already exists with a different value for {different}"),
                    )
                    .into()),
                };
            }
            // Merging into nothing drops empty policies; the kind of the queue is free to choose here.
            let kind = attributes
                .get_key_value("FifoQueue")
                .map(|(k, v)| (k.clone(), v.clone()));
            let attributes = attributes::merge(&kind.into_iter().collect(), attributes)?;
            call.check_settings(name, &attributes)?;
            call.conn
                .prepare_cached(
                    "INSERT INTO queues (name, attributes, tags, created_ms, modified_ms)
                     VALUES (?1, ?2, ?3, ?4, ?4)",
                )?
                .execute(params![
                    name,
                    payload::write_texts("queue attributes", &attributes)?,
                    payload::write_texts("tags", tags)?,
                    call.now
                ])?;
            Ok(())
        })
    }

    /// Whether there is such a queue; the call behind `GetQueueUrl`.
    ///
    /// # Errors
    /// A refusal when there is none, or a failure of the storage.
    pub fn find_queue(&self, name: &str) -> Result<(), EngineError> {
        self.counted(Operation::GetQueueUrl, |call| call.queue(name).map(|_| ()))
    }

    /// Attributes of a queue, defaults and counts included, `QueueArn` left out (the engine has no account).
    ///
    /// # Errors
    /// A refusal when there is no such queue, or a failure of the storage.
    pub fn queue_attributes(&self, name: &str) -> Result<Attributes, EngineError> {
        self.counted(Operation::GetQueueAttributes, |call| {
            let queue = call.settled_queue(name)?;
            let mut all = attributes::effective(&queue.attributes);
            let mut statement = call.conn.prepare_cached(
                "SELECT visible, in_flight, delayed, created_ms / 1000, modified_ms / 1000
                 FROM queues WHERE id = ?1",
            )?;
            let numbers: [i64; 5] = statement.query_row([queue.id], |r| {
                Ok([r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?])
            })?;
            let names = [
                "ApproximateNumberOfMessages",
                "ApproximateNumberOfMessagesNotVisible",
                "ApproximateNumberOfMessagesDelayed",
                "CreatedTimestamp",
                "LastModifiedTimestamp",
            ];
            all.extend(
                names
                    .into_iter()
                    .zip(numbers)
                    .map(|(name, number)| (name.to_owned(), number.to_string())),
            );
            Ok(all)
        })
    }

    /// Changes attributes; those not given stay. An empty policy removes it.
    ///
    /// # Errors
    /// A refusal, or a failure of the storage.
    pub fn set_queue_attributes(&self, name: &str, changes: &Attributes) -> Result<(), EngineError> {
        self.counted(Operation::SetQueueAttributes, |call| {
            let queue = call.queue(name)?;
            let merged = attributes::merge(&queue.attributes, changes)?;
            call.check_settings(name, &merged)?;
            call.conn
                .prepare_cached("UPDATE queues SET attributes = ?2, modified_ms = ?3 WHERE id = ?1")?
                .execute(params![
                    queue.id,
                    payload::write_texts("queue attributes", &merged)?,
                    call.now
                ])?;
            call.cache.clear();
            call.wake.push(queue.id);
            Ok(())
        })
    }

    /// Names of queues that begin with `prefix` and come after `after`, in order.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn list_queues(&self, prefix: &str, after: &str) -> Result<Vec<String>, EngineError> {
        self.counted(Operation::ListQueues, |call| {
            let names = call.queue_names(after)?;
            Ok(names
                .into_iter()
                .filter(|name| name.starts_with(prefix))
                .collect())
        })
    }

    /// Names of the queues whose dead-letter queue is `name`, in order.
    ///
    /// # Errors
    /// A refusal when there is no such queue, or a failure of the storage.
    pub fn dead_letter_sources(&self, name: &str) -> Result<Vec<String>, EngineError> {
        self.counted(Operation::ListDeadLetterSourceQueues, |call| {
            call.queue(name)?;
            call.sources_of(name)
        })
    }

    /// Deletes every message of the queue; deduplication windows stay. At most once in 60 seconds.
    ///
    /// # Errors
    /// A refusal, or a failure of the storage.
    pub fn purge_queue(&self, name: &str) -> Result<(), EngineError> {
        self.counted(Operation::PurgeQueue, |call| {
            let queue = call.queue(name)?;
            let purged_ms: Option<i64> = call
                .conn
                .prepare_cached("SELECT purged_ms FROM queues WHERE id = ?1")?
                .query_row([queue.id], |row| row.get(0))?;
            if purged_ms.is_some_and(|at| (0..PURGE_INTERVAL_MS).contains(&(call.now - at))) {
                let message =
                    format!("the queue `{name}` was purged within the last 60 seconds; wait and try again");
                return Err(Refusal::new(Code::PurgeQueueInProgress, message).into());
            }
            call.empty(&queue)?;
            call.conn
                .prepare_cached(
                    "UPDATE queues SET visible = 0, in_flight = 0, delayed = 0, groups_in_flight = 0,
                         purged_ms = ?2 WHERE id = ?1",
                )?
                .execute(params![queue.id, call.now])?;
            Ok(())
        })
    }

    /// Deletes the queue with everything in it. The name may be used again at once.
    ///
    /// # Errors
    /// A refusal when there is no such queue, or a failure of the storage.
    pub fn delete_queue(&self, name: &str) -> Result<(), EngineError> {
        self.counted(Operation::DeleteQueue, |call| {
            let queue = call.queue(name)?;
            call.empty(&queue)?;
            for table in ["dedup", "attempts"] {
                call.conn
                    .execute(&format!("DELETE FROM {table} WHERE queue_id = ?1"), [queue.id])?;
            }
            call.conn
                .execute("DELETE FROM queues WHERE id = ?1", [queue.id])?;
            call.cache.clear();
            call.wake.push(queue.id);
            Ok(())
        })
    }
}

impl Call<'_> {
    /// Refuses attributes that do not go together, in this queue or with its dead-letter queue.
    fn check_settings(&mut self, name: &str, attributes: &Attributes) -> Result<(), EngineError> {
        let config = QueueConfig::read(name, attributes)?;
        let Some(policy) = &config.redrive else {
            return Ok(());
        };
        let refused = |reason: &str| {
            Refusal::parameter(format!(
                "value `{}` for the dead-letter queue of `{name}` is invalid: {reason}",
                policy.target
            ))
        };
        if policy.target == name {
            return Err(refused("a queue cannot be its own dead-letter queue").into());
        }
        let target = self
            .find_queue(&policy.target)?
            .ok_or_else(|| refused("dead letter target does not exist"))?;
        if target.config.fifo != config.fifo {
            return Err(refused("dead-letter queue must be same type of queue as the source").into());
        }
        if !target.config.allow.permits(name) {
            return Err(refused("its RedriveAllowPolicy does not permit this source").into());
        }
        Ok(())
    }

    pub(super) fn queue_names(&self, after: &str) -> Result<Vec<String>, EngineError> {
        let mut statement = self
            .conn
            .prepare_cached("SELECT name FROM queues WHERE name > ?1 ORDER BY name")?;
        let names = statement
            .query_map([after], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        Ok(names)
    }

    /// Names of the queues whose dead-letter queue is `target`.
    pub(super) fn sources_of(&mut self, target: &str) -> Result<Vec<String>, EngineError> {
        let mut sources = Vec::new();
        for name in self.queue_names("")? {
            let redrive = self
                .queue(&name)?
                .config
                .redrive
                .as_ref()
                .map(|policy| policy.target.clone());
            if redrive.as_deref() == Some(target) {
                sources.push(name);
            }
        }
        Ok(sources)
    }

    fn empty(&self, queue: &Queue) -> rusqlite::Result<()> {
        self.conn.execute(
            "DELETE FROM payloads WHERE seq IN (SELECT seq FROM messages
                 WHERE group_id IN (SELECT id FROM groups WHERE queue_id = ?1))",
            [queue.id],
        )?;
        self.conn.execute(
            "DELETE FROM messages WHERE group_id IN (SELECT id FROM groups WHERE queue_id = ?1)",
            [queue.id],
        )?;
        self.conn
            .execute("DELETE FROM groups WHERE queue_id = ?1", [queue.id])?;
        Ok(())
    }
}
