//! What a sample is, and what is expected to become of it. Never reads a file at run time.

use std::borrow::Cow;

use crate::made;

/// The simulated bot of the local stack, to which every sample is addressed.
pub const SAMPLE_BOT_ID: u64 = 424_242;
/// The path key in the committed events. A stack that runs for real has its own, drawn at random.
pub const SAMPLE_PATH_KEY: &str = "sample-path-key-0001";
/// The webhook secret in the committed events. A stack that runs for real has its own, drawn at random.
pub const SAMPLE_SECRET: &str = "sample-webhook-secret-that-protects-nothing";

/// One request as Telegram (or somebody else) would post it, with what has to come of it.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Its name: file names and `penstock trigger` use it.
    pub name: &'static str,
    /// The member of the Update that carries it; empty where the body is no Update.
    pub kind: &'static str,
    /// The bytes of the request.
    pub body: Body,
    /// Which secret the request carries.
    pub secret: Secret,
    /// What is expected.
    pub expect: Expect,
}

/// Where the bytes of a sample come from.
#[derive(Debug, Clone, Copy)]
pub enum Body {
    /// A file of `events/raw/`, exactly as Telegram writes it.
    Written(&'static [u8]),
    /// An Update of exactly so many bytes with that `update_id`, made when it is asked for, the same every time.
    Made {
        /// Its `update_id`.
        update_id: i64,
        /// Its length.
        bytes: usize,
    },
}

/// Which secret a request carries in its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secret {
    /// The bot's.
    Right,
    /// Another one.
    Wrong,
}

/// What is expected of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expect {
    /// The status that ingress answers.
    pub http_status: u16,
    /// How it ends.
    pub outcome: Outcome,
    /// How many calls of the Bot API the example bot makes for it.
    pub sends: Sends,
    /// How many of those Telegram refuses: they speak of what is no more.
    pub refused: u8,
}

/// How a request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its ledger record is `done`, and each of its sends has ended.
    Done,
    /// Its ledger record is `dead`.
    Dead,
    /// It is no Update, but whoever sent it knew the secret: its bytes are kept for a person.
    Quarantined,
    /// Ingress turned it away; nothing of it is kept.
    Refused,
}

impl Outcome {
    /// Its name in tables and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Quarantined => "quarantined",
            Self::Refused => "refused",
        }
    }
}

/// A range of sends, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sends {
    /// At least so many.
    pub min: u8,
    /// At most so many.
    pub max: u8,
}

impl Sends {
    /// Exactly `n`.
    #[must_use]
    pub const fn exactly(n: u8) -> Self {
        Self { min: n, max: n }
    }

    /// From `min` to `max`.
    #[must_use]
    pub const fn between(min: u8, max: u8) -> Self {
        Self { min, max }
    }

    /// Whether `n` is in the range.
    #[must_use]
    pub fn holds(self, n: usize) -> bool {
        (usize::from(self.min)..=usize::from(self.max)).contains(&n)
    }
}

impl Sample {
    /// The name of its files, below `raw/`, `http/` and `sqs/`.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{}.json", self.name)
    }

    /// The bytes of the request.
    #[must_use]
    pub fn raw(&self) -> Cow<'static, [u8]> {
        match self.body {
            Body::Written(bytes) => Cow::Borrowed(bytes),
            Body::Made { update_id, bytes } => Cow::Owned(made::update(update_id, bytes)),
        }
    }

    /// Whether its files are written on demand only, since they are too big to commit.
    #[must_use]
    pub fn is_made(&self) -> bool {
        matches!(self.body, Body::Made { .. })
    }

    /// Its `update_id`, if it is an Update.
    #[must_use]
    pub fn update_id(&self) -> Option<i64> {
        penstock_domain::route::route(&self.raw())
            .ok()
            .map(|route| route.update_id.0)
    }
}

/// The same body under another `update_id`, so that one sample can be sent many times; everything else stays as it is,
/// byte for byte. `None` if the body has no member `update_id` that is a plain number.
#[must_use]
pub fn with_update_id(raw: &[u8], update_id: i64) -> Option<Vec<u8>> {
    const MEMBER: &[u8] = b"\"update_id\"";
    let skip_blanks = |mut at: usize| {
        while raw.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    let name = raw.windows(MEMBER.len()).position(|window| window == MEMBER)?;
    let colon = skip_blanks(name + MEMBER.len());
    if raw.get(colon) != Some(&b':') {
        return None;
    }
    let from = skip_blanks(colon + 1);
    let digits = raw[from..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digits == 0 {
        return None;
    }
    Some(
        [
            &raw[..from],
            update_id.to_string().as_bytes(),
            &raw[from + digits..],
        ]
        .concat(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_update_id_changes_nothing_else() {
        let raw = b"{\"update_id\" : 12,\n\"message\":{\"text\":\"\\ud83d\"}}";
        let changed = with_update_id(raw, 9).unwrap();
        assert_eq!(
            changed,
            b"{\"update_id\" : 9,\n\"message\":{\"text\":\"\\ud83d\"}}"
        );
    }

    #[test]
    fn a_body_without_a_number_gets_no_update_id() {
        for raw in [
            &b"{}"[..],
            b"{\"update_id\":\"abc\"}",
            b"{\"update_id\"}",
            b"{\"update_id\":",
        ] {
            assert_eq!(with_update_id(raw, 9), None);
        }
    }

    #[test]
    fn a_range_of_sends_holds_both_its_ends() {
        let sends = Sends::between(1, 2);
        assert_eq!([0, 1, 2, 3].map(|n| sends.holds(n)), [false, true, true, false]);
        assert!(Sends::exactly(1).holds(1) && !Sends::exactly(1).holds(2));
    }
}
