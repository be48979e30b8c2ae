//! One poller of a mapping: receive, invoke, settle, again.
//!
//! Ends only between batches, so that what was received is always settled.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use bytes::Bytes;
use tokio::sync::watch;

use super::answer::{Verdict, read_answer};
use super::event::sqs_event;
use super::settle::delete;
use super::{Counted, Mode, Shared, add};
use crate::lambda::Outcome;

/// SQS's longest long poll, seconds.
const LONG_POLL_S: i32 = 20;
/// First wait after a receive that failed; doubles up to the last.
const FIRST_BACKOFF_MS: i64 = 200;
/// Longest wait after a receive that failed.
const LAST_BACKOFF_MS: i64 = 10_000;
/// On a stop or pause, how long a receive that is under way may still bring messages. It answers at
/// once when there are any, and is only waiting otherwise.
const RECEIVE_GRACE: Duration = Duration::from_millis(100);
/// How long Lambda keeps trying to place a batch while a function has no free instance, at most; the
/// queue's visibility timeout would end it.
const SLOT_WAIT_MS: i64 = 60_000;

/// Polls until told to stop.
pub(super) async fn poll(shared: Arc<Shared>, mut mode: watch::Receiver<Mode>) {
    let mut backoff_ms = FIRST_BACKOFF_MS;
    loop {
        let now = *mode.borrow_and_update();
        match now {
            Mode::Stop => return,
            Mode::Pause => {
                if mode.changed().await.is_err() {
                    return;
                }
                continue;
            }
            Mode::Poll => {}
        }
        match receive(&shared, &mut mode).await {
            Received::Messages(messages) => {
                backoff_ms = FIRST_BACKOFF_MS;
                if !messages.is_empty() {
                    handle(&shared, &messages).await;
                }
            }
            Received::Interrupted => {}
            Received::Failed(why) => {
                let options = &shared.options;
                options.logs.note(&format!(
                    "receiving from {} failed: {why}",
                    options.source.queue_name()
                ));
                tokio::select! {
                    () = tokio::time::sleep(options.clock.real_duration(backoff_ms)) => {}
                    _ = mode.changed() => {}
                }
                backoff_ms = (backoff_ms * 2).min(LAST_BACKOFF_MS);
            }
        }
    }
}

enum Received {
    Messages(Vec<Message>),
    Interrupted,
    Failed(String),
}

async fn receive(shared: &Shared, mode: &mut watch::Receiver<Mode>) -> Received {
    let options = &shared.options;
    let (_receiving, _) = Counted::up(&shared.counters.receiving);
    let request = options
        .client
        .receive_message()
        .queue_url(&options.queue_url)
        .max_number_of_messages(i32::from(options.source.batch_size))
        .wait_time_seconds(LONG_POLL_S)
        .message_system_attribute_names(MessageSystemAttributeName::All)
        .message_attribute_names("All")
        .send();
    let mut request = std::pin::pin!(request);
    let result = tokio::select! {
        result = &mut request => result,
        _ = mode.changed() => match tokio::time::timeout(RECEIVE_GRACE, request).await {
            Ok(result) => result,
            Err(_) => return Received::Interrupted,
        },
    };
    match result {
        Ok(answer) => Received::Messages(answer.messages.unwrap_or_default()),
        Err(error) => Received::Failed(DisplayErrorContext(error).to_string()),
    }
}

/// Invokes the function with a batch and settles it.
async fn handle(shared: &Shared, messages: &[Message]) {
    let options = &shared.options;
    let _in_function = shared.counters.enter(messages.len());
    let event = sqs_event(messages, &options.source.queue_arn, &options.region);
    let payload = match serde_json::to_vec(&event) {
        Ok(payload) => Bytes::from(payload),
        Err(error) => return nothing_deleted(shared, messages, &error.to_string()),
    };
    let trace_id = messages[0]
        .attributes()
        .and_then(|attributes| attributes.get(&MessageSystemAttributeName::AwsTraceHeader))
        .cloned();
    let slot_wait = options.clock.real_duration(SLOT_WAIT_MS);
    let outcome = match options
        .host
        .invoke(&options.function, payload, trace_id, slot_wait)
        .await
    {
        Ok(invocation) => invocation.outcome,
        Err(error) => return nothing_deleted(shared, messages, &error.to_string()),
    };
    let verdict = match outcome {
        // The host has logged it.
        Outcome::Failed(error) => return nothing_deleted(shared, messages, &error.error_type),
        Outcome::Throttled => return nothing_deleted(shared, messages, "no free instance"),
        Outcome::Answered(_) if !options.source.report_batch_item_failures => Verdict::AllDone,
        Outcome::Answered(body) => {
            let ids: BTreeSet<String> = messages
                .iter()
                .filter_map(|message| message.message_id().map(str::to_owned))
                .collect();
            read_answer(&body, &ids)
        }
    };
    match verdict {
        Verdict::Rejected(why) => nothing_deleted(shared, messages, why),
        Verdict::AllDone => settle(shared, messages, &BTreeSet::new()).await,
        Verdict::Failed(failed) => settle(shared, messages, &failed).await,
    }
}

fn nothing_deleted(shared: &Shared, messages: &[Message], why: &str) {
    add(&shared.counters.failed_batches, 1);
    add(&shared.counters.left, messages.len());
    let options = &shared.options;
    options.logs.note(&format!(
        "{} messages of {} stay in the queue after {}: {why}",
        messages.len(),
        options.source.queue_name(),
        options.function,
    ));
}

async fn settle(shared: &Shared, messages: &[Message], failed: &BTreeSet<String>) {
    let options = &shared.options;
    let done: Vec<&Message> = messages
        .iter()
        .filter(|message| message.message_id().is_none_or(|id| !failed.contains(id)))
        .collect();
    let mut deleted = done.len();
    if let Some(undeleted) = delete(&options.client, &options.queue_url, &done).await {
        deleted -= undeleted.count;
        options.logs.note(&format!(
            "{} messages of {} could not be deleted and come again: {}",
            undeleted.count,
            options.source.queue_name(),
            undeleted.reason,
        ));
    }
    add(&shared.counters.deleted, deleted);
    add(&shared.counters.left, messages.len() - deleted);
    if deleted == 0 {
        add(&shared.counters.failed_batches, 1);
    }
}
