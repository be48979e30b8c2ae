//! Starts a stack: each step needs only what stands above it.
//!
//! Whatever fails, what was started before it stops with it.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::sync::Arc;

use tokio::net::TcpListener;

use super::Stack;
use super::depths::Gauge;
use super::error::{FASTEST, SLOWEST, StackError};
use super::options::{StackOptions, Telegram};
use super::telegram::Side;
use super::view::{Facts, View};
use crate::aws::serve::Server;
use crate::aws::{self, Clients, Embedded, Endpoints};
use crate::backend::BreakerReader;
use crate::bridge::Target;
use crate::clock::StackClock;
use crate::esm::{Mapping, MappingOptions};
use crate::front::Front;
use crate::lambda::{FunctionSpec, HostOptions, LambdaHost};
use crate::ledger::LedgerReader;
use crate::logs::Logs;
use crate::state::{BotIdentity, StateDir};
use crate::template::{Account, Resources, Template};

/// The parameter that leads the sender to a Bot API.
const API_ROOT_PARAMETER: &str = "TelegramApiRoot";
/// The parameter that names the bot's own webhook.
const BACKEND_PARAMETER: &str = "BackendUrl";
/// Where bot secrets are, unless the functions are told another prefix.
const SECRET_PREFIX_VARIABLE: &str = "BOT_SECRET_PREFIX";

pub(super) async fn start(options: StackOptions) -> Result<Stack, StackError> {
    if !(SLOWEST..=FASTEST).contains(&options.time_scale) {
        return Err(StackError::TimeScale {
            scale: options.time_scale,
        });
    }
    let (listener, front_url) = listen(&options).await?;
    let template = match &options.template {
        Some(path) => Template::read(path)?,
        None => Template::embedded()?,
    };
    let state = match &options.state_dir {
        Some(path) => StateDir::open(path, options.time_scale)?,
        None => StateDir::temporary(options.time_scale)?,
    };
    let clock = state.clock();
    let logs = open_logs(&options, clock)?;
    let real_bot = matches!(options.telegram, Telegram::Real(_));
    let side = Side::connect(options.telegram.clone(), clock).await?;

    let account = Account::local(&options.stack_name, "");
    let (embedded, endpoints) = match &options.external_endpoint {
        Some(url) => (None, Endpoints::one(url)),
        None => {
            let embedded = Embedded::start(
                &state,
                &account.region,
                &account.account_id,
                options.synchronous_full,
                options.count_calls,
            )
            .await?;
            let endpoints = embedded.endpoints().clone();
            (Some(embedded), endpoints)
        }
    };
    let clients = Clients::new(&endpoints, &account.region);
    let account = Account {
        queue_base_url: endpoints.all.clone(),
        ..account
    };
    let parameters = parameters(&options, &template, side.api_root());
    let (resources, account) = create(&clients, &template, account, &parameters).await?;

    let identity = state.identity(side.bot_id())?;
    let secret = side.secret(&identity, &options);
    let secret_name = format!("{}{}", secret_prefix(&resources, &account), side.bot_id());
    aws::put_secret(&clients.secrets, &secret_name, &secret).await?;

    let host = host(&options, &account, clock, &logs, &endpoints, &resources);
    let mappings = Arc::new(start_mappings(
        &resources, &account, &clients, &host, clock, &logs,
    ));
    let front = resources
        .functions
        .iter()
        .find(|function| !function.routes.is_empty())
        .map(|function| Front::new(host.clone(), &function.name, &account.account_id, clock));
    let gauge = match &embedded {
        Some(embedded) => Gauge::Engine(embedded.engine().clone()),
        None => Gauge::Service(clients.sqs.clone(), account.queue_urls.clone()),
    };
    let facts = Facts {
        stack_name: options.stack_name.clone(),
        bot_id: side.bot_id(),
        username: side.username().to_owned(),
        real_bot,
        front_url: front_url.clone(),
        api_root: side.api_root().to_owned(),
        started_at_ms: clock.now_ms(),
        is_resumed: !state.is_new(),
        program: options.program.clone(),
        backend_url: options.forward.as_ref().map(|forward| forward.url.clone()),
    };
    let target = Target {
        webhook_url: webhook_url(&front_url, side.bot_id(), &identity),
        webhook_secret: identity.webhook_secret.clone(),
    };
    let view = View {
        clock,
        logs: logs.clone(),
        host,
        mappings: Arc::clone(&mappings),
        front,
        gauge,
        sim: side.sim(),
        ledger: resources
            .tables
            .first()
            .map(|table| LedgerReader::new(clients.dynamodb.clone(), &table.name)),
        breaker: options.forward.as_ref().and_then(|_| {
            let table = resources.tables.first()?;
            Some(BreakerReader::new(
                clients.dynamodb.clone(),
                &table.name,
                side.bot_id(),
            ))
        }),
        facts: Arc::new(facts),
    };
    let web = crate::console::web(&view, view.ledger.clone());
    let (passing, web) = (
        web.passing,
        Server::router("front and console", listener, web.router),
    );
    let telegram = side.deliver(target, &logs).await?;
    Ok(Stack {
        view,
        mappings,
        embedded,
        endpoints,
        clients,
        resources,
        telegram,
        web,
        passing,
        identity,
        state,
    })
}

