//! A stack with one arrow armed: puts cases in, waits until it is at rest, looks at what is left. Only through the
//! webhook, the queues, the table and simulated Telegram.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use penstock_aws::Ledger;
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::ledger::{Record, Retention, State};
use penstock_domain::method::{Repeat, repeat};
use penstock_events::Secret;
use penstock_formats::quarantine::Quarantined;
use penstock_local::{ForwardOptions, SimulatedTelegram, Stack, StackOptions, Telegram};
use penstock_ports::Inbox as _;
use serde_json::{Value, json};
use telegram_sim::{Fault, FaultKind};

use super::arrows::{PROCESSES, Plan, dies_first};
use super::backend::Backend;
use super::forward::{self, is_forward};
use super::judge::{Called, Fate, Found, Seen, Send, judge};
use super::load::{Case, Ids, Put, Raw, Wanted};
use super::special::{OUTBOUND, UPDATES, chat_of};
use super::tokens::Tokens;
use crate::bench::no_limits;
use crate::feed::{Case as Sample, Expected, Stage};
use crate::post::Webhook;

/// Posts of one body before something is wrong: each crash of the ingress costs one.
const MOST_POSTS: u32 = 100;
/// Between a post that was not accepted and the next one; Telegram waits longer.
const REPEAT_AFTER: Duration = Duration::from_millis(20);
/// Between two looks at a queue.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// What a refused send has to wait, seconds.
const RETRY_AFTER_SECS: u64 = 3;

/// A running stack under a plan.
pub(super) struct Rig {
    stack: Stack,
    webhook: Webhook,
    stage: Stage,
    tokens: Tokens,
    arrow: &'static str,
    limit: Duration,
    /// What Updates are handed to; without one the example bot has them.
    backend: Option<Backend>,
    pub(super) ids: Ids,
    /// What was put in and is judged, with the name of its case, in that order.
    put: Vec<(String, Wanted)>,
}

impl Rig {
    pub(super) async fn start(plan: &Plan, time_scale: f64, limit: Duration) -> Result<Self, anyhow::Error> {
        let exe = std::env::current_exe().context("this program's own file is not found")?;
        let tokens = Tokens::new()?;
        let points = [Some(plan.arrow), dies_first(plan.arrow).map(|(point, _)| point)];
        let armed: Vec<String> = points
            .into_iter()
            .flatten()
            .map(|point| format!("{point}=crash@{}", if point == plan.arrow { plan.nth } else { 1 }))
            .collect();
        let mut options = StackOptions::new(exe);
        options.time_scale = time_scale;
        // As few as there may be, so that batches are full.
        options.parameters = BTreeMap::from([("MaximumConcurrency".to_owned(), PROCESSES.to_string())]);
        options.extra_env = BTreeMap::from([
            ("PENSTOCK_FAILPOINTS".to_owned(), armed.join(",")),
            (
                "PENSTOCK_FAILPOINT_TOKENS".to_owned(),
                tokens.dir().display().to_string(),
            ),
        ]);
        let backend = if is_forward(plan.arrow) {
            Some(Backend::start()?)
        } else {
            options.run_example_bot();
            None
        };
        options.forward = backend.as_ref().map(|backend| ForwardOptions {
            url: backend.url(),
            secret: None,
        });
        options.telegram = Telegram::Simulated(SimulatedTelegram {
            limits: Some(no_limits()),
            ..SimulatedTelegram::default()
        });
        let stack = Box::pin(Stack::start(options)).await?;
        Ok(Self {
            webhook: Webhook::new(&stack.webhook_url(), stack.webhook_secret()),
            stage: Stage::new(stack.sim()),
            ids: Ids::new(BotId(stack.bot_id())),
            stack,
            tokens,
            arrow: plan.arrow,
            limit,
            backend,
            put: Vec::new(),
        })
    }

    pub(super) async fn stop(self) {
        self.stack.shutdown().await;
    }

