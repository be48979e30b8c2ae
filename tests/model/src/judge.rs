//! Promises that are read off a state. Those that only a step can break are noted by the step.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use penstock_domain::intent::IntentState;
use penstock_domain::ledger::State;
use stateright::Model as _;

use crate::pipeline::Pipeline;
use crate::promise::Promise;
use crate::state::{Body, Queue, Row, Sending, World};

/// Something that is to be seen: its name, and whether it is.
pub type Sight = (&'static str, fn(&World) -> bool);

/// What must be seen somewhere: promises that hold because nothing ever happens are worth nothing.
pub const SIGHTS: [Sight; 7] = [
    ("done after another worker's try", |world| {
        rows(world).any(|row| row.state() == State::Done && row.attempts > 1)
    }),
    ("filed by dead_letter", |world| {
        rows(world).any(|row| row.state() == State::Dead && row.owner == 0 && row.fence > 0)
    }),
    ("redriven and done", |world| {
        rows(world).any(|row| row.state() == State::Done && row.redrive > 0)
    }),
    ("sent", |world| {
        sendings(world).any(|sending| sending.state() == IntentState::Sent)
    }),
    ("unknown", |world| {
        sendings(world).any(|sending| sending.state() == IntentState::Unknown)
    }),
    ("sent again by a person", |world| {
        sendings(world).any(|sending| sending.state() == IntentState::Sent && sending.resend > 0)
    }),
    ("an id used again and done", |world| {
        world.ghosts.iter().any(|ghost| ghost.commits == 2)
    }),
];

fn rows(world: &World) -> impl Iterator<Item = &Row> {
    world.rows.iter().flatten()
}

fn sendings(world: &World) -> impl Iterator<Item = &Sending> {
    rows(world).flat_map(|row| &row.intents)
}

/// Most steps of a run without accidents until everything rests; far more than any scenario needs.
const MOST_STEPS: usize = 400;

impl Pipeline {
    /// Whether a promise holds in this state.
    pub(crate) fn holds(&self, world: &World, promise: Promise) -> bool {
        if world.broken & promise.bit() != 0 {
            return false;
        }
        match promise {
            Promise::NothingIsLost => (0..usize::from(world.accepted)).all(|u| self.is_kept(world, u)),
            Promise::AuditedOnce => (0..usize::from(world.accepted)).all(|u| {
                let row = world.rows[u].as_ref();
                let resends = row.map_or(0, |row| row.intents.iter().map(|sending| sending.resend).sum());
                world.ghosts[u].audits == row.map_or(0, |row| row.redrive) + resends
            }),
            Promise::ChatsGoOn => !self.waits_for_nothing(world) && self.comes_to_rest_if_asked(world),
            Promise::OneOutcome
            | Promise::OrderOfOutcomes
            | Promise::OrderOfSends
            | Promise::NoDoubleSend
            | Promise::FenceNeverFalls
            | Promise::LeaseIsRespected
            | Promise::NotBeforeItsTime
            | Promise::NeighbourBurnsOnce
            | Promise::NobodyDiesUnharmed
            | Promise::LegalTransitions => true,
        }
    }

    fn is_kept(&self, world: &World, u: usize) -> bool {
        let ghost = world.ghosts[u];
        if ghost.filed_raw {
            return true;
        }
        let row = world.rows[u].as_ref();
        let generation = row.map_or(0, |row| row.redrive);
        let is_queued = [Queue::Updates, Queue::UpdatesDead].iter().any(|queue| {
            let carries = |body| matches!(body, Body::Update { u: of, redrive, .. } if usize::from(of) == u && redrive >= generation);
            world.queue(*queue).iter().any(|message| carries(message.body))
        });
        if is_queued {
            return true;
        }
        let Some(row) = row.filter(|row| !row.expired) else {
            return ghost.commits >= ghost.lives;
        };
        match row.state() {
            State::Dead => row.raw && row.attention,
            State::Done => (0..row.intents.len()).all(|n| self.is_send_kept(world, u, row, n)),
            State::Pending => self.is_persons(world, u) || self.can_be_redriven_again(world, u),
            State::Processing | State::Retrying | State::Deferred => false,
        }
    }

    fn is_persons(&self, world: &World, u: usize) -> bool {
        matches!(world.person, crate::state::Person::Redriving { u: of, .. }
            | crate::state::Person::Resending { u: of, .. } if usize::from(of) == u)
    }

    fn is_send_kept(&self, world: &World, u: usize, row: &Row, n: usize) -> bool {
        let sending = &row.intents[n];
        let carries = |body| {
            matches!(body, Body::Intent { u: of, n: number, redrive, resend, .. }
            if usize::from(of) == u && usize::from(number) == n && redrive >= row.redrive && resend >= sending.resend)
        };
        sending.has_ended()
            || [Queue::Outbound, Queue::OutboundDead]
                .iter()
                .any(|queue| world.queue(*queue).iter().any(|message| carries(message.body)))
            || self.is_persons(world, u)
            || self.can_be_resent_again(world, u, n)
    }

    /// Without an accident, what was never tried is hidden although nothing before it is left and nobody runs.
    fn waits_for_nothing(&self, world: &World) -> bool {
        let (left, had) = (world.budget, self.scenario.budget);
        let accident = (left.crash, left.slow, left.duplicate, left.away)
            != (had.crash, had.slow, had.duplicate, had.away)
            || self.scenario.updates.iter().any(|spec| spec.poison || spec.newer);
        if accident || !world.workers.is_empty() {
            return false;
        }
        [Queue::Updates, Queue::Outbound].iter().any(|queue| {
            let messages = world.queue(*queue);
            messages.iter().enumerate().any(|(place, message)| {
                let is_head = !messages[..place]
                    .iter()
                    .any(|before| before.group == message.group);
                is_head && message.hidden > 0 && Self::is_untried(world, message.body)
            })
        })
    }

    fn is_untried(world: &World, body: Body) -> bool {
        match body {
            Body::Update { u, .. } => world.rows[usize::from(u)].is_none(),
            Body::Intent { u, n, previous, .. } => {
                let intents = world.rows[usize::from(u)].as_ref().map(|row| &row.intents);
                let find = |n: u8| intents.and_then(|intents| intents.get(usize::from(n)));
                let is_behind = previous.and_then(find).is_some_and(|before| !before.has_ended());
                !is_behind
                    && find(n).is_some_and(|sending| {
                        sending.state() == IntentState::Intended && sending.attempts == 0
                    })
            }
        }
    }

    fn comes_to_rest_if_asked(&self, world: &World) -> bool {
        if self.scenario.drain_every == 0 {
            return true;
        }
        let mut hasher = DefaultHasher::new();
        world.hash(&mut hasher);
        !hasher.finish().is_multiple_of(self.scenario.drain_every) || self.comes_to_rest(world)
    }

    /// Follows a run without further accidents, each step that can be taken in its turn.
    pub(crate) fn comes_to_rest(&self, world: &World) -> bool {
        let mut world = world.clone();
        for turn in 0..MOST_STEPS {
            let mut actions = Vec::new();
            self.actions(&world, &mut actions);
            actions.retain(|action| !action.is_accident());
            if actions.is_empty() {
                return (0..usize::from(world.accepted)).all(|u| self.is_settled(&world, u));
            }
            let action = actions.swap_remove(turn % actions.len());
            let Some(next) = self.next_state(&world, action) else {
                continue;
            };
            world = next;
        }
        false
    }

    fn is_settled(&self, world: &World, u: usize) -> bool {
        let ghost = world.ghosts[u];
        let Some(row) = world.rows[u].as_ref().filter(|row| !row.expired) else {
            return ghost.filed_raw || ghost.commits >= ghost.lives;
        };
        match row.state() {
            State::Dead => true,
            State::Done => self.scenario.senders == 0 || row.intents.iter().all(Sending::has_ended),
            State::Pending | State::Processing | State::Retrying | State::Deferred => ghost.filed_raw,
        }
    }
}
