//! The dead_letter function: files in the ledger what SQS redrove after too many receives, and what the ingress
//! quarantined. Never loses one, and never runs a bot or calls the Bot API.

mod config;
mod handler;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use penstock_aws::{Clients, Ledger, Lookup, SqsQueue, WallClock, init_tracing};
use penstock_batch::{Deadline, PATIENCE};
use penstock_ports::Clock as _;

pub use handler::{Deps, NEEDED, handle};

/// Serves the Lambda runtime until it ends.
///
/// # Errors
/// A configuration that is incomplete, or a runtime that cannot be reached.
pub async fn run(lookup: &Lookup<'_>) -> Result<(), Error> {
    init_tracing(lookup);
    let config = config::Config::from_lookup(lookup)?;
    let clients = Clients::load().await;
    let clock = WallClock::from_lookup(lookup);
    let deps = Deps {
        ledger: Ledger::new(clients.dynamodb(), &config.table_name, config.retention),
        outbound: SqsQueue::new(clients.sqs(), &config.outbound_queue_url),
        clock,
    };
    let queues: Vec<(String, SqsQueue)> = config
        .queue_urls
        .iter()
        .map(|url| {
            (
                url.rsplit('/').next().unwrap_or_default().to_owned(),
                SqsQueue::new(clients.sqs(), url),
            )
        })
        .collect();
    let (deps, queues) = (&deps, &queues);
    lambda_runtime::run(service_fn(|event: LambdaEvent<SqsEvent>| async move {
        // One batch comes from one queue; visibility has to be set on that one.
        let arn = event
            .payload
            .records
            .first()
            .and_then(|record| record.event_source_arn.clone())
            .unwrap_or_default();
        let name = arn.rsplit(':').next().unwrap_or_default();
        let (_, queue) = queues.iter().find(|(queue, _)| queue == name).ok_or_else(|| {
            format!("`{arn}` is none of the dead-letter queues that this function is configured with")
        })?;
        let records = penstock_batch::records(event.payload)?;
        let now_ms = move || clock.now().as_millis();
        let deadline = Deadline::new(
            event.context.deadline,
            now_ms,
            handler::NEEDED,
            clock.real(PATIENCE),
        );
        Ok::<SqsBatchResponse, Error>(Box::pin(handle(deps, queue, &records, &deadline)).await)
    }))
    .await
}