async fn listen(options: &StackOptions) -> Result<(TcpListener, String), StackError> {
    let address = options.listen;
    if !address.ip().is_loopback() {
        return Err(StackError::NotLoopback { address });
    }
    let failed = |source: std::io::Error| match source.kind() {
        ErrorKind::AddrInUse => StackError::PortTaken { port: address.port() },
        _ => StackError::Listen { address, source },
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, format!("http://{bound}")))
}

fn open_logs(options: &StackOptions, clock: StackClock) -> Result<Logs, StackError> {
    let Some(path) = &options.log_file else {
        return Ok(Logs::new(clock, None));
    };
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|source| StackError::LogFile {
            path: path.clone(),
            source,
        })?;
    Ok(Logs::new(clock, Some(file)))
}

/// The parameters asked for, and where the Bot API is unless that was asked for too.
fn parameters(options: &StackOptions, template: &Template, api_root: &str) -> BTreeMap<String, String> {
    let mut parameters = options.parameters.clone();
    if template.has_parameter(API_ROOT_PARAMETER) {
        parameters
            .entry(API_ROOT_PARAMETER.to_owned())
            .or_insert_with(|| api_root.to_owned());
    }
    if let Some(forward) = &options.forward {
        parameters.insert(BACKEND_PARAMETER.to_owned(), forward.url.clone());
    }
    parameters
}

/// Creates the resources, and resolves the template again with the URLs that the queues got.
async fn create(
    clients: &Clients,
    template: &Template,
    mut account: Account,
    parameters: &BTreeMap<String, String>,
) -> Result<(Resources, Account), StackError> {
    let planned = template.resolve(&account, parameters)?;
    account.queue_urls = aws::create(clients, &planned).await?;
    let resources = template.resolve(&account, parameters)?;
    Ok((resources, account))
}

fn secret_prefix(resources: &Resources, account: &Account) -> String {
    resources
        .functions
        .iter()
        .find_map(|function| function.environment.get(SECRET_PREFIX_VARIABLE).cloned())
        .unwrap_or_else(|| format!("{}/bot/", account.stack_name))
}

fn host(
    options: &StackOptions,
    account: &Account,
    clock: StackClock,
    logs: &Logs,
    endpoints: &Endpoints,
    resources: &Resources,
) -> LambdaHost {
    let mut extra_env = endpoints.environment();
    extra_env.extend(options.extra_env.clone());
    let options = HostOptions {
        function_exe: options.function_exe.clone(),
        region: account.region.clone(),
        account_id: account.account_id.clone(),
        clock,
        logs: logs.clone(),
        extra_env,
    };
    LambdaHost::new(
        options,
        resources.functions.iter().map(FunctionSpec::from).collect(),
    )
}

fn start_mappings(
    resources: &Resources,
    account: &Account,
    clients: &Clients,
    host: &LambdaHost,
    clock: StackClock,
    logs: &Logs,
) -> BTreeMap<String, Arc<Mapping>> {
    let mut mappings = BTreeMap::new();
    let client = clients.of_mappings();
    for function in &resources.functions {
        for source in &function.queue_sources {
            let queue = source.queue_name().to_owned();
            let mapping = Mapping::start(MappingOptions {
                client: client.clone(),
                queue_url: account.queue_url(&queue),
                source: source.clone(),
                function: function.name.clone(),
                region: account.region.clone(),
                host: host.clone(),
                clock,
                logs: logs.clone(),
            });
            mappings.insert(queue, Arc::new(mapping));
        }
    }
    mappings
}

/// The URL that Telegram would call.
pub(super) fn webhook_url(front_url: &str, bot_id: u64, identity: &BotIdentity) -> String {
    format!("{front_url}/telegram/{bot_id}/{}", identity.path_key)
}
