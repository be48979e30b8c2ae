//! A queue on a clock that tests set.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fifo_queue::{
    Code, Engine, EngineError, ManualClock, Options, ReceiveRequest, Received, SendEntry, Sent,
};

/// Where the clock begins.
pub(crate) const START_MS: i64 = 1_750_000_000_000;
pub(crate) const QUEUE: &str = "main.fifo";
pub(crate) const DEAD: &str = "dead.fifo";

pub(crate) type Texts = BTreeMap<String, String>;

pub(crate) fn texts(pairs: &[(&str, &str)]) -> Texts {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// Attributes of a FIFO queue with deduplication per group, and `more`.
pub(crate) fn fifo(more: &[(&str, &str)]) -> Texts {
    let mut attributes = texts(&[
        ("FifoQueue", "true"),
        ("DeduplicationScope", "messageGroup"),
        ("FifoThroughputLimit", "perMessageGroupId"),
    ]);
    attributes.extend(texts(more));
    attributes
}

pub(crate) fn redrive_to(target: &str, max_receives: i64) -> String {
    format!(
        r#"{{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:{target}","maxReceiveCount":{max_receives}}}"#
    )
}

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) clock: Arc<ManualClock>,
}

impl World {
    /// In memory, with [`QUEUE`] set up with `attributes`.
    pub(crate) fn new(attributes: &[(&str, &str)]) -> Self {
        let clock = Arc::new(ManualClock::at(START_MS));
        let engine = Engine::open(None, Options::default(), clock.clone()).unwrap();
        engine
            .create_queue(QUEUE, &fifo(attributes), &Texts::new())
            .unwrap();
        Self { engine, clock }
    }

    /// With a dead-letter queue [`DEAD`] after `max_receives`.
    pub(crate) fn with_dead_letters(max_receives: i64) -> Self {
        let world = Self::new(&[]);
        world
            .engine
            .create_queue(DEAD, &fifo(&[]), &Texts::new())
            .unwrap();
        let policy = redrive_to(DEAD, max_receives);
        world
            .engine
            .set_queue_attributes(QUEUE, &texts(&[("RedrivePolicy", &policy)]))
            .unwrap();
        world
    }

    pub(crate) fn seconds(&self, seconds: i64) {
        self.clock.advance(seconds * 1000);
    }

    /// Sends `body` under a deduplication id equal to it.
    pub(crate) fn send(&self, group: &str, body: &str) -> Sent {
        self.engine
            .send(QUEUE, &SendEntry::fifo(group, body, body))
            .unwrap()
    }

    pub(crate) fn receive(&self, max_messages: usize) -> Vec<Received> {
        self.receive_from(QUEUE, max_messages)
    }

    pub(crate) fn receive_from(&self, queue: &str, max_messages: usize) -> Vec<Received> {
        self.engine.try_receive(queue, &up_to(max_messages)).unwrap()
    }

    /// Bodies of up to ten messages.
    pub(crate) fn bodies(&self) -> Vec<String> {
        bodies(&self.receive(10))
    }

    pub(crate) fn delete(&self, message: &Received) {
        self.engine.delete(QUEUE, &message.receipt_handle).unwrap();
    }

    pub(crate) fn hide(&self, message: &Received, seconds: i64) {
        self.engine
            .change_visibility(QUEUE, &message.receipt_handle, seconds)
            .unwrap();
    }
}

pub(crate) fn up_to(max_messages: usize) -> ReceiveRequest {
    ReceiveRequest {
        max_messages,
        ..ReceiveRequest::default()
    }
}

pub(crate) fn bodies(messages: &[Received]) -> Vec<String> {
    messages.iter().map(|message| message.body.clone()).collect()
}

/// Code of the refusal.
pub(crate) fn refused<T: std::fmt::Debug>(outcome: Result<T, EngineError>) -> Code {
    outcome.unwrap_err().refusal().expect("a refusal").code
}

pub(crate) fn open(path: &Path, clock: &Arc<ManualClock>) -> Result<Engine, EngineError> {
    Engine::open(Some(path), Options::default(), clock.clone())
}
