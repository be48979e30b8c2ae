//! The steps of a lane, whatever function it is of: which there are, and who makes them.

use penstock_domain::intent::IntentState;

use crate::batch::Net;
use crate::pipeline::Pipeline;
use crate::state::{Body, Function, INTENTS, Item, Lane, Row, Verdict, World};
use crate::table::By;

/// How a bot's run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ending {
    /// With an outcome.
    Well,
    /// With a failure that may pass.
    Fails,
    /// With one that will not.
    FailsForGood,
    /// It was not run: too many tries never came back.
    UsedUp,
}

/// What a call of the Bot API comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reply {
    /// Delivered and confirmed.
    Delivered,
    /// Delivered, but the answer is lost.
    DeliveredUnheard,
    /// Not delivered, and the answer is lost.
    NotDeliveredUnheard,
    /// Refused; it may work later.
    Refused,
    /// Refused for good.
    RefusedForGood,
}

/// A step of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The first write: the claim, or the filing of a letter.
    Claim(Net),
    /// The bot is started without a claim.
    Start,
    /// A crash suspect is taken over.
    TakeOver(Net),
    /// The bot's run ends, and that is written.
    End(Ending, Net),
    /// What is known is written, perhaps again.
    Settle(Net),
    /// The Update kills its worker.
    Explode,
    /// The function's time is over.
    TimesOut,
    /// Intents are put into the outbound queue; those in this set come back in `Failed`.
    Dispatch(u8),
    /// The Bot API is called.
    Call(Reply),
    /// A body of a newer release is given back.
    GiveBack,
    /// A body of a newer release is filed raw.
    FileRaw,
}

impl Pipeline {
    /// The steps that a lane can take.
    pub(crate) fn lane_steps(&self, world: &World, worker: usize, lane: usize) -> Vec<Step> {
        let invocation = &world.workers[worker];
        let Some(item) = invocation.lanes[lane]
            .at()
            .map(|at| &invocation.lanes[lane].items[at])
        else {
            return Vec::new();
        };
        match invocation.function {
            Function::Processor => self.processor_steps(world, worker, lane, item),
            Function::Sender => self.sender_steps(world, &invocation.lanes[lane], item),
            Function::DeadLetter => Self::dead_letter_steps(world, &invocation.lanes[lane], item),
        }
    }

    /// Takes one; `false` if it cannot be taken now.
    pub(crate) fn lane_step(&self, world: &mut World, worker: usize, lane: usize, step: Step) -> bool {
        match world.workers[worker].function {
            Function::Processor => self.processor_step(world, worker, lane, step),
            Function::Sender => self.sender_step(world, worker, lane, step),
            Function::DeadLetter => self.dead_letter_step(world, worker, lane, step),
        }
    }

    /// Ends the open message of a lane.
    pub(crate) fn ends(&self, world: &mut World, worker: usize, lane: usize, verdict: Verdict) {
        self.conclude(&mut world.workers[worker], lane, verdict);
    }

    /// Who writes in a lane, with a new token if it has none.
    pub(crate) fn by(world: &mut World, worker: usize, lane: usize, item: &Item) -> By {
        let owner = match world.workers[worker].lanes[lane].owner {
            0 => world.fresh_owner(),
            owner => owner,
        };
        let lane = &mut world.workers[worker].lanes[lane];
        lane.owner = owner;
        let redrive = match item.body {
            Body::Update { redrive, .. } | Body::Intent { redrive, .. } => redrive,
        };
        By {
            u: item.body.update(),
            redrive,
            owner,
            age: lane.age,
        }
    }

    /// What a repeat of a done Update has to dispatch.
    pub(crate) fn intended(row: Option<&Row>) -> [Option<u8>; INTENTS] {
        let mut open = [None; INTENTS];
        for (slot, sending) in open.iter_mut().zip(row.iter().flat_map(|row| &row.intents)) {
            *slot = (sending.state() == IntentState::Intended).then_some(sending.resend);
        }
        open
    }
}

impl Lane {
    /// Its open message.
    pub(crate) fn item(&self) -> Option<&Item> {
        self.at().map(|at| &self.items[at])
    }
}
