//! The breaker of one backend: when its Updates wait instead of being tried, how its return is noticed, and how fast
//! they come back. Never calls the backend and never counts time itself; the adapter stores what comes out.
//!
//! ```text
//! closed ──refused, or two chats fail──> open ──probe asked for──> half open ──good──> ramp ──> closed
//!                                         ^ └─────────bad───────────────┘                │
//!                                         └────────refused, or two chats fail────────────┘
//! ```
//!
//! The probe is a HEAD request, never an Update: an Update that fails by itself would keep the door shut for all.

mod evidence;
mod meter;
mod rate;
mod wait;

use std::time::Duration;

pub use evidence::{ANSWERED_LATELY, DOUBTED_FOR, Evidence, Sign, asks_first};
pub use meter::{HOURS, Meter};
pub use rate::{BURST, Percent, Rate};
pub use wait::{
    FIRST_DAY, FIRST_WAIT, LONGEST_RAMP_WAIT, LONGEST_WAIT, LONGEST_WAIT_LATER, deferral, ramp_wait,
};

use crate::gcra::Gcra;
use crate::ledger::{Owner, is_suspect_at};
use crate::retry::Jitter;
use crate::time::Timestamp;
use wait::WAIT_SPREAD;

/// How long a step of the ramp has to go without a failure (design section 4: 30 s).
pub const STEP: Duration = Duration::from_secs(30);
/// Life of a probe's lease: longer than a HEAD may take.
pub const PROBE_LEASE: Duration = Duration::from_secs(10);
/// Wait after a bad probe, before jitter: a backend is found back within seconds, at 8,640 requests a day at the most.
pub const PROBE_EVERY: Duration = Duration::from_secs(10);
/// An answer within the ramp is noted at most this often: each note is a write, and the note has to be younger than
/// [`ANSWERED_LATELY`].
pub const NOTED_EVERY: Duration = Duration::from_secs(5);

/// What an Update met that could not be delivered to its backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The connection was refused, or the name was not found: the backend is away, whatever the Update.
    Unreachable,
    /// 502, 503 or 504: the backend is away, or this Update alone fells it.
    BadGateway,
}

/// The right to make the one probe.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Probe {
    /// Whose.
    pub owner: Owner,
    /// Until when.
    pub lease_until: Timestamp,
}

/// State of a backend's breaker.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Breaker {
    /// Everything is tried.
    Closed {
        /// What the tries show.
        evidence: Evidence,
        /// When a ramp ended here; none if it never was open.
        proved_at: Option<Timestamp>,
    },
    /// Nothing is tried; everything waits.
    Open {
        /// Since when.
        opened_at: Timestamp,
        /// What the ramp will be measured by.
        rate: Rate,
        /// No probe before.
        probe_at: Timestamp,
    },
    /// Nothing is tried; somebody asks the backend.
    HalfOpen {
        /// Since when it is not closed.
        opened_at: Timestamp,
        /// As above.
        rate: Rate,
        /// Who asks.
        probe: Probe,
    },
    /// So many are tried as the gate lets through.
    Ramp {
        /// Since when it is not closed.
        opened_at: Timestamp,
        /// As above.
        rate: Rate,
        /// Since when the ramp goes on.
        ramp_at: Timestamp,
        /// How much of it.
        percent: Percent,
        /// Since when this step has gone without a failure.
        step_at: Timestamp,
        /// What the tries show.
        evidence: Evidence,
    },
}

impl Default for Breaker {
    fn default() -> Self {
        Self::Closed {
            evidence: Evidence::default(),
            proved_at: None,
        }
    }
}

/// What a HEAD request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProbeAnswer {
    /// A status.
    Status(u16),
    /// None: refused, timed out.
    Nothing,
}

impl ProbeAnswer {
    /// Any status but those of a gateway without its backend means that it is up, 404 and 405 too.
    #[must_use]
    pub fn is_up(self) -> bool {
        match self {
            Self::Status(status) => !matches!(status, 502..=504),
            Self::Nothing => false,
        }
    }
}

/// A try that found the backend away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTry {
    /// How.
    pub cause: Cause,
    /// Which Update's, and when.
    pub sign: Sign,
    /// The rate measured up to now.
    pub measured: Rate,
    /// The last answer that whoever reports this saw itself: answers are not all noted.
    pub answered_at: Option<Timestamp>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The backend answered an Update, with a failure of its own perhaps.
    Answered,
    /// A try found the backend away.
    Failed(FailedTry),
    /// Whoever asked by a HEAD before the last try of an Update found the backend away.
    FoundAway {
        /// The rate measured up to now.
        measured: Rate,
    },
    /// Somebody who has time would make a probe.
    ProbeWanted {
        /// Who.
        owner: Owner,
    },
    /// A probe came back.
    Probed {
        /// Whose.
        owner: Owner,
        /// With what.
        answer: ProbeAnswer,
    },
    /// The ramp is looked at.
    Looked {
        /// Whether its gate has held anything back in this step.
        is_bound: bool,
    },
}

