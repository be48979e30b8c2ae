//! The ledger record of one Update: its states, who may claim it, and what a refused claim means.
//! Never writes it: the adapter turns these decisions into conditional writes.
//!
//! ```text
//! absent ─┐                ┌─> done
//! pending ┼─> processing ──┼─> retrying ──┐
//!         │    ^  │  ^     ├─> deferred ──┤ (next_at)
//!         │    │  └──┘take-over           │
//!         │    └──────────────────────────┘
//!         └──────────────> dead ─> pending (redrive)
//! ```

use std::time::Duration;

use crate::failure::Failure;
use crate::ids::{LedgerKey, UpdateDigest};
use crate::intent::IntentRecord;
use crate::time::Timestamp;

/// Margin between our clock and the one that wrote a lease, before a crash is suspected (design section 4: 2 s).
pub const LEASE_MARGIN: Duration = Duration::from_secs(2);
/// Most tries kept (design section 2).
pub const MAX_TRIES_KEPT: usize = 20;

/// State of an Update that has a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Redriven by a person; its copy is on the way.
    Pending,
    /// Somebody holds a lease on it.
    Processing,
    /// It failed and is tried again at `next_at`.
    Retrying,
    /// Its backend is away; it waits until `next_at` without having burned an attempt.
    Deferred,
    /// Its outcome is committed.
    Done,
    /// Parked for a person.
    Dead,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Processing,
        Self::Retrying,
        Self::Deferred,
        Self::Done,
        Self::Dead,
    ];

    /// As stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Retrying => "retrying",
            Self::Deferred => "deferred",
            Self::Done => "done",
            Self::Dead => "dead",
        }
    }

    /// Reads it back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// What may happen to an Update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// A processor takes it.
    Claim,
    /// A processor takes it over from one that crashed.
    TakeOver,
    /// Its outcome is written.
    Commit,
    /// It failed and may work later.
    Retry,
    /// Its backend is away.
    Defer,
    /// It will not be tried again by itself.
    Kill,
    /// A person sends it again.
    Redrive,
}

impl Event {
    /// Every event.
    pub const ALL: [Self; 7] = [
        Self::Claim,
        Self::TakeOver,
        Self::Commit,
        Self::Retry,
        Self::Defer,
        Self::Kill,
        Self::Redrive,
    ];
}

/// An event that cannot happen in that state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an update that is {state:?} cannot {event:?}")]
pub struct IllegalTransition {
    /// The state, `None` for no record.
    pub state: Option<State>,
    /// The event.
    pub event: Event,
}

/// The state after an event. `None` is an Update without a record.
///
/// # Errors
/// [`IllegalTransition`] for every pair that the diagram above does not have.
pub fn transition(state: Option<State>, event: Event) -> Result<State, IllegalTransition> {
    use Event as E;
    use State as S;
    match (state, event) {
        (None | Some(S::Pending | S::Retrying | S::Deferred), E::Claim)
        | (Some(S::Processing), E::TakeOver) => Ok(S::Processing),
        (None | Some(S::Processing), E::Commit) => Ok(S::Done),
        (None | Some(S::Processing), E::Retry) => Ok(S::Retrying),
        (Some(S::Processing), E::Defer) => Ok(S::Deferred),
        (None | Some(S::Processing | S::Pending | S::Retrying | S::Deferred), E::Kill) => Ok(S::Dead),
        (Some(S::Dead), E::Redrive) => Ok(S::Pending),
        (None, E::TakeOver | E::Defer | E::Redrive)
        | (Some(S::Pending), E::TakeOver | E::Commit | E::Retry | E::Defer | E::Redrive)
        | (Some(S::Processing), E::Claim | E::Redrive)
        | (Some(S::Retrying | S::Deferred), E::TakeOver | E::Commit | E::Retry | E::Defer | E::Redrive)
        | (Some(S::Done), E::Claim | E::TakeOver | E::Commit | E::Retry | E::Defer | E::Kill | E::Redrive)
        | (Some(S::Dead), E::Claim | E::TakeOver | E::Commit | E::Retry | E::Defer | E::Kill) => {
            Err(IllegalTransition { state, event })
        }
    }
}

/// Guards a lease: it only ever grows, so a late worker's is too small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fence(pub u64);

