//! Identifiers and the keys built from them. Never parses an Update; see [`crate::route`].

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A bot's numeric id (the part of its token before the colon).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BotId(pub u64);

impl BotId {
    /// The bot that a key or a message group names: both begin with it. 0, which no bot has, if it names none.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        let bot = name.split(':').next().and_then(|bot| bot.parse().ok());
        Self(bot.unwrap_or(0))
    }
}

/// Telegram's `update_id`. It may jump backwards after an idle week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpdateId(pub i64);

/// A chat's id: users are positive, groups negative, channels and supergroups below -10^12.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChatId(pub i64);

macro_rules! displayed {
    ($($name:ident)*) => { $(impl fmt::Display for $name {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { self.0.fmt(f) }
    })* };
}
displayed!(BotId UpdateId ChatId);

/// The largest integer that every JSON reader keeps exact (2^53 - 1).
pub const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// 64 bits of the raw value of an Update's kind, as 16 hex digits. Telegram draws update ids anew after idle weeks:
/// the same id with another digest is another Update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UpdateDigest(pub u64);

impl UpdateDigest {
    /// The digest of a kind's raw JSON value.
    #[must_use]
    pub fn of(raw: &[u8]) -> Self {
        let hash: [u8; 32] = Sha256::digest(raw).into();
        let mut first = [0_u8; 8];
        first.copy_from_slice(&hash[..8]);
        Self(u64::from_be_bytes(first))
    }

    /// Reads the 16 hex digits back.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 16 {
            return None;
        }
        u64::from_str_radix(text, 16).ok().map(Self)
    }
}

impl fmt::Display for UpdateDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The key of an Update's ledger record: `{bot}:{update_id}`, or `{bot}:{update_id}.{digest}` for an Update whose id
/// Telegram had used before. Deduplication ids and the `Idempotency-Key` are built from it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerKey(String);

impl LedgerKey {
    /// The key of an Update.
    #[must_use]
    pub fn new(bot: BotId, update: UpdateId) -> Self {
        Self(format!("{bot}:{update}"))
    }

    /// The key of an Update whose id was used before by another one.
    #[must_use]
    pub fn reused(bot: BotId, update: UpdateId, digest: UpdateDigest) -> Self {
        Self(format!("{bot}:{update}.{digest}"))
    }

    /// The key of a body that is no Update: `{bot}:q:{sha256}`.
    #[must_use]
    pub fn quarantined(bot: BotId, body: &[u8]) -> Self {
        Self(format!("{bot}:q:{}", hex(&Sha256::digest(body))))
    }

    /// The key of what answers a pressed button in its backend's place: `{bot}:a:{query_id}`.
    #[must_use]
    pub fn acknowledgement(bot: BotId, query: &str) -> Self {
        Self(format!("{bot}:a:{query}"))
    }

    /// The key of the one notice to those of a group that its Updates wait: `{bot}:n:{hour}:{group}`, the hour (since
    /// 1970) being that in which their wait began.
    #[must_use]
    pub fn notice(bot: BotId, hour: i64, group: &MessageGroupId) -> Self {
        Self(format!("{bot}:n:{hour}:{}", chat_of_group(group)))
    }

    /// Takes a key as it was stored.
    #[must_use]
    pub fn from_stored(key: String) -> Self {
        Self(key)
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The deduplication id of the Update's `redrive`-th generation on the updates queue.
    #[must_use]
    pub fn deduplication_id(&self, redrive: u32) -> DeduplicationId {
        DeduplicationId(if redrive == 0 {
            self.0.clone()
        } else {
            format!("{}:r{redrive}", self.0)
        })
    }

    /// The deduplication id of intent `n` on the outbound queue, in its `resend`-th resending by a person.
    #[must_use]
    pub fn intent_deduplication_id(&self, n: u8, resend: u32) -> DeduplicationId {
        DeduplicationId(if resend == 0 {
            format!("{}:{n}", self.0)
        } else {
            format!("{}:{n}:s{resend}", self.0)
        })
    }
}

impl fmt::Display for LedgerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// SQS's five-minute window key. Never the idempotency key: a hop into a dead-letter queue replaces it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeduplicationId(pub String);

/// An SQS FIFO ordering key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageGroupId(pub String);

impl fmt::Display for MessageGroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for DeduplicationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Longest message group id (SQS quota: 128 characters).
pub const MAX_GROUP_ID: usize = 128;

/// What a message group stands for. Two scopes never share a group, even where their ids are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// A chat, by number or `@name`.
    Chat(String),
    /// A user outside any chat.
    User(String),
    /// A chat inside a business connection.
    Business {
        /// `business_connection_id`.
        connection: String,
        /// The chat's id.
        chat: String,
    },
    /// A chat in which the bot is a guest.
    Guest(String),
    /// A poll.
    Poll(String),
    /// A query that the bot answers (outbound only): no chat waits for it.
    Query(String),
    /// Nothing that orders it was found.
    Unknown(String),
}

