//! What the local stack makes of a template: plain typed values, ready to be created or started.
//!
//! Never holds a template node: everything here is resolved.

use std::collections::BTreeMap;
use std::time::Duration;

/// Everything of a template that exists locally.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    /// Queues, dead-letter queues before the queues that name them.
    pub queues: Vec<Queue>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Functions.
    pub functions: Vec<Function>,
}

/// An SQS queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// Logical id in the template.
    pub logical_id: String,
    /// Queue name, `.fifo` included.
    pub name: String,
    /// Attributes of `CreateQueue`, as text.
    pub attributes: BTreeMap<String, String>,
}

/// A DynamoDB table, on demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Logical id in the template.
    pub logical_id: String,
    /// Table name.
    pub name: String,
    /// Attribute definitions: name and type (`S`, `N` or `B`).
    pub attributes: Vec<(String, String)>,
    /// Primary key.
    pub key: Key,
    /// Global secondary indexes.
    pub indexes: Vec<Index>,
    /// Attribute that holds the time to live, seconds since 1970.
    pub ttl_attribute: Option<String>,
}

/// A key schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Partition key.
    pub hash: String,
    /// Sort key.
    pub range: Option<String>,
}

/// A global secondary index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Index name.
    pub name: String,
    /// Its key.
    pub key: Key,
    /// `ALL`, `KEYS_ONLY` or `INCLUDE`.
    pub projection: String,
    /// Attributes of an `INCLUDE` projection.
    pub include: Vec<String>,
}

/// A Lambda function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Logical id in the template.
    pub logical_id: String,
    /// Function name.
    pub name: String,
    /// The binary that serves it, from its build properties.
    pub binary: String,
    /// Function timeout, in the functions' own time.
    pub timeout: Duration,
    /// Memory in MB; the local stack passes it on and does not enforce it.
    pub memory_mb: u32,
    /// Environment, resolved, with what its `LoggingConfig` makes Lambda add.
    pub environment: BTreeMap<String, String>,
    /// Queues it is fed from.
    pub queue_sources: Vec<QueueSource>,
    /// Routes of HTTP APIs that reach it.
    pub routes: Vec<Route>,
}

/// An event source mapping of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSource {
    /// Name of the event in the template.
    pub name: String,
    /// ARN of the queue.
    pub queue_arn: String,
    /// Messages in one invocation, at most (FIFO allows 10).
    pub batch_size: u8,
    /// Concurrent invocations, at most; `None` where the template sets no `ScalingConfig`.
    pub max_concurrency: Option<u16>,
    /// Whether `ReportBatchItemFailures` is set.
    pub report_batch_item_failures: bool,
    /// Whether it polls from the start.
    pub enabled: bool,
}

impl QueueSource {
    /// Name of the queue.
    #[must_use]
    pub fn queue_name(&self) -> &str {
        self.queue_arn.rsplit(':').next().unwrap_or(&self.queue_arn)
    }
}

/// A route of an HTTP API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// `ANY` or one HTTP method.
    pub method: String,
    /// Path pattern, for example `/{proxy+}`.
    pub path: String,
}
