//! The ingress: checks path, secret and size, finds the ordering key, puts the raw Update into the queue, answers 200.
//! Never parses the whole Update, never reads a table, never calls the Bot API, never logs a body.

mod answer;
mod config;
mod handler;

use lambda_http::{Error, Request, service_fn};
use penstock_aws::{CachedSecrets, Clients, Lookup, SqsQueue, WallClock, init_tracing};

pub use handler::{Deps, handle};

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
        secrets: CachedSecrets::new(clients.secrets_manager(), config.bot_secret_prefix, clock),
        updates: SqsQueue::new(clients.sqs(), &config.updates_queue_url),
        quarantine: SqsQueue::new(clients.sqs(), &config.updates_dlq_url),
        clock,
    };
    lambda_http::run(service_fn(|request: Request| async {
        Ok::<_, Error>(handle(&deps, request).await)
    }))
    .await
}
