//! The last Updates that the front accepted, for somebody who looks at them.
//!
//! Reads only an update id and a kind, and keeps no body, only its hash.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use penstock_domain::ids::{BotId, LedgerKey};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Updates kept.
const KEPT: usize = 200;

/// The kind of a body that names none.
const NO_UPDATE: &str = "no update";

/// An accepted Update, or a body that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedUpdate {
    /// The bot of the webhook's path.
    pub bot_id: String,
    /// Its update id, if it has one.
    pub update_id: Option<i64>,
    /// The key of its ledger record if it was quarantined.
    pub quarantine_key: String,
    /// Its first field beside the update id, for example `message`.
    pub kind: String,
    /// When the front answered, ms since 1970 in the stack's time.
    pub accepted_at_ms: i64,
}

/// The last accepted Updates. Clones are the same list.
#[derive(Debug, Clone, Default)]
pub struct RecentUpdates {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    updates: VecDeque<AcceptedUpdate>,
    accepted: u64,
}

impl RecentUpdates {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request that was answered with 200. One that Telegram repeated is noted once.
    pub(super) fn note(&self, path: &str, body: &[u8], now_ms: i64) {
        let mut inner = self.inner();
        inner.accepted += 1;
        let found = update_id_and_kind(body);
        let (update_id, kind) = match found {
            Some((update_id, kind)) => (Some(update_id), kind),
            None => (None, NO_UPDATE.to_owned()),
        };
        let bot_id = path
            .trim_start_matches('/')
            .split('/')
            .nth(1)
            .unwrap_or_default()
            .to_owned();
        let bot = BotId(bot_id.parse().unwrap_or_default());
        let quarantine_key = LedgerKey::quarantined(bot, body).as_str().to_owned();
        let is_same = |known: &AcceptedUpdate| match update_id {
            Some(_) => known.update_id == update_id && known.bot_id == bot_id,
            None => known.quarantine_key == quarantine_key,
        };
        if inner.updates.iter().any(is_same) {
            return;
        }
        if inner.updates.len() == KEPT {
            inner.updates.pop_front();
        }
        inner.updates.push_back(AcceptedUpdate {
            bot_id,
            update_id,
            quarantine_key,
            kind,
            accepted_at_ms: now_ms,
        });
    }

    /// The Updates, newest first.
    #[must_use]
    pub fn list(&self) -> Vec<AcceptedUpdate> {
        self.inner().updates.iter().rev().cloned().collect()
    }

    /// Requests answered with 200 since the start, repeated ones too.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.inner().accepted
    }
}

fn update_id_and_kind(body: &[u8]) -> Option<(i64, String)> {
    #[derive(Deserialize)]
    struct Update {
        update_id: i64,
        #[serde(flatten)]
        fields: BTreeMap<String, IgnoredAny>,
    }
    let update: Update = serde_json::from_slice(body).ok()?;
    let kind = update
        .fields
        .into_keys()
        .next()
        .unwrap_or_else(|| "unknown".to_owned());
    Some((update.update_id, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_updates_are_listed_newest_first_and_once() {
        let recent = RecentUpdates::default();
        recent.note(
            "/telegram/7/key",
            br#"{"update_id":1,"message":{"text":"a"}}"#,
            10,
        );
        recent.note("/telegram/7/key", br#"{"update_id":2,"callback_query":{}}"#, 20);
        recent.note(
            "/telegram/7/key",
            br#"{"update_id":1,"message":{"text":"a"}}"#,
            30,
        );
        for at_ms in [40, 50] {
            recent.note("/telegram/7/key", b"no json", at_ms);
        }
        let list: Vec<(Option<i64>, String)> = recent
            .list()
            .into_iter()
            .map(|update| (update.update_id, update.kind))
            .collect();
        assert_eq!(
            list,
            [
                (None, NO_UPDATE.to_owned()),
                (Some(2), "callback_query".to_owned()),
                (Some(1), "message".to_owned())
            ]
        );
        assert_eq!(recent.list()[0].bot_id, "7");
        assert!(recent.list()[0].quarantine_key.starts_with("7:q:"));
        assert_eq!(recent.accepted(), 5);
    }

    #[test]
    fn old_updates_make_room() {
        let recent = RecentUpdates::default();
        for id in 0..KEPT + 5 {
            recent.note(
                "/telegram/7/key",
                format!(r#"{{"update_id":{id},"poll":{{}}}}"#).as_bytes(),
                0,
            );
        }
        assert_eq!(
            (recent.list().len(), recent.list()[KEPT - 1].update_id),
            (KEPT, Some(5))
        );
    }
}
