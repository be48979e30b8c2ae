//! A load of text messages: update `k` of the load belongs to chat `k % chats`, and is that chat's message number
//! `k / chats + 1`. Pure, so that the same load can be posted again after a crash.

use std::collections::VecDeque;
use std::time::Duration;

use penstock_events::Secret;
use tokio::time::Instant;

use crate::feed::fresh_update_id;
use crate::post::Webhook;

/// The private chats of the load: ids far from the samples' people.
const FIRST_CHAT: i64 = 5_000_000_001;
/// Between a refused post and the next one; Telegram waits longer.
const REPEAT_AFTER: Duration = Duration::from_millis(50);
/// Refusals in a row after which something is wrong.
const MOST_REFUSALS: u32 = 200;

/// A load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) updates: u32,
    pub(crate) chats: u32,
    first_id: i64,
}

impl Load {
    /// A load with update ids of its own.
    pub(crate) fn new(updates: u32, chats: u32) -> Self {
        Self {
            updates,
            chats: chats.clamp(1, updates.max(1)),
            first_id: fresh_update_id(),
        }
    }

    /// Id of update `k`.
    pub(crate) fn update_id(&self, k: u32) -> i64 {
        self.first_id + i64::from(k)
    }

    /// The ids of all updates.
    pub(crate) fn update_ids(&self) -> impl Iterator<Item = i64> + use<> {
        self.first_id..self.first_id + i64::from(self.updates)
    }

    /// The chat of update `k`.
    pub(crate) fn chat(&self, k: u32) -> i64 {
        FIRST_CHAT + i64::from(k % self.chats)
    }

    /// Each chat, and how many messages it gets.
    pub(crate) fn messages_by_chat(&self) -> impl Iterator<Item = (i64, u32)> {
        (0..self.chats).map(|chat| {
            let more = u32::from(chat < self.updates % self.chats);
            (self.chat(chat), self.updates / self.chats + more)
        })
    }

    /// The text of update `k`: it names its number within its chat.
    pub(crate) fn text(&self, k: u32) -> String {
        format!("load {}", k / self.chats + 1)
    }

    /// Update `k` as Telegram would send it.
    pub(crate) fn body(&self, k: u32) -> Vec<u8> {
        let (id, chat, text) = (self.update_id(k), self.chat(k), self.text(k));
        let message = k / self.chats + 1;
        format!(
            "{{\"update_id\":{id},\"message\":{{\"message_id\":{message},\"from\":{{\"id\":{chat},\"is_bot\":false,\
             \"first_name\":\"Load\"}},\"chat\":{{\"id\":{chat},\"first_name\":\"Load\",\"type\":\"private\"}},\
             \"date\":1789000000,\"text\":\"{text}\"}}}}"
        )
        .into_bytes()
    }

    /// The updates dealt to connections: those of one chat all to the same one, in order.
    pub(crate) fn lanes(&self, connections: u32) -> Vec<Lane> {
        let connections = connections.clamp(1, self.chats);
        let lane = |number| (0..self.updates).filter(move |k| (k % self.chats) % connections == number);
        (0..connections)
            .map(|number| Lane {
                load: *self,
                left: lane(number).collect(),
            })
            .collect()
    }
}

/// What one connection has left to post. An update leaves it only with its 200.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lane {
    load: Load,
    left: VecDeque<u32>,
}

impl Lane {
    pub(crate) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// How many are left.
    pub(crate) fn len(&self) -> usize {
        self.left.len()
    }

    /// Posts what is left, at most `rate` a second over all lanes if one is given, the first of them at `begun`. Stops
    /// at the first request without an answer, and says so.
    pub(crate) async fn post(
        &mut self,
        webhook: &Webhook,
        rate: Option<f64>,
        begun: Instant,
    ) -> Result<(), anyhow::Error> {
        let mut refusals = 0;
        while let Some(k) = self.left.front().copied() {
            if let Some(rate) = rate {
                tokio::time::sleep_until(begun + Duration::from_secs_f64(f64::from(k) / rate)).await;
            }
            let status = webhook.post(self.load.body(k), Secret::Right).await?;
            if status == 200 {
                self.left.pop_front();
                refusals = 0;
                continue;
            }
            refusals += 1;
            if refusals >= MOST_REFUSALS {
                anyhow::bail!("the webhook answered {status} {refusals} times: look at the lines of ingress");
            }
            tokio::time::sleep(REPEAT_AFTER).await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use penstock_domain::kind::UpdateKind;
    use penstock_domain::route::route;

    use super::*;

    #[test]
    fn each_chat_counts_its_messages_from_one() {
        let load = Load::new(7, 3);
        let told: Vec<(i64, String)> = (0..7)
            .map(|k| (load.chat(k) - FIRST_CHAT, load.text(k)))
            .collect();
        let wanted = [(0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2), (0, 3)]
            .map(|(chat, n)| (chat, format!("load {n}")));
        assert_eq!(told, wanted);
        let counts: BTreeMap<i64, u32> = load.messages_by_chat().collect();
        assert_eq!(counts.into_values().collect::<Vec<_>>(), [3, 2, 2]);
    }

    #[test]
    fn every_update_is_one_that_the_pipeline_takes() {
        let load = Load::new(5, 2);
        for (k, id) in (0..5).zip(load.update_ids()) {
            let found = route(&load.body(k)).unwrap();
            assert_eq!((found.kind, found.update_id.0), (UpdateKind::Message, id));
        }
    }

    #[test]
    fn a_chat_belongs_to_one_lane_and_stays_in_order() {
        let load = Load::new(50, 7);
        let lanes = load.lanes(3);
        let mut owner = BTreeMap::new();
        for (number, lane) in lanes.iter().enumerate() {
            assert!(lane.left.iter().is_sorted());
            for k in &lane.left {
                assert_eq!(*owner.entry(load.chat(*k)).or_insert(number), number);
            }
        }
        assert_eq!(lanes.iter().map(|lane| lane.left.len()).sum::<usize>(), 50);
        assert_eq!(Load::new(1, 9).lanes(8).len(), 1);
    }
}
