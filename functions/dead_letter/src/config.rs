//! What the dead_letter function is configured with.

use penstock_aws::{ConfigError, Lookup, Settings};
use penstock_domain::ledger::Retention;

pub(crate) struct Config {
    pub(crate) table_name: String,
    pub(crate) outbound_queue_url: String,
    /// Of the three dead-letter queues.
    pub(crate) queue_urls: [String; 3],
    pub(crate) retention: Retention,
}

impl Config {
    pub(crate) fn from_lookup(lookup: &Lookup<'_>) -> Result<Self, ConfigError> {
        let mut settings = Settings::new(lookup);
        let config = Self {
            table_name: settings.text("TABLE_NAME", "name of the table"),
            outbound_queue_url: settings.text("OUTBOUND_QUEUE_URL", "URL of the outbound queue"),
            queue_urls: [
                settings.text("UPDATES_DLQ_URL", "URL of the updates queue's dead-letter queue"),
                settings.text(
                    "OUTBOUND_DLQ_URL",
                    "URL of the outbound queue's dead-letter queue",
                ),
                settings.text("BULK_DLQ_URL", "URL of the bulk queue's dead-letter queue"),
            ],
            retention: settings.retention(),
        };
        settings.finish(config)
    }
}
