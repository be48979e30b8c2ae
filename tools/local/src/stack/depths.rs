//! How full the queues are.

use std::collections::BTreeMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName;
use fifo_queue::Engine;

/// A queue at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueDepth {
    /// Its name.
    pub name: String,
    /// Messages that wait.
    pub visible: u64,
    /// Messages received and neither deleted nor visible again.
    pub in_flight: u64,
    /// Messages whose delay has not ended.
    pub delayed: u64,
    /// Age of the oldest message, ms; `None` for an empty queue, or where the service does not say.
    pub oldest_age_ms: Option<u64>,
}

impl QueueDepth {
    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.visible == 0 && self.in_flight == 0 && self.delayed == 0
    }
}

/// Where depths are read from.
#[derive(Debug, Clone)]
pub(super) enum Gauge {
    Engine(Engine),
    /// Another emulator, by the queues' URLs.
    Service(Client, BTreeMap<String, String>),
}

impl Gauge {
    /// All queues, by name; `None` when they cannot be read.
    pub(super) async fn read(&self) -> Option<Vec<QueueDepth>> {
        match self {
            Self::Engine(engine) => {
                let queues = engine
                    .queues()
                    .map_err(|error| tracing::warn!(%error, "queues cannot be read"));
                Some(queues.ok()?.into_iter().map(from_engine).collect())
            }
            Self::Service(client, urls) => {
                let mut depths = Vec::with_capacity(urls.len());
                for (name, url) in urls {
                    depths.push(from_service(client, name, url).await?);
                }
                Some(depths)
            }
        }
    }
}

fn from_engine(stats: fifo_queue::QueueStats) -> QueueDepth {
    let count = |value: i64| u64::try_from(value).unwrap_or(0);
    QueueDepth {
        name: stats.name,
        visible: count(stats.visible),
        in_flight: count(stats.in_flight),
        delayed: count(stats.delayed),
        oldest_age_ms: stats.oldest_age_ms.map(count),
    }
}

async fn from_service(client: &Client, name: &str, url: &str) -> Option<QueueDepth> {
    use QueueAttributeName as Name;
    let answer = client
        .get_queue_attributes()
        .queue_url(url)
        .attribute_names(Name::ApproximateNumberOfMessages)
        .attribute_names(Name::ApproximateNumberOfMessagesNotVisible)
        .attribute_names(Name::ApproximateNumberOfMessagesDelayed)
        .send()
        .await
        .map_err(|error| tracing::warn!(error = %aws_sdk_sqs::error::DisplayErrorContext(error), "a queue cannot be read"))
        .ok()?;
    let attributes = answer.attributes?;
    let count = |name: Name| {
        attributes
            .get(&name)
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    };
    Some(QueueDepth {
        name: name.to_owned(),
        visible: count(Name::ApproximateNumberOfMessages),
        in_flight: count(Name::ApproximateNumberOfMessagesNotVisible),
        delayed: count(Name::ApproximateNumberOfMessagesDelayed),
        oldest_age_ms: None,
    })
}
