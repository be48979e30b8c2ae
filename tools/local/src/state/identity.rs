//! The webhook secrets of the bots of a local stack.
//!
//! Never holds a token: a real bot's token is asked for at every start.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::StateError;
use super::files::{read_if_there, write_private};

/// What a webhook of one bot is recognised by.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BotIdentity {
    /// Value of `X-Telegram-Bot-Api-Secret-Token`: 64 characters of `[0-9a-f]`.
    pub webhook_secret: String,
    /// Last part of the webhook's path: 32 characters of `[0-9a-f]`.
    pub path_key: String,
}

impl fmt::Debug for BotIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BotIdentity([redacted])")
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Identities {
    bots: BTreeMap<u64, BotIdentity>,
}

/// The identity of a bot; made and written when there is none yet.
pub(super) fn load_or_make(path: &Path, bot_id: u64) -> Result<BotIdentity, StateError> {
    let damaged = |source| StateError::Damaged {
        path: path.to_owned(),
        source,
    };
    let mut identities: Identities = match read_if_there(path)? {
        Some(text) => serde_json::from_str(&text).map_err(damaged)?,
        None => Identities::default(),
    };
    if let Some(identity) = identities.bots.get(&bot_id) {
        return Ok(identity.clone());
    }
    // Version 4 UUIDs come from the system's random source.
    let random = || Uuid::new_v4().simple().to_string();
    let identity = BotIdentity {
        webhook_secret: format!("{}{}", random(), random()),
        path_key: random(),
    };
    identities.bots.insert(bot_id, identity.clone());
    write_private(path, &serde_json::to_string_pretty(&identities).map_err(damaged)?)?;
    Ok(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_written_for_the_owner_only_and_never_printed() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("secrets.json");
        let identity = load_or_make(&path, 1).unwrap();
        assert_eq!((identity.webhook_secret.len(), identity.path_key.len()), (64, 32));
        assert_eq!(format!("{identity:?}"), "BotIdentity([redacted])");
        #[cfg(unix)]
        {
            let mode =
                std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
