//! Queues: what goes in, and what is done with a delivery.

use std::time::Duration;

use penstock_domain::ids::{DeduplicationId, MessageGroupId};

use crate::error::PortError;

/// A message to be put into a FIFO queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enqueue {
    /// Its ordering key.
    pub group: MessageGroupId,
    /// Its five-minute window key.
    pub deduplication: DeduplicationId,
    /// Its body.
    pub body: String,
}

/// One FIFO queue, from the sender's side.
pub trait QueueSender: Send + Sync {
    /// Puts one message in. When this returns, the queue has it durably.
    fn enqueue(&self, message: Enqueue) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Puts up to ten messages in, in order. An error means that at least one is not in; repeating is safe, since
    /// those that are in are known by their deduplication ids.
    fn enqueue_all(&self, messages: Vec<Enqueue>) -> impl Future<Output = Result<(), PortError>> + Send;
}

/// A delivery's new visibility.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibilityChange {
    /// The delivery's receipt handle.
    pub receipt: String,
    /// For how long it stays hidden from now; whole seconds, rounded up.
    pub hidden_for: Duration,
}

/// One FIFO queue, from the consumer's side.
pub trait Deliveries: Send + Sync {
    /// Changes the visibility of up to ten deliveries; gives back how many of them the queue did not accept (their
    /// handles are stale: they are visible again or will be by themselves).
    fn hide(&self, changes: Vec<VisibilityChange>) -> impl Future<Output = Result<usize, PortError>> + Send;

    /// Deletes up to ten deliveries by their receipt handles; gives back how many the queue did not delete (their
    /// handles are stale). Deleting one that is deleted already is a success.
    fn delete(&self, receipts: Vec<String>) -> impl Future<Output = Result<usize, PortError>> + Send;
}
