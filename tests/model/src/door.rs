//! The breaker of a backend with chats at its door: outages, one poison, probes whose maker dies. Asks the domain's
//! breaker for every decision. Not here: the ledger (an attempt is a number), the ramp's gate (a gated try may happen).

use std::time::Duration;

use penstock_domain::breaker::{
    ANSWERED_LATELY, Breaker, Cause, Effect, Entry, Event, FailedTry, PROBE_LEASE, ProbeAnswer, Rate, STEP,
    Sign, asks_first, decide, entry,
};
use penstock_domain::ids::{LedgerKey, MessageGroupId};
use penstock_domain::ledger::Owner;
use penstock_domain::retry::Jitter;
use penstock_domain::time::Timestamp;
use stateright::{Model, Property};

use crate::fault::Fault;

/// Names of what the door is held to.
pub const OPENS_FOR_NO_POISON: &str = "one poison shuts the door for nobody";
/// A poison that is given back every time would be tried for ever.
pub const POISON_DIES: &str = "a poison burns its attempts";
/// A backend that is up is found up.
pub const FOUND_UP: &str = "a probe of a backend that is up opens the door";
/// Promise 8.
pub const OUTAGE_KILLS_NOBODY: &str = "an outage kills no update";

const NOW: Timestamp = Timestamp::from_millis(1_000_000);
const TICK: Duration = Duration::from_secs(15);
const DRAW: f64 = 0.5;
/// Most chats.
const CHATS: usize = 3;

/// Who stands at the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Its Updates are answered whenever the backend is up; so many come, one after the other.
    Innocent(u8),
    /// Its Update meets this, whether the backend is up or not.
    Poison(Cause),
}

/// The door in a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Door {
    /// Its name in the report.
    pub name: &'static str,
    /// The chats.
    pub chats: Vec<Kind>,
    /// How outages show.
    pub outage: Cause,
    /// How many there may be.
    pub outages: u8,
    /// Tries of an Update.
    pub max_attempts: u8,
    /// Probes whose maker may die.
    pub crashes: u8,
    /// The rule that is off.
    pub fault: Option<Fault>,
}

/// The Update of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Visitor {
    /// A try is under way.
    pub is_trying: bool,
    /// It was used up.
    pub is_dead: bool,
    /// Attempts burned.
    pub attempts: u8,
    /// Tries made, whether given back or not.
    pub tries: u8,
    /// Updates of the chat that are answered.
    pub done: u8,
}

/// A state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AtDoor {
    /// The breaker, its times relative to a fixed now.
    pub breaker: Breaker,
    /// The backend answers.
    pub is_up: bool,
    /// A probe is on its way: its maker's number.
    pub prober: Option<u8>,
    /// The chats' Updates.
    pub visitors: [Visitor; CHATS],
    /// Outages that may still come.
    pub outages: u8,
    /// Makers of probes that may still die.
    pub crashes: u8,
    /// How often another than the poison shut the door.
    pub shut_by_others: u8,
    /// A probe did not see that the backend is up.
    pub is_blind: bool,
}

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Visit {
    /// A chat's Update is tried.
    Try(u8),
    /// The try ends.
    Ends(u8),
    /// Somebody wants to probe.
    WantProbe,
    /// The probe comes back.
    ProbeEnds,
    /// Its maker dies.
    ProberDies,
    /// The ramp is looked at.
    Look(bool),
    /// Time passes.
    Tick,
    /// The backend goes.
    Down,
    /// It comes back.
    Up,
}

fn sign(chat: usize, number: u8) -> Sign {
    Sign {
        key: LedgerKey::from_stored(format!("1:{chat}.{number}")),
        group: MessageGroupId(format!("1:c:{chat}")),
        at: NOW,
    }
}

fn rate() -> Rate {
    Rate::of_busiest_minute(60)
}

fn maker(number: u8) -> Owner {
    Owner(number.to_string())
}

fn older(at: Timestamp, floor: Timestamp) -> Timestamp {
    (at - TICK).max(floor)
}

impl Door {
    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn decide(&self, state: &mut AtDoor, event: &Event) -> Effect {
        let decision = decide(&state.breaker, event, NOW, Jitter::new(DRAW));
        state.breaker = decision.next;
        // When it opened decides only how long things wait.
        match &mut state.breaker {
            Breaker::Open { opened_at, .. } | Breaker::HalfOpen { opened_at, .. } => *opened_at = NOW,
            Breaker::Ramp {
                opened_at, ramp_at, ..
            } => (*opened_at, *ramp_at) = (NOW, NOW),
            Breaker::Closed { .. } => {}
        }
        decision.effect
    }

