//! A batch, as `shared/batch` runs it: groups beside each other, each in order, its rest given back behind a failure,
//! a crash suspect alone; then visibilities, then deletions. Never looks at what a message means.

use crate::fault::Fault;
use crate::pipeline::Pipeline;
use crate::state::{Lane, Pc, Verdict, Worker, World};

/// Whether a write's answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Net {
    /// It does.
    Answered,
    /// It landed; the SDK makes it again.
    Repeated,
    /// It landed; the caller sees an error.
    ErrorAfter,
    /// It did not land; the caller sees an error.
    ErrorBefore,
}

/// What a write came to.
pub(crate) enum Written<T> {
    Answer(T),
    /// It will be made again.
    Again,
    Error,
    /// This cannot happen now.
    Impossible,
}

impl Lane {
    /// The place of its first open message.
    pub(crate) fn at(&self) -> Option<usize> {
        self.items.iter().position(|item| item.verdict == Verdict::Open)
    }

    /// Whether something of it has begun and not ended.
    pub(crate) fn is_running(&self) -> bool {
        self.at().is_some() && (self.pc != Pc::Begin || self.owner > 0)
    }
}

impl Worker {
    pub(crate) fn has_ended(&self) -> bool {
        self.lanes.iter().all(|lane| lane.at().is_none())
    }
}

impl Pipeline {
    /// The ways in which a write's answer may come.
    pub(crate) fn nets(world: &World) -> impl Iterator<Item = Net> {
        let budget = world.budget;
        [
            (Net::Answered, true),
            (Net::Repeated, budget.repeat > 0),
            (Net::ErrorAfter, budget.away > 0),
            (Net::ErrorBefore, budget.away > 0),
        ]
        .into_iter()
        .filter(|(_, may)| *may)
        .map(|(net, _)| net)
    }

    /// Makes a write on a record through that net.
    pub(crate) fn write<T>(
        world: &mut World,
        net: Net,
        u: usize,
        write: impl FnOnce(&mut World) -> T,
    ) -> Written<T> {
        if net == Net::ErrorBefore {
            world.budget.away -= 1;
            world.ghosts[u].harmed = true;
            return Written::Error;
        }
        let before = world.rows.clone();
        let answer = write(world);
        let landed = world.rows != before;
        match net {
            Net::Repeated if landed => {
                world.budget.repeat -= 1;
                Written::Again
            }
            Net::ErrorAfter if landed => {
                world.budget.away -= 1;
                world.ghosts[u].harmed = true;
                Written::Error
            }
            Net::Repeated | Net::ErrorAfter => Written::Impossible,
            Net::Answered | Net::ErrorBefore => Written::Answer(answer),
        }
    }

    /// Ends the open message of a lane, and what follows from that for the lane's rest.
    pub(crate) fn conclude(&self, worker: &mut Worker, lane: usize, verdict: Verdict) {
        let is_alone = worker.alone.is_some();
        let lane = &mut worker.lanes[lane];
        (lane.pc, lane.owner, lane.age) = (Pc::Begin, 0, 0);
        let Some(at) = lane.at() else { return };
        lane.items[at].verdict = verdict;
        let rest = match verdict {
            Verdict::Back(_) if self.has(Fault::RestGoesOn) => None,
            // As long as the queue hides everything that is received.
            Verdict::Back(_) if self.has(Fault::RestStaysHidden) => Some(Verdict::Back(u8::MAX)),
            Verdict::Back(wait) => Some(Verdict::Back(wait)),
            Verdict::Done if is_alone => Some(Verdict::Back(0)),
            Verdict::Done | Verdict::Open => None,
        };
        if let Some(rest) = rest {
            lane.items[at + 1..]
                .iter_mut()
                .for_each(|item| item.verdict = rest);
        }
    }

    /// Makes a lane the only one: what has not begun goes back. False if another was first.
    pub(crate) fn be_alone(&self, worker: &mut Worker, lane: usize) -> bool {
        if worker.alone.is_some() {
            return false;
        }
        worker.alone = u8::try_from(lane).ok();
        for (other, lane_of_other) in worker.lanes.iter_mut().enumerate() {
            if other != lane && lane_of_other.at().is_some() && !lane_of_other.is_running() {
                lane_of_other.items.iter_mut().for_each(|item| {
                    if item.verdict == Verdict::Open {
                        item.verdict = Verdict::Back(0);
                    }
                });
            }
        }
        true
    }

    /// Answers for a batch that has ended: first visibilities, then, in a step of its own, deletions.
    pub(crate) fn answer(world: &mut World, place: usize) {
        let worker = world.workers[place].clone();
        let items = || worker.lanes.iter().flat_map(|lane| &lane.items);
        let any = |wanted: fn(Verdict) -> bool| items().any(|item| wanted(item.verdict));
        let hides = any(|verdict| matches!(verdict, Verdict::Back(_)));
        let deletes = any(|verdict| verdict == Verdict::Done);
        if hides && !worker.hid {
            for item in items() {
                match item.verdict {
                    Verdict::Back(u8::MAX) | Verdict::Done | Verdict::Open => {}
                    Verdict::Back(wait) => Self::hide(world, worker.queue, item.receipt, wait),
                }
            }
            if deletes {
                world.workers[place].hid = true;
                return;
            }
        }
        for item in items().filter(|item| item.verdict == Verdict::Done) {
            Self::delete(world, worker.queue, item.receipt);
        }
        world.workers.remove(place);
    }
}
