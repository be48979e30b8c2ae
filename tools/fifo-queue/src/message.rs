//! Messages as callers hand them in and get them out. Plain values; how they are stored and how they look
//! on the wire is decided elsewhere.

use std::collections::BTreeMap;

/// A user attribute of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageAttribute {
    /// `String`, `Number` or `Binary`, with an optional `.custom` suffix.
    pub data_type: String,
    /// The value.
    pub value: AttributeValue,
}

/// Value of a [`MessageAttribute`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeValue {
    /// Of a `String` or `Number`.
    Text(String),
    /// Of a `Binary`.
    Binary(Vec<u8>),
}

impl AttributeValue {
    /// Size in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A message to send.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SendEntry {
    /// 1 byte to 1 MiB, attributes included.
    pub body: String,
    /// Required on a FIFO queue.
    pub group: Option<String>,
    /// Required on a FIFO queue without content-based deduplication.
    pub dedup_id: Option<String>,
    /// Seconds, 0 to 900; not allowed on a FIFO queue.
    pub delay_s: Option<i64>,
    /// At most ten.
    pub attributes: BTreeMap<String, MessageAttribute>,
    /// The system attribute `AWSTraceHeader`.
    pub trace_header: Option<String>,
}

impl SendEntry {
    /// A message for a FIFO queue with nothing but the essentials.
    pub fn fifo(group: impl Into<String>, dedup_id: impl Into<String>, body: impl Into<String>) -> Self {
        Self {
            body: body.into(),
            group: Some(group.into()),
            dedup_id: Some(dedup_id.into()),
            ..Self::default()
        }
    }

    /// Bytes that count toward the limits: body, and name, type and value of each attribute.
    pub fn size(&self) -> usize {
        let attributes = self.attributes.iter();
        self.body.len()
            + attributes
                .map(|(name, a)| name.len() + a.data_type.len() + a.value.len())
                .sum::<usize>()
    }
}

/// Answer to an accepted message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The message's id; of the first one when this was a duplicate.
    pub message_id: String,
    /// 20 digits, growing; absent on a standard queue.
    pub sequence_number: Option<String>,
    /// Whether the message was swallowed as a duplicate.
    pub duplicate: bool,
}

/// What to receive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceiveRequest {
    /// 1 to 10; 0 means 1.
    pub max_messages: usize,
    /// Seconds, 0 to 43200; the queue's when absent.
    pub visibility_s: Option<i64>,
    /// Seconds, 0 to 20; the queue's when absent.
    pub wait_s: Option<i64>,
    /// Repeating a receive under the same id gives the same messages.
    pub attempt_id: Option<String>,
}

/// A received message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Stays the same through a dead-letter queue.
    pub message_id: String,
    /// For deleting and for changing visibility, until the visibility ends.
    pub receipt_handle: String,
    /// As sent.
    pub body: String,
    /// As sent.
    pub attributes: BTreeMap<String, MessageAttribute>,
    /// As sent.
    pub trace_header: Option<String>,
    /// As sent.
    pub group: Option<String>,
    /// As sent, or the hash of the body; `None` on a standard queue.
    pub dedup_id: Option<String>,
    /// 20 digits; `None` on a standard queue.
    pub sequence_number: Option<String>,
    /// When it entered this queue.
    pub sent_ms: i64,
    /// When it was first received from this queue.
    pub first_received_ms: i64,
    /// From 1.
    pub receive_count: i64,
    /// Name of the queue it was moved from, in a dead-letter queue.
    pub dead_letter_source: Option<String>,
}
