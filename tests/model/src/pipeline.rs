//! The whole: every actor's steps, the queues' and the clock's, as a model for the checker. Decides nothing itself.

use std::collections::BTreeSet;

use penstock_domain::ledger::State;
use stateright::{Model, Property};

use crate::action::Action;
use crate::domain::is_suspect;
use crate::fault::Fault;
use crate::judge::SIGHTS;
use crate::promise::Promise;
use crate::scenario::Scenario;
use crate::state::{Body, DedupId, Function, Ghost, Pc, Person, Queue, UPDATES, World};

/// The protocol in a scenario, whole or with one rule off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// What is explored.
    pub scenario: Scenario,
    /// The rule that is off.
    pub fault: Option<Fault>,
}

fn small(place: usize) -> u8 {
    u8::try_from(place).unwrap_or(u8::MAX)
}

impl Pipeline {
    /// Whether that rule is off.
    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn receives(&self, world: &World, actions: &mut Vec<Action>) {
        let alive = |function| {
            world
                .workers
                .iter()
                .filter(|worker| worker.function == function)
                .count()
        };
        let room = [
            (Function::Processor, Queue::Updates, self.scenario.processors),
            (Function::Sender, Queue::Outbound, self.scenario.senders),
            (Function::DeadLetter, Queue::UpdatesDead, 1),
            (Function::DeadLetter, Queue::OutboundDead, 1),
        ];
        for (function, queue, most) in room {
            if alive(function) < usize::from(most) {
                let picks = self.picks(world, queue);
                actions.extend(
                    picks
                        .into_iter()
                        .map(|pick| Action::Receive(function, queue, pick)),
                );
            }
        }
    }

    fn lives_and_releases(&self, world: &World, actions: &mut Vec<Action>) {
        if world.rolled_back {
            actions.push(Action::RollForward);
        } else if world.budget.rollback > 0 {
            actions.push(Action::RollBack);
        }
        if self.scenario.budget.reuse == 0 {
            return;
        }
        for u in 0..world.accepted {
            let ghost = world.ghosts[usize::from(u)];
            let is_about = |body: Body| body.update() == usize::from(u);
            let is_quiet = world.workers.is_empty()
                && !world
                    .queues
                    .iter()
                    .flatten()
                    .any(|message| is_about(message.body));
            match &world.rows[usize::from(u)] {
                Some(row) if row.expired => actions.push(Action::Vanish(u)),
                Some(row) => {
                    let has_ended = row.state() == State::Done
                        && row.intents.iter().all(crate::state::Sending::has_ended);
                    if has_ended && is_quiet && world.budget.reuse > 0 {
                        actions.push(Action::Outlive(u));
                    }
                }
                None => {}
            }
            let is_over = world.rows[usize::from(u)].as_ref().is_none_or(|row| row.expired);
            if is_over && ghost.lives == 1 && ghost.commits == 1 {
                actions.push(Action::Reuse(u));
            }
        }
    }

    fn accept(&self, world: &mut World, u: u8) {
        let body = Body::Update {
            u,
            redrive: 0,
            newer: self.scenario.updates[usize::from(u)].newer,
        };
        self.send(world, Queue::Updates, body, DedupId::Update(u, 0));
    }

    fn passes(world: &mut World) {
        for message in world.queues.iter_mut().flatten() {
            message.hidden = message.hidden.saturating_sub(1);
        }
        for row in world.rows.iter_mut().flatten() {
            row.lease = row.lease.map(|lease| (lease - 1).max(-1));
            row.next = row.next.map(|next| next.saturating_sub(1));
            for sending in &mut row.intents {
                sending.lease = sending.lease.map(|lease| (lease - 1).max(-1));
                sending.next = sending.next.map(|next| next.saturating_sub(1));
            }
        }
        for lane in world.workers.iter_mut().flat_map(|worker| &mut worker.lanes) {
            if lane.owner > 0 && lane.pc == Pc::Begin {
                lane.age += 1;
            }
        }
    }

    /// Whoever lives on with a lease that is over was too slow: what it holds may die of that.
    fn judge_late(world: &mut World) {
        let owners: BTreeSet<u8> = world
            .workers
            .iter()
            .flat_map(|worker| worker.lanes.iter().map(|lane| lane.owner))
            .collect();
        for (row, ghost) in world.rows.iter().zip(&mut world.ghosts) {
            let is_late = row
                .as_ref()
                .is_some_and(|row| is_suspect(row.lease) && row.owner > 0 && owners.contains(&row.owner));
            ghost.harmed |= is_late;
        }
    }

    fn crash(world: &mut World, place: usize) {
        let dead = world.workers.remove(place);
        for item in dead
            .lanes
            .iter()
            .filter(|lane| lane.is_running())
            .filter_map(|lane| lane.item())
        {
            world.ghosts[item.body.update()].harmed = true;
        }
        world.budget.crash -= 1;
    }
}

