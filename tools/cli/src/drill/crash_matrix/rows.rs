//! Records that are in the table before the load comes: what earlier crashes or earlier lives have left.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use penstock_domain::ids::{BotId, LedgerKey, MessageGroupId, UpdateDigest, UpdateId, trace_id};
use penstock_domain::intent::{Intent, IntentState};

/// An item, as the table has it.
pub(super) type Row = HashMap<String, AttributeValue>;

/// Life of a record that is made here, seconds.
const LIFE_SECS: i64 = 90 * 86_400;

/// An Update that a record is about.
#[derive(Debug, Clone)]
pub(super) struct About {
    pub(super) bot: BotId,
    pub(super) update: UpdateId,
    pub(super) group: MessageGroupId,
    pub(super) digest: UpdateDigest,
    /// Now, ms of the stack's time.
    pub(super) now_ms: i64,
}

fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

fn m<const N: usize>(fields: [(&str, AttributeValue); N]) -> Row {
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

impl About {
    pub(super) fn key(&self) -> LedgerKey {
        LedgerKey::new(self.bot, self.update)
    }

    fn record(&self, state: &str) -> Row {
        let key = self.key();
        m([
            ("pk", s(format!("UPD#{key}"))),
            ("sk", s("LEDGER")),
            ("v", n(1)),
            ("key", s(key.as_str())),
            ("bot_id", n(self.bot)),
            ("update_id", n(self.update.0)),
            ("kind", s("message")),
            ("group", s(self.group.0.as_str())),
            ("received_at", n(self.now_ms)),
            ("trace_id", s(trace_id(self.bot, self.update))),
            ("redrive", n(0)),
            ("digest", s(self.digest.to_string())),
            ("state", s(state)),
            ("fence", n(1)),
            ("attempts", n(1)),
            ("open", n(0)),
            ("expires_at", n(self.now_ms / 1000 + LIFE_SECS)),
        ])
    }

    /// Done, with intents that are in these states. With `needs_attention` it is still in the index of what needs a
    /// person, as a crash may leave it.
    pub(super) fn done(&self, intents: &[(Intent, IntentState)], needs_attention: bool) -> Row {
        let open = intents
            .iter()
            .filter(|(_, state)| *state == IntentState::Intended)
            .count();
        let stored = intents
            .iter()
            .map(|(intent, state)| (intent.n.to_string(), stored(intent, *state)))
            .collect();
        let mut row = self.record("done");
        row.extend(m([
            ("intents", AttributeValue::M(stored)),
            ("open", n(open)),
            ("result", s("staged")),
            ("done_at", n(self.now_ms)),
        ]));
        if needs_attention {
            let key = self.key();
            row.extend(m([
                ("attn_pk", s(format!("unknown#{}#0", self.bot))),
                ("attn_sk", s(format!("{:013}#{key}", self.now_ms))),
            ]));
        }
        row
    }

    /// Tried as often as it may be, with a history of as many tries as are kept.
    pub(super) fn tried(&self, attempts: u32, tries: usize) -> Row {
        let entry = m([
            ("code", s("store_away")),
            ("message", s("the table was away")),
            ("disposition", s("transient")),
            ("attempt", n(1)),
            ("at", n(self.now_ms)),
        ]);
        let mut row = self.record("retrying");
        row.extend(m([
            ("attempts", n(attempts)),
            ("next_at", n(0)),
            ("tries", AttributeValue::L(vec![AttributeValue::M(entry); tries])),
        ]));
        row
    }

    /// Done in an earlier life that ended long ago.
    pub(super) fn outlived(&self) -> Row {
        let mut row = self.done(&[], false);
        // So old that the table's own cleaning leaves it alone (DynamoDB: five years).
        row.extend(m([("expires_at", n(1))]));
        row
    }
}

fn stored(intent: &Intent, state: IntentState) -> AttributeValue {
    let mut entry = m([
        ("state", s(state.name())),
        ("method", s(intent.call.method.as_str())),
        ("params", s(intent.call.params.as_str())),
        ("group", s(intent.group.0.as_str())),
        ("on_unknown", s("hold")),
        ("resend", n(0)),
        ("attempts", n(0)),
    ]);
    if let Some(previous) = intent.previous {
        entry.extend(m([("previous", n(previous))]));
    }
    AttributeValue::M(entry)
}

#[cfg(test)]
mod tests {
    use penstock_aws::read_record;
    use penstock_domain::intent::{Call, plan};
    use penstock_domain::ledger::{MAX_TRIES_KEPT, State};

    use super::*;

    fn about() -> About {
        About {
            bot: BotId(424_242),
            update: UpdateId(7),
            group: MessageGroupId("424242:c:5".to_owned()),
            digest: UpdateDigest(9),
            now_ms: 1_790_000_000_000,
        }
    }

    #[test]
    fn the_ledger_can_read_what_is_put_there() {
        let call = |text: &str| Call::new("sendMessage", format!("{{\"chat_id\":5,\"text\":\"{text}\"}}"));
        let intents = plan(BotId(424_242), vec![call("a"), call("b")]).unwrap();
        let states = [IntentState::Cancelled, IntentState::Intended];
        let row = about().done(&intents.iter().cloned().zip(states).collect::<Vec<_>>(), true);
        let record = read_record("test", &row).unwrap();
        assert_eq!((record.state, record.open), (State::Done, 1));
        let read: Vec<_> = record
            .intents
            .iter()
            .map(|stored| (stored.intent.clone(), stored.state))
            .collect();
        assert_eq!(read, intents.into_iter().zip(states).collect::<Vec<_>>());
        let record = read_record("test", &about().tried(8, MAX_TRIES_KEPT)).unwrap();
        assert_eq!((record.attempts, record.tries.len()), (8, MAX_TRIES_KEPT));
        assert_eq!(read_record("test", &about().outlived()).unwrap().expires_at, 1);
    }
}