/// Names one claim: `{request_id}:{n}`, new for every claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner(pub String);

/// What is stored of an Update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its key.
    pub key: LedgerKey,
    /// Its state.
    pub state: State,
    /// How often a person has redriven it: its generation.
    pub redrive: u32,
    /// Tries burned in this generation.
    pub attempts: u32,
    /// Grows with every claim.
    pub fence: Fence,
    /// Who claimed it last.
    pub owner: Option<Owner>,
    /// Until when that claim holds.
    pub lease_until: Option<Timestamp>,
    /// Not to be claimed before.
    pub next_at: Option<Timestamp>,
    /// Digest of the Update that it was made for.
    pub digest: Option<UpdateDigest>,
    /// Intents that have not ended.
    pub open: u32,
    /// Failed tries, oldest first.
    pub tries: Vec<Failure>,
    /// The sends that its outcome asks for.
    pub intents: Vec<IntentRecord>,
    /// The short result that its outcome stored.
    pub result: Option<String>,
    /// Life of the record, seconds since the epoch. Rows linger after it, so every condition tests it.
    pub expires_at: i64,
}

/// What a claim asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// Who.
    pub owner: Owner,
    /// The generation of the copy in hand.
    pub redrive: u32,
    /// The digest of the Update in hand.
    pub digest: UpdateDigest,
    /// Now.
    pub now: Timestamp,
    /// Until when the lease shall hold.
    pub lease_until: Timestamp,
}

/// What a refused claim means, read off the record that refused it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is mine after all: the write had landed and was repeated.
    Mine {
        /// Attempts, this one included.
        attempts: u32,
        /// My fence.
        fence: Fence,
    },
    /// The copy in hand is of an earlier generation: acknowledge it, change nothing.
    Superseded,
    /// The id was used before, by another Update: claim under the suffixed key.
    ReusedId,
    /// It is done: dispatch what is still `intended`, acknowledge.
    Done,
    /// It is parked: acknowledge.
    Dead,
    /// Its worker is alive, or it waits: come back then.
    HeldUntil(Timestamp),
    /// Its worker's lease is over: a crash is suspected; it may be taken over by an invocation that runs nothing else.
    Suspect {
        /// The fence that the take-over must still find.
        fence: Fence,
    },
}

/// Reads a refused claim.
#[must_use]
pub fn judge_refusal(existing: &Record, mine: &ClaimRequest) -> Refusal {
    if existing.state == State::Processing && existing.owner.as_ref() == Some(&mine.owner) {
        return Refusal::Mine {
            attempts: existing.attempts,
            fence: existing.fence,
        };
    }
    // Before the generations: a redrive keeps the digest, an edited body too, so another digest is another Update.
    if existing.digest.is_some_and(|digest| digest != mine.digest) {
        return Refusal::ReusedId;
    }
    if mine.redrive < existing.redrive {
        return Refusal::Superseded;
    }
    match existing.state {
        State::Done => Refusal::Done,
        State::Dead => Refusal::Dead,
        State::Processing => {
            let lease_until = existing.lease_until.unwrap_or(mine.now + LEASE_MARGIN);
            if is_suspect_at(lease_until, mine.now) {
                Refusal::Suspect {
                    fence: existing.fence,
                }
            } else {
                Refusal::HeldUntil(lease_until + LEASE_MARGIN)
            }
        }
        State::Pending | State::Retrying | State::Deferred => {
            // A claimable record refuses only for its time; an absent time means that it changed in between.
            Refusal::HeldUntil(existing.next_at.unwrap_or(mine.now))
        }
    }
}

/// Whether the holder of a lease must be taken for dead.
#[must_use]
pub fn is_suspect_at(lease_until: Timestamp, now: Timestamp) -> bool {
    lease_until + LEASE_MARGIN < now
}

/// How long records live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Of an Update of which nothing is open: the window in which a repeat is known (default 7 days, at least 24 h).
    pub dedup_window: Duration,
    /// Of one that still needs somebody (default 90 days).
    pub dead: Duration,
}

