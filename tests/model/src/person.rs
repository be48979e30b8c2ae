//! What a person does: redrive a dead Update, have a send repeated. Each is a transaction and then a message; a terminal
//! may die between the two, and the person finds the record in the index and does it again.

use penstock_domain::intent::{IntentEvent, IntentState};
use penstock_domain::ledger::{Event, State};

use crate::domain::{after, intent_after};
use crate::fault::Fault;
use crate::pipeline::Pipeline;
use crate::sends::sending_mut;
use crate::state::{Body, DedupId, Person, Plain, Queue, World};

/// An act of the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Act {
    /// Redrives a dead Update: the transaction.
    Redrive(u8),
    /// Finds one `pending` in the index, and redrives it again.
    RedriveAgain(u8),
    /// Has a send repeated: the transaction.
    Resend(u8, u8),
    /// Finds one `intended` in the index, and has it repeated again.
    ResendAgain(u8, u8),
    /// The message that follows either transaction.
    Send,
    /// The terminal dies before that.
    Dies,
}

impl Pipeline {
    /// What the person may do now.
    pub(crate) fn acts(&self, world: &World) -> Vec<Act> {
        if world.person != Person::Idle {
            let dies = (world.budget.crash > 0).then_some(Act::Dies);
            return std::iter::once(Act::Send).chain(dies).collect();
        }
        let mut acts = Vec::new();
        for (u, row) in (0_u8..).zip(&world.rows) {
            let Some(row) = row.as_ref().filter(|row| !row.expired) else {
                continue;
            };
            if row.state() == State::Dead && world.budget.redrive > 0 {
                acts.push(Act::Redrive(u));
            }
            if self.can_be_redriven_again(world, u.into()) {
                acts.push(Act::RedriveAgain(u));
            }
            for (n, sending) in (0_u8..).zip(&row.intents) {
                let ended = matches!(sending.state(), IntentState::Unknown | IntentState::Failed);
                if ended && world.budget.resend > 0 {
                    acts.push(Act::Resend(u, n));
                }
                if self.can_be_resent_again(world, u.into(), n.into()) {
                    acts.push(Act::ResendAgain(u, n));
                }
            }
        }
        acts
    }

    /// Whether a redrive is visible whose message nobody knows to be sent.
    pub(crate) fn can_be_redriven_again(&self, world: &World, u: usize) -> bool {
        !self.has(Fault::PendingNeverResent)
            && !world.ghosts[u].redrive_sent
            && world.rows[u]
                .as_ref()
                .is_some_and(|row| row.state() == State::Pending && row.attention)
    }

    /// Whether a resend is visible whose message nobody knows to be sent.
    pub(crate) fn can_be_resent_again(&self, world: &World, u: usize, n: usize) -> bool {
        let sending = world.rows[u].as_ref().and_then(|row| row.intents.get(n));
        !self.has(Fault::ResendNotRepeatable)
            && !world.ghosts[u].resend_sent[n]
            && sending.is_some_and(|sending| {
                sending.state() == IntentState::Intended && sending.resend > 0 && sending.attention
            })
    }

    /// Does it; `false` if it cannot be done now.
    pub(crate) fn act(&self, world: &mut World, act: Act) -> bool {
        match act {
            Act::Redrive(u) => return self.redrive(world, u),
            Act::Resend(u, n) => return self.resend(world, u, n),
            Act::RedriveAgain(u) => {
                let Some(row) = world.rows[usize::from(u)].as_ref() else {
                    return false;
                };
                let redrive = row.redrive;
                world.person = Person::Redriving { u, redrive };
                if self.has(Fault::AuditedAgain) {
                    world.ghosts[usize::from(u)].audits += 1;
                }
            }
            Act::ResendAgain(u, n) => {
                let Some(sending) = sending_mut(world, u.into(), n) else {
                    return false;
                };
                let resend = sending.resend;
                world.person = Person::Resending { u, n, resend };
            }
            Act::Dies => {
                world.budget.crash -= 1;
                world.person = Person::Idle;
            }
            Act::Send => self.send_for_person(world),
        }
        true
    }

    fn redrive(&self, world: &mut World, u: u8) -> bool {
        let place = usize::from(u);
        let Some(mut row) = world.rows[place].clone() else {
            return false;
        };
        row.state = Plain::of(after(world, Some(row.state()), Event::Redrive));
        row.redrive += 1;
        if !self.has(Fault::RedriveKeepsAttempts) {
            row.attempts = 0;
        }
        world.person = Person::Redriving {
            u,
            redrive: row.redrive,
        };
        world.rows[place] = Some(row);
        world.budget.redrive -= 1;
        let ghost = &mut world.ghosts[place];
        ghost.audits += 1;
        (ghost.harmed, ghost.late, ghost.redrive_sent) = (false, true, false);
        true
    }

    fn resend(&self, world: &mut World, u: u8, n: u8) -> bool {
        let Some(state) = sending_mut(world, u.into(), n).map(|sending| sending.state()) else {
            return false;
        };
        let next = intent_after(world, state, IntentEvent::Resend);
        let Some(sending) = sending_mut(world, u.into(), n) else {
            return false;
        };
        sending.state = Plain::of_intent(next);
        sending.resend += 1;
        sending.attention = true;
        let resend = sending.resend;
        world.person = Person::Resending { u, n, resend };
        world.budget.resend -= 1;
        let ghost = &mut world.ghosts[usize::from(u)];
        ghost.audits += 1;
        ghost.delivered[usize::from(n)] = 0;
        ghost.resend_sent[usize::from(n)] = false;
        true
    }

    fn send_for_person(&self, world: &mut World) {
        match std::mem::replace(&mut world.person, Person::Idle) {
            Person::Idle => {}
            Person::Redriving { u, redrive } => {
                let body = Body::Update {
                    u,
                    redrive: if self.has(Fault::BodyWithoutRedrive) {
                        0
                    } else {
                        redrive
                    },
                    newer: false,
                };
                self.send(world, Queue::Updates, body, DedupId::Update(u, redrive));
                world.ghosts[usize::from(u)].redrive_sent = true;
            }
            Person::Resending { u, n, resend } => {
                let redrive = world.rows[usize::from(u)].as_ref().map_or(0, |row| row.redrive);
                let body = Body::Intent {
                    u,
                    n,
                    redrive,
                    resend: if self.has(Fault::BodyWithoutResend) {
                        0
                    } else {
                        resend
                    },
                    previous: n.checked_sub(1),
                };
                let number = if self.has(Fault::ResendUnderOldId) {
                    0
                } else {
                    resend
                };
                self.send(world, Queue::Outbound, body, DedupId::Intent(u, n, number));
                world.ghosts[usize::from(u)].resend_sent[usize::from(n)] = true;
            }
        }
    }
}
