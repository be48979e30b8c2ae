//! The ledger, as a person sees it who puts right what ended badly: what needs somebody, and what somebody may do.
//!
//! A person's writes rest on what was read before: [`Letter`] carries it, and each write is refused
//! ([`Repaired::Changed`]) when the record has changed since. Whoever is refused reads again and decides anew.

use std::collections::BTreeMap;

use penstock_domain::ids::{BotId, LedgerKey, UpdateDigest};
use penstock_domain::ledger::{Record, State};
use penstock_domain::repair::{Act, Action, Seen, is_stuck_at};
use penstock_domain::time::Timestamp;

use crate::error::PortError;
use crate::inbox::Subject;

/// The shards of the index for each kind and bot.
pub const ATTENTION_SHARDS: u8 = 16;

/// Under which heading something needs a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttentionKind {
    /// An Update that died.
    Dead,
    /// A send of which nobody knows whether it arrived.
    Unknown,
    /// An Update that came too late to matter.
    Expired,
    /// A body that is no Update.
    Quarantine,
}

impl AttentionKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Dead, Self::Unknown, Self::Expired, Self::Quarantine];

    /// As stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Unknown => "unknown",
            Self::Expired => "expired",
            Self::Quarantine => "quarantine",
        }
    }

    /// Reads it back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A record as a person meets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The record.
    pub record: Record,
    /// What it is about.
    pub subject: Subject,
    /// Its place in the index, and since when; none when nobody has to look at it.
    pub attention: Option<(AttentionKind, Timestamp)>,
    /// When it died last.
    pub dead_at: Option<Timestamp>,
    /// When a person redrove it last.
    pub redriven_at: Option<Timestamp>,
    /// When a person had each send made again last, by its number.
    pub resent_at: BTreeMap<u8, Timestamp>,
    /// How many audit rows there are: every act of a person adds one, so it tells whether somebody else was quicker.
    pub acts: u32,
}

/// Why a record needs a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// It is dead, and in the index under that kind.
    Dead(AttentionKind),
    /// It was redriven, and its copy seems to be lost: redrive it again.
    StuckRedrive,
    /// These sends are unknown, or were sent again and their copies seem to be lost.
    Sends {
        /// Nobody knows whether they arrived.
        unknown: Vec<u8>,
        /// Sent again, not claimed for a minute.
        stuck: Vec<u8>,
    },
}

impl Letter {
    /// What decisions on it rest on.
    #[must_use]
    pub fn seen(&self) -> Seen {
        Seen {
            state: self.record.state,
            redrive: self.record.redrive,
            redriven_at: self.redriven_at,
            is_indexed: self.attention.is_some(),
            is_update: self.subject.update_id >= 0,
            expires_at: self.record.expires_at,
        }
    }

    /// Whether it needs a person now. A row of the index alone does not say so: the index follows the table a little
    /// later, and what somebody has just repaired is on its way.
    #[must_use]
    pub fn need(&self, now: Timestamp) -> Option<Need> {
        use penstock_domain::intent::IntentState;
        let (kind, _) = self.attention?;
        if self.record.expires_at < now.as_millis().div_euclid(1000) {
            return None;
        }
        match self.record.state {
            State::Dead => Some(Need::Dead(kind)),
            State::Pending => is_stuck_at(self.redriven_at, now).then_some(Need::StuckRedrive),
            State::Done => {
                let sends = |wanted: &dyn Fn(&penstock_domain::intent::IntentRecord) -> bool| {
                    let found = self.record.intents.iter().filter(|stored| wanted(stored));
                    found.map(|stored| stored.intent.n).collect::<Vec<_>>()
                };
                let unknown = sends(&|stored| stored.state == IntentState::Unknown);
                let stuck = sends(&|stored| {
                    let resent_at = self.resent_at.get(&stored.intent.n).copied();
                    stored.is_resent_and_waits() && is_stuck_at(resent_at, now)
                });
                let is_needed = !unknown.is_empty() || !stuck.is_empty();
                is_needed.then_some(Need::Sends { unknown, stuck })
            }
            State::Processing | State::Retrying | State::Deferred => None,
        }
    }
}

