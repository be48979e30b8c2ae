//! The drill `backend-outage`: a bot behind the stack is killed under a steady load, stays away, and comes back. Updates
//! must wait, and come back by a ramp, in order and none lost. In real time, since a bot does not know of another.
//!
//! The stack is one of this process, since it is not what dies: its functions are processes as ever.

mod backend;
mod built_in;
mod facts;
mod framework;
mod judge;
mod load;
mod rates;
mod report;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use penstock_domain::secret::WebhookSecret;
use penstock_local::ledger::Story;
use penstock_local::{ForwardOptions, SimulatedTelegram, Stack, StackOptions, Telegram};
use tokio::time::{Instant, sleep};

pub(crate) use built_in::{BackendArgs, serve};
pub(crate) use framework::{BUILT_IN, Framework};

use self::backend::{Backend, Place, free_port};
use self::facts::{Facts, Fate, Posted, Seen};
use self::load::Load;
use self::report::{Report, Row};
use crate::bench::no_limits;
use crate::failure::{Ended, Failure};
use crate::feed::Stage;
use crate::figures;
use crate::post::Webhook;
use crate::print;

/// What the bot expects in `X-Telegram-Bot-Api-Secret-Token`. It protects nothing.
const SECRET: &str = "drill-secret-that-protects-nothing";
/// Between two looks at the ledger.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

/// How the drill is run.
#[derive(Debug, Args)]
pub(crate) struct BackendOutageArgs {
    /// The bots that are killed, one after the other
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "built-in",
        value_name = "NAME,..."
    )]
    framework: Vec<Framework>,
    /// Where the folders of their frameworks are
    #[arg(long, default_value = "examples", value_name = "DIR")]
    examples: PathBuf,
    /// Updates a second
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    updates_per_second: u32,
    /// Chats that they are spread over
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    chats: u32,
    /// Seconds before the kill. The ramp is measured by the busiest minute of the clock: from 120 s on there is a whole
    /// one, and with less the ramp begins lower and lasts longer
    #[arg(long, default_value_t = 120, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(5..=86_400))]
    before: u64,
    /// Seconds from the kill to the next start
    #[arg(long, default_value_t = 20, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    down: u64,
    /// Seconds for which updates are posted after that start
    #[arg(long, default_value_t = 10, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=86_400))]
    after: u64,
    /// Seconds to wait for the end
    #[arg(long, default_value_t = 900, value_name = "SECONDS")]
    idle_limit: u64,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &BackendOutageArgs) -> Result<Ended, Failure> {
    let mut rows = Vec::new();
    for framework in &args.framework {
        let row = tokio::select! {
            row = Box::pin(one(*framework, args)) => row,
            // So that what was started is not left behind.
            _ = tokio::signal::ctrl_c() => return Err(Failure::Broken(anyhow!("interrupted"))),
        };
        rows.push(row.unwrap_or_else(|error| Row::failed(framework.name(), &error)));
    }
    let report = Report {
        updates_per_second: f64::from(args.updates_per_second),
        chats: args.chats,
        before: args.before,
        down: args.down,
        after: args.after,
        rows,
    };
    if args.json {
        print::json(&report);
    } else {
        report.lines().iter().for_each(|line| print::data(line));
    }
    Ok(Ended::well_if(report.is_clean()))
}

/// One bot, with a stack of its own.
async fn one(framework: Framework, args: &BackendOutageArgs) -> Result<Row, anyhow::Error> {
    framework.install(&args.examples).await?;
    let temporary = tempfile::tempdir()?;
    let place = Place {
        framework,
        examples: args.examples.clone(),
        port: free_port().await?,
        secret: SECRET.to_owned(),
        log: temporary.path().join("bot.log"),
    };
    let exe = std::env::current_exe().context("this program's own file is not found")?;
    let mut options = StackOptions::new(exe);
    options.forward = Some(ForwardOptions {
        url: format!("http://127.0.0.1:{}/", place.port),
        secret: Some(WebhookSecret::new(SECRET.to_owned())),
    });
    options.telegram = Telegram::Simulated(SimulatedTelegram {
        limits: Some(no_limits()),
        ..SimulatedTelegram::default()
    });
    let stack = Box::pin(Stack::start(options)).await?;
    let row = Box::pin(drill(&stack, &place, args)).await;
    stack.shutdown().await;
    row
}

