//! A FIFO queue in memory that delivers: groups, visibility, receive counts, the deduplication window, and what it gives
//! up after too many receives. Never reads a clock: every call is given the time. Where Amazon leaves room it does what
//! is harder for a consumer.

use std::collections::HashMap;
use std::time::Duration;

use penstock_domain::ids::{DeduplicationId, MessageGroupId};
use penstock_domain::time::Timestamp;
use penstock_ports::Enqueue;

/// How long a deduplication id is known (SQS: 5 min).
pub const DEDUPLICATION_WINDOW: Duration = Duration::from_secs(300);
/// Longest time from its receive for which a message can be hidden (SQS: 12 h).
pub const LONGEST_HIDDEN: Duration = Duration::from_secs(12 * 3600);

/// One hand-over of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handed {
    /// The message's id.
    pub id: String,
    /// The handle of this hand-over.
    pub receipt: String,
    /// Its group.
    pub group: MessageGroupId,
    /// How often it was received, this time included.
    pub receive_count: u32,
    /// When it was put in.
    pub sent_at: Timestamp,
    /// Its body.
    pub body: String,
}

/// A message that was received too often: it belongs into the dead-letter queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    /// Its id, which it keeps.
    pub id: String,
    /// Its group, which it keeps.
    pub group: MessageGroupId,
    /// Its body.
    pub body: String,
}

/// What a receive gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Received {
    /// The hand-overs, in the queue's order.
    pub handed: Vec<Handed>,
    /// What was given up instead.
    pub given_up: Vec<GivenUp>,
}

#[derive(Debug)]
struct Message {
    id: String,
    group: MessageGroupId,
    body: String,
    sent_at: Timestamp,
    receive_count: u32,
    received_at: Timestamp,
    visible_at: Timestamp,
}

impl Message {
    fn receipt(&self) -> String {
        format!("{}#{}", self.id, self.receive_count)
    }
}

/// A FIFO queue. Messages stay until they are deleted or given up; it keeps none too short and forgets none.
#[derive(Debug)]
pub struct FifoQueue {
    name: &'static str,
    visibility: Duration,
    max_receives: Option<u32>,
    messages: Vec<Message>,
    known: HashMap<(MessageGroupId, DeduplicationId), Timestamp>,
    put: u64,
}

impl FifoQueue {
    /// An empty queue; its messages' ids begin with `name`. Without `max_receives` it never gives a message up.
    #[must_use]
    pub fn new(name: &'static str, visibility: Duration, max_receives: Option<u32>) -> Self {
        Self {
            name,
            visibility,
            max_receives,
            messages: Vec::new(),
            known: HashMap::new(),
            put: 0,
        }
    }

    /// Puts a message in, unless its group had one with its deduplication id lately; whether it is a new one.
    pub fn put(&mut self, message: Enqueue, now: Timestamp) -> bool {
        let key = (message.group.clone(), message.deduplication);
        if self
            .known
            .get(&key)
            .is_some_and(|at| now < *at + DEDUPLICATION_WINDOW)
        {
            return false;
        }
        self.known.insert(key, now);
        self.put += 1;
        self.add(
            format!("{}{}", self.name, self.put),
            message.group,
            message.body,
            now,
        );
        true
    }

    /// Takes in what another queue gave up: with its id and group, as if it were sent now, and without deduplication.
    pub fn take_in(&mut self, given_up: GivenUp, now: Timestamp) {
        self.add(given_up.id, given_up.group, given_up.body, now);
    }

    fn add(&mut self, id: String, group: MessageGroupId, body: String, now: Timestamp) {
        self.messages.push(Message {
            id,
            group,
            body,
            sent_at: now,
            receive_count: 0,
            received_at: now,
            visible_at: now,
        });
    }

