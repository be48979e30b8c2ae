//! Requests about message move tasks.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::Failure;
use super::wire::{self, arn_name};
use super::{HttpConfig, Server};
use crate::engine::move_task::{MoveTask, MoveTaskStatus};
use crate::error::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Start {
    source_arn: Option<String>,
    destination_arn: Option<String>,
    max_number_of_messages_per_second: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct List {
    source_arn: Option<String>,
    max_results: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Cancel {
    task_handle: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct WireTask {
    #[serde(skip_serializing_if = "Option::is_none")]
    task_handle: Option<String>,
    status: &'static str,
    source_arn: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination_arn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_number_of_messages_per_second: Option<i64>,
    approximate_number_of_messages_moved: i64,
    approximate_number_of_messages_to_move: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<String>,
    started_timestamp: i64,
}

pub(super) fn start(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: Start = wire::read(body)?;
    let source = arn_name("SourceArn", request.source_arn.as_deref())?;
    let destination = match request.destination_arn.as_deref() {
        Some(arn) => Some(arn_name("DestinationArn", Some(arn))?),
        None => None,
    };
    let rate = request.max_number_of_messages_per_second;
    let handle = server.engine.start_move_task(source, destination, rate)?;
    wire::write(&json!({ "TaskHandle": handle }))
}

pub(super) fn list(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: List = wire::read(body)?;
    let source = arn_name("SourceArn", request.source_arn.as_deref())?;
    let tasks = server
        .engine
        .list_move_tasks(source, request.max_results.unwrap_or(1))?;
    let tasks: Vec<WireTask> = tasks.into_iter().map(|task| show(&server.config, task)).collect();
    wire::write(&json!({ "Results": tasks }))
}

pub(super) fn cancel(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: Cancel = wire::read(body)?;
    let handle = request
        .task_handle
        .ok_or_else(|| Refusal::missing("TaskHandle"))?;
    let moved = server.engine.cancel_move_task(&handle)?;
    wire::write(&json!({ "ApproximateNumberOfMessagesMoved": moved }))
}

fn show(config: &HttpConfig, task: MoveTask) -> WireTask {
    WireTask {
        // The handle is only good for cancelling, so only a running task shows it.
        task_handle: (task.status == MoveTaskStatus::Running).then_some(task.handle),
        status: task.status.name(),
        source_arn: config.queue_arn(&task.source),
        destination_arn: task.destination.map(|name| config.queue_arn(&name)),
        max_number_of_messages_per_second: task.rate,
        approximate_number_of_messages_moved: task.moved,
        approximate_number_of_messages_to_move: task.total,
        failure_reason: task.failure,
        started_timestamp: task.started_ms,
    }
}
