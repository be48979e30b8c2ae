//! A FIFO queue with a dead-letter queue, as plainly as it can be written: lists, searched from the start.

use std::collections::HashSet;

const WINDOW_MS: i64 = 300_000;
const TWELVE_HOURS_MS: i64 = 43_200_000;

/// Settings that a run varies.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) visibility_s: i64,
    pub(crate) delay_s: i64,
    pub(crate) retention_s: i64,
    pub(crate) dedup_per_group: bool,
    pub(crate) max_receives: Option<i64>,
}

#[derive(Debug, Clone)]
struct Message {
    id: usize,
    group: u8,
    sent_ms: i64,
    visible_at: i64,
    received_ms: i64,
    receives: i64,
}

#[derive(Debug, Clone)]
struct Window {
    group: u8,
    dedup: u8,
    id: usize,
    ends_ms: i64,
}

/// A receipt: which queue, message, place in time of its entry, and receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    queue: usize,
    id: usize,
    sent_ms: i64,
    receive: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delivered {
    pub(crate) id: usize,
    pub(crate) receive: i64,
    pub(crate) ticket: Ticket,
}

/// Numbers a console shows: visible, in flight, delayed, groups in flight, oldest age.
pub(crate) type Numbers = (i64, i64, i64, i64, Option<i64>);

#[derive(Debug)]
pub(crate) struct Model {
    settings: Settings,
    pub(crate) now: i64,
    next_id: usize,
    /// The queue and its dead-letter queue, each in the order of entry.
    queues: [Vec<Message>; 2],
    windows: Vec<Window>,
}

impl Model {
    pub(crate) fn new(settings: Settings, now: i64) -> Self {
        Self {
            settings,
            now,
            next_id: 0,
            queues: [Vec::new(), Vec::new()],
            windows: Vec::new(),
        }
    }

    pub(crate) fn advance(&mut self, ms: i64) {
        self.now += ms;
    }

    fn end_retention(&mut self) {
        let kept_ms = [self.settings.retention_s * 1000, 345_600_000];
        for (queue, kept_ms) in self.queues.iter_mut().zip(kept_ms) {
            queue.retain(|message| message.sent_ms + kept_ms > self.now);
        }
    }

    /// The message's number, and whether it was a duplicate.
    pub(crate) fn send(&mut self, group: u8, dedup: u8) -> (usize, bool) {
        let same = |window: &&Window| {
            window.ends_ms > self.now
                && window.dedup == dedup
                && (!self.settings.dedup_per_group || window.group == group)
        };
        if let Some(window) = self.windows.iter().find(same) {
            return (window.id, true);
        }
        let id = self.next_id;
        self.next_id += 1;
        self.windows.push(Window {
            group,
            dedup,
            id,
            ends_ms: self.now + WINDOW_MS,
        });
        let visible_at = self.now + self.settings.delay_s * 1000;
        let message = Message {
            id,
            group,
            sent_ms: self.now,
            visible_at,
            received_ms: 0,
            receives: 0,
        };
        self.queues[0].push(message);
        (id, false)
    }

    pub(crate) fn receive(&mut self, queue: usize, max: usize, visibility_s: Option<i64>) -> Vec<Delivered> {
        self.end_retention();
        let default_s = if queue == 0 {
            self.settings.visibility_s
        } else {
            30
        };
        let visibility_ms = visibility_s.unwrap_or(default_s) * 1000;
        let mut groups: Vec<u8> = Vec::new();
        for message in &self.queues[queue] {
            if !groups.contains(&message.group) {
                groups.push(message.group);
            }
        }
        let mut delivered = Vec::new();
        let mut dead: Vec<Message> = Vec::new();
        for group in groups {
            for message in self.queues[queue]
                .iter_mut()
                .filter(|message| message.group == group)
            {
                if message.visible_at > self.now || delivered.len() == max {
                    break;
                }
                if queue == 0
                    && self
                        .settings
                        .max_receives
                        .is_some_and(|allowed| message.receives >= allowed)
                {
                    dead.push(message.clone());
                    continue;
                }
                message.receives += 1;
                message.received_ms = self.now;
                message.visible_at = self.now + visibility_ms;
                let ticket = Ticket {
                    queue,
                    id: message.id,
                    sent_ms: message.sent_ms,
                    receive: message.receives,
                };
                delivered.push(Delivered {
                    id: message.id,
                    receive: message.receives,
                    ticket,
                });
            }
        }
        self.queues[0].retain(|message| dead.iter().all(|dead| dead.id != message.id));
        let now = self.now;
        let begin_anew = |message| Message {
            sent_ms: now,
            visible_at: now,
            receives: 0,
            ..message
        };
        self.queues[1].extend(dead.into_iter().map(begin_anew));
        delivered
    }

    fn find(&mut self, ticket: Ticket) -> Option<&mut Message> {
        self.end_retention();
        self.queues[ticket.queue]
            .iter_mut()
            .find(|message| message.id == ticket.id)
    }

    /// Whether it is accepted.
    pub(crate) fn delete(&mut self, ticket: Ticket) -> bool {
        let now = self.now;
        match self.find(ticket) {
            None => true,
            Some(message) if message.receives == ticket.receive && message.visible_at > now => {
                self.queues[ticket.queue].retain(|message| message.id != ticket.id);
                true
            }
            Some(_) => false,
        }
    }

    /// Whether it is accepted.
    pub(crate) fn hide(&mut self, ticket: Ticket, seconds: i64) -> bool {
        let now = self.now;
        match self.find(ticket) {
            Some(message)
                if message.receives == ticket.receive
                    && message.visible_at > now
                    && now + seconds * 1000 <= message.received_ms + TWELVE_HOURS_MS =>
            {
                message.visible_at = now + seconds * 1000;
                true
            }
            _ => false,
        }
    }

    pub(crate) fn numbers(&mut self, queue: usize) -> Numbers {
        self.end_retention();
        let messages = &self.queues[queue];
        let count = |wanted: fn(&Message, i64) -> bool| {
            i64::try_from(
                messages
                    .iter()
                    .filter(|message| wanted(message, self.now))
                    .count(),
            )
            .unwrap()
        };
        let in_flight = |message: &Message, now| message.visible_at > now && message.receives > 0;
        let groups: HashSet<u8> = messages
            .iter()
            .filter(|message| in_flight(message, self.now))
            .map(|message| message.group)
            .collect();
        (
            count(|message, now| message.visible_at <= now),
            count(in_flight),
            count(|message, now| message.visible_at > now && message.receives == 0),
            i64::try_from(groups.len()).unwrap(),
            messages.first().map(|message| self.now - message.sent_ms),
        )
    }
}