    /// Now, ms of the stack's time.
    pub(super) fn now_ms(&self) -> i64 {
        self.stack.view().clock().now_ms()
    }

    /// Puts all cases in while nothing is fetched, then lets each queue be worked on in turn, so that full batches meet
    /// the armed arrow. Gives back how often it was hit.
    pub(super) async fn batch(&mut self, cases: &[Case], crashes: u32) -> Result<u32, anyhow::Error> {
        self.hold(&[UPDATES, OUTBOUND]).await?;
        self.arm(crashes, PROCESSES)?;
        for case in cases {
            self.put(case).await?;
        }
        let held_secs = cases.iter().map(|case| case.held_secs).max().unwrap_or(0);
        self.pass_secs(held_secs).await;
        self.release(&[UPDATES])?;
        self.drained(UPDATES).await?;
        self.release(&[OUTBOUND])?;
        self.rest().await?;
        Ok(crashes.saturating_sub(self.disarm()))
    }

    /// Puts one case in, with nothing else on its way. Gives back whether it hit the armed arrow.
    pub(super) async fn alone(&mut self, case: &Case) -> Result<bool, anyhow::Error> {
        if case.held_secs > 0 {
            self.hold(&[UPDATES]).await?;
        }
        self.arm(1, 1)?;
        self.put(case).await?;
        if case.held_secs > 0 {
            self.pass_secs(case.held_secs).await;
            self.release(&[UPDATES])?;
        }
        self.rest().await?;
        Ok(self.disarm() == 0)
    }

    /// Puts all cases in while the backend is away, and lets it come back after a while. Gives back how often the armed
    /// arrow was hit.
    pub(super) async fn outage(
        &mut self,
        cases: &[Case],
        crashes: u32,
        secs: u64,
    ) -> Result<u32, anyhow::Error> {
        if let Some(backend) = &mut self.backend {
            backend.go_away().await?;
        }
        self.hold(&[UPDATES]).await?;
        self.arm(crashes, PROCESSES)?;
        for case in cases {
            self.put(case).await?;
        }
        self.release(&[UPDATES])?;
        self.pass_secs(secs).await;
        if let Some(backend) = &mut self.backend {
            backend.come_back()?;
        }
        self.rest().await?;
        Ok(crashes.saturating_sub(self.disarm()))
    }

    fn arm(&self, crashes: u32, processes: u32) -> Result<(), anyhow::Error> {
        self.tokens.arm(self.arrow, crashes)?;
        match dies_first(self.arrow) {
            Some((point, deaths)) => self.tokens.arm(point, crashes * deaths * processes),
            None => Ok(()),
        }
    }

    /// Gives back how many crashes of the arrow did not happen.
    fn disarm(&self) -> u32 {
        if let Some((point, _)) = dies_first(self.arrow) {
            self.tokens.disarm(point);
        }
        self.tokens.disarm(self.arrow)
    }

    async fn put(&mut self, case: &Case) -> Result<(), anyhow::Error> {
        for chat in &case.throttled {
            self.throttle(*chat)?;
        }
        for step in &case.steps {
            match &step.put {
                Put::Post { body, kind, accepted } => {
                    self.stage.set(&sample(kind, body)).await?;
                    self.post(body, *accepted).await?;
                }
                Put::Message {
                    queue,
                    group,
                    deduplication,
                    body,
                } => self.send(queue, group, deduplication, body).await?,
                Put::Row(row) => {
                    let table = self.table()?;
                    let client = &self.stack.clients().dynamodb;
                    let put = client.put_item().table_name(table).set_item(Some(row.clone()));
                    put.send().await.context("a record cannot be put")?;
                }
            }
            if let Some(wanted) = &step.wanted {
                self.put.push((case.name.clone(), wanted.clone()));
            }
        }
        Ok(())
    }

