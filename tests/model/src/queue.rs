//! FIFO queues: groups, visibility, deduplication, the move into a dead-letter queue. At least once: a handle that is
//! not the last one changes nothing, and whoever holds an older one still works on.

use crate::fault::Fault;
use crate::pipeline::Pipeline;
use crate::state::{
    Body, DedupId, Function, Item, Lane, Message, Pc, Queue, VISIBILITY, Verdict, Worker, World,
};

/// Mark of a message that the receive being made has taken.
const TAKEN: u8 = u8::MAX;

/// Which messages a receive gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pick {
    /// Only those of one group.
    pub group: Option<u8>,
    /// Only one message.
    pub one: bool,
}

impl Pipeline {
    /// Puts a message in, unless the queue remembers its id.
    pub(crate) fn send(&self, world: &mut World, queue: Queue, body: Body, dedup: DedupId) {
        if let Err(place) = world.dedup.binary_search(&dedup) {
            world.dedup.insert(place, dedup);
            self.append(world, queue, body);
        }
    }

    /// Puts a message in.
    pub(crate) fn append(&self, world: &mut World, queue: Queue, body: Body) {
        let group = self.scenario.updates[body.update()].chat;
        world.queue_mut(queue).push(Message {
            body,
            group,
            hidden: 0,
            receipt: 0,
            count: 0,
        });
    }

    /// Places of what a receive may get: of each group what is before its first hidden message.
    fn receivable(world: &World, queue: Queue) -> Vec<usize> {
        let messages = world.queue(queue);
        let mut shut = Vec::new();
        let mut open = Vec::new();
        for (place, message) in messages.iter().enumerate() {
            if shut.contains(&message.group) {
                continue;
            }
            match message.hidden {
                0 => open.push(place),
                // Taken by the receive that is being made: it does not shut its group for that.
                TAKEN => {}
                _ => shut.push(message.group),
            }
        }
        open
    }

    /// The receives that could happen.
    pub(crate) fn picks(&self, world: &World, queue: Queue) -> Vec<Pick> {
        let open = Self::receivable(world, queue);
        let groups: Vec<u8> = open
            .iter()
            .map(|place| world.queue(queue)[*place].group)
            .collect();
        let mut distinct = groups.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let mut picks = Vec::new();
        for group in &distinct {
            let count = groups.iter().filter(|other| *other == group).count();
            picks.push(Pick {
                group: Some(*group),
                one: true,
            });
            if count > 1 && self.batch_of(queue) > 1 {
                picks.push(Pick {
                    group: Some(*group),
                    one: false,
                });
            }
        }
        if distinct.len() > 1 && self.batch_of(queue) > 1 {
            picks.push(Pick {
                group: None,
                one: false,
            });
        }
        picks
    }

    fn batch_of(&self, queue: Queue) -> u8 {
        match queue {
            Queue::Updates | Queue::Outbound => self.scenario.batch,
            Queue::UpdatesDead | Queue::OutboundDead => 1,
        }
    }

    /// Receives; what was received too often goes into the dead-letter queue instead.
    pub(crate) fn receive(&self, world: &mut World, function: Function, queue: Queue, pick: Pick) {
        let dead = match queue {
            Queue::Updates => Some(Queue::UpdatesDead),
            Queue::Outbound => Some(Queue::OutboundDead),
            Queue::UpdatesDead | Queue::OutboundDead => None,
        };
        let limit = if pick.one { 1 } else { self.batch_of(queue) };
        let mut items: Vec<(u8, Item)> = Vec::new();
        while items.len() < usize::from(limit) {
            let Some(place) = Self::receivable(world, queue).into_iter().find(|place| {
                pick.group
                    .is_none_or(|group| group == world.queue(queue)[*place].group)
            }) else {
                break;
            };
            if let Some(dead) = dead.filter(|_| world.queue(queue)[place].count >= self.scenario.max_receives)
            {
                let given_up = world.queue_mut(queue).remove(place);
                world.ghosts[given_up.body.update()].late = true;
                self.append(world, dead, given_up.body);
                continue;
            }
            let receipt = world.fresh_receipt();
            let message = &mut world.queue_mut(queue)[place];
            message.receipt = receipt;
            message.count = (message.count + 1).min(self.scenario.max_receives);
            message.hidden = TAKEN;
            items.push((
                message.group,
                Item {
                    body: message.body,
                    receipt,
                    first: message.count == 1,
                    verdict: Verdict::Open,
                },
            ));
        }
        for message in world.queue_mut(queue) {
            if message.hidden == TAKEN {
                message.hidden = VISIBILITY;
            }
        }
        if items.is_empty() {
            return;
        }
        let mut lanes: Vec<(u8, Lane)> = Vec::new();
        for (group, item) in items {
            match lanes.iter_mut().find(|(other, _)| *other == group) {
                Some((_, lane)) => lane.items.push(item),
                None => lanes.push((
                    group,
                    Lane {
                        items: vec![item],
                        pc: Pc::Begin,
                        owner: 0,
                        age: 0,
                    },
                )),
            }
        }
        let mut lanes: Vec<Lane> = lanes.into_iter().map(|(_, lane)| lane).collect();
        if function == Function::Sender && !self.has(Fault::BatchUnsorted) {
            lanes.iter_mut().for_each(|lane| sort(&mut lane.items));
        }
        world.workers.push(Worker {
            function,
            queue,
            lanes,
            alone: None,
            hid: false,
        });
    }

    /// Sets the visibility of a delivery, if its handle is the last one and has not run out.
    pub(crate) fn hide(world: &mut World, queue: Queue, receipt: u8, ticks: u8) {
        let held = |message: &&mut Message| message.receipt == receipt && message.hidden > 0;
        if let Some(message) = world.queue_mut(queue).iter_mut().find(held) {
            message.hidden = ticks;
        }
    }

    /// Deletes a delivery, under the same condition.
    pub(crate) fn delete(world: &mut World, queue: Queue, receipt: u8) {
        world
            .queue_mut(queue)
            .retain(|message| message.receipt != receipt || message.hidden == 0);
    }
}

/// Intents of one Update by their number; Updates as the queue has them.
fn sort(items: &mut [Item]) {
    let number = |item: &Item| match item.body {
        Body::Intent { n, .. } => n,
        Body::Update { .. } => 0,
    };
    let first: Vec<usize> = items.iter().map(|item| item.body.update()).collect();
    let place = |u: usize| first.iter().position(|other| *other == u);
    items.sort_by_key(|item| (place(item.body.update()), number(item)));
}