impl Retention {
    /// `expires_at` of a record, in seconds, after a write that leaves that many things open.
    #[must_use]
    pub fn expires_at(&self, open: u32, now: Timestamp) -> i64 {
        (now + if open == 0 { self.dedup_window } else { self.dead }).as_secs_ceil()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(state: State) -> Record {
        Record {
            key: LedgerKey::from_stored("1:2".to_owned()),
            state,
            redrive: 1,
            attempts: 2,
            fence: Fence(5),
            owner: Some(Owner("other:1".to_owned())),
            lease_until: Some(Timestamp::from_millis(10_000)),
            next_at: Some(Timestamp::from_millis(20_000)),
            digest: Some(UpdateDigest(7)),
            open: 0,
            tries: Vec::new(),
            intents: Vec::new(),
            result: None,
            expires_at: 1_000,
        }
    }

    fn claim(now: i64) -> ClaimRequest {
        ClaimRequest {
            owner: Owner("me:1".to_owned()),
            redrive: 1,
            digest: UpdateDigest(7),
            now: Timestamp::from_millis(now),
            lease_until: Timestamp::from_millis(now + 30_000),
        }
    }

    #[test]
    fn every_pair_of_state_and_event_is_a_transition_or_illegal() {
        let states = [None].into_iter().chain(State::ALL.map(Some));
        let legal = states
            .flat_map(|state| Event::ALL.map(|event| transition(state, event)))
            .filter(Result::is_ok)
            .count();
        assert_eq!(legal, 16);
        assert_eq!(
            transition(Some(State::Done), Event::Claim)
                .map_err(|e| e.to_string())
                .unwrap_err(),
            "an update that is Some(Done) cannot Claim"
        );
    }

    #[test]
    fn a_done_update_is_never_claimed_again() {
        for event in Event::ALL {
            assert!(transition(Some(State::Done), event).is_err());
        }
    }

    #[test]
    fn a_claim_that_landed_and_was_repeated_is_mine() {
        let mut existing = record(State::Processing);
        existing.owner = Some(claim(0).owner);
        assert_eq!(
            judge_refusal(&existing, &claim(0)),
            Refusal::Mine {
                attempts: 2,
                fence: Fence(5)
            }
        );
    }

    #[test]
    fn an_owner_token_alone_does_not_make_it_mine_once_it_is_settled() {
        let mut existing = record(State::Done);
        existing.owner = Some(claim(0).owner);
        assert_eq!(judge_refusal(&existing, &claim(0)), Refusal::Done);
    }

    #[test]
    fn a_copy_of_an_earlier_generation_changes_nothing() {
        for state in State::ALL {
            let old = ClaimRequest {
                redrive: 0,
                ..claim(0)
            };
            assert_eq!(judge_refusal(&record(state), &old), Refusal::Superseded);
        }
    }

    #[test]
    fn a_crash_is_suspected_only_two_seconds_after_the_lease() {
        let existing = record(State::Processing);
        let end = Timestamp::from_millis(12_000);
        assert_eq!(judge_refusal(&existing, &claim(12_000)), Refusal::HeldUntil(end));
        assert_eq!(
            judge_refusal(&existing, &claim(12_001)),
            Refusal::Suspect { fence: Fence(5) }
        );
    }

    #[test]
    fn what_waits_is_refused_until_its_time() {
        let until = Refusal::HeldUntil(Timestamp::from_millis(20_000));
        assert_eq!(judge_refusal(&record(State::Retrying), &claim(0)), until);
        assert_eq!(judge_refusal(&record(State::Deferred), &claim(0)), until);
    }

    #[test]
    fn a_reused_id_with_another_body_is_another_update() {
        for redrive in [0, 3] {
            let existing = Record {
                redrive,
                ..record(State::Done)
            };
            let other = ClaimRequest {
                digest: UpdateDigest(8),
                redrive: 0,
                ..claim(0)
            };
            assert_eq!(judge_refusal(&existing, &other), Refusal::ReusedId);
        }
    }

    #[test]
    fn a_record_with_something_open_lives_as_long_as_the_dead() {
        let day = Duration::from_secs(86_400);
        let retention = Retention {
            dedup_window: 7 * day,
            dead: 90 * day,
        };
        assert_eq!(retention.expires_at(0, Timestamp::from_millis(0)), 7 * 86_400);
        assert_eq!(retention.expires_at(2, Timestamp::from_millis(0)), 90 * 86_400);
    }
}
