//! A FIFO queue in memory: what was put in, in order, each group and deduplication id once. Never delivers: handlers
//! are given their deliveries by the test.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use penstock_domain::ids::{DeduplicationId, MessageGroupId};
use penstock_ports::{Deliveries, Enqueue, PortError, QueueSender, VisibilityChange};

use crate::fault::{Fault, Faults};

/// Longest body (SQS quota: 1 MiB).
const MAX_BODY_BYTES: usize = 1024 * 1024;

/// A visibility that was asked for.
pub type Hidden = VisibilityChange;

#[derive(Debug, Default)]
struct Inner {
    messages: Vec<Enqueue>,
    seen: HashSet<(MessageGroupId, DeduplicationId)>,
    hidden: Vec<Hidden>,
    deleted: Vec<String>,
    stale: HashSet<String>,
    cut_after: Option<usize>,
    faults: Faults,
}

impl Inner {
    /// Deduplicates within the group, as the queues of the template do. The fault of a body that is refused.
    fn put(&mut self, message: Enqueue) -> Option<Fault> {
        if message.body.len() > MAX_BODY_BYTES {
            return Some(Fault::Rejected);
        }
        if self
            .seen
            .insert((message.group.clone(), message.deduplication.clone()))
        {
            self.messages.push(message);
        }
        None
    }
}

/// One FIFO queue, seen from both sides.
#[derive(Debug, Default)]
pub struct FakeQueue(Mutex<Inner>);

impl FakeQueue {
    /// What is in the queue, in order.
    #[must_use]
    pub fn messages(&self) -> Vec<Enqueue> {
        self.inner().messages.clone()
    }

    /// Takes out what is in the queue; its deduplication ids stay known.
    pub fn drain(&self) -> Vec<Enqueue> {
        std::mem::take(&mut self.inner().messages)
    }

    /// Lets the deduplication window of five minutes pass.
    pub fn forget_deduplication(&self) {
        self.inner().seen.clear();
    }

    /// The visibilities that were asked for, in order.
    #[must_use]
    pub fn hidden(&self) -> Vec<Hidden> {
        self.inner().hidden.clone()
    }

    /// The receipt handles that were deleted, in order.
    #[must_use]
    pub fn deleted(&self) -> Vec<String> {
        self.inner().deleted.clone()
    }

    /// Makes a receipt handle stale: the queue does not accept it any more.
    pub fn make_stale(&self, receipt: &str) {
        self.inner().stale.insert(receipt.to_owned());
    }

    /// Makes the next `count` calls fail.
    pub fn fail_next(&self, count: u64, fault: Fault) {
        self.inner().faults.fail_next(count, fault);
    }

    /// Makes the `nth` call fail, counted from 1 over all calls ever made.
    pub fn fail_call(&self, nth: u64, fault: Fault) {
        self.inner().faults.fail_call(nth, fault);
    }

    /// Lets the next batch put in only its first `accepted` messages, and then fail.
    pub fn cut_next_batch(&self, accepted: usize) {
        self.inner().cut_after = Some(accepted);
    }

    /// How many calls were made.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.inner().faults.calls()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call<T>(&self, operation: &'static str, apply: impl FnOnce(&mut Inner) -> T) -> Result<T, PortError> {
        let mut inner = self.inner();
        let fault = inner.faults.count();
        if fault.is_none_or(Fault::applies) {
            let answer = apply(&mut inner);
            return fault.map_or(Ok(answer), |fault| Err(fault.error(operation)));
        }
        Err(fault.map_or_else(
            || Fault::Unavailable.error(operation),
            |fault| fault.error(operation),
        ))
    }
}

impl QueueSender for FakeQueue {
    async fn enqueue(&self, message: Enqueue) -> Result<(), PortError> {
        const OPERATION: &str = "queue.enqueue";
        let refused = self.call(OPERATION, |inner| inner.put(message))?;
        refused.map_or(Ok(()), |fault| Err(fault.error(OPERATION)))
    }