impl Scope {
    /// The message group of this scope for a bot: `{bot}:{letter}:{id}`; hashed where SQS would refuse it.
    #[must_use]
    pub fn group(&self, bot: BotId) -> MessageGroupId {
        let (letter, id) = match self {
            Self::Chat(id) => ('c', id.clone()),
            Self::User(id) => ('u', id.clone()),
            Self::Business { connection, chat } => ('b', format!("{connection}:{chat}")),
            Self::Guest(id) => ('g', id.clone()),
            Self::Poll(id) => ('p', id.clone()),
            Self::Query(id) => ('q', id.clone()),
            Self::Unknown(id) => ('x', id.clone()),
        };
        let plain = format!("{bot}:{letter}:{id}");
        // SQS allows letters, digits and ASCII punctuation in a group id: exactly the graphic ASCII characters.
        if plain.len() <= MAX_GROUP_ID && plain.bytes().all(|b| b.is_ascii_graphic()) {
            return MessageGroupId(plain);
        }
        MessageGroupId(format!(
            "{bot}:{letter}:h{}",
            hex(&Sha256::digest(id.as_bytes())[..16])
        ))
    }
}

/// The chat (or user, or poll) that a group stands for, as chat state and gates are kept by it: `{bot}:c:5` is `5`,
/// every other scope keeps its letter.
#[must_use]
pub fn chat_of_group(group: &MessageGroupId) -> &str {
    let scope = group
        .0
        .split_once(':')
        .map_or(group.0.as_str(), |(_, scope)| scope);
    scope.strip_prefix("c:").unwrap_or(scope)
}

/// The group of quarantined bodies: `{bot}:q:{0..15}`, spread by the body's hash.
#[must_use]
pub fn quarantine_group(bot: BotId, body: &[u8]) -> MessageGroupId {
    MessageGroupId(format!("{bot}:q:{}", Sha256::digest(body)[0] % 16))
}

/// The id that runs through every hop and log line of an Update: bot id and update id, 16 bytes, as 32 hex digits,
/// so that either is found from it.
#[must_use]
pub fn trace_id(bot: BotId, update: UpdateId) -> String {
    format!("{:016x}{:016x}", bot.0, update.0.cast_unsigned())
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a String cannot fail.
            write!(text, "{byte:02x}").ok();
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_bot_update_and_generation() {
        let key = LedgerKey::new(BotId(7), UpdateId(100));
        assert_eq!(key.as_str(), "7:100");
        assert_eq!(key.deduplication_id(0).0, "7:100");
        assert_eq!(key.deduplication_id(2).0, "7:100:r2");
        assert_eq!(key.intent_deduplication_id(1, 0).0, "7:100:1");
        assert_eq!(key.intent_deduplication_id(1, 3).0, "7:100:1:s3");
        assert_eq!(
            LedgerKey::reused(BotId(7), UpdateId(100), UpdateDigest(0xab)).as_str(),
            "7:100.00000000000000ab"
        );
    }

    #[test]
    fn keys_and_groups_name_their_bot() {
        let key = LedgerKey::new(BotId(7), UpdateId(100));
        assert_eq!(BotId::of_name(key.as_str()), BotId(7));
        assert_eq!(
            BotId::of_name(&Scope::Chat("-5".to_owned()).group(BotId(7)).0),
            BotId(7)
        );
        assert_eq!(BotId::of_name("nobody's"), BotId(0));
    }

    #[test]
    fn scopes_with_equal_ids_never_share_a_group() {
        let id = || "5".to_owned();
        let all = [
            Scope::Chat(id()),
            Scope::User(id()),
            Scope::Business {
                connection: "c".to_owned(),
                chat: id(),
            },
            Scope::Guest(id()),
            Scope::Poll(id()),
            Scope::Query(id()),
            Scope::Unknown(id()),
        ];
        let mut groups: Vec<_> = all.iter().map(|scope| scope.group(BotId(1)).0).collect();
        groups.sort();
        groups.dedup();
        assert_eq!(groups.len(), all.len());
    }

    #[test]
    fn a_group_that_sqs_would_refuse_is_hashed() {
        for id in ["x".repeat(200), "with space".to_owned(), "é".to_owned()] {
            let group = Scope::Poll(id).group(BotId(1)).0;
            assert!(group.starts_with("1:p:h"), "{group}");
            assert!(group.len() <= MAX_GROUP_ID && group.bytes().all(|b| b.is_ascii_graphic()));
        }
    }

    #[test]
    fn the_digest_is_read_back_as_it_was_written() {
        let digest = UpdateDigest::of(b"{}");
        assert_eq!(UpdateDigest::parse(&digest.to_string()), Some(digest));
        assert_eq!(UpdateDigest::parse("xyz"), None);
    }

    #[test]
    fn a_groups_chat_keeps_its_scope_unless_it_is_a_plain_chat() {
        assert_eq!(chat_of_group(&Scope::Chat("-5".to_owned()).group(BotId(1))), "-5");
        assert_eq!(
            chat_of_group(&Scope::Guest("5".to_owned()).group(BotId(1))),
            "g:5"
        );
    }

    #[test]
    fn trace_ids_hold_both_ids() {
        assert_eq!(
            trace_id(BotId(1), UpdateId(255)),
            "000000000000000100000000000000ff"
        );
    }
}
