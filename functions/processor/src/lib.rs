//! The processor: claims an Update, runs the bot's logic, commits its outcome, dispatches the sends.
//! Never talks to Telegram, never sleeps out a delay.

mod backends;
mod cache;
mod config;
mod dispatch;
mod handler;
mod limits;
mod logic;
mod run_bot;
mod update;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use penstock_aws::{CachedSecrets, Clients, Ledger, Lookup, SqsQueue, SystemDraw, WallClock, init_tracing};
use penstock_batch::{Deadline, PATIENCE};
use penstock_bot::Bot;
use penstock_bot::example::ExampleBot;
use penstock_ports::Clock as _;

pub use cache::StateCache;
pub use handler::{Deps, handle};
pub use limits::NEEDED;
pub use logic::{Backends, BadReplies, CoreReplies, Forwarding, Logic, NoBackend, Standby, Try};
pub use run_bot::RunFailure;

/// Serves the Lambda runtime until it ends: with the backend that is configured, else with the example bot.
///
/// # Errors
/// A configuration that is incomplete, or a runtime that cannot be reached.
pub async fn run(lookup: &Lookup<'_>) -> Result<(), Error> {
    if let Some(target) = config::backend(lookup) {
        return forward(lookup, target).await;
    }
    let admins = config::example_admins(lookup)?;
    serve(lookup, ExampleBot::from_admins(admins)).await
}

/// Serves the Lambda runtime until it ends, with a bot of yours.
///
/// # Errors
/// A configuration that is incomplete, or a runtime that cannot be reached.
pub async fn serve<B: Bot>(lookup: &Lookup<'_>, bot: B) -> Result<(), Error> {
    init_tracing(lookup);
    let clients = Clients::load().await;
    serve_logic(lookup, &clients, bot).await
}

/// Serves with a backend elsewhere.
async fn forward(lookup: &Lookup<'_>, target: String) -> Result<(), Error> {
    init_tracing(lookup);
    let config = config::Config::from_lookup(lookup)?;
    let clients = Clients::load().await;
    let clock = WallClock::from_lookup(lookup);
    // What is no backend is said at the start, not by each Update.
    penstock_backend::Target::parse(&target, None, None)?;
    let prefix = config::bot_secret_prefix(lookup)?;
    let secrets = CachedSecrets::new(clients.secrets_manager(), prefix, clock);
    let backends = backends::ConfiguredBackends::new(target, secrets, clients.sdk_config().clone(), clock);
    let breakers = Ledger::new(clients.dynamodb(), &config.table_name, config.retention);
    let instance = lookup("AWS_LAMBDA_LOG_STREAM_NAME").unwrap_or_default();
    let instance = format!("{instance}:{}:{}", std::process::id(), clock.now());
    let logic = Forwarding::new(backends, breakers, &instance).with_standby(config::standby(lookup));
    serve_logic(lookup, &clients, logic).await
}

async fn serve_logic<L: Logic>(lookup: &Lookup<'_>, clients: &Clients, bot: L) -> Result<(), Error> {
    let config = config::Config::from_lookup(lookup)?;
    let clock = WallClock::from_lookup(lookup);
    let deps = Deps {
        inbox: Ledger::new(clients.dynamodb(), &config.table_name, config.retention),
        updates: SqsQueue::new(clients.sqs(), &config.updates_queue_url),
        outbound: SqsQueue::new(clients.sqs(), &config.outbound_queue_url),
        bot,
        clock,
        draw: SystemDraw,
        states: StateCache::default(),
    };
    let deps = &deps;
    lambda_runtime::run(service_fn(|event: LambdaEvent<SqsEvent>| async move {
        let records = penstock_batch::records(event.payload)?;
        let now_ms = move || clock.now().as_millis();
        let deadline = Deadline::new(
            event.context.deadline,
            now_ms,
            limits::NEEDED,
            clock.real(PATIENCE),
        );
        Ok::<SqsBatchResponse, Error>(Box::pin(handle(deps, &records, &deadline)).await)
    }))
    .await
}
