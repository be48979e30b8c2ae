//! A gate with a slot for each tick: senders reserve one, use it, or give it back when something else holds them. Asks
//! the domain's GCRA. Not here: holds, and the waiting for a slot.

use std::time::Duration;

use penstock_domain::gcra::{Admission, Gcra};
use penstock_domain::time::Timestamp;
use stateright::{Model, Property};

use crate::fault::Fault;

/// What a gate is held to.
pub const ONE_SEND_A_SLOT: &str = "one send a slot";
/// And that it keeps nothing back for ever.
pub const SLOTS_COME_BACK: &str = "a slot that was given back is used";

/// Ticks that are looked at.
const TICKS: u8 = 3;
/// Slots that can be reserved in them.
const SLOTS: usize = 6;
/// Senders.
const SENDERS: usize = 4;

/// The gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Repeats of a landed write.
    pub repeats: u8,
    /// The rule that is off.
    pub fault: Option<Fault>,
}

/// A sender at the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Turn {
    /// It has no slot yet.
    Waits,
    /// It has this one.
    Has(u8),
    /// It gives it back; the write landed and is made again.
    GivesBack(u8),
    /// It used its slot, or went away.
    Gone,
}

/// A state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AtGate {
    /// The tick.
    pub now: u8,
    /// The next free slot, if any was ever reserved.
    pub tat: Option<u8>,
    /// Who moved it last, from 1; 0 after it was given back.
    pub last: u8,
    /// The senders.
    pub turns: [Turn; SENDERS],
    /// Sends in each slot.
    pub sends: [u8; SLOTS],
    /// Slots that were given back.
    pub returned: [bool; SLOTS],
    /// Repeats that may still happen.
    pub repeats: u8,
}

/// A step of a sender, or of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pass {
    /// It reserves.
    Reserve(u8),
    /// It sends.
    Send(u8),
    /// It gives back.
    GiveBack(u8),
    /// It gives back; the write lands and is made again later.
    GiveBackTwice(u8),
    /// A tick.
    Tick,
}

fn at(tick: u8) -> Timestamp {
    Timestamp::from_millis(i64::from(tick) * 1_000)
}

impl Gate {
    fn give_back(&self, state: &mut AtGate, sender: u8, slot: u8) {
        let token_holds = state.last == sender + 1 || self.fault == Some(Fault::GiveBackWithoutToken);
        if state.tat == Some(slot + 1) && token_holds {
            state.tat = Some(slot);
            state.last = 0;
            state.returned[usize::from(slot)] = true;
        }
    }
}

impl Model for Gate {
    type State = AtGate;
    type Action = Pass;

    fn init_states(&self) -> Vec<AtGate> {
        vec![AtGate {
            now: 0,
            tat: None,
            last: 0,
            turns: [Turn::Waits; SENDERS],
            sends: [0; SLOTS],
            returned: [false; SLOTS],
            repeats: self.repeats,
        }]
    }

    fn actions(&self, state: &AtGate, actions: &mut Vec<Pass>) {
        for (sender, turn) in (0_u8..).zip(&state.turns) {
            match turn {
                Turn::Waits => actions.push(Pass::Reserve(sender)),
                Turn::Has(_) => {
                    actions.extend([Pass::Send(sender), Pass::GiveBack(sender)]);
                    if state.repeats > 0 {
                        actions.push(Pass::GiveBackTwice(sender));
                    }
                }
                Turn::GivesBack(_) => actions.push(Pass::GiveBack(sender)),
                Turn::Gone => {}
            }
        }
        if state.now < TICKS {
            actions.push(Pass::Tick);
        }
    }

    fn next_state(&self, last: &AtGate, action: Pass) -> Option<AtGate> {
        let mut state = last.clone();
        match action {
            Pass::Tick => state.now += 1,
            Pass::Reserve(sender) => {
                let gcra = Gcra {
                    interval: Duration::from_secs(1),
                    tolerance: Duration::from_secs(2),
                };
                let Admission::Admit { next_tat } = gcra.admit(state.tat.map(at), 1, at(state.now)) else {
                    return None;
                };
                let next = u8::try_from(next_tat.as_millis() / 1_000).ok()?;
                state.tat = Some(next);
                state.last = sender + 1;
                state.turns[usize::from(sender)] = Turn::Has(next - 1);
            }
            Pass::Send(sender) => {
                let Turn::Has(slot) = state.turns[usize::from(sender)] else {
                    return None;
                };
                state.sends[usize::from(slot)] += 1;
                state.turns[usize::from(sender)] = Turn::Gone;
            }
            Pass::GiveBack(sender) | Pass::GiveBackTwice(sender) => {
                let (Turn::Has(slot) | Turn::GivesBack(slot)) = state.turns[usize::from(sender)] else {
                    return None;
                };
                self.give_back(&mut state, sender, slot);
                let again = matches!(action, Pass::GiveBackTwice(_));
                state.repeats -= u8::from(again);
                state.turns[usize::from(sender)] = if again { Turn::GivesBack(slot) } else { Turn::Gone };
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_SEND_A_SLOT, |_, state: &AtGate| {
                state.sends.iter().all(|sends| *sends <= 1)
            }),
            Property::sometimes(SLOTS_COME_BACK, |_, state: &AtGate| {
                state
                    .sends
                    .iter()
                    .zip(&state.returned)
                    .any(|(sends, returned)| *sends > 0 && *returned)
            }),
        ]
    }
}
