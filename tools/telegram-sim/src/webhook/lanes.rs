//! The updates that wait for a bot, in Telegram's order: one in flight per lane, other lanes beside it, and
//! only so many lanes looked at. Pure: time and draws are arguments. Long polling reads the same updates.

use std::collections::{BTreeMap, HashMap, VecDeque};

use bytes::Bytes;
use serde_json::Value;

use super::policy::Next;
use crate::kinds::{self, Lane};

/// Updates a bot may have waiting (server source, `TQueue.cpp`).
const MAX_PENDING: usize = 100_000;
/// Bytes they may take together (server source): 128 MiB.
const MAX_PENDING_BYTES: usize = 128 << 20;
/// Bytes of one update (server source): 512 KiB.
const MAX_UPDATE_BYTES: usize = 512 << 10;
/// Lanes looked at per connection: that many failing chats stall the whole bot (server source).
const LANES_PER_CONNECTION: usize = 2;

/// One update, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) update_id: i64,
    /// The JSON of the update, beginning with `update_id` as Telegram's do.
    pub(crate) body: Bytes,
    /// From 1.
    pub(crate) attempt: u32,
}

/// What the pusher does now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Take {
    Deliver(Delivery),
    /// Nothing may go before this time, unless something else happens.
    WaitUntil(i64),
    /// Nothing to do until something happens.
    Idle,
}

struct Pending {
    lane: Lane,
    body: Bytes,
    expires_at: i64,
    failures: u32,
}

#[derive(Default)]
struct Loaded {
    in_flight: bool,
    next_at: i64,
    /// The head is only kept until it expires.
    given_up: bool,
}

/// The updates of one bot.
pub(crate) struct Lanes {
    next_id: i64,
    bytes: usize,
    pending: BTreeMap<i64, Pending>,
    lanes: HashMap<Lane, VecDeque<i64>>,
    loaded: BTreeMap<Lane, Loaded>,
    waiting: VecDeque<Lane>,
    in_flight: usize,
    max_connections: usize,
}

