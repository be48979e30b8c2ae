//! What the processor is configured with.

use penstock_aws::{ConfigError, Lookup, Settings};
use penstock_domain::ledger::Retention;

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
            retention: settings.retention(),
        };
        settings.finish(config)
    }
}

/// The numeric ids of the example bot's admins, `EXAMPLE_ADMINS`: separated by commas, none if it is empty.
pub(crate) fn example_admins(lookup: &Lookup<'_>) -> Result<Vec<i64>, ConfigError> {
    let mut settings = Settings::new(lookup);
    let ids = settings.numbers("EXAMPLE_ADMINS");
    settings.finish(ids)
}
