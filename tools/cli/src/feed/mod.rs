//! Feeds samples to a running stack and judges what became of each. Only through the webhook and the ledger, as
//! Telegram and a person would.

mod case;
mod judge;
mod report;
mod stage;

use std::time::{Duration, Instant};

use anyhow::anyhow;
use penstock_domain::ids::BotId;
use penstock_local::{QueueDepth, Stack};

pub(crate) use case::{Case, Expected, Source, fresh_update_id};
pub(crate) use report::Report;
pub(crate) use stage::Stage;

use crate::failure::Failure;
use crate::figures;
use crate::ledger::{Records, key_of};
use crate::post::Webhook;
use crate::print;
use judge::{Observed, judge};

/// Between two lines of progress while a stack is waited for.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// Posts every case in order, waits until nothing is on its way, and judges each.
pub(crate) async fn run(stack: &Stack, cases: &[Case], limit: Duration) -> Result<Report, Failure> {
    let begun = Instant::now();
    let webhook = Webhook::new(&stack.webhook_url(), stack.webhook_secret());
    let mut stage = Stage::new(stack.sim());
    let mut statuses = Vec::with_capacity(cases.len());
    for case in cases {
        stage.set(case).await?;
        statuses.push(webhook.post(case.body.clone(), case.secret).await?);
    }
    print::note(&format!(
        "{} samples posted in {}",
        cases.len(),
        figures::duration(begun.elapsed())
    ));
    let is_idle = wait_until_idle(stack, limit).await;
    let table = stack
        .resources()
        .tables
        .first()
        .map(|table| table.name.clone())
        .unwrap_or_default();
    let records = Records::new(stack.clients().dynamodb.clone(), &table);
    let mut rows = Vec::with_capacity(cases.len());
    for (case, status) in cases.iter().zip(statuses) {
        let key = key_of(BotId(stack.bot_id()), &case.body);
        let entry = records.read(&key).await?;
        let observed = Observed::of(status, &key, entry.as_ref());
        let differences = judge(&case.expected, &observed);
        rows.push(report::Row::new(
            case,
            &observed,
            differences,
            stack.view().clock().scale(),
        ));
    }
    Ok(Report::new(rows, is_idle, begun.elapsed()))
}

/// Waits until nothing is on its way, and says now and then what still is. `false` when that took longer than `limit`.
pub(crate) async fn wait_until_idle(stack: &Stack, limit: Duration) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < limit {
        if stack.idle(PROGRESS_EVERY.min(limit - begun.elapsed())).await {
            return true;
        }
        let queues = stack.view().queues().await.unwrap_or_default();
        print::note(&format!(
            "waiting, {}: {}",
            figures::duration(begun.elapsed()),
            depths(&queues)
        ));
    }
    false
}

/// What is in the queues, on one line.
fn depths(queues: &[QueueDepth]) -> String {
    let full = queues.iter().filter(|queue| !queue.is_empty());
    let told: Vec<String> = full
        .map(|queue| {
            format!(
                "{} {} waiting, {} in flight",
                queue.name,
                queue.visible + queue.delayed,
                queue.in_flight
            )
        })
        .collect();
    if told.is_empty() {
        "functions still work".to_owned()
    } else {
        told.join("; ")
    }
}

/// The stack did not become idle.
pub(crate) fn never_idle(limit: Duration) -> anyhow::Error {
    anyhow!(
        "not idle after {}: look at the lines above for what waits, and give it longer with --idle-limit",
        figures::duration(limit)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_names_only_the_queues_with_something_in_them() {
        let queue = |name: &str, visible, in_flight| QueueDepth {
            name: name.to_owned(),
            visible,
            in_flight,
            ..QueueDepth::default()
        };
        let told = depths(&[queue("a.fifo", 0, 0), queue("b.fifo", 3, 1)]);
        assert_eq!(told, "b.fifo 3 waiting, 1 in flight");
        assert_eq!(depths(&[queue("a.fifo", 0, 0)]), "functions still work");
    }
}