async fn drill(stack: &Stack, place: &Place, args: &BackendOutageArgs) -> Result<Row, anyhow::Error> {
    let name = place.framework.name();
    let say = |told: String| print::note(&format!("{name}: {told}"));
    let clock = stack.view().clock();
    let mut backend = Backend::start(place, stack.api_root()).await?;
    let load = Load::new(f64::from(args.updates_per_second), args.chats);
    let webhook = Webhook::new(&stack.webhook_url(), stack.webhook_secret());
    let begun_at = clock.now_ms();
    say(format!(
        "{} updates a second over {} chats, for {} s before the kill",
        args.updates_per_second, args.chats, args.before
    ));
    let posting = load.post(&webhook, Stage::new(stack.sim()), clock);
    sleep(Duration::from_secs(args.before)).await;
    if !backend.is_running() {
        return Err(anyhow!("it ended by itself before it was killed"));
    }
    backend.kill().await?;
    let killed_at = clock.now_ms();
    say(format!("killed; started again in {} s", args.down));
    sleep(Duration::from_secs(args.down)).await;
    let backend = Backend::start(place, stack.api_root()).await?;
    let back_at = clock.now_ms();
    say(format!("it listens; posting for {} s more", args.after));
    sleep(Duration::from_secs(args.after)).await;
    let posted = posting.stop().await?;
    let limit = Duration::from_secs(args.idle_limit);
    let fates = all_ended(stack, &posted, limit, say).await?;
    // What is said in the backend's place has records of its own, and is sent later.
    stack.idle(limit).await;
    let sim = stack.sim().ok_or_else(|| anyhow!("telegram is not simulated"))?;
    let facts = Facts {
        seen: sim.calls().iter().filter_map(Seen::read).collect(),
        posted,
        fates,
        begun_at,
        killed_at,
        back_at,
    };
    backend.kill().await?;
    let away = Duration::from_millis((back_at - killed_at).unsigned_abs());
    Ok(Row::judged(name, away.as_secs_f64(), judge::judge(&facts)))
}

/// Waits until every Update has ended; gives back what there is at the limit, and says so.
async fn all_ended(
    stack: &Stack,
    posted: &[Posted],
    limit: Duration,
    say: impl Fn(String),
) -> Result<HashMap<i64, Fate>, anyhow::Error> {
    let ledger = stack
        .view()
        .ledger()
        .ok_or_else(|| anyhow!("the template has no table"))?;
    let bot = stack.bot_id().to_string();
    let (begun, mut told) = (Instant::now(), Instant::now());
    let mut ended = HashMap::new();
    loop {
        let open: Vec<(String, i64)> = posted
            .iter()
            .filter(|update| !ended.contains_key(&update.update))
            .map(|update| (bot.clone(), update.update))
            .collect();
        let stories = ledger.stories(&open).await?;
        let is_late = begun.elapsed() >= limit;
        let seen = stories
            .into_iter()
            .filter(|(_, story)| is_late || story.is_final());
        ended.extend(seen.map(|((_, update), story)| (update, fate(story))));
        if ended.len() == posted.len() {
            return Ok(ended);
        }
        if is_late {
            say(format!(
                "not all had ended after {}: give it longer with --idle-limit, or look at the failed tries",
                figures::duration(limit)
            ));
            return Ok(ended);
        }
        if told.elapsed() >= PROGRESS_EVERY {
            told = Instant::now();
            say(format!("{} of {} ended", ended.len(), posted.len()));
        }
        sleep(LOOK_EVERY).await;
    }
}

fn fate(story: Story) -> Fate {
    Fate {
        is_done: story.state == "done",
        attempts: story.attempts,
        failures: story.failures,
        ended_at: story.ended_at,
    }
}