    /// The groups that have something to receive, in the queue's order, each with how much: the messages up to its first
    /// hidden one.
    #[must_use]
    pub fn free(&self, now: Timestamp) -> Vec<(MessageGroupId, usize)> {
        let mut groups: Vec<(MessageGroupId, usize, bool)> = Vec::new();
        for message in &self.messages {
            let is_visible = message.visible_at <= now;
            match groups.iter_mut().find(|(group, ..)| *group == message.group) {
                Some((_, count, is_open)) => {
                    *is_open &= is_visible;
                    *count += usize::from(*is_open);
                }
                None => groups.push((message.group.clone(), usize::from(is_visible), is_visible)),
            }
        }
        groups
            .into_iter()
            .filter(|(_, count, _)| *count > 0)
            .map(|(group, count, _)| (group, count))
            .collect()
    }

    /// Receives up to that many messages of a group. What was received too often is given up instead.
    pub fn receive(&mut self, group: &MessageGroupId, at_most: usize, now: Timestamp) -> Received {
        let mut received = Received::default();
        let mut index = 0;
        while index < self.messages.len() && received.handed.len() < at_most {
            let message = &mut self.messages[index];
            if message.group != *group {
                index += 1;
                continue;
            }
            if message.visible_at > now {
                break;
            }
            if self
                .max_receives
                .is_some_and(|most| message.receive_count >= most)
            {
                let Message { id, group, body, .. } = self.messages.remove(index);
                received.given_up.push(GivenUp { id, group, body });
                continue;
            }
            message.receive_count += 1;
            message.received_at = now;
            message.visible_at = now + self.visibility;
            received.handed.push(Handed {
                id: message.id.clone(),
                receipt: message.receipt(),
                group: group.clone(),
                receive_count: message.receive_count,
                sent_at: message.sent_at,
                body: message.body.clone(),
            });
            index += 1;
        }
        received
    }

    /// Hides a hand-over for that long from now; `false` if its handle is stale, or it would be hidden for too long.
    pub fn hide(&mut self, receipt: &str, hidden_for: Duration, now: Timestamp) -> bool {
        let id = receipt.split('#').next().unwrap_or_default();
        let found = self.messages.iter_mut().find(|message| message.id == id);
        let is_held = |message: &&mut Message| message.receipt() == receipt && message.visible_at > now;
        let Some(message) = found.filter(is_held) else {
            return false;
        };
        if now + hidden_for > message.received_at + LONGEST_HIDDEN {
            return false;
        }
        message.visible_at = now + hidden_for;
        true
    }

    /// Deletes a hand-over's message; `false` if its handle is stale. One that is deleted already is a success.
    pub fn delete(&mut self, receipt: &str, now: Timestamp) -> bool {
        let id = receipt.split('#').next().unwrap_or_default();
        let Some(index) = self.messages.iter().position(|message| message.id == id) else {
            return true;
        };
        let message = &self.messages[index];
        if message.receipt() != receipt || message.visible_at <= now {
            return false;
        }
        self.messages.remove(index);
        true
    }

    /// Shows a hidden message before its time, so that it is handed out a second time; its old handles become stale
    /// then.
    pub fn show(&mut self, id: &str, now: Timestamp) {
        if let Some(message) = self.messages.iter_mut().find(|message| message.id == id) {
            message.visible_at = message.visible_at.min(now);
        }
    }

    /// The ids of the hidden messages, in the queue's order.
    #[must_use]
    pub fn hidden(&self, now: Timestamp) -> Vec<String> {
        self.messages
            .iter()
            .filter(|message| message.visible_at > now)
            .map(|message| message.id.clone())
            .collect()
    }

    /// When the next hidden message shows.
    #[must_use]
    pub fn next_visible_at(&self, now: Timestamp) -> Option<Timestamp> {
        let hidden = self.messages.iter().map(|message| message.visible_at);
        hidden.filter(|at| *at > now).min()
    }

    /// The bodies of what is in the queue, in its order.
    pub fn bodies(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().map(|message| message.body.as_str())
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_000_000);
    const VISIBILITY: Duration = Duration::from_secs(120);

    fn queue(sent: &[&str]) -> FifoQueue {
        let mut queue = FifoQueue::new("m", VISIBILITY, Some(2));
        for (n, group) in sent.iter().enumerate() {
            assert!(queue.put(message(group, &n.to_string()), START));
        }
        queue
    }

    fn message(group: &str, deduplication: &str) -> Enqueue {
        Enqueue {
            group: MessageGroupId(group.to_owned()),
            deduplication: DeduplicationId(deduplication.to_owned()),
            body: format!("{group} {deduplication}"),
        }
    }

