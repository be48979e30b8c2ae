//! The updates queue: one FIFO queue for each chat, which is what groups are to one another, so that tens of thousands
//! can wait. Never reads a clock.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fastrand::Rng;
use penstock_batch::Record;
use penstock_domain::ids::MessageGroupId;
use penstock_domain::time::Timestamp;
use penstock_ports::Enqueue;
use penstock_testkit::FifoQueue;

/// The mapping's batch size (template).
pub(super) const MOST_IN_A_BATCH: usize = 10;
/// The queue's visibility (template: 120 s).
const VISIBILITY: Duration = Duration::from_secs(120);
/// The queue's `maxReceiveCount` (template).
const MAX_RECEIVES: u32 = 1_000;

struct Line {
    group: MessageGroupId,
    queue: FifoQueue,
    /// What its messages hold, in the order of their numbers.
    updates: Vec<usize>,
    /// When it has something to hand out, or shows a message.
    due_at: Option<Timestamp>,
}

/// The queue.
#[derive(Default)]
pub(super) struct Lines {
    lines: BTreeMap<usize, Line>,
    due: BTreeSet<(Timestamp, usize)>,
    pub(super) given_up: usize,
    /// How often each Update was received.
    pub(super) receives: BTreeMap<usize, u32>,
}

impl Lines {
    pub(super) fn put(&mut self, update: usize, chat: usize, message: Enqueue, now: Timestamp) {
        let line = self.lines.entry(chat).or_insert_with(|| Line {
            group: message.group.clone(),
            queue: FifoQueue::new("m", VISIBILITY, Some(MAX_RECEIVES)),
            updates: Vec::new(),
            due_at: None,
        });
        line.updates.push(update);
        assert!(line.queue.put(message, now), "an update comes once");
        self.changed(chat, now);
    }

    fn changed(&mut self, chat: usize, now: Timestamp) {
        let Some(line) = self.lines.get_mut(&chat) else {
            return;
        };
        let due_at = if line.queue.free(now).is_empty() {
            line.queue.next_visible_at(now)
        } else {
            Some(now)
        };
        let before = std::mem::replace(&mut line.due_at, due_at);
        self.due.extend(due_at.map(|at| (at, chat)));
        if let Some(before) = before.filter(|before| Some(*before) != due_at) {
            self.due.remove(&(before, chat));
        }
    }

    /// When there is something to hand out, if nothing comes in before.
    pub(super) fn due_at(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    /// A batch for an instance: as much of each chat as chance will have, up to what a batch holds.
    pub(super) fn hand_out(&mut self, rng: &mut Rng, now: Timestamp) -> Vec<Record> {
        let mut batch = Vec::new();
        while batch.len() < MOST_IN_A_BATCH {
            let Some((_, chat)) = self.due.first().copied().filter(|(at, _)| *at <= now) else {
                break;
            };
            let line = self.lines.get_mut(&chat).expect("what is due is a line");
            let most = rng.usize(1..=MOST_IN_A_BATCH - batch.len());
            let received = line.queue.receive(&line.group, most, now);
            self.given_up += received.given_up.len();
            for handed in received.handed {
                let update = line.updates[handed.id[1..].parse::<usize>().unwrap() - 1];
                self.receives.insert(update, handed.receive_count);
                batch.push(Record {
                    id: format!("{chat}/{}", handed.id),
                    receipt: format!("{chat}/{}", handed.receipt),
                    group: handed.group.0,
                    receive_count: handed.receive_count,
                    sent_at_ms: handed.sent_at.as_millis(),
                    body: handed.body,
                });
            }
            self.changed(chat, now);
        }
        batch
    }

    /// Changes hand-overs; how many of them the queue did not accept.
    pub(super) fn change<'a>(
        &mut self,
        receipts: impl Iterator<Item = &'a str>,
        now: Timestamp,
        mut change: impl FnMut(&mut FifoQueue, &str) -> bool,
    ) -> usize {
        let mut changed = BTreeSet::new();
        let mut refused = 0;
        for receipt in receipts {
            let (chat, receipt) = receipt.split_once('/').expect("a receipt of ours");
            let chat = chat.parse().expect("a chat's number");
            let line = self.lines.get_mut(&chat).expect("its line is there");
            refused += usize::from(!change(&mut line.queue, receipt));
            changed.insert(chat);
        }
        for chat in changed {
            self.changed(chat, now);
        }
        refused
    }
}
