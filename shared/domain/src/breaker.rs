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

mod rate;

use std::time::Duration;

pub use rate::{Percent, Rate};

use crate::gcra::Gcra;
use crate::ids::{LedgerKey, MessageGroupId};
use crate::ledger::{Owner, is_suspect_at};
use crate::retry::Jitter;
use crate::time::Timestamp;

/// First wait of an Update while the door is shut (design section 4: 5 s).
pub const FIRST_WAIT: Duration = Duration::from_secs(5);
/// Longest such wait on the first day (10 min): about 150 receives, far from the 1,000 after which SQS gives up.
pub const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// Longest from the second day on (30 min): under 800 receives in the 14 days that SQS keeps a message.
pub const LONGEST_WAIT_LATER: Duration = Duration::from_secs(1_800);
/// When the second day begins for an Update.
pub const FIRST_DAY: Duration = Duration::from_secs(86_400);
/// Most jitter on a wait, as a part of it. It only adds: shorter waits would be more receives.
const WAIT_SPREAD: f64 = 0.2;
/// How long a step of the ramp has to go without a failure (design section 4: 30 s).
pub const STEP: Duration = Duration::from_secs(30);
/// Life of a probe's lease: longer than a HEAD may take.
pub const PROBE_LEASE: Duration = Duration::from_secs(10);
/// Wait after a bad probe, before jitter: a backend is found back within seconds, at 8,640 requests a day at the most.
pub const PROBE_EVERY: Duration = Duration::from_secs(10);

/// What an Update met that could not be delivered to its backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The connection was refused, or the name was not found: the backend is away, whatever the Update.
    Unreachable,
    /// 502, 503 or 504: the backend is away, or this Update alone fells it.
    BadGateway,
}

/// A failed try that may be the first sign of an outage.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sign {
    /// The Update.
    pub key: LedgerKey,
    /// Its message group.
    pub group: MessageGroupId,
}

impl Sign {
    /// Whether two failures cannot both come of one Update or one chat.
    fn differs_from(&self, other: &Self) -> bool {
        self.key != other.key && self.group != other.group
    }
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
        /// A failure that no success has followed.
        sign: Option<Sign>,
        /// It was opened before, and a good probe ended that.
        is_proved: bool,
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
        /// How much of it.
        percent: Percent,
        /// Since when this step has gone without a failure.
        step_at: Timestamp,
        /// A failure that no success has followed.
        sign: Option<Sign>,
    },
}

impl Default for Breaker {
    fn default() -> Self {
        Self::Closed {
            sign: None,
            is_proved: false,
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

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The backend answered an Update, with a failure of its own perhaps.
    Answered,
    /// A try found the backend away.
    Failed {
        /// How.
        cause: Cause,
        /// Which Update's.
        sign: Sign,
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
            next: answered(breaker),
            effect: Effect::None,
        },
        Event::Failed {
            cause,
            sign,
            measured,
        } => failed(breaker, *cause, sign, *measured, now),
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

fn answered(breaker: &Breaker) -> Breaker {
    let mut next = breaker.clone();
    match &mut next {
        Breaker::Closed { sign, .. } | Breaker::Ramp { sign, .. } => *sign = None,
        // An answer of a try that began before: only the probe opens the door again.
        Breaker::Open { .. } | Breaker::HalfOpen { .. } => {}
    }
    next
}

/// A failed try burns an attempt, unless the door was shut by then. One whose own failure shuts it is given back too,
/// but only before the first good probe: an Update that fells its backend would else be given back for ever.
fn failed(breaker: &Breaker, cause: Cause, new: &Sign, measured: Rate, now: Timestamp) -> Decision {
    let (seen, is_proved) = match breaker {
        Breaker::Closed { sign, is_proved } => (sign, *is_proved),
        Breaker::Ramp { sign, .. } => (sign, true),
        Breaker::Open { .. } | Breaker::HalfOpen { .. } => {
            return Decision {
                next: breaker.clone(),
                effect: Effect::Settle { is_refunded: true },
            };
        }
    };
    let opens = match cause {
        Cause::Unreachable => true,
        Cause::BadGateway => seen.as_ref().is_some_and(|seen| seen.differs_from(new)),
    };
    let mut next = breaker.clone();
    if opens {
        next = Breaker::Open {
            opened_at: now,
            // An outage that interrupts a ramp is measured by what was before both.
            rate: match breaker {
                Breaker::Ramp { rate, .. } => *rate,
                Breaker::Closed { .. } | Breaker::Open { .. } | Breaker::HalfOpen { .. } => measured,
            },
            probe_at: now + PROBE_EVERY,
        };
    } else if let Breaker::Closed { sign, .. } | Breaker::Ramp { sign, .. } = &mut next {
        sign.get_or_insert_with(|| new.clone());
    }
    if let Breaker::Ramp { step_at, .. } = &mut next {
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
                    percent: Percent::FIRST,
                    step_at: now,
                    sign: None,
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
            percent,
            step_at,
            sign,
        } if now.since(*step_at) >= STEP => {
            if *percent >= Percent::WHOLE && !is_bound {
                return Breaker::Closed {
                    sign: sign.clone(),
                    is_proved: true,
                };
            }
            Breaker::Ramp {
                opened_at: *opened_at,
                rate: *rate,
                percent: percent.next(),
                step_at: now,
                sign: sign.clone(),
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

/// The wait of an Update that has waited since `since` (the later of the outage's start and its own receipt): doubling
/// from 5 s, so as long again as it has waited already. The same for a paused bot.
#[must_use]
pub fn deferral(since: Timestamp, received_at: Timestamp, now: Timestamp, draw: Jitter) -> Duration {
    let longest = if now.since(received_at) >= FIRST_DAY {
        LONGEST_WAIT_LATER
    } else {
        LONGEST_WAIT
    };
    let wait = now.since(since).saturating_add(FIRST_WAIT).min(longest);
    wait.mul_f64(1.0 + WAIT_SPREAD * draw.get())
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;
