//! What the ingress is configured with.

use penstock_aws::{ConfigError, Lookup, Settings};

/// See `docs/formats.md`.
pub(crate) struct Config {
    pub(crate) bot_secret_prefix: String,
    pub(crate) updates_queue_url: String,
    pub(crate) updates_dlq_url: String,
}

impl Config {
    pub(crate) fn from_lookup(lookup: &Lookup<'_>) -> Result<Self, ConfigError> {
        let mut settings = Settings::new(lookup);
        let config = Self {
            bot_secret_prefix: settings.text("BOT_SECRET_PREFIX", "what the names of bot secrets begin with"),
            updates_queue_url: settings.text("UPDATES_QUEUE_URL", "URL of the updates queue"),
            updates_dlq_url: settings.text("UPDATES_DLQ_URL", "URL of the updates queue's dead-letter queue"),
        };
        settings.finish(config)
    }
}
