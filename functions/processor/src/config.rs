//! What the processor is configured with.

use std::time::Duration;

use penstock_aws::{ConfigError, Lookup, Settings};
use penstock_domain::ledger::Retention;

use crate::logic::{CoreReplies, MAX_AGE, Standby};

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

/// Where Updates are handed to instead of a bot inside this function: `BACKEND_URL`, or the function of
/// `BACKEND_FUNCTION_ARN`; none if both are empty. The function wins where both are given.
pub(crate) fn backend(lookup: &Lookup<'_>) -> Option<String> {
    let given = |name| lookup(name).filter(|value| !value.is_empty());
    given("BACKEND_FUNCTION_ARN").or_else(|| given("BACKEND_URL"))
}

/// What the names of bot secrets begin with, `BOT_SECRET_PREFIX`: where there is a backend.
pub(crate) fn bot_secret_prefix(lookup: &Lookup<'_>) -> Result<String, ConfigError> {
    let mut settings = Settings::new(lookup);
    let prefix = settings.text("BOT_SECRET_PREFIX", "what the names of bot secrets begin with");
    settings.finish(prefix)
}

/// The numeric ids of the example bot's admins, `EXAMPLE_ADMINS`: separated by commas, none if it is empty.
pub(crate) fn example_admins(lookup: &Lookup<'_>) -> Result<Vec<i64>, ConfigError> {
    let mut settings = Settings::new(lookup);
    let ids = settings.numbers("EXAMPLE_ADMINS");
    settings.finish(ids)
}

/// What stands in for a backend that is away: `OUTAGE_NOTICE`, the text that waiting chats are told (empty: none);
/// `CORE_REPLIES`, a JSON object of commands and texts; `MAX_AGE_HOURS`, the longest wait. One that cannot be read is said
/// in the log and left out: it must not stop a bot whose backend is well.
pub(crate) fn standby(lookup: &Lookup<'_>) -> Standby {
    let given = |name| lookup(name).unwrap_or_default();
    let core = CoreReplies::parse(&given("CORE_REPLIES")).unwrap_or_else(|error| {
        tracing::error!(error = %error, "CORE_REPLIES is not used: no command is answered while the backend is away");
        CoreReplies::default()
    });
    let max_age = match given("MAX_AGE_HOURS") {
        hours if hours.is_empty() => MAX_AGE,
        hours => hours.parse().map_or_else(
            |_| {
                tracing::error!("MAX_AGE_HOURS is no whole number of hours and not used: it is 24");
                MAX_AGE
            },
            |hours: u64| Duration::from_secs(hours.saturating_mul(3600)),
        ),
    };
    Standby::new(&given("OUTAGE_NOTICE"), core, max_age)
}