    /// Telegram repeats what was not accepted.
    async fn post(&self, body: &[u8], accepted: u16) -> Result<(), anyhow::Error> {
        let mut status = 0;
        for _ in 0..MOST_POSTS {
            status = self.webhook.post(body.to_vec(), Secret::Right).await?;
            if status == accepted {
                return Ok(());
            }
            tokio::time::sleep(REPEAT_AFTER).await;
        }
        Err(anyhow!("the webhook answers {status} again and again"))
    }

    async fn send(
        &self,
        queue: &str,
        group: &str,
        deduplication: &str,
        body: &str,
    ) -> Result<(), anyhow::Error> {
        let client = &self.stack.clients().sqs;
        let url = client
            .get_queue_url()
            .queue_name(self.queue(queue))
            .send()
            .await?;
        client
            .send_message()
            .set_queue_url(url.queue_url)
            .message_group_id(group)
            .message_deduplication_id(deduplication)
            .message_body(body)
            .send()
            .await?;
        Ok(())
    }

    fn throttle(&self, chat: i64) -> Result<(), anyhow::Error> {
        let sim = self
            .stack
            .sim()
            .ok_or_else(|| anyhow!("telegram is not simulated"))?;
        sim.inject(Fault {
            method: None,
            chat: Some(chat),
            kind: FaultKind::Status {
                code: 429,
                description: format!("Too Many Requests: retry after {RETRY_AFTER_SECS}"),
                parameters: Some(json!({"retry_after": RETRY_AFTER_SECS})),
            },
            times: 1,
        });
        Ok(())
    }

    fn queue(&self, suffix: &str) -> String {
        format!("{}-{suffix}", penstock_local::template::DEFAULT_STACK_NAME)
    }

    fn table(&self) -> Result<&str, anyhow::Error> {
        let table = self.stack.resources().tables.first();
        table
            .map(|table| table.name.as_str())
            .ok_or_else(|| anyhow!("the template has no table"))
    }

    /// Fetches nothing from these queues any more.
    async fn hold(&self, queues: &[&str]) -> Result<(), anyhow::Error> {
        for queue in queues {
            self.stack.pause_mapping(&self.queue(queue)).await?;
        }
        Ok(())
    }

    fn release(&self, queues: &[&str]) -> Result<(), anyhow::Error> {
        for queue in queues {
            self.stack.set_mapping_enabled(&self.queue(queue), true)?;
        }
        Ok(())
    }

    pub(super) async fn pass_secs(&self, secs: u64) {
        let scale = self.stack.view().clock().scale();
        tokio::time::sleep(Duration::from_secs(secs).div_f64(scale)).await;
    }

