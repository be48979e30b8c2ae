//! The sender: claims an intent, calls the Bot API, settles what came of it. It waits by visibility; it never puts a
//! message back into a queue, since Lambda stops such loops after about 16 hops.

mod chat_gate;
mod config;
mod gate;
mod handler;
mod limits;
mod rewrite;
mod send;
mod throttles;
mod verdict;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use penstock_aws::{CachedSecrets, Clients, Ledger, Lookup, SqsQueue, SystemDraw, WallClock, init_tracing};
use penstock_batch::Deadline;
use penstock_ports::Clock as _;
use penstock_telegram::BotApiClient;

pub use handler::{Deps, handle};
pub use limits::NEEDED;
pub use throttles::Throttles;

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
        api: BotApiClient::new(config::bot_api(config.telegram_api_root, &clock))?,
        secrets: CachedSecrets::new(clients.secrets_manager(), config.bot_secret_prefix, clock),
        clock,
        draw: SystemDraw,
        throttles: Throttles::default(),
    };
    let outbound = SqsQueue::new(clients.sqs(), &config.outbound_queue_url);
    let bulk = SqsQueue::new(clients.sqs(), &config.bulk_queue_url);
    let (deps, outbound, bulk) = (&deps, &outbound, &bulk);
    lambda_runtime::run(service_fn(|event: LambdaEvent<SqsEvent>| async move {
        // One batch comes from one queue; visibility has to be set on that one.
        let from_bulk = event.payload.records.iter().any(from_bulk);
        let records = penstock_batch::records(event.payload)?;
        let now_ms = move || clock.now().as_millis();
        let deadline = Deadline::new(
            event.context.deadline,
            now_ms,
            limits::NEEDED,
            clock.real(limits::PATIENCE),
        );
        let queue = if from_bulk { bulk } else { outbound };
        Ok::<SqsBatchResponse, Error>(Box::pin(handle(deps, queue, records, &deadline)).await)
    }))
    .await
}

fn from_bulk(record: &aws_lambda_events::event::sqs::SqsMessage) -> bool {
    record
        .event_source_arn
        .as_deref()
        .is_some_and(|arn| arn.ends_with("-bulk.fifo"))
}
