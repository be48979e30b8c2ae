//! What a person's hand may do to an Update or a send, by what is stored of it. Never writes, and never reads a clock.
//!
//! ```text
//! dead ──redrive──> pending     the copy goes into the queue after that; where it got lost, the redrive is repeated
//!   └──edit, discard──> dead    the body is another one; it leaves the index of what needs a person
//! unknown | failed ──resend──> intended        unknown ──settle──> sent
//! ```

use std::time::Duration;

use crate::failure::excerpt;
use crate::ids::MessageGroupId;
use crate::intent::{IntentEvent, IntentState, transition as intent_transition};
use crate::kind::UpdateKind;
use crate::ledger::{Event, State, transition};
use crate::route::{Route, RouteError, route};
use crate::time::Timestamp;

/// After this time a redrive or resend whose copy nobody has claimed may be repeated (design sections 4 and 5: 60 s).
/// Before it, the copy may still be on its way from the one who asked first.
pub const STUCK_AFTER: Duration = Duration::from_secs(60);

/// What a person does, and why: who answers for it. Neither is ever empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    who: String,
    why: String,
    at: Timestamp,
}

/// An act without a name or a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("who does it and why must both be said")]
pub struct Unaccounted;

impl Act {
    /// An act at that time. What is too long to keep is cut.
    ///
    /// # Errors
    /// [`Unaccounted`] if nobody does it, or for no reason.
    pub fn new(who: &str, why: &str, at: Timestamp) -> Result<Self, Unaccounted> {
        let (who, why) = (excerpt(who.trim()), excerpt(why.trim()));
        if who.is_empty() || why.is_empty() {
            return Err(Unaccounted);
        }
        Ok(Self {
            who: who.to_owned(),
            why: why.to_owned(),
            at,
        })
    }

    /// Who does it.
    #[must_use]
    pub fn who(&self) -> &str {
        &self.who
    }

    /// Why.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }

    /// When.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at
    }
}

/// The kind of an act, as it is kept in the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A dead Update is sent through again.
    Redrive,
    /// The raw body of a dead Update is replaced.
    Edit,
    /// A dead Update is closed.
    Discard,
    /// A send is made again.
    Resend,
    /// A send of which nobody knew is said to have arrived.
    Settle,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 5] = [
        Self::Redrive,
        Self::Edit,
        Self::Discard,
        Self::Resend,
        Self::Settle,
    ];

    /// As stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Redrive => "redrive",
            Self::Edit => "edit",
            Self::Discard => "discard",
            Self::Resend => "resend",
            Self::Settle => "settle",
        }
    }

    /// Reads it back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }
}

/// What a decision on an Update rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Its state.
    pub state: State,
    /// Its generation.
    pub redrive: u32,
    /// When it was redriven last.
    pub redriven_at: Option<Timestamp>,
    /// Whether it is in the index of what needs a person. What is dead and not in it was discarded.
    pub is_indexed: bool,
    /// Whether it is an Update at all, and no quarantined body.
    pub is_update: bool,
    /// End of its life, seconds since the epoch.
    pub expires_at: i64,
}

/// Why a person may not do that to an Update. Each is said with its cure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It has its outcome.
    #[error("it is done; there is nothing to repair")]
    Done,
    /// A worker has it, or it waits for its next try.
    #[error("it is {}: it is still tried by itself; wait until it is done or dead", .0.name())]
    UnderWay(State),
    /// It was redriven a moment ago.
    #[error(
        "it was redriven less than {} s ago; if it is still pending then, redrive it again",
        STUCK_AFTER.as_secs()
    )]
    JustRedriven,
    /// It is redriven, so that its body is on its way.
    #[error("it is redriven already; wait until it is done or dead again")]
    Redriven,
    /// It is no Update that could be worked through.
    #[error(
        "it is no update: save its body (`dead show KEY --raw`), put it right, post it to the webhook as a new one, and \
         discard this"
    )]
    NoUpdate,
    /// A person has closed it.
    #[error("it was discarded; only redriving it by its key brings it back")]
    Discarded,
    /// Its record has outlived its time.
    #[error("its record has outlived its time")]
    Expired,
}

fn alive(seen: &Seen, now: Timestamp) -> Result<(), Refused> {
    if seen.expires_at < now.as_millis().div_euclid(1000) {
        return Err(Refused::Expired);
    }
    Ok(())
}

/// How an Update is redriven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redrive {
    /// It becomes `pending` in this generation; then its copy is sent.
    Begin {
        /// The new generation.
        generation: u32,
    },
    /// It is `pending` and its copy seems to be lost: that is sent once more, and nothing else changes.
    Repeat {
        /// The generation that it is in.
        generation: u32,
    },
}

impl Redrive {
    /// The generation of the copy to be sent.
    #[must_use]
    pub fn generation(self) -> u32 {
        match self {
            Self::Begin { generation } | Self::Repeat { generation } => generation,
        }
    }
}

/// Whether and how an Update can be redriven. One that was discarded can, by its key: nothing in bulk meets it.
///
/// # Errors
/// [`Refused`], with the cure in its words.
pub fn decide_redrive(seen: &Seen, now: Timestamp) -> Result<Redrive, Refused> {
    alive(seen, now)?;
    if !seen.is_update {
        return Err(Refused::NoUpdate);
    }
    match seen.state {
        State::Pending if seen.redriven_at.is_some_and(|at| now < at + STUCK_AFTER) => {
            Err(Refused::JustRedriven)
        }
        State::Pending => Ok(Redrive::Repeat {
            generation: seen.redrive,
        }),
        State::Done => Err(Refused::Done),
        state @ (State::Processing | State::Retrying | State::Deferred) => Err(Refused::UnderWay(state)),
        state @ State::Dead => transition(Some(state), Event::Redrive)
            .map(|_| Redrive::Begin {
                generation: seen.redrive + 1,
            })
            .map_err(|_| Refused::UnderWay(state)),
    }
}