impl Model for Pipeline {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let empty = World {
            rows: [const { None }; UPDATES],
            queues: [const { Vec::new() }; 4],
            dedup: Vec::new(),
            workers: Vec::new(),
            accepted: 0,
            person: Person::Idle,
            rolled_back: false,
            budget: self.scenario.budget,
            ghosts: [Ghost::default(); UPDATES],
            broken: 0,
        };
        if !self.scenario.committed {
            return vec![empty];
        }
        // The shortest way there, by the same writes.
        let mut world = empty;
        for u in 0..small(self.scenario.updates.len()) {
            world.accepted += 1;
            world.ghosts[usize::from(u)].lives = 1;
            self.commits_and_dispatches(&mut world, u);
        }
        vec![world]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if usize::from(world.accepted) < self.scenario.updates.len() {
            actions.push(Action::Accept);
        }
        self.receives(world, actions);
        for (place, worker) in world.workers.iter().enumerate() {
            for lane in 0..worker.lanes.len() {
                let steps = self.lane_steps(world, place, lane);
                actions.extend(
                    steps
                        .into_iter()
                        .map(|step| Action::Lane(small(place), small(lane), step)),
                );
            }
            if worker.has_ended() {
                actions.push(Action::Answer(small(place)));
            }
            if world.budget.crash > 0 {
                actions.push(Action::Crash(small(place)));
            }
        }
        let messages = || world.queues.iter().flatten();
        let is_hidden = messages().any(|message| message.hidden > 0);
        if world.workers.is_empty() && is_hidden {
            actions.push(Action::Tick);
        }
        if !world.workers.is_empty() && world.budget.slow > 0 {
            actions.push(Action::Late);
        }
        if world.budget.duplicate > 0 {
            // A copy that comes after a record's life is a new Update: that is `Reuse`.
            let is_remembered = |u: &u8| {
                let row = world.rows[usize::from(*u)].as_ref();
                row.map_or(world.ghosts[usize::from(*u)].commits == 0, |row| !row.expired)
            };
            actions.extend(
                (0..world.accepted)
                    .filter(is_remembered)
                    .filter(|_| self.scenario.processors > 0)
                    .map(Action::AcceptAgain),
            );
            if !world.dedup.is_empty() {
                actions.push(Action::ForgetIds);
            }
            for queue in Queue::ALL {
                for (place, message) in world.queue(queue).iter().enumerate() {
                    let mut items = world
                        .workers
                        .iter()
                        .flat_map(|worker| &worker.lanes)
                        .flat_map(|lane| &lane.items);
                    if message.hidden > 0 && items.any(|item| item.receipt == message.receipt) {
                        actions.push(Action::Reappear(queue, small(place)));
                    }
                }
            }
        }
        actions.extend(self.acts(world).into_iter().map(Action::Person));
        self.lives_and_releases(world, actions);
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut world = last.clone();
        match action {
            Action::Accept => {
                let u = world.accepted;
                world.accepted += 1;
                world.ghosts[usize::from(u)].lives = 1;
                self.accept(&mut world, u);
            }
            Action::AcceptAgain(u) => {
                world.budget.duplicate -= 1;
                world.dedup.retain(|id| *id != DedupId::Update(u, 0));
                self.accept(&mut world, u);
            }
            Action::ForgetIds => {
                world.budget.duplicate -= 1;
                world.dedup.clear();
            }
            Action::Receive(function, queue, pick) => self.receive(&mut world, function, queue, pick),
            Action::Lane(worker, lane, step) => {
                if !self.lane_step(&mut world, worker.into(), lane.into(), step) {
                    return None;
                }
            }
            Action::Answer(worker) => Self::answer(&mut world, worker.into()),
            Action::Crash(worker) => Self::crash(&mut world, worker.into()),
            Action::Tick => Self::passes(&mut world),
            Action::Late => {
                world.budget.slow -= 1;
                Self::passes(&mut world);
                Self::judge_late(&mut world);
            }
            Action::Reappear(queue, place) => {
                world.budget.duplicate -= 1;
                world.queue_mut(queue)[usize::from(place)].hidden = 0;
            }
            Action::Person(act) => {
                if !self.act(&mut world, act) {
                    return None;
                }
            }
            Action::Outlive(u) => {
                world.budget.reuse -= 1;
                world.dedup.clear();
                world.rows[usize::from(u)].as_mut()?.expired = true;
            }
            Action::Vanish(u) => {
                world.rows[usize::from(u)] = None;
                world.ghosts[usize::from(u)].fence = 0;
            }
            Action::Reuse(u) => {
                let ghost = &mut world.ghosts[usize::from(u)];
                *ghost = Ghost {
                    lives: 2,
                    late: true,
                    commits: ghost.commits,
                    fence: ghost.fence,
                    ..Ghost::default()
                };
                self.accept(&mut world, u);
            }
            Action::RollBack => {
                world.budget.rollback -= 1;
                world.rolled_back = true;
            }
            Action::RollForward => world.rolled_back = false,
        }
        world.workers.sort_unstable();
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        macro_rules! held {
            ($($promise:ident)*) => {
                vec![$(Property::always(Promise::$promise.name(), |pipeline: &Self, world: &World| {
                    pipeline.holds(world, Promise::$promise)
                })),*]
            };
        }
        let mut properties = held!(NothingIsLost OneOutcome OrderOfOutcomes OrderOfSends NoDoubleSend FenceNeverFalls
            LeaseIsRespected NotBeforeItsTime NeighbourBurnsOnce NobodyDiesUnharmed AuditedOnce ChatsGoOn
            LegalTransitions);
        macro_rules! seen {
            ($($place:literal)*) => {
                [$(Property::sometimes(SIGHTS[$place].0, |_: &Self, world: &World| SIGHTS[$place].1(world))),*]
            };
        }
        properties.extend(seen!(0 1 2 3 4 5 6));
        properties
    }
}