/// What follows besides the new state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// The failed try counts, or is given back.
    Settle {
        /// It burns no attempt.
        is_refunded: bool,
    },
    /// Whoever wanted to may make the probe.
    MakeProbe,
}

/// The new state, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// To be stored.
    pub next: Breaker,
    /// To be done.
    pub effect: Effect,
}

/// Decides what an event makes of a breaker. Total: an event that comes too late changes nothing.
#[must_use]
pub fn decide(breaker: &Breaker, event: &Event, now: Timestamp, draw: Jitter) -> Decision {
    match event {
        Event::Answered => Decision {
            next: answered(breaker, now),
            effect: Effect::None,
        },
        Event::Failed(failure) => failed(breaker, failure, now),
        Event::FoundAway { measured } => Decision {
            next: match breaker {
                Breaker::Closed { .. } | Breaker::Ramp { .. } => opened(breaker, *measured, now),
                Breaker::Open { .. } | Breaker::HalfOpen { .. } => breaker.clone(),
            },
            effect: Effect::None,
        },
        Event::ProbeWanted { owner } => probe_wanted(breaker, owner, now),
        Event::Probed { owner, answer } => Decision {
            next: probed(breaker, owner, *answer, now, draw),
            effect: Effect::None,
        },
        Event::Looked { is_bound } => Decision {
            next: looked(breaker, *is_bound, now),
            effect: Effect::None,
        },
    }
}

fn answered(breaker: &Breaker, now: Timestamp) -> Breaker {
    let mut next = breaker.clone();
    match &mut next {
        Breaker::Closed { evidence, .. } | Breaker::Ramp { evidence, .. } => {
            evidence.sign = None;
            evidence.answered_at = evidence.answered_at.max(Some(now));
        }
        // An answer of a try that began before: only the probe opens the door again.
        Breaker::Open { .. } | Breaker::HalfOpen { .. } => {}
    }
    next
}

/// Whether an answer is worth a write: it takes back a sign, or shows in a ramp that the backend answers others.
#[must_use]
pub fn is_news(breaker: &Breaker, now: Timestamp) -> bool {
    match breaker {
        Breaker::Closed { evidence, .. } => evidence.sign.is_some(),
        Breaker::Ramp { evidence, .. } => {
            let is_old = |noted_at: Timestamp| now.since(noted_at) >= NOTED_EVERY;
            evidence.sign.is_some() || evidence.answered_at.is_none_or(is_old)
        }
        Breaker::Open { .. } | Breaker::HalfOpen { .. } => false,
    }
}

fn opened(breaker: &Breaker, measured: Rate, now: Timestamp) -> Breaker {
    Breaker::Open {
        opened_at: now,
        // An outage that interrupts a ramp is measured by what was before both.
        rate: match breaker {
            Breaker::Ramp { rate, .. } => *rate,
            Breaker::Closed { .. } | Breaker::Open { .. } | Breaker::HalfOpen { .. } => measured,
        },
        probe_at: now + PROBE_EVERY,
    }
}

/// A failed try burns an attempt, unless the door was shut by then. One whose own failure shuts it is given back too,
/// but only before the first good probe: an Update that fells its backend would else be given back for ever.
///
/// In a ramp and for an hour after it, bad gateways shut nothing and hold no step back while others are answered:
/// a flood of Updates that fell their own requests would else keep the door shut for all.
fn failed(breaker: &Breaker, failure: &FailedTry, now: Timestamp) -> Decision {
    let (evidence, is_proved, is_doubted) = match breaker {
        Breaker::Closed { evidence, proved_at } => {
            let is_doubted = proved_at.is_some_and(|proved_at| now.since(proved_at) < DOUBTED_FOR);
            (evidence, proved_at.is_some(), is_doubted)
        }
        Breaker::Ramp { evidence, .. } => (evidence, true, true),
        Breaker::Open { .. } | Breaker::HalfOpen { .. } => {
            return Decision {
                next: breaker.clone(),
                effect: Effect::Settle { is_refunded: true },
            };
        }
    };
    let known = failure
        .answered_at
        .map_or_else(|| evidence.clone(), |at| evidence.answered(at));
    let answers_others = is_doubted && known.answers_others_at(now);
    let opens = match failure.cause {
        Cause::Unreachable => true,
        Cause::BadGateway => {
            let differs = |seen: &Sign| seen.differs_from(&failure.sign);
            !answers_others && known.sign.as_ref().is_some_and(differs)
        }
    };
    let mut next = breaker.clone();
    if opens {
        next = opened(breaker, failure.measured, now);
    } else if let Breaker::Closed { evidence, .. } | Breaker::Ramp { evidence, .. } = &mut next {
        *evidence = known;
        evidence.sign.get_or_insert_with(|| failure.sign.clone());
    }
    if let Breaker::Ramp { step_at, .. } = &mut next
        && !answers_others
    {
        *step_at = now;
    }
    Decision {
        next,
        effect: Effect::Settle {
            is_refunded: opens && !is_proved,
        },
    }
}

