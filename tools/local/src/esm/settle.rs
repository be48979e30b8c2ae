//! Deletes what a batch finished.
//!
//! Never touches the visibility of what failed: that is the function's business.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, Message};

/// A message that could not be deleted comes again: the function sees it twice.
pub(super) struct Undeleted {
    /// How many.
    pub(super) count: usize,
    /// The first reason.
    pub(super) reason: String,
}

/// Deletes messages in one call; entries that fail are tried once more.
pub(super) async fn delete(client: &Client, queue_url: &str, messages: &[&Message]) -> Option<Undeleted> {
    let mut left: Vec<usize> = (0..messages.len()).collect();
    let mut reason = String::new();
    for _ in 0..2 {
        if left.is_empty() {
            return None;
        }
        let entries = left.iter().filter_map(|&index| {
            DeleteMessageBatchRequestEntry::builder()
                .id(index.to_string())
                .receipt_handle(messages[index].receipt_handle().unwrap_or_default())
                .build()
                .ok()
        });
        let request = client
            .delete_message_batch()
            .queue_url(queue_url)
            .set_entries(Some(entries.collect()));
        match request.send().await {
            Ok(answer) => {
                if let Some(failed) = answer.failed().first() {
                    reason = format!("{}: {}", failed.code(), failed.message().unwrap_or("no message"));
                }
                left = answer
                    .failed()
                    .iter()
                    .filter_map(|failed| failed.id().parse().ok())
                    .collect();
            }
            Err(error) => reason = aws_sdk_sqs::error::DisplayErrorContext(error).to_string(),
        }
    }
    (!left.is_empty()).then_some(Undeleted {
        count: left.len(),
        reason,
    })
}