/// Whether the body of an Update can be replaced: only while it is dead and somebody's to look at. The same goes for
/// discarding it.
///
/// # Errors
/// [`Refused`], with the cure in its words.
pub fn decide_edit(seen: &Seen, now: Timestamp) -> Result<(), Refused> {
    decide_discard(seen, now)?;
    if seen.is_update {
        Ok(())
    } else {
        Err(Refused::NoUpdate)
    }
}

/// Whether a dead letter can be closed, a quarantined body included.
///
/// # Errors
/// [`Refused`], with the cure in its words.
pub fn decide_discard(seen: &Seen, now: Timestamp) -> Result<(), Refused> {
    alive(seen, now)?;
    match seen.state {
        State::Dead if seen.is_indexed => Ok(()),
        State::Dead => Err(Refused::Discarded),
        State::Pending => Err(Refused::Redriven),
        State::Done => Err(Refused::Done),
        state @ (State::Processing | State::Retrying | State::Deferred) => Err(Refused::UnderWay(state)),
    }
}

/// Why a new body does not fit the Update that it is for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// It is no Update.
    #[error("the new body is no update")]
    NoUpdate(#[source] RouteError),
    /// It has another `update_id`.
    #[error("the new body has update_id {found}; it must stay {kept}")]
    OtherId {
        /// The record's.
        kept: i64,
        /// The new body's.
        found: i64,
    },
    /// It is of another kind.
    #[error("the new body is of kind {}; it must stay {}", .found.name(), .kept.name())]
    OtherKind {
        /// The record's.
        kept: UpdateKind,
        /// The new body's.
        found: UpdateKind,
    },
    /// It belongs to another chat: its order and its state would be that chat's.
    #[error("the new body belongs to another chat or user; that must stay as it is")]
    OtherGroup,
    /// Nothing is changed.
    #[error("the new body is the same as the old one")]
    Same,
}

/// Reads the body that shall replace another: it keeps id, kind and chat, since key, digest, order and state hang on them.
///
/// # Errors
/// [`Misfit`] if it does not.
pub fn fit(
    old: &str,
    new: &str,
    update_id: i64,
    kind: UpdateKind,
    group: &MessageGroupId,
) -> Result<Route, Misfit> {
    if old == new {
        return Err(Misfit::Same);
    }
    let found = route(new.as_bytes()).map_err(Misfit::NoUpdate)?;
    if found.update_id.0 != update_id {
        return Err(Misfit::OtherId {
            kept: update_id,
            found: found.update_id.0,
        });
    }
    if found.kind != kind {
        return Err(Misfit::OtherKind {
            kept: kind,
            found: found.kind,
        });
    }
    if found.group(crate::ids::BotId::of_name(&group.0)) != *group {
        return Err(Misfit::OtherGroup);
    }
    Ok(found)
}

/// How a send is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resend {
    /// It becomes `intended` in this resending; then its copy is sent to the queue.
    Begin {
        /// The new resending.
        resend: u32,
    },
    /// It is `intended` and its copy seems to be lost: that is sent once more, and nothing else changes.
    Repeat {
        /// The resending that it is in.
        resend: u32,
    },
}

impl Resend {
    /// The resending of the copy to be sent.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::Begin { resend } | Self::Repeat { resend } => resend,
        }
    }
}

/// Why a person may not do that to a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendRefused {
    /// It is under way, or has ended well.
    #[error("it is {}: only what failed or is unknown can be sent again", .0.name())]
    NotOpen(IntentState),
    /// It is not unknown.
    #[error("it is {}: only what is unknown can be settled", .0.name())]
    NotUnknown(IntentState),
    /// It was sent again a moment ago.
    #[error(
        "it was sent again less than {} s ago; if it is still intended then, send it again",
        STUCK_AFTER.as_secs()
    )]
    JustResent,
}

/// Whether and how a send can be made again.
///
/// # Errors
/// [`SendRefused`], with the cure in its words.
pub fn decide_resend(
    state: IntentState,
    resend: u32,
    resent_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<Resend, SendRefused> {
    if state == IntentState::Intended && resend > 0 {
        if resent_at.is_some_and(|at| now < at + STUCK_AFTER) {
            return Err(SendRefused::JustResent);
        }
        return Ok(Resend::Repeat { resend });
    }
    intent_transition(state, IntentEvent::Resend)
        .map(|_| Resend::Begin { resend: resend + 1 })
        .map_err(|_| SendRefused::NotOpen(state))
}

/// Whether a person may say that a send has arrived.
///
/// # Errors
/// [`SendRefused::NotUnknown`] if somebody else knows better.
pub fn decide_settle(state: IntentState) -> Result<(), SendRefused> {
    if state == IntentState::Unknown {
        Ok(())
    } else {
        Err(SendRefused::NotUnknown(state))
    }
}

/// Whether a redrive or resend at `at` has waited so long for its claim that a person should look at it.
#[must_use]
pub fn is_stuck_at(at: Option<Timestamp>, now: Timestamp) -> bool {
    at.is_none_or(|at| at + STUCK_AFTER <= now)
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
