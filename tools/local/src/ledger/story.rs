//! A ledger item as a story: where an Update is, what it sent, what went wrong.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

type Item = HashMap<String, AttributeValue>;

/// What the ledger says of one Update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Story {
    /// `pending`, `processing`, `retrying`, `deferred`, `done` or `dead`.
    pub state: String,
    /// Tries burned.
    pub attempts: u32,
    /// When ingress received it, ms since 1970 in the stack's time.
    pub received_at: Option<i64>,
    /// When it was done or given up.
    pub ended_at: Option<i64>,
    /// What it sends, in order.
    pub sends: Vec<SendStory>,
    /// Its last failure.
    pub trouble: Option<Trouble>,
    /// The codes of the tries that failed, oldest first; of many only the latest are kept.
    pub failures: Vec<String>,
}

/// One call of the Bot API that an Update asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SendStory {
    /// Its number within the Update.
    pub n: u32,
    /// The method.
    pub method: String,
    /// `intended`, `sending`, `sent`, `retrying`, `failed`, `unknown` or `cancelled`.
    pub state: String,
    /// The message's id, when it is sent.
    pub message_id: Option<i64>,
    /// When it was sent.
    pub sent_at: Option<i64>,
    /// Its last failure.
    pub trouble: Option<Trouble>,
}

/// A failure as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Stable code.
    pub code: String,
    /// What happened.
    pub message: String,
}

impl Story {
    /// Reads a ledger item.
    pub(super) fn read(item: &Item) -> Self {
        let mut sends: Vec<SendStory> = map(item, "intents")
            .into_iter()
            .flatten()
            .filter_map(|(n, value)| send(n, value))
            .collect();
        sends.sort_by_key(|send| send.n);
        let tries = item.get("tries").and_then(|value| value.as_l().ok());
        let mut tries: Vec<Trouble> = tries
            .into_iter()
            .flatten()
            .filter_map(|entry| trouble(entry.as_m().ok()?))
            .collect();
        let failures = tries.iter().map(|entry| entry.code.clone()).collect();
        Self {
            state: text(item, "state").unwrap_or_default(),
            attempts: number(item, "attempts")
                .and_then(|count| u32::try_from(count).ok())
                .unwrap_or(0),
            received_at: number(item, "received_at"),
            ended_at: number(item, "done_at").or_else(|| number(item, "dead_at")),
            trouble: tries.pop(),
            failures,
            sends,
        }
    }

    /// Whether nothing more happens to it by itself.
    #[must_use]
    pub fn is_final(&self) -> bool {
        match self.state.as_str() {
            "dead" => true,
            "done" => self.sends.iter().all(SendStory::is_final),
            _ => false,
        }
    }

    /// From receipt to its last send, or to its end when it sends nothing; ms. `None` while it is
    /// under way.
    #[must_use]
    pub fn latency_ms(&self) -> Option<u64> {
        if !self.is_final() {
            return None;
        }
        let end = self
            .sends
            .iter()
            .filter_map(|send| send.sent_at)
            .max()
            .or(self.ended_at)?;
        u64::try_from(end - self.received_at?).ok()
    }
}

impl SendStory {
    /// Whether nothing more happens to it by itself.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self.state.as_str(), "sent" | "failed" | "unknown" | "cancelled")
    }
}

fn send(n: &str, value: &AttributeValue) -> Option<SendStory> {
    let entry = value.as_m().ok()?;
    Some(SendStory {
        n: n.parse().ok()?,
        method: text(entry, "method").unwrap_or_default(),
        state: text(entry, "state").unwrap_or_default(),
        message_id: number(entry, "message_id"),
        sent_at: number(entry, "sent_at"),
        trouble: map(entry, "failure").and_then(trouble),
    })
}

fn trouble(entry: &Item) -> Option<Trouble> {
    Some(Trouble {
        code: text(entry, "code")?,
        message: text(entry, "message").unwrap_or_default(),
    })
}

fn text(item: &Item, name: &str) -> Option<String> {
    item.get(name)?.as_s().ok().cloned()
}

fn number(item: &Item, name: &str) -> Option<i64> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

fn map<'a>(item: &'a Item, name: &str) -> Option<&'a Item> {
    item.get(name)?.as_m().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    fn n(number: i64) -> AttributeValue {
        AttributeValue::N(number.to_string())
    }

    fn item<const N: usize>(fields: [(&str, AttributeValue); N]) -> Item {
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    fn done_with(state: &str) -> Story {
        let sent = item([
            ("state", s("sent")),
            ("method", s("sendMessage")),
            ("message_id", n(7)),
            ("sent_at", n(1_900)),
        ]);
        let other = item([("state", s(state)), ("method", s("sendPhoto"))]);
        Story::read(&item([
            ("state", s("done")),
            ("attempts", n(2)),
            ("received_at", n(1_000)),
            ("done_at", n(1_400)),
            (
                "intents",
                AttributeValue::M(item([
                    ("1", AttributeValue::M(other)),
                    ("0", AttributeValue::M(sent)),
                ])),
            ),
        ]))
    }

    #[test]
    fn sends_are_told_in_order_and_latency_ends_with_the_last() {
        let story = done_with("failed");
        let methods: Vec<&str> = story.sends.iter().map(|send| send.method.as_str()).collect();
        assert_eq!(methods, ["sendMessage", "sendPhoto"]);
        assert_eq!(story.sends[0].message_id, Some(7));
        assert!(story.is_final());
        assert_eq!(story.latency_ms(), Some(900));
    }

    #[test]
    fn a_story_goes_on_while_a_send_is_open() {
        for state in ["intended", "sending", "retrying"] {
            let story = done_with(state);
            assert!(!story.is_final(), "{state}");
            assert_eq!(story.latency_ms(), None, "{state}");
        }
    }

    #[test]
    fn the_last_failure_is_told() {
        let tries = ["first", "second"]
            .map(|code| AttributeValue::M(item([("code", s(code)), ("message", s("why"))])));
        let story = Story::read(&item([
            ("state", s("dead")),
            ("tries", AttributeValue::L(tries.to_vec())),
        ]));
        assert_eq!(
            story.trouble,
            Some(Trouble {
                code: "second".to_owned(),
                message: "why".to_owned()
            })
        );
        assert_eq!(story.failures, ["first", "second"]);
        assert!(story.is_final());
    }

    #[test]
    fn a_strange_item_is_told_as_far_as_it_can_be_read() {
        let story = Story::read(&item([
            ("state", n(1)),
            ("intents", s("none")),
            ("attempts", s("many")),
        ]));
        assert_eq!(story, Story::default());
    }
}
