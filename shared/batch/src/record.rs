//! From the event of an SQS mapping to records, and from a report to its answer.

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};

use crate::run::Report;

/// One delivery of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The message's id: what a failure is reported by.
    pub id: String,
    /// The handle of this delivery.
    pub receipt: String,
    /// Its message group.
    pub group: String,
    /// How often it was received, this time included. Never an attempt count.
    pub receive_count: u32,
    /// When it was sent, milliseconds since the epoch.
    pub sent_at_ms: i64,
    /// Its body.
    pub body: String,
}

/// A batch that cannot be answered for one by one. It fails as a whole, before any side effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadBatch {
    /// A record has no id, so that its failure could not be named.
    #[error("record {0} has no message id")]
    NoId(usize),
    /// A record has no receipt handle, so that its visibility could not be set.
    #[error("record {0} has no receipt handle")]
    NoReceipt(usize),
}

/// Reads the event.
///
/// # Errors
/// [`BadBatch`]: the caller must fail the invocation.
pub fn records(event: SqsEvent) -> Result<Vec<Record>, BadBatch> {
    event
        .records
        .into_iter()
        .enumerate()
        .map(|(index, message)| record(index, message))
        .collect()
}

fn record(index: usize, message: SqsMessage) -> Result<Record, BadBatch> {
    let present = |text: Option<String>| text.filter(|text| !text.is_empty());
    let id = present(message.message_id).ok_or(BadBatch::NoId(index))?;
    let receipt = present(message.receipt_handle).ok_or(BadBatch::NoReceipt(index))?;
    let attribute = |name: &str| message.attributes.get(name).cloned();
    Ok(Record {
        // Without a group (a standard queue) each message is its own.
        group: attribute("MessageGroupId").unwrap_or_else(|| id.clone()),
        receive_count: attribute("ApproximateReceiveCount")
            .and_then(|count| count.parse().ok())
            .unwrap_or(1),
        sent_at_ms: attribute("SentTimestamp")
            .and_then(|at| at.parse().ok())
            .unwrap_or(0),
        body: message.body.unwrap_or_default(),
        id,
        receipt,
    })
}

/// The partial response. An empty one means that every record was handled.
#[must_use]
pub fn response(report: &Report) -> SqsBatchResponse {
    let mut response = SqsBatchResponse::default();
    for id in &report.failures {
        response.add_failure(id.clone());
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(records: &str) -> SqsEvent {
        serde_json::from_str(&format!(r#"{{"Records":[{records}]}}"#)).unwrap()
    }

    #[test]
    fn a_record_without_an_id_fails_the_batch_before_any_side_effect() {
        let good = r#"{"messageId":"a","receiptHandle":"r","body":"x","attributes":{"MessageGroupId":"g"}}"#;
        assert_eq!(records(event(good)).unwrap()[0].group, "g");
        let no_id = r#"{"receiptHandle":"r","body":"x","attributes":{}}"#;
        assert_eq!(records(event(&format!("{good},{no_id}"))), Err(BadBatch::NoId(1)));
        let empty_id = r#"{"messageId":"","receiptHandle":"r","body":"x","attributes":{}}"#;
        assert_eq!(records(event(empty_id)), Err(BadBatch::NoId(0)));
        let no_receipt = r#"{"messageId":"a","body":"x","attributes":{}}"#;
        assert_eq!(records(event(no_receipt)), Err(BadBatch::NoReceipt(0)));
    }

    /// Lambda reads these bytes; a wrong case or an unknown key would mean "all handled" and delete what failed.
    #[test]
    fn the_partial_response_is_byte_exact() {
        let bytes = |failures: &[&str]| {
            let failures = failures.iter().map(|id| (*id).to_owned()).collect();
            serde_json::to_string(&response(&Report {
                failures,
                hide: Vec::new(),
            }))
            .unwrap()
        };
        assert_eq!(
            bytes(&["a", "b"]),
            r#"{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":"b"}]}"#
        );
        assert_eq!(bytes(&[]), r#"{"batchItemFailures":[]}"#);
    }
}
