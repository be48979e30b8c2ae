//! From the name of the operation to what performs it.

use std::panic::resume_unwind;
use std::sync::Arc;

use axum::http::HeaderMap;
use bytes::Bytes;
use tokio::task::spawn_blocking;

use super::error::Failure;
use super::{Server, batches, messages, queues, tasks};
use crate::engine::calls::Operation;
use crate::error::{Code, EngineError, Refusal};

/// The operation that the header `X-Amz-Target: AmazonSQS.Operation` names.
pub(super) fn operation(headers: &HeaderMap) -> Result<Operation, Failure> {
    let target = headers
        .get("x-amz-target")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let name = target.strip_prefix("AmazonSQS.").unwrap_or_default();
    Operation::ALL
        .iter()
        .copied()
        .find(|operation| operation.name() == name)
        .ok_or_else(|| {
            let message =
                format!("the operation {target:?} is not known here; the AWS JSON protocol of SQS is spoken");
            Refusal::new(Code::InvalidAction, message).into()
        })
}

/// Performs it; the answer is JSON. The engine is asked off the runtime's own threads: the disk may hold it up.
pub(super) async fn perform(
    server: Arc<Server>,
    operation: Operation,
    body: Bytes,
) -> Result<String, Failure> {
    if operation == Operation::ReceiveMessage {
        return messages::receive(&server, &body).await;
    }
    match spawn_blocking(move || perform_at_once(&server, operation, &body)).await {
        Ok(answer) => answer,
        Err(stopped) if stopped.is_panic() => resume_unwind(stopped.into_panic()),
        Err(_) => Err(EngineError::ShuttingDown.into()),
    }
}

fn perform_at_once(server: &Server, operation: Operation, body: &[u8]) -> Result<String, Failure> {
    match operation {
        Operation::CreateQueue => queues::create(server, body),
        Operation::DeleteQueue => queues::delete(server, body),
        Operation::GetQueueAttributes => queues::attributes(server, body),
        Operation::GetQueueUrl => queues::url(server, body),
        Operation::ListDeadLetterSourceQueues => queues::dead_letter_sources(server, body),
        Operation::ListQueues => queues::list(server, body),
        Operation::ListQueueTags => queues::tags(server, body),
        Operation::PurgeQueue => queues::purge(server, body),
        Operation::SetQueueAttributes => queues::set_attributes(server, body),
        Operation::TagQueue => queues::tag(server, body),
        Operation::UntagQueue => queues::untag(server, body),
        Operation::SendMessage => messages::send(server, body),
        Operation::DeleteMessage => messages::delete(server, body),
        Operation::ChangeMessageVisibility => messages::change_visibility(server, body),
        Operation::SendMessageBatch => batches::send(server, body),
        Operation::DeleteMessageBatch => batches::delete(server, body),
        Operation::ChangeMessageVisibilityBatch => batches::change_visibility(server, body),
        Operation::StartMessageMoveTask => tasks::start(server, body),
        Operation::ListMessageMoveTasks => tasks::list(server, body),
        Operation::CancelMessageMoveTask => tasks::cancel(server, body),
        Operation::ReceiveMessage => {
            let message = "receiving waits, so it is performed by itself";
            Err(Refusal::new(Code::UnsupportedOperation, message).into())
        }
    }
}

/// The answer of operations that have none.
pub(super) fn nothing() -> Result<String, Failure> {
    Ok("{}".to_owned())
}