    fn receive(queue: &mut FifoQueue, group: &str, now: Timestamp) -> Vec<Handed> {
        queue.receive(&MessageGroupId(group.to_owned()), 10, now).handed
    }

    fn free(queue: &FifoQueue, now: Timestamp) -> Vec<(String, usize)> {
        let free = queue.free(now).into_iter();
        free.map(|(group, count)| (group.0, count)).collect()
    }

    #[test]
    fn a_group_is_received_up_to_its_first_hidden_message_and_the_others_go_on() {
        let mut queue = queue(&["a", "a", "b"]);
        let handed = queue.receive(&MessageGroupId("a".to_owned()), 1, START).handed;
        assert_eq!(free(&queue, START), [("b".to_owned(), 1)]);
        assert!(receive(&mut queue, "a", START).is_empty());
        assert!(queue.delete(&handed[0].receipt, START));
        assert_eq!(free(&queue, START), [("a".to_owned(), 1), ("b".to_owned(), 1)]);
    }

    #[test]
    fn a_handle_is_stale_once_its_visibility_has_ended_or_it_was_handed_out_again() {
        let mut queue = queue(&["a"]);
        let first = receive(&mut queue, "a", START).remove(0);
        assert_eq!(queue.hidden(START), std::slice::from_ref(&first.id));
        let later = START + VISIBILITY;
        assert_eq!(queue.next_visible_at(START), Some(later));
        assert!(!queue.delete(&first.receipt, later) && !queue.hide(&first.receipt, VISIBILITY, later));
        queue.show(&first.id, START);
        let second = receive(&mut queue, "a", START).remove(0);
        assert_eq!((first.receive_count, second.receive_count), (1, 2));
        assert!(!queue.delete(&first.receipt, START));
        assert!(queue.delete(&second.receipt, START) && queue.delete(&second.receipt, START));
        assert!(queue.is_empty());
    }

    #[test]
    fn nothing_is_hidden_for_longer_than_twelve_hours_after_its_receive() {
        let mut queue = queue(&["a"]);
        let handed = receive(&mut queue, "a", START).remove(0);
        let later = START + Duration::from_secs(1);
        assert!(!queue.hide(&handed.receipt, LONGEST_HIDDEN, later));
        assert!(queue.hide(&handed.receipt, LONGEST_HIDDEN, START));
    }

    #[test]
    fn what_was_received_too_often_is_given_up_and_its_group_goes_on() {
        let mut queue = queue(&["a", "a"]);
        let mut now = START;
        for _ in 0..2 {
            let head = queue.receive(&MessageGroupId("a".to_owned()), 1, now);
            assert_eq!((head.handed.len(), head.given_up.len()), (1, 0));
            now = now + VISIBILITY;
        }
        let received = queue.receive(&MessageGroupId("a".to_owned()), 10, now);
        let given_up: Vec<_> = received.given_up.iter().map(|one| one.body.as_str()).collect();
        let handed: Vec<_> = received.handed.iter().map(|one| one.body.as_str()).collect();
        assert_eq!((given_up, handed), (vec!["a 0"], vec!["a 1"]));
        let mut letters = FifoQueue::new("d", VISIBILITY, None);
        letters.take_in(received.given_up[0].clone(), now);
        assert_eq!(letters.bodies().collect::<Vec<_>>(), ["a 0"]);
        assert_eq!(receive(&mut letters, "a", now)[0].receive_count, 1);
    }

    #[test]
    fn a_deduplication_id_is_known_for_five_minutes_in_its_group_even_when_its_message_is_gone() {
        let mut queue = queue(&["a"]);
        let handed = receive(&mut queue, "a", START).remove(0);
        assert!(queue.delete(&handed.receipt, START));
        assert!(!queue.put(
            message("a", "0"),
            START + DEDUPLICATION_WINDOW - Duration::from_millis(1)
        ));
        assert!(queue.put(message("b", "0"), START));
        assert!(queue.put(message("a", "0"), START + DEDUPLICATION_WINDOW));
    }
}