impl Lanes {
    pub(crate) fn new(first_update_id: i64) -> Self {
        Self {
            next_id: first_update_id,
            bytes: 0,
            pending: BTreeMap::new(),
            lanes: HashMap::new(),
            loaded: BTreeMap::new(),
            waiting: VecDeque::new(),
            in_flight: 0,
            max_connections: 1,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Adds an update whose body is `raw` JSON; `None` when Telegram would drop it for its caps.
    pub(crate) fn push(&mut self, now: i64, kind: &str, raw: &str) -> Option<i64> {
        let update_id = self.next_id;
        let name = Value::String(kind.to_owned());
        let body = Bytes::from(format!("{{\"update_id\":{update_id},\n{name}:{raw}}}"));
        let full = self.pending.len() >= MAX_PENDING || self.bytes + body.len() > MAX_PENDING_BYTES;
        if full || body.len() > MAX_UPDATE_BYTES {
            return None;
        }
        self.next_id += 1;
        self.bytes += body.len();
        let lane = kinds::lane(kind, &serde_json::from_str(raw).unwrap_or_default());
        let expires_at = now + kinds::life_ms(kind);
        let queue = self.lanes.entry(lane.clone()).or_default();
        queue.push_back(update_id);
        if queue.len() == 1 {
            self.waiting.push_back(lane.clone());
        }
        self.pending.insert(
            update_id,
            Pending {
                lane,
                body,
                expires_at,
                failures: 0,
            },
        );
        self.load();
        Some(update_id)
    }

    /// A webhook was set: nothing is in flight to it yet, and every update may go at once.
    pub(crate) fn restart(&mut self, max_connections: usize) {
        self.max_connections = max_connections;
        self.in_flight = 0;
        self.loaded.clear();
        self.waiting = self
            .pending
            .values()
            .map(|pending| pending.lane.clone())
            .collect();
        let mut seen = std::collections::HashSet::new();
        self.waiting.retain(|lane| seen.insert(lane.clone()));
        for pending in self.pending.values_mut() {
            pending.failures = 0;
        }
        self.load();
    }

    pub(crate) fn clear(&mut self) {
        *self = Self {
            max_connections: self.max_connections,
            ..Self::new(self.next_id)
        };
    }

    fn load(&mut self) {
        while self.loaded.len() < LANES_PER_CONNECTION * self.max_connections {
            let Some(lane) = self.waiting.pop_front() else {
                return;
            };
            self.loaded.insert(lane, Loaded::default());
        }
    }

    /// The next update to deliver, if any may go now; it counts as in flight from then on.
    pub(crate) fn take(&mut self, now: i64) -> Take {
        let take = self.peek(now);
        if let Take::Deliver(delivery) = &take {
            let lane = self.pending.get(&delivery.update_id).map(|pending| &pending.lane);
            if let Some(state) = lane.and_then(|lane| self.loaded.get_mut(lane)) {
                state.in_flight = true;
                self.in_flight += 1;
            }
        }
        take
    }

    /// As [`Lanes::take`], without taking it.
    pub(crate) fn peek(&mut self, now: i64) -> Take {
        self.drop_expired(now);
        let free = self.loaded.iter().filter(|(_, state)| !state.in_flight);
        let heads = free.filter_map(|(lane, state)| {
            let head = *self.lanes.get(lane)?.front()?;
            let at = if state.given_up {
                self.pending.get(&head)?.expires_at
            } else {
                state.next_at
            };
            Some((at, state.given_up, head))
        });
        let mut earliest = None;
        let mut ready: Option<i64> = None;
        for (at, given_up, head) in heads {
            if at > now || given_up {
                earliest = Some(earliest.map_or(at, |other: i64| other.min(at)));
            } else if ready.is_none_or(|other| head < other) {
                ready = Some(head);
            }
        }
        match ready.and_then(|update_id| Some((update_id, self.pending.get(&update_id)?))) {
            Some((update_id, pending)) => Take::Deliver(Delivery {
                update_id,
                body: pending.body.clone(),
                attempt: pending.failures + 1,
            }),
            None => earliest.map_or(Take::Idle, Take::WaitUntil),
        }
    }

    /// Failures so far and expiry of an update that is in flight.
    pub(crate) fn standing(&self, update_id: i64) -> Option<(u32, i64)> {
        self.pending
            .get(&update_id)
            .map(|pending| (pending.failures, pending.expires_at))
    }

    /// A delivery ended.
    pub(crate) fn settle(&mut self, update_id: i64, next: Next) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let Some(pending) = self.pending.get_mut(&update_id) else {
            return;
        };
        pending.failures += 1;
        let lane = pending.lane.clone();
        if let Some(state) = self.loaded.get_mut(&lane) {
            state.in_flight = false;
            match next {
                Next::Delivered | Next::DropNow => state.next_at = 0,
                Next::RetryAt(at) => state.next_at = at,
                Next::DropAt(_) => state.given_up = true,
            }
        }
        if matches!(next, Next::Delivered | Next::DropNow) {
            self.remove(update_id);
        }
    }

    fn drop_expired(&mut self, now: i64) {
        let heads: Vec<i64> = self
            .loaded
            .iter()
            .filter(|(_, state)| !state.in_flight)
            .filter_map(|(lane, _)| self.lanes.get(lane)?.front().copied())
            .collect();
        for mut head in heads {
            // The next of the lane may have expired too.
            while let Some(lane) = self
                .pending
                .get(&head)
                .filter(|p| p.expires_at <= now)
                .map(|p| p.lane.clone())
            {
                self.remove(head);
                match self.lanes.get(&lane).and_then(|queue| queue.front()) {
                    Some(next) => head = *next,
                    None => break,
                }
            }
        }
    }

    fn remove(&mut self, update_id: i64) {
        let Some(pending) = self.pending.remove(&update_id) else {
            return;
        };
        self.bytes -= pending.body.len();
        let Some(queue) = self.lanes.get_mut(&pending.lane) else {
            return;
        };
        match queue.front() {
            Some(head) if *head == update_id => {
                queue.pop_front();
            }
            _ => queue.retain(|id| *id != update_id),
        }
        let empty = queue.is_empty();
        let was_loaded = self.loaded.remove(&pending.lane).is_some();
        if empty {
            self.lanes.remove(&pending.lane);
            if !was_loaded {
                self.waiting.retain(|lane| *lane != pending.lane);
            }
        } else if was_loaded {
            // A lane that had its turn goes behind those that wait.
            self.waiting.push_back(pending.lane);
        }
        self.load();
    }

    /// Long polling: forgets what `offset` confirms and returns up to `limit` updates from there. A negative
    /// offset counts from the end and forgets the rest.
    pub(crate) fn poll(&mut self, now: i64, offset: i64, limit: usize) -> Vec<Bytes> {
        let first = if offset < 0 {
            let back = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            self.pending.keys().rev().take(back).last().copied().unwrap_or(0)
        } else {
            offset
        };
        let gone: Vec<i64> = self
            .pending
            .iter()
            .filter(|(id, pending)| **id < first || pending.expires_at <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            self.remove(id);
        }
        self.pending
            .values()
            .take(limit)
            .map(|pending| pending.body.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(max_connections: usize) -> Lanes {
        let mut lanes = Lanes::new(1_000);
        lanes.restart(max_connections);
        lanes
    }

    fn message(chat: i64) -> String {
        format!(r#"{{"chat":{{"id":{chat}}}}}"#)
    }

    fn taken(lanes: &mut Lanes, now: i64) -> Option<i64> {
        match lanes.take(now) {
            Take::Deliver(delivery) => Some(delivery.update_id),
            _ => None,
        }
    }

    #[test]
    fn the_body_begins_with_the_update_id_and_keeps_the_raw_text() {
        let mut lanes = lanes(1);
        lanes.push(0, "message", r#"{"chat":{"id":1},"text":"\ud800"}"#);
        let Take::Deliver(delivery) = lanes.take(0) else {
            panic!("nothing to deliver")
        };
        let expected = concat!(
            r#"{"update_id":1000,"#,
            "\n",
            r#""message":{"chat":{"id":1},"text":"\ud800"}}"#
        );
        assert_eq!(delivery.body, expected);
    }

    #[test]
    fn a_chat_has_one_update_in_flight_and_other_chats_go_beside_it() {
        let mut lanes = lanes(40);
        for chat in [1, 1, 2] {
            lanes.push(0, "message", &message(chat));
        }
        assert_eq!(taken(&mut lanes, 0), Some(1_000));
        assert_eq!(taken(&mut lanes, 0), Some(1_002));
        assert_eq!(taken(&mut lanes, 0), None);
        lanes.settle(1_000, Next::Delivered);
        assert_eq!(taken(&mut lanes, 0), Some(1_001));
    }

    #[test]
    fn a_callback_does_not_wait_for_the_messages_of_its_chat() {
        let mut lanes = lanes(40);
        lanes.push(0, "message", &message(1));
        lanes.push(
            0,
            "callback_query",
            r#"{"from":{"id":1},"message":{"chat":{"id":1}}}"#,
        );
        assert!(taken(&mut lanes, 0).is_some() && taken(&mut lanes, 0).is_some());
    }

    #[test]
    fn a_failing_update_blocks_its_lane_until_its_time() {
        let mut lanes = lanes(40);
        lanes.push(0, "message", &message(1));
        lanes.push(0, "message", &message(1));
        assert_eq!(taken(&mut lanes, 0), Some(1_000));
        lanes.settle(1_000, Next::RetryAt(2_000));
        assert_eq!(lanes.take(1_999), Take::WaitUntil(2_000));
        assert_eq!(taken(&mut lanes, 2_000), Some(1_000));
        lanes.settle(1_000, Next::DropNow);
        assert_eq!(taken(&mut lanes, 2_000), Some(1_001));
    }

    #[test]
    fn an_update_given_up_blocks_its_lane_until_it_expires() {
        let mut lanes = lanes(40);
        lanes.push(0, "inline_query", r#"{"from":{"id":1}}"#);
        lanes.push(20_000, "inline_query", r#"{"from":{"id":1}}"#);
        assert_eq!(taken(&mut lanes, 0), Some(1_000));
        lanes.settle(1_000, Next::DropAt(30_000));
        assert_eq!(lanes.take(29_999), Take::WaitUntil(30_000));
        assert_eq!(taken(&mut lanes, 30_000), Some(1_001));
    }

    #[test]
    fn updates_that_expired_while_waiting_are_dropped() {
        let mut lanes = lanes(40);
        for _ in 0..3 {
            lanes.push(0, "inline_query", r#"{"from":{"id":1}}"#);
        }
        assert_eq!(lanes.take(30_000), Take::Idle);
        assert_eq!(lanes.len(), 0);
    }

    #[test]
    fn twice_as_many_failing_chats_as_connections_stall_the_rest() {
        let mut lanes = lanes(2);
        for chat in 1..=5 {
            lanes.push(0, "message", &message(chat));
        }
        while let Some(id) = taken(&mut lanes, 0) {
            lanes.settle(id, Next::RetryAt(9_000));
        }
        assert_eq!(lanes.take(0), Take::WaitUntil(9_000));
        assert_eq!(taken(&mut lanes, 9_000), Some(1_000));
        lanes.settle(1_000, Next::Delivered);
        lanes.settle(1_001, Next::RetryAt(99_000));
        assert!(
            (0..4)
                .filter_map(|_| taken(&mut lanes, 9_000))
                .any(|id| id == 1_004)
        );
    }

    #[test]
    fn polling_confirms_by_offset_and_keeps_the_order() {
        let mut lanes = lanes(1);
        for chat in 1..=4 {
            lanes.push(0, "message", &message(chat));
        }
        assert_eq!(lanes.poll(0, 0, 2).len(), 2);
        assert_eq!(lanes.len(), 4);
        let rest = lanes.poll(0, 1_002, 100);
        assert!(rest[0].starts_with(br#"{"update_id":1002"#));
        assert_eq!((rest.len(), lanes.len()), (2, 2));
    }

    #[test]
    fn a_negative_offset_keeps_only_the_last_ones() {
        let mut lanes = lanes(1);
        for chat in 1..=4 {
            lanes.push(0, "message", &message(chat));
        }
        let last = lanes.poll(0, -1, 100);
        assert!(last[0].starts_with(br#"{"update_id":1003"#));
        assert_eq!(lanes.len(), 1);
    }

    #[test]
    fn an_update_over_512_kib_is_dropped() {
        let mut lanes = lanes(1);
        let raw = format!(
            r#"{{"chat":{{"id":1}},"text":"{}"}}"#,
            "x".repeat(MAX_UPDATE_BYTES)
        );
        assert_eq!(lanes.push(0, "message", &raw), None);
        assert_eq!(lanes.push(0, "message", &message(1)), Some(1_000));
    }

    #[test]
    fn a_new_webhook_gets_everything_that_waits_at_once() {
        let mut lanes = lanes(40);
        lanes.push(0, "message", &message(1));
        assert_eq!(taken(&mut lanes, 0), Some(1_000));
        lanes.settle(1_000, Next::RetryAt(50_000));
        lanes.restart(40);
        assert_eq!(
            lanes.take(0),
            Take::Deliver(Delivery {
                update_id: 1_000,
                body: body_of(&lanes),
                attempt: 1
            })
        );
    }

    fn body_of(lanes: &Lanes) -> Bytes {
        lanes.pending[&1_000].body.clone()
    }
}
