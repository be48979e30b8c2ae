//! What a person sees and does, over memory.

use std::collections::BTreeMap;

use penstock_domain::ids::{BotId, LedgerKey, UpdateDigest};
use penstock_domain::intent::{IntentState, judge_refusal};
use penstock_domain::ledger::State;
use penstock_domain::repair::{Act, Action};
use penstock_domain::time::Timestamp;
use penstock_ports::{
    ATTENTION_SHARDS, AttentionKind, AuditRow, GiveUp, GivenUp, Letter, Page, Place, PortError, Repaired,
    Repairs,
};

use super::{FakeLedger, Row, Store, secs};

/// Letters on one page: few, so that whoever lists has to turn pages.
const PAGE: usize = 2;

/// What people did to one Update.
#[derive(Debug, Clone, Default)]
pub(super) struct Hands {
    audit: Vec<AuditRow>,
    redriven_at: Option<Timestamp>,
    resent_at: BTreeMap<u8, Timestamp>,
}

fn shard_of(key: &LedgerKey) -> u8 {
    let sum = key.as_str().bytes().fold(0_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    u8::try_from(sum % u32::from(ATTENTION_SHARDS)).unwrap_or(0)
}

impl Store {
    pub(super) fn letter(&self, key: &LedgerKey) -> Option<Letter> {
        let row = self.rows.get(key)?;
        let hands = self.hands.get(key).cloned().unwrap_or_default();
        let died_at = row.record.tries.last().map(|failure| failure.at);
        let lost_at = row
            .record
            .intents
            .iter()
            .filter_map(|stored| stored.failure.as_ref());
        let since = lost_at
            .map(|failure| failure.at)
            .chain(hands.resent_at.values().copied())
            .chain(died_at)
            .max()
            .unwrap_or(row.subject.received_at);
        Some(Letter {
            record: row.record.clone(),
            subject: row.subject.clone(),
            attention: row
                .attention
                .and_then(AttentionKind::from_name)
                .map(|kind| (kind, since)),
            dead_at: died_at,
            redriven_at: hands.redriven_at,
            resent_at: hands.resent_at,
            acts: u32::try_from(hands.audit.len()).unwrap_or(u32::MAX),
        })
    }

    fn page(&self, bot: BotId, kind: AttentionKind, shard: u8, from: Option<&Place>) -> Page {
        let mut letters: Vec<(String, Letter)> = self
            .rows
            .keys()
            .filter(|key| BotId::of_name(key.as_str()) == bot && shard_of(key) == shard)
            .filter_map(|key| self.letter(key))
            .filter_map(|letter| match letter.attention {
                Some((found, since)) if found == kind => {
                    let place = format!("{:013}#{}", since.as_millis(), letter.record.key);
                    Some((place, letter))
                }
                Some(_) | None => None,
            })
            .filter(|(place, _)| from.is_none_or(|Place(from)| place > from))
            .collect();
        letters.sort_by(|(one, _), (other, _)| one.cmp(other));
        let has_more = letters.len() > PAGE;
        letters.truncate(PAGE);
        let next = letters
            .last()
            .filter(|_| has_more)
            .map(|(place, _)| Place(place.clone()));
        Page {
            letters: letters.into_iter().map(|(_, letter)| letter).collect(),
            next,
        }
    }

    /// The row, if it lives and is as it was read, in one of these states.
    fn as_read(&mut self, letter: &Letter, act: &Act, is_fit: impl Fn(&Row) -> bool) -> Option<&mut Row> {
        let acts = self
            .hands
            .get(&letter.record.key)
            .map_or(0, |hands| hands.audit.len());
        self.rows.get_mut(&letter.record.key).filter(|row| {
            row.record.expires_at >= secs(act.at())
                && row.record.redrive == letter.record.redrive
                && u32::try_from(acts) == Ok(letter.acts)
                && is_fit(row)
        })
    }

    /// What a refusal means: this very act, repeated, had landed.
    fn refused(&self, letter: &Letter, row: &AuditRow) -> Repaired {
        let place = usize::try_from(letter.acts).unwrap_or(usize::MAX);
        let landed = self
            .hands
            .get(&letter.record.key)
            .and_then(|hands| hands.audit.get(place));
        if landed == Some(row) {
            Repaired::Done
        } else {
            Repaired::Changed
        }
    }

    fn note_act(&mut self, letter: &Letter, row: AuditRow) -> &mut Hands {
        let hands = self.hands.entry(letter.record.key.clone()).or_default();
        hands.audit.push(row);
        hands
    }

    fn redrive(&mut self, letter: &Letter, act: &Act) -> Repaired {
        let expires_at = self.retention.expires_at(1, act.at());
        let mut audit = AuditRow::of(Action::Redrive, letter, act);
        audit.redrive += 1;
        let Some(row) = self.as_read(letter, act, |row| row.record.state == State::Dead) else {
            return self.refused(letter, &audit);
        };
        row.record.state = State::Pending;
        row.record.redrive += 1;
        row.record.attempts = 0;
        row.record.expires_at = expires_at;
        row.attention = row.attention.or(Some("dead"));
        self.note_act(letter, audit).redriven_at = Some(act.at());
        Repaired::Done
    }

    fn edit(&mut self, letter: &Letter, before: UpdateDigest, raw: &str, act: &Act) -> Repaired {
        let expires_at = self.retention.expires_at(1, act.at());
        let mut audit = AuditRow::of(Action::Edit, letter, act);
        audit.bodies = Some((before, UpdateDigest::of(raw.as_bytes())));
        let Some(row) = self.as_read(letter, act, is_dead_letter) else {
            return self.refused(letter, &audit);
        };
        row.raw = Some(raw.to_owned());
        row.record.expires_at = expires_at;
        self.note_act(letter, audit);
        Repaired::Done
    }

    fn discard(&mut self, letter: &Letter, act: &Act) -> Repaired {
        let expires_at = self.retention.expires_at(0, act.at());
        let audit = AuditRow::of(Action::Discard, letter, act);
        let Some(row) = self.as_read(letter, act, is_dead_letter) else {
            return self.refused(letter, &audit);
        };
        row.attention = None;
        row.record.expires_at = expires_at;
        self.note_act(letter, audit);
        Repaired::Done
    }

    fn resend(&mut self, letter: &Letter, n: u8, act: &Act) -> Repaired {
        let expires_at = self.retention.expires_at(1, act.at());
        let place = usize::from(n);
        let Some(was) = letter.record.intents.get(place) else {
            return Repaired::Changed;
        };
        let mut audit = AuditRow::of(Action::Resend, letter, act);
        was.state.name().clone_into(&mut audit.before);
        audit.send = Some((n, was.resend + 1));
        let is_open = |row: &Row| {
            let stored = &row.record.intents[place];
            row.record.state == State::Done
                && stored.state == was.state
                && matches!(stored.state, IntentState::Failed | IntentState::Unknown)
                && stored.resend == was.resend
        };
        let Some(row) = self.as_read(letter, act, is_open) else {
            return self.refused(letter, &audit);
        };
        row.record.open += u32::from(was.state == IntentState::Failed);
        row.record.expires_at = expires_at;
        row.attention = row.attention.or(Some("unknown"));
        let stored = &mut row.record.intents[place];
        stored.state = IntentState::Intended;
        stored.resend += 1;
        (stored.next_at, stored.lease_until) = (None, None);
        self.note_act(letter, audit).resent_at.insert(n, act.at());
        Repaired::Done
    }

    fn settle_unknown(&mut self, letter: &Letter, n: u8, act: &Act) -> Repaired {
        let expires_at = self.retention.expires_at(0, act.at());
        let place = usize::from(n);
        let Some(was) = letter.record.intents.get(place) else {
            return Repaired::Changed;
        };
        let mut audit = AuditRow::of(Action::Settle, letter, act);
        was.state.name().clone_into(&mut audit.before);
        audit.send = Some((n, was.resend));
        let is_unknown = |row: &Row| {
            let stored = &row.record.intents[place];
            row.record.state == State::Done
                && stored.state == IntentState::Unknown
                && stored.resend == was.resend
        };
        let Some(row) = self.as_read(letter, act, is_unknown) else {
            return self.refused(letter, &audit);
        };
        row.record.intents[place].state = IntentState::Sent;
        row.record.open -= 1;
        if row.record.open == 0 {
            row.record.expires_at = expires_at;
        }
        if !row.needs_person() {
            row.attention = None;
        }
        self.note_act(letter, audit);
        Repaired::Done
    }

    pub(super) fn give_up(&mut self, give_up: &GiveUp) -> GivenUp {
        let shortened = self.retention.expires_at(0, give_up.now);
        let row = self
            .rows
            .get_mut(&give_up.key)
            .filter(|row| row.record.expires_at >= secs(give_up.now));
        let claim = give_up.as_claim();
        let Some(row) = row else {
            return GivenUp::Refused(judge_refusal(None, &claim));
        };
        let state_of = |n: u8| {
            let mut stored = row.record.intents.iter();
            stored.find(|stored| stored.intent.n == n)
        };
        let is_behind = give_up
            .previous
            .and_then(state_of)
            .is_some_and(|previous| previous.holds_successors());
        let is_idle = state_of(give_up.n).is_some_and(|stored| {
            stored.resend == give_up.resend
                && matches!(stored.state, IntentState::Intended | IntentState::Retrying)
        });
        if row.record.redrive != give_up.redrive || is_behind || !is_idle {
            return GivenUp::Refused(judge_refusal(Some(&row.record), &claim));
        }
        let place = row
            .record
            .intents
            .iter_mut()
            .find(|stored| stored.intent.n == give_up.n);
        if let Some(stored) = place {
            if stored.may_have_arrived() {
                stored.state = IntentState::Unknown;
                stored.next_at = None;
                row.attention = Some("unknown");
                return GivenUp::Unknown;
            }
            stored.state = IntentState::Failed;
            stored.next_at = None;
            stored.failure = Some(give_up.failure.clone());
        }
        row.record.open = row.record.open.saturating_sub(1);
        if row.record.open == 0 {
            row.record.expires_at = shortened;
        }
        if !row.needs_person() {
            row.attention = None;
        }
        GivenUp::Failed
    }
}

fn is_dead_letter(row: &Row) -> bool {
    row.record.state == State::Dead && row.attention.is_some()
}

impl Repairs for FakeLedger {
    async fn attention(
        &self,
        bot: BotId,
        kind: AttentionKind,
        shard: u8,
        from: Option<&Place>,
    ) -> Result<Page, PortError> {
        self.call("ledger.attention", |store| store.page(bot, kind, shard, from))
    }

    async fn letter(&self, key: &LedgerKey) -> Result<Option<Letter>, PortError> {
        self.call("ledger.letter", |store| store.letter(key))
    }

    async fn body(&self, key: &LedgerKey) -> Result<Option<String>, PortError> {
        self.call("ledger.raw_body", |store| {
            store.rows.get(key).and_then(|row| row.raw.clone())
        })
    }

    async fn audit(&self, key: &LedgerKey) -> Result<Vec<AuditRow>, PortError> {
        self.call("ledger.audit", |store| {
            store
                .hands
                .get(key)
                .map_or_else(Vec::new, |hands| hands.audit.clone())
        })
    }

    async fn redrive(&self, letter: &Letter, act: &Act) -> Result<Repaired, PortError> {
        self.call("ledger.redrive", |store| store.redrive(letter, act))
    }

    async fn edit(
        &self,
        letter: &Letter,
        before: UpdateDigest,
        raw: &str,
        act: &Act,
    ) -> Result<Repaired, PortError> {
        self.call("ledger.edit", |store| store.edit(letter, before, raw, act))
    }

    async fn discard(&self, letter: &Letter, act: &Act) -> Result<Repaired, PortError> {
        self.call("ledger.discard", |store| store.discard(letter, act))
    }

    async fn resend(&self, letter: &Letter, n: u8, act: &Act) -> Result<Repaired, PortError> {
        self.call("ledger.resend", |store| store.resend(letter, n, act))
    }

    async fn settle_unknown(&self, letter: &Letter, n: u8, act: &Act) -> Result<Repaired, PortError> {
        self.call("ledger.settle_unknown", |store| {
            store.settle_unknown(letter, n, act)
        })
    }
}