    fn is_answered(&self, state: &AtDoor, chat: usize) -> Result<(), Cause> {
        match self.chats[chat] {
            Kind::Poison(cause) => Err(cause),
            Kind::Innocent(_) if state.is_up => Ok(()),
            Kind::Innocent(_) => Err(self.outage),
        }
    }

    fn ends(&self, state: &mut AtDoor, chat: usize) {
        state.visitors[chat].is_trying = false;
        let cause = match self.is_answered(state, chat) {
            Ok(()) => {
                self.decide(state, &Event::Answered);
                let visitor = &mut state.visitors[chat];
                (visitor.attempts, visitor.tries) = (0, 0);
                visitor.done += 1;
                return;
            }
            Err(cause) => cause,
        };
        let was_shut = is_shut(&state.breaker);
        let mut sign = sign(chat, state.visitors[chat].done);
        if self.has(Fault::DoorShutByOne) {
            // Every try counts as another's.
            sign.key = LedgerKey::from_stored(format!("1:{chat}.{}", state.visitors[chat].tries));
            sign.group = MessageGroupId(format!("1:c:{chat}.{}", state.visitors[chat].tries));
        }
        let failure = FailedTry {
            cause,
            sign,
            measured: rate(),
            answered_at: None,
        };
        let effect = self.decide(state, &Event::Failed(failure));
        let shuts = is_shut(&state.breaker);
        if shuts && !was_shut && matches!(self.chats[chat], Kind::Innocent(_)) {
            state.shut_by_others += 1;
        }
        let is_refunded =
            effect == Effect::Settle { is_refunded: true } || (self.has(Fault::PoisonRefunded) && shuts);
        let visitor = &mut state.visitors[chat];
        visitor.attempts -= u8::from(is_refunded);
        visitor.is_dead = visitor.attempts >= self.max_attempts;
    }

    /// What a probe finds: the backend's state, unless it is an Update.
    fn probe_finds(&self, state: &AtDoor) -> ProbeAnswer {
        let waiting = |chat: &usize| !state.visitors[*chat].is_dead;
        let is_up = if self.has(Fault::UpdateAsProbe) {
            let first = (0..self.chats.len()).find(waiting);
            first.is_none_or(|chat| self.is_answered(state, chat).is_ok())
        } else {
            state.is_up
        };
        // A backend answers HEAD as it likes; 405 is as good as 200.
        if is_up {
            ProbeAnswer::Status(405)
        } else {
            ProbeAnswer::Nothing
        }
    }

    /// Whether the try would be the last one, and the backend is away: who asks first shuts the door instead.
    fn is_found_away(&self, state: &AtDoor, chat: usize) -> bool {
        let attempts = state.visitors[chat].attempts;
        let cause = match self.chats[chat] {
            Kind::Innocent(_) => self.outage,
            Kind::Poison(cause) => cause,
        };
        let last = (attempts > 0).then_some(cause);
        let asks = asks_first(u32::from(attempts) + 1, self.max_attempts.into(), last);
        asks && !self.has(Fault::LastTryUnasked) && !state.is_up
    }

    fn passes(breaker: &mut Breaker) {
        let (Breaker::Closed { evidence, .. } | Breaker::Ramp { evidence, .. }) = &mut *breaker else {
            return Self::passes_while_shut(breaker);
        };
        evidence.answered_at = evidence.answered_at.map(|at| older(at, NOW - ANSWERED_LATELY));
        if let Breaker::Ramp { step_at, .. } = breaker {
            *step_at = older(*step_at, NOW - STEP);
        }
    }

    fn passes_while_shut(breaker: &mut Breaker) {
        match breaker {
            Breaker::Closed { .. } | Breaker::Ramp { .. } => {}
            Breaker::Open { probe_at, .. } => *probe_at = older(*probe_at, NOW),
            Breaker::HalfOpen { probe, .. } => {
                probe.lease_until = older(probe.lease_until, NOW - PROBE_LEASE);
            }
        }
    }
}

fn is_shut(breaker: &Breaker) -> bool {
    matches!(breaker, Breaker::Open { .. } | Breaker::HalfOpen { .. })
}

impl Model for Door {
    type State = AtDoor;
    type Action = Visit;