    /// Waits until a queue is empty, or for as long as a rest may take.
    async fn drained(&self, queue: &str) -> Result<(), anyhow::Error> {
        let name = self.queue(queue);
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < self.limit {
            let queues = self.stack.view().queues().await.unwrap_or_default();
            let is_empty = |depth: &penstock_local::QueueDepth| depth.name == name && depth.is_empty();
            if queues.iter().any(is_empty) {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Err(self.never_at_rest().await)
    }

    async fn rest(&self) -> Result<(), anyhow::Error> {
        if self.stack.idle(self.limit).await {
            return Ok(());
        }
        Err(self.never_at_rest().await)
    }

    async fn never_at_rest(&self) -> anyhow::Error {
        let queues = self.stack.view().queues().await.unwrap_or_default();
        let full: Vec<_> = queues.iter().filter(|queue| !queue.is_empty()).collect();
        anyhow!(
            "{}: not at rest after {} s: {full:?}",
            self.arrow,
            self.limit.as_secs()
        )
    }

    /// Judges all that was put in.
    pub(super) async fn judge(&self) -> Result<Found, anyhow::Error> {
        // Nothing is written, so the lives of records do not matter.
        let retention = Retention {
            dedup_window: Duration::ZERO,
            dead: Duration::ZERO,
        };
        let ledger = Ledger::new(self.stack.clients().dynamodb.clone(), self.table()?, retention);
        let mut fates = Vec::with_capacity(self.put.len());
        let mut counters = BTreeMap::new();
        for (name, wanted) in &self.put {
            let seen = match ledger.read(&wanted.key).await? {
                Some(record) => Some(seen(&ledger, wanted, record).await?),
                None => None,
            };
            fates.push(Fate {
                name: format!("{name} {}", wanted.key),
                group: wanted.group.clone(),
                counts: wanted.counts,
                seen,
            });
            if let Some(counter) = wanted.counts {
                let state = ledger.chat_state(self.ids.bot, &chat_of(&wanted.group)).await?;
                let state: Value = match state {
                    Some((text, _)) => serde_json::from_str(&text)?,
                    None => Value::Null,
                };
                let count = state[counter]
                    .as_u64()
                    .and_then(|count| usize::try_from(count).ok());
                counters.insert((wanted.group.clone(), counter), count.unwrap_or(0));
            }
        }
        Ok(judge(&fates, &self.delivered()?, &counters))
    }

    /// Judges what the backend was handed, if there is one.
    pub(super) fn judge_handed(&self, may_double: usize) -> Found {
        let Some(backend) = &self.backend else {
            return Found::default();
        };
        let put = self.put.iter().filter_map(|(_, wanted)| match &wanted.raw {
            Raw::Json(update) => Some((update["update_id"].as_i64()?, wanted.group.clone())),
            Raw::Quarantined(_) | Raw::Text(_) => None,
        });
        forward::judge(&put.collect::<Vec<_>>(), &backend.handed(), may_double)
    }

    /// What simulated Telegram carried out, in order.
    fn delivered(&self) -> Result<Vec<Called>, anyhow::Error> {
        let sim = self
            .stack
            .sim()
            .ok_or_else(|| anyhow!("telegram is not simulated"))?;
        let done = sim.calls().into_iter().filter(telegram_sim::SentCall::is_done);
        Ok(done
            .map(|call| Called {
                method: call.method,
                params: call.params,
            })
            .collect())
    }
}

/// As the stage of a feeding knows it.
fn sample(kind: &str, body: &[u8]) -> Sample {
    Sample {
        name: kind.to_owned(),
        kind: kind.to_owned(),
        body: body.to_vec(),
        secret: Secret::Right,
        expected: Expected::AnyEnd,
    }
}

async fn seen(ledger: &Ledger, wanted: &Wanted, record: Record) -> Result<Seen, anyhow::Error> {
    let is_raw_kept = record.state == State::Dead && is_kept(ledger, &wanted.key, &wanted.raw).await?;
    let sends = record.intents.into_iter().map(|stored| {
        let params: Value = serde_json::from_str(&stored.intent.call.params).unwrap_or_default();
        let has_message_id = params.get("message_id").is_some();
        Send {
            is_visible: is_visible(&stored.intent.call.method, has_message_id),
            what: Called {
                method: stored.intent.call.method,
                params,
            },
            state: stored.state,
            code: stored.failure.map(|failure| failure.code),
        }
    });
    Ok(Seen {
        state: record.state,
        is_raw_kept,
        sends: sends.collect(),
    })
}

fn is_visible(method: &str, has_message_id: bool) -> bool {
    !matches!(
        repeat(method, has_message_id),
        Repeat::Read | Repeat::Safe | Repeat::SafeBenign
    )
}

async fn is_kept(ledger: &Ledger, key: &LedgerKey, wanted: &Raw) -> Result<bool, anyhow::Error> {
    let Some(raw) = ledger.raw_body(key).await? else {
        return Ok(false);
    };
    Ok(match wanted {
        Raw::Json(update) => serde_json::from_str::<Value>(&raw).is_ok_and(|raw| raw == *update),
        Raw::Text(text) => raw == *text,
        Raw::Quarantined(bytes) => Quarantined::read(&raw).is_ok_and(|kept| kept.body == *bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeat_is_seen_by_people_unless_the_method_sets_or_reads() {
        assert!(is_visible("sendMessage", false));
        assert!(!is_visible("answerInlineQuery", false));
        assert!(!is_visible("editMessageText", true));
    }
}
