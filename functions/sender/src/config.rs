//! What the sender is configured with.

use std::time::Duration;

use penstock_aws::{ConfigError, Lookup, Settings, WallClock};
use penstock_domain::ledger::Retention;
use penstock_ports::Clock as _;
use penstock_telegram::ClientConfig;

use crate::limits::CALL_LIMIT;

/// Time for a connection to the Bot API.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);

pub(crate) struct Config {
    pub(crate) table_name: String,
    pub(crate) bot_secret_prefix: String,
    pub(crate) outbound_queue_url: String,
    pub(crate) bulk_queue_url: String,
    pub(crate) telegram_api_root: String,
    pub(crate) retention: Retention,
}

impl Config {
    pub(crate) fn from_lookup(lookup: &Lookup<'_>) -> Result<Self, ConfigError> {
        let mut settings = Settings::new(lookup);
        let config = Self {
            table_name: settings.text("TABLE_NAME", "name of the table"),
            bot_secret_prefix: settings.text("BOT_SECRET_PREFIX", "what the names of bot secrets begin with"),
            outbound_queue_url: settings.text("OUTBOUND_QUEUE_URL", "URL of the outbound queue"),
            bulk_queue_url: settings.text("BULK_QUEUE_URL", "URL of the bulk queue"),
            telegram_api_root: settings.text(
                "TELEGRAM_API_ROOT",
                "root of the Bot API, https://api.telegram.org",
            ),
            retention: settings.retention(),
        };
        settings.finish(config)
    }
}

/// The client of the Bot API; its timers run on the wall.
pub(crate) fn bot_api(api_root: String, clock: &WallClock) -> ClientConfig {
    ClientConfig {
        connect_timeout: clock.real(CONNECT_LIMIT),
        timeout: clock.real(CALL_LIMIT),
        api_root,
        ..ClientConfig::default()
    }
}