    fn init_states(&self) -> Vec<AtDoor> {
        vec![AtDoor {
            breaker: Breaker::default(),
            is_up: true,
            prober: None,
            visitors: [Visitor::default(); CHATS],
            outages: self.outages,
            crashes: self.crashes,
            shut_by_others: 0,
            is_blind: false,
        }]
    }

    fn actions(&self, state: &AtDoor, actions: &mut Vec<Visit>) {
        let may_enter = match entry(&state.breaker, NOW, NOW, Jitter::new(DRAW)) {
            Entry::Free | Entry::Gated(_) => true,
            Entry::Deferred(_) => false,
        };
        for ((chat, visitor), kind) in (0_u8..).zip(&state.visitors).zip(&self.chats) {
            let has_more = match kind {
                Kind::Innocent(many) => visitor.done < *many,
                Kind::Poison(_) => true,
            };
            if visitor.is_trying {
                actions.push(Visit::Ends(chat));
            } else if may_enter && has_more && !visitor.is_dead {
                actions.push(Visit::Try(chat));
            }
        }
        actions.push(Visit::WantProbe);
        if state.prober.is_some() {
            actions.push(Visit::ProbeEnds);
            if state.crashes > 0 {
                actions.push(Visit::ProberDies);
            }
        }
        actions.extend([Visit::Look(true), Visit::Look(false), Visit::Tick]);
        if !state.is_up {
            actions.push(Visit::Up);
        } else if state.outages > 0 {
            actions.push(Visit::Down);
        }
    }

    fn next_state(&self, last: &AtDoor, action: Visit) -> Option<AtDoor> {
        let mut state = last.clone();
        match action {
            Visit::Try(chat) if self.is_found_away(&state, chat.into()) => {
                let measured = rate();
                self.decide(&mut state, &Event::FoundAway { measured });
                state.shut_by_others += u8::from(matches!(self.chats[usize::from(chat)], Kind::Innocent(_)));
            }
            Visit::Try(chat) => {
                let visitor = &mut state.visitors[usize::from(chat)];
                visitor.is_trying = true;
                visitor.attempts += 1;
                visitor.tries += 1;
            }
            Visit::Ends(chat) => self.ends(&mut state, chat.into()),
            Visit::WantProbe => {
                let number = match state.prober {
                    Some(0) => 1,
                    _ => 0,
                };
                let owner = maker(number);
                if self.decide(&mut state, &Event::ProbeWanted { owner }) == Effect::MakeProbe {
                    state.prober = Some(number);
                }
            }
            Visit::ProbeEnds => {
                let number = state.prober.take()?;
                let answer = self.probe_finds(&state);
                state.is_blind |= state.is_up && !answer.is_up();
                let owner = maker(number);
                self.decide(&mut state, &Event::Probed { owner, answer });
            }
            Visit::ProberDies => {
                state.prober = None;
                state.crashes -= 1;
            }
            Visit::Look(is_bound) => {
                // Doublings beyond the whole rate differ in nothing that is looked at here.
                let is_whole =
                    matches!(&state.breaker, Breaker::Ramp { percent, .. } if percent.get() >= 100);
                if is_bound && is_whole {
                    return None;
                }
                self.decide(&mut state, &Event::Looked { is_bound });
            }
            Visit::Tick => Self::passes(&mut state.breaker),
            Visit::Down => {
                state.is_up = false;
                state.outages -= 1;
            }
            Visit::Up => state.is_up = true,
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(OPENS_FOR_NO_POISON, |door: &Self, state: &AtDoor| {
                let fells = door.chats.contains(&Kind::Poison(Cause::Unreachable));
                fells || door.outages > 0 || !is_shut(&state.breaker)
            }),
            Property::always(POISON_DIES, |door: &Self, state: &AtDoor| {
                door.chats
                    .iter()
                    .zip(&state.visitors)
                    .all(|(kind, visitor)| match kind {
                        // Once it may be given back for the first outage, and once whenever another shut the door meanwhile.
                        Kind::Poison(_) => visitor.tries <= door.max_attempts + 1 + state.shut_by_others,
                        Kind::Innocent(_) => true,
                    })
            }),
            Property::always(FOUND_UP, |_, state: &AtDoor| !state.is_blind),
            Property::always(OUTAGE_KILLS_NOBODY, |door: &Self, state: &AtDoor| {
                door.chats
                    .iter()
                    .zip(&state.visitors)
                    .all(|(kind, visitor)| match kind {
                        Kind::Poison(_) => true,
                        Kind::Innocent(_) => !visitor.is_dead,
                    })
            }),
        ]
    }
}
