//! The load: update `k` belongs to chat `k % chats` and is that chat's number `k / chats + 1`; of ten Updates of a chat
//! one is a pressed button, the others are texts that name their number. Posting is here too, at a steady rate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::anyhow;
use penstock_events::Secret;
use penstock_local::clock::StackClock;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::facts::Posted;
use crate::feed::{Case, Expected, Stage, fresh_update_id};
use crate::post::Webhook;

/// The private chats of the load: ids far from the samples' people.
const FIRST_CHAT: i64 = 6_000_000_001;
/// One Update of so many of a chat is a pressed button.
const PRESS_EVERY: u32 = 10;
/// Connections to the webhook.
const CONNECTIONS: u32 = 8;
/// Between a refused post and the next one; Telegram waits longer.
const REPEAT_AFTER: Duration = Duration::from_millis(50);
/// Refusals in a row after which something is wrong.
const MOST_REFUSALS: u32 = 200;
/// What a text is before its number.
const TEXT: &str = "load ";

/// The number in a text of the load.
pub(super) fn number_in(text: &str) -> Option<u32> {
    text.strip_prefix(TEXT)?.parse().ok()
}

/// A load without an end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    chats: u32,
    per_second: f64,
    first_id: i64,
}

impl Load {
    pub(super) fn new(per_second: f64, chats: u32) -> Self {
        Self {
            chats: chats.max(1),
            per_second,
            first_id: fresh_update_id(),
        }
    }

    fn posted(&self, k: u32, at_ms: i64) -> Posted {
        let (chat, round) = (k % self.chats, k / self.chats);
        Posted {
            update: self.first_id + i64::from(k),
            chat: FIRST_CHAT + i64::from(chat),
            number: round + 1,
            // Shifted from chat to chat, or all would press at the same time.
            is_press: (chat + round) % PRESS_EVERY == PRESS_EVERY - 1,
            at_ms,
        }
    }

    /// As Telegram would send it.
    fn body(update: &Posted) -> Vec<u8> {
        let person = json!({"id": update.chat, "is_bot": false, "first_name": "Load"});
        let chat = json!({"id": update.chat, "type": "private", "first_name": "Load"});
        let message = |from, text| json!({"message_id": update.number, "date": 1_789_000_000, "chat": chat, "from": from, "text": text});
        let body = if update.is_press {
            let bot = json!({"id": 424_242, "is_bot": true, "first_name": "Bot"});
            json!({"update_id": update.update, "callback_query": {
                "id": update.update.to_string(), "from": person, "chat_instance": "1", "data": "press",
                "message": message(bot, "Press the button.".to_owned()),
            }})
        } else {
            let text = format!("{TEXT}{}", update.number);
            json!({"update_id": update.update, "message": message(person, text)})
        };
        body.to_string().into_bytes()
    }

    /// Posts in the background until it is stopped.
    pub(super) fn post(self, webhook: &Webhook, stage: Stage, clock: StackClock) -> Posting {
        let stop = Arc::new(AtomicBool::new(false));
        let stage = Arc::new(Mutex::new(stage));
        let lanes = CONNECTIONS.min(self.chats);
        let mut posting = JoinSet::new();
        for number in 0..lanes {
            let lane = Lane {
                load: self,
                lanes,
                number,
                webhook: webhook.clone(),
                stage: Arc::clone(&stage),
                clock,
                stop: Arc::clone(&stop),
            };
            posting.spawn(lane.post(Instant::now()));
        }
        Posting { stop, lanes: posting }
    }
}

/// A load that is being posted.
pub(super) struct Posting {
    stop: Arc<AtomicBool>,
    lanes: JoinSet<Result<Vec<Posted>, anyhow::Error>>,
}

impl Posting {
    /// Stops, and gives back what was accepted.
    pub(super) async fn stop(mut self) -> Result<Vec<Posted>, anyhow::Error> {
        self.stop.store(true, Ordering::Relaxed);
        let mut posted = Vec::new();
        while let Some(lane) = self.lanes.join_next().await {
            posted.extend(lane??);
        }
        Ok(posted)
    }
}

/// What one connection posts: the Updates of a chat all go over the same one, in order.
struct Lane {
    load: Load,
    lanes: u32,
    number: u32,
    webhook: Webhook,
    stage: Arc<Mutex<Stage>>,
    clock: StackClock,
    stop: Arc<AtomicBool>,
}

impl Lane {
    async fn post(self, begun: Instant) -> Result<Vec<Posted>, anyhow::Error> {
        let mut posted = Vec::new();
        for k in (0..u32::MAX).filter(|k| (k % self.load.chats) % self.lanes == self.number) {
            let due = Duration::from_secs_f64(f64::from(k) / self.load.per_second);
            tokio::time::sleep_until(begun + due).await;
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let update = self.load.posted(k, self.clock.now_ms());
            self.one(&update).await?;
            posted.push(update);
        }
        Ok(posted)
    }

    async fn one(&self, update: &Posted) -> Result<(), anyhow::Error> {
        let body = Load::body(update);
        if update.is_press {
            let case = Case {
                name: update.update.to_string(),
                kind: "callback_query".to_owned(),
                body: body.clone(),
                secret: Secret::Right,
                expected: Expected::AnyEnd,
            };
            self.stage.lock().await.set(&case).await?;
        }
        for _ in 0..MOST_REFUSALS {
            if self.webhook.post(body.clone(), Secret::Right).await? == 200 {
                return Ok(());
            }
            tokio::time::sleep(REPEAT_AFTER).await;
        }
        Err(anyhow!(
            "the webhook refused an update {MOST_REFUSALS} times: look at the lines of ingress"
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use penstock_domain::kind::UpdateKind;
    use penstock_domain::route::route;

    use super::*;

    #[test]
    fn every_chat_counts_from_one_and_presses_one_time_in_ten() {
        for chats in [1, 9, 10, 200] {
            let load = Load::new(50.0, chats);
            let mut by_chat: BTreeMap<i64, Vec<Posted>> = BTreeMap::new();
            for k in 0..chats * 20 {
                let update = load.posted(k, 0);
                by_chat.entry(update.chat).or_default().push(update);
            }
            assert_eq!(by_chat.len(), chats as usize);
            for updates in by_chat.values() {
                let numbers: Vec<u32> = updates.iter().map(|update| update.number).collect();
                assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
                assert_eq!(updates.iter().filter(|update| update.is_press).count(), 2);
            }
        }
    }

    #[test]
    fn every_update_is_one_that_the_pipeline_takes() {
        let load = Load::new(50.0, 3);
        for k in 0..60 {
            let update = load.posted(k, 0);
            let body = Load::body(&update);
            let found = route(&body).unwrap();
            let kind = if update.is_press {
                UpdateKind::CallbackQuery
            } else {
                UpdateKind::Message
            };
            assert_eq!((found.kind, found.update_id.0), (kind, update.update));
            let read: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let number = read["message"]["text"].as_str().and_then(number_in);
            assert_eq!(number, (!update.is_press).then_some(update.number));
        }
    }
}
