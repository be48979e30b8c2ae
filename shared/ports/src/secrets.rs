//! Where a bot's secrets come from.

use penstock_domain::ids::BotId;
use penstock_domain::secret::BotSecret;

use crate::error::PortError;

/// A cached source of bot secrets.
pub trait SecretSource: Send + Sync {
    /// The secret of a bot; `None` if there is no such bot here.
    fn bot_secret(&self, bot: BotId) -> impl Future<Output = Result<Option<BotSecret>, PortError>> + Send;

    /// The secret once more, not older than a minute: for a request whose secret did not match, or a token that was
    /// refused. At most one refresh a minute and bot.
    fn refreshed(&self, bot: BotId) -> impl Future<Output = Result<Option<BotSecret>, PortError>> + Send;
}