fn probe_wanted(breaker: &Breaker, owner: &Owner, now: Timestamp) -> Decision {
    let (opened_at, rate, may) = match breaker {
        Breaker::Open {
            opened_at,
            rate,
            probe_at,
        } => (*opened_at, *rate, *probe_at <= now),
        // Whoever asked is dead: its lease is over.
        Breaker::HalfOpen {
            opened_at,
            rate,
            probe,
        } => (*opened_at, *rate, is_suspect_at(probe.lease_until, now)),
        Breaker::Closed { .. } | Breaker::Ramp { .. } => {
            return Decision {
                next: breaker.clone(),
                effect: Effect::None,
            };
        }
    };
    if !may {
        return Decision {
            next: breaker.clone(),
            effect: Effect::None,
        };
    }
    let probe = Probe {
        owner: owner.clone(),
        lease_until: now + PROBE_LEASE,
    };
    Decision {
        next: Breaker::HalfOpen {
            opened_at,
            rate,
            probe,
        },
        effect: Effect::MakeProbe,
    }
}

fn probed(breaker: &Breaker, owner: &Owner, answer: ProbeAnswer, now: Timestamp, draw: Jitter) -> Breaker {
    match breaker {
        Breaker::HalfOpen {
            opened_at,
            rate,
            probe,
        } if probe.owner == *owner => {
            if answer.is_up() {
                Breaker::Ramp {
                    opened_at: *opened_at,
                    rate: *rate,
                    ramp_at: now,
                    percent: Percent::FIRST,
                    step_at: now,
                    evidence: Evidence::default(),
                }
            } else {
                Breaker::Open {
                    opened_at: *opened_at,
                    rate: *rate,
                    probe_at: now + PROBE_EVERY.mul_f64(1.0 + WAIT_SPREAD * draw.get()),
                }
            }
        }
        // Another's by now, or settled.
        Breaker::HalfOpen { .. } | Breaker::Closed { .. } | Breaker::Open { .. } | Breaker::Ramp { .. } => {
            breaker.clone()
        }
    }
}

fn looked(breaker: &Breaker, is_bound: bool, now: Timestamp) -> Breaker {
    match breaker {
        Breaker::Ramp {
            opened_at,
            rate,
            ramp_at,
            percent,
            step_at,
            evidence,
        } if now.since(*step_at) >= STEP => {
            let holds_back = is_bound && !rate.is_beyond_its_gate(*percent);
            if *percent >= Percent::WHOLE && !holds_back {
                return Breaker::Closed {
                    evidence: evidence.clone(),
                    proved_at: Some(now),
                };
            }
            Breaker::Ramp {
                opened_at: *opened_at,
                rate: *rate,
                ramp_at: *ramp_at,
                percent: percent.next(),
                step_at: now,
                evidence: evidence.clone(),
            }
        }
        Breaker::Ramp { .. } | Breaker::Closed { .. } | Breaker::Open { .. } | Breaker::HalfOpen { .. } => {
            breaker.clone()
        }
    }
}

/// Whether an Update may be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// It may.
    Free,
    /// It may when this gate lets it through.
    Gated(Gcra),
    /// It waits so long, without a write to its record.
    Deferred(Duration),
}

/// Decides whether an Update that was received then may be tried now.
#[must_use]
pub fn entry(breaker: &Breaker, received_at: Timestamp, now: Timestamp, draw: Jitter) -> Entry {
    match breaker {
        Breaker::Closed { .. } => Entry::Free,
        Breaker::Ramp { rate, percent, .. } => Entry::Gated(rate.gate(*percent)),
        Breaker::Open { opened_at, .. } | Breaker::HalfOpen { opened_at, .. } => {
            Entry::Deferred(deferral(received_at.max(*opened_at), received_at, now, draw))
        }
    }
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;

#[cfg(test)]
mod ramp_tests;
