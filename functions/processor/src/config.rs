//! What the processor is configured with.

use std::time::Duration;

use penstock_aws::{ConfigError, Lookup, Settings};
use penstock_domain::ledger::Retention;

const DAY: Duration = Duration::from_secs(86_400);

pub(crate) struct Config {
    pub(crate) table_name: String,
    pub(crate) updates_queue_url: String,
    pub(crate) outbound_queue_url: String,
    pub(crate) retention: Retention,
}

impl Config {
    pub(crate) fn from_lookup(lookup: &Lookup<'_>) -> Result<Self, ConfigError> {
        let mut settings = Settings::new(lookup);
        let config = Self {
            table_name: settings.text("TABLE_NAME", "name of the table"),
            updates_queue_url: settings.text("UPDATES_QUEUE_URL", "URL of the updates queue"),
            outbound_queue_url: settings.text("OUTBOUND_QUEUE_URL", "URL of the outbound queue"),
            retention: Retention {
                dedup_window: DAY * settings.number("DEDUP_WINDOW_DAYS", 7, 1, 90),
                dead: DAY * settings.number("DEAD_RETENTION_DAYS", 90, 14, 3650),
            },
        };
        settings.finish(config)
    }
}