/// Where a listing goes on: opaque, of the same kind and shard only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(pub String);

/// A part of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// What was found, oldest first. Raw bodies are not read.
    pub letters: Vec<Letter>,
    /// Where it goes on; none at the end.
    pub next: Option<Place>,
}

/// What became of a person's write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repaired {
    /// It is done, with its audit row.
    Done,
    /// The record is not as it was read: somebody was quicker. Nothing was changed.
    Changed,
}

/// A person's act as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// What was done.
    pub action: Action,
    /// By whom.
    pub who: String,
    /// Why.
    pub why: String,
    /// When.
    pub at: Timestamp,
    /// The state before, of the Update or of the send.
    pub before: String,
    /// The generation that it made, or that it was in.
    pub redrive: u32,
    /// The send that it is about, and the resending that it made.
    pub send: Option<(u8, u32)>,
    /// Digests of the body before and after an edit.
    pub bodies: Option<(UpdateDigest, UpdateDigest)>,
}

impl AuditRow {
    /// The row of that act on a letter, with the state and the generation that it found.
    #[must_use]
    pub fn of(action: Action, letter: &Letter, act: &Act) -> Self {
        Self {
            action,
            who: act.who().to_owned(),
            why: act.why().to_owned(),
            at: act.at(),
            before: letter.record.state.name().to_owned(),
            redrive: letter.record.redrive,
            send: None,
            bodies: None,
        }
    }
}

/// What a person may do to the ledger. Decisions are the domain's (`penstock_domain::repair`): every write here is
/// refused where they would not allow it.
pub trait Repairs: Send + Sync {
    /// A part of what the index has of that kind in that shard (0 to [`ATTENTION_SHARDS`] - 1).
    fn attention(
        &self,
        bot: BotId,
        kind: AttentionKind,
        shard: u8,
        from: Option<&Place>,
    ) -> impl Future<Output = Result<Page, PortError>> + Send;

    /// Reads one record.
    fn letter(&self, key: &LedgerKey) -> impl Future<Output = Result<Option<Letter>, PortError>> + Send;

    /// The raw body that is kept with it. Personal data.
    fn body(&self, key: &LedgerKey) -> impl Future<Output = Result<Option<String>, PortError>> + Send;

    /// What people did to it, oldest first.
    fn audit(&self, key: &LedgerKey) -> impl Future<Output = Result<Vec<AuditRow>, PortError>> + Send;

    /// `dead` becomes `pending` in the next generation, with no attempt used; it stays in the index until it is claimed.
    /// The caller then sends its copy.
    fn redrive(&self, letter: &Letter, act: &Act)
    -> impl Future<Output = Result<Repaired, PortError>> + Send;

    /// The body of a dead Update becomes another one. `before` is the digest of the body that was read.
    fn edit(
        &self,
        letter: &Letter,
        before: UpdateDigest,
        raw: &str,
        act: &Act,
    ) -> impl Future<Output = Result<Repaired, PortError>> + Send;

    /// A dead letter is closed: it leaves the index and is kept as long as a settled Update, so that a repeat is known.
    fn discard(&self, letter: &Letter, act: &Act)
    -> impl Future<Output = Result<Repaired, PortError>> + Send;

    /// Intent `n` becomes `intended` in its next resending; it is in the index until a sender claims it. The caller then
    /// sends its copy.
    fn resend(
        &self,
        letter: &Letter,
        n: u8,
        act: &Act,
    ) -> impl Future<Output = Result<Repaired, PortError>> + Send;

    /// Intent `n`, which was `unknown`, is `sent`: a person has looked.
    fn settle_unknown(
        &self,
        letter: &Letter,
        n: u8,
        act: &Act,
    ) -> impl Future<Output = Result<Repaired, PortError>> + Send;
}
