//! One SQS FIFO queue.

use std::sync::Arc;

use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, SendMessageBatchRequestEntry,
};
use penstock_domain::time::ceil_secs;
use penstock_ports::{Deliveries, Enqueue, PortError, QueueSender, VisibilityChange};

use crate::error::port_error;
use crate::hooks::point;

/// Longest visibility (SQS: 12 hours).
const MAX_VISIBILITY_SECS: u32 = 43_200;
/// What all bodies of one batch call may weigh together (SQS: 1 MiB), less room for attributes.
const MAX_BATCH_BYTES: usize = 1_000_000;
/// Tries of a batch within one call of ours, each with what the queue failed on in the one before.
const MOST_TRIES: u32 = 3;
/// Entries in one batch call (SQS: 10).
const MAX_BATCH_ENTRIES: usize = 10;

/// A queue by its URL.
#[derive(Debug, Clone)]
pub struct SqsQueue {
    client: aws_sdk_sqs::Client,
    url: Arc<str>,
}

impl SqsQueue {
    /// The queue of that URL.
    #[must_use]
    pub fn new(client: aws_sdk_sqs::Client, url: &str) -> Self {
        Self {
            client,
            url: url.into(),
        }
    }

    /// Puts a batch in. Entries that the queue failed on go again at once: later they could come to lie behind many
    /// messages of their group that have to wait for them.
    async fn send_batch(&self, batch: &[Enqueue]) -> Result<(), PortError> {
        let mut left: Vec<&Enqueue> = batch.iter().collect();
        for _ in 1..MOST_TRIES {
            match self.send_once(&left).await? {
                Refused::None => return Ok(()),
                Refused::ForNow(indexes, _) => {
                    left = indexes
                        .iter()
                        .filter_map(|index| left.get(*index).copied())
                        .collect();
                }
                Refused::ForGood(error) => return Err(error),
            }
        }
        match self.send_once(&left).await? {
            Refused::None => Ok(()),
            Refused::ForNow(_, error) | Refused::ForGood(error) => Err(error),
        }
    }

    async fn send_once(&self, batch: &[&Enqueue]) -> Result<Refused, PortError> {
        const OPERATION: &str = "sqs.send_message_batch";
        let mut request = self.client.send_message_batch().queue_url(self.url.as_ref());
        for (index, message) in batch.iter().enumerate() {
            let entry = SendMessageBatchRequestEntry::builder()
                .id(index.to_string())
                .message_body(&message.body)
                .message_group_id(&message.group.0)
                .message_deduplication_id(&message.deduplication.0)
                .build()
                .map_err(|error| bad_entry(OPERATION, error))?;
            request = request.entries(entry);
        }
        point("sqs.send_batch.before");
        let answer = request
            .send()
            .await
            .map_err(|error| port_error(OPERATION, error))?;
        point("sqs.send_batch.after");
        // HTTP 200 with entries in `Failed` means that those are not in the queue.
        let failed = answer.failed();
        Ok(match failed.iter().max_by_key(|failed| failed.sender_fault()) {
            None => Refused::None,
            Some(worst) if worst.sender_fault() => Refused::ForGood(PortError::Rejected {
                operation: OPERATION,
                code: worst.code().to_owned(),
                source: worst.message().unwrap_or("an entry was refused").into(),
            }),
            Some(worst) => {
                let error = PortError::Unavailable {
                    operation: OPERATION,
                    code: worst.code().to_owned(),
                };
                let mut indexes: Vec<usize> = failed
                    .iter()
                    .filter_map(|failed| failed.id().parse().ok())
                    .collect();
                indexes.sort_unstable();
                Refused::ForNow(indexes, error)
            }
        })
    }
}

/// Which entries of a batch are not in the queue.
enum Refused {
    None,
    /// These, and they may be taken if they are sent again.
    ForNow(Vec<usize>, PortError),
    /// At least one will never be taken.
    ForGood(PortError),
}

fn bad_entry(operation: &'static str, error: aws_sdk_sqs::error::BuildError) -> PortError {
    PortError::Rejected {
        operation,
        code: "entry".to_owned(),
        source: Box::new(error),
    }
}

impl QueueSender for SqsQueue {
    async fn enqueue(&self, message: Enqueue) -> Result<(), PortError> {
        point("sqs.send.before");
        self.client
            .send_message()
            .queue_url(self.url.as_ref())
            .message_group_id(message.group.0)
            .message_deduplication_id(message.deduplication.0)
            .message_body(message.body)
            .send()
            .await
            .map_err(|error| port_error("sqs.send_message", error))?;
        point("sqs.send.after");
        Ok(())
    }

    async fn enqueue_all(&self, messages: Vec<Enqueue>) -> Result<(), PortError> {
        let mut from = 0;
        for (index, _) in messages.iter().enumerate() {
            let bytes: usize = messages[from..=index]
                .iter()
                .map(|message| message.body.len())
                .sum();
            if index > from && (bytes > MAX_BATCH_BYTES || index - from == MAX_BATCH_ENTRIES) {
                self.send_batch(&messages[from..index]).await?;
                from = index;
            }
        }
        if from < messages.len() {
            self.send_batch(&messages[from..]).await
        } else {
            Ok(())
        }
    }
}

impl Deliveries for SqsQueue {
    async fn hide(&self, changes: Vec<VisibilityChange>) -> Result<usize, PortError> {
        const OPERATION: &str = "sqs.change_message_visibility_batch";
        let mut refused = 0;
        for batch in changes.chunks(MAX_BATCH_ENTRIES) {
            let mut request = self
                .client
                .change_message_visibility_batch()
                .queue_url(self.url.as_ref());
            for (index, change) in batch.iter().enumerate() {
                let secs = ceil_secs(change.hidden_for).min(MAX_VISIBILITY_SECS);
                let entry = ChangeMessageVisibilityBatchRequestEntry::builder()
                    .id(index.to_string())
                    .receipt_handle(&change.receipt)
                    .visibility_timeout(i32::try_from(secs).unwrap_or(i32::MAX))
                    .build()
                    .map_err(|error| bad_entry(OPERATION, error))?;
                request = request.entries(entry);
            }
            point("sqs.hide.before");
            let answer = request
                .send()
                .await
                .map_err(|error| port_error(OPERATION, error))?;
            point("sqs.hide.after");
            refused += answer.failed().len();
        }
        Ok(refused)
    }

    async fn delete(&self, receipts: Vec<String>) -> Result<usize, PortError> {
        const OPERATION: &str = "sqs.delete_message_batch";
        let mut refused = 0;
        for batch in receipts.chunks(MAX_BATCH_ENTRIES) {
            let mut request = self.client.delete_message_batch().queue_url(self.url.as_ref());
            for (index, receipt) in batch.iter().enumerate() {
                let entry = DeleteMessageBatchRequestEntry::builder()
                    .id(index.to_string())
                    .receipt_handle(receipt)
                    .build()
                    .map_err(|error| bad_entry(OPERATION, error))?;
                request = request.entries(entry);
            }
            point("sqs.delete.before");
            let answer = request
                .send()
                .await
                .map_err(|error| port_error(OPERATION, error))?;
            point("sqs.delete.after");
            // Expired handles: those messages are visible again, or will be.
            refused += answer.failed().len();
        }
        Ok(refused)
    }
}