    async fn enqueue_all(&self, messages: Vec<Enqueue>) -> Result<(), PortError> {
        const OPERATION: &str = "queue.enqueue_all";
        let refused = self.call(OPERATION, |inner| {
            let cut = inner.cut_after.take();
            let accepted = cut.unwrap_or(messages.len());
            // One that is refused does not keep the others out.
            let refused = messages
                .into_iter()
                .take(accepted)
                .filter_map(|message| inner.put(message))
                .last();
            refused.or(cut.map(|_| Fault::Unavailable))
        })?;
        refused.map_or(Ok(()), |fault| Err(fault.error(OPERATION)))
    }
}

impl Deliveries for FakeQueue {
    async fn hide(&self, changes: Vec<VisibilityChange>) -> Result<usize, PortError> {
        self.call("queue.hide", |inner| {
            let (stale, live): (Vec<_>, Vec<_>) = changes
                .into_iter()
                .partition(|change| inner.stale.contains(&change.receipt));
            inner.hidden.extend(live);
            stale.len()
        })
    }

    async fn delete(&self, receipts: Vec<String>) -> Result<usize, PortError> {
        self.call("queue.delete", |inner| {
            let (stale, live): (Vec<_>, Vec<_>) = receipts
                .into_iter()
                .partition(|receipt| inner.stale.contains(receipt));
            inner.deleted.extend(live);
            stale.len()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn message(group: &str, id: &str) -> Enqueue {
        Enqueue {
            group: MessageGroupId(group.to_owned()),
            deduplication: DeduplicationId(id.to_owned()),
            body: format!("{group} {id}"),
        }
    }

    fn ids(queue: &FakeQueue) -> Vec<String> {
        queue.messages().into_iter().map(|message| message.body).collect()
    }

    #[tokio::test]
    async fn a_repeated_id_is_put_in_once_a_group_until_the_window_has_passed() {
        let queue = FakeQueue::default();
        for sent in [message("a", "1"), message("a", "1"), message("b", "1")] {
            queue.enqueue(sent).await.unwrap();
        }
        assert_eq!(ids(&queue), ["a 1", "b 1"]);
        assert_eq!(queue.drain().len(), 2);
        queue.enqueue(message("a", "1")).await.unwrap();
        assert!(queue.messages().is_empty());
        queue.forget_deduplication();
        queue.enqueue(message("a", "1")).await.unwrap();
        assert_eq!(ids(&queue), ["a 1"]);
    }

    #[tokio::test]
    async fn a_batch_that_is_cut_is_completed_by_its_repeat() {
        let queue = FakeQueue::default();
        let batch = || vec![message("a", "1"), message("a", "2"), message("a", "3")];
        queue.cut_next_batch(1);
        assert!(queue.enqueue_all(batch()).await.is_err());
        assert_eq!(ids(&queue), ["a 1"]);
        queue.fail_next(1, Fault::AnswerLost);
        assert!(queue.enqueue_all(batch()).await.is_err());
        queue.enqueue_all(batch()).await.unwrap();
        assert_eq!(ids(&queue), ["a 1", "a 2", "a 3"]);
    }

    #[tokio::test]
    async fn a_refused_call_and_a_body_that_is_too_long_put_nothing_in() {
        let queue = FakeQueue::default();
        queue.fail_next(1, Fault::Unavailable);
        assert!(queue.enqueue(message("a", "1")).await.is_err());
        let long = Enqueue {
            body: "x".repeat(MAX_BODY_BYTES + 1),
            ..message("a", "2")
        };
        assert!(queue.enqueue(long.clone()).await.is_err());
        assert!(queue.messages().is_empty());
        assert!(queue.enqueue_all(vec![long, message("a", "3")]).await.is_err());
        assert_eq!(ids(&queue), ["a 3"]);
        assert_eq!(queue.calls(), 3);
    }

    #[tokio::test]
    async fn stale_receipts_are_counted_and_change_nothing() {
        let queue = FakeQueue::default();
        let change = |receipt: &str| VisibilityChange {
            receipt: receipt.to_owned(),
            hidden_for: Duration::from_secs(7),
        };
        queue.make_stale("old");
        assert_eq!(queue.hide(vec![change("old"), change("new")]).await.unwrap(), 1);
        assert_eq!(queue.hidden(), [change("new")]);
    }
}
