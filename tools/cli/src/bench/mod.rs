//! `penstock bench`: a load through a stack of its own. What came out is checked against what simulated Telegram saw.

mod audit;
mod calls;
mod report;

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use penstock_local::ledger::Story;
use penstock_local::{SimulatedTelegram, Stack, StackOptions, Telegram};
use telegram_sim::Limits;
use tokio::time::Instant;

use crate::cli::EXIT_CODES;
use crate::failure::{Ended, Failure};
use crate::feed::wait_until_idle;
use crate::figures;
use crate::load::Load;
use crate::post::Webhook;
use crate::print;
use crate::processes;
use audit::{Audit, Reply};
use report::{Report, Times};

/// The load, and the stack that it goes through.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: Option<What>,
    /// Updates
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    updates: u32,
    /// Chats that they are spread over
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    chats: u32,
    /// Updates a second; as fast as they are accepted unless given
    #[arg(long, value_parser = rate)]
    rate: Option<f64>,
    /// Requests to the webhook at the same time
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100))]
    connections: u32,
    /// Let time run so many times as fast: the sender keeps to 30 sends a second of that time, so at 1 that is what is
    /// measured
    #[arg(long, default_value_t = 20.0, value_name = "X")]
    time_scale: f64,
    /// Let every write wait for the disk
    #[arg(long)]
    synchronous_full: bool,
    /// Seconds to wait for the end
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    idle_limit: u64,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// What is measured instead of a load.
#[derive(Debug, Subcommand)]
enum What {
    /// Count the calls of AWS and the units of the table that one update costs, alone and in full batches
    #[command(after_help = EXIT_CODES)]
    Calls(calls::CallsArgs),
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "give a number".to_owned())?;
    if rate.is_finite() && rate > 0.0 {
        Ok(rate)
    } else {
        Err("give a number above 0".to_owned())
    }
}

pub(crate) async fn run(args: &BenchArgs) -> Result<Ended, Failure> {
    if let Some(What::Calls(args)) = &args.what {
        return Box::pin(calls::run(args)).await;
    }
    let exe = std::env::current_exe()
        .context("this program's own file is not found")
        .map_err(Failure::Usage)?;
    let mut options = StackOptions::new(exe);
    options.run_example_bot();
    options.time_scale = args.time_scale;
    options.synchronous_full = args.synchronous_full;
    options.telegram = Telegram::Simulated(SimulatedTelegram {
        limits: Some(no_limits()),
        ..SimulatedTelegram::default()
    });
    let stack = Box::pin(Stack::start(options)).await.map_err(Failure::usage)?;
    let report = Box::pin(measure(&stack, args)).await;
    stack.shutdown().await;
    let report = report?;
    if args.json {
        print::json(&report);
    } else {
        report.lines().iter().for_each(|line| print::data(line));
    }
    Ok(Ended::well_if(report.is_good()))
}

/// Limits that nothing reaches.
pub(crate) fn no_limits() -> Limits {
    Limits {
        bot_calls: usize::MAX,
        private_interval_ms: 0,
        private_burst: i64::from(u32::MAX),
        group_calls: usize::MAX,
        ..Limits::default()
    }
}

async fn measure(stack: &Stack, args: &BenchArgs) -> Result<Report, anyhow::Error> {
    let load = Load::new(args.updates, args.chats);
    let webhook = Webhook::new(&stack.webhook_url(), stack.webhook_secret());
    let begun = Instant::now();
    let mut posting = tokio::task::JoinSet::new();
    for mut lane in load.lanes(args.connections) {
        let (webhook, rate) = (webhook.clone(), args.rate);
        posting.spawn(async move { lane.post(&webhook, rate, begun).await });
    }
    while let Some(posted) = posting.join_next().await {
        posted??;
    }
    let accepting = begun.elapsed();
    print::note(&format!(
        "{} updates accepted in {}",
        load.updates,
        figures::duration(accepting)
    ));
    let limit = Duration::from_secs(args.idle_limit);
    if !wait_until_idle(stack, limit).await {
        return Err(crate::feed::never_idle(limit));
    }
    let memory = processes::family(std::process::id());
    let stories = stories(stack, &load).await?;
    let times = Times::of(&stories, stack.view().clock().scale(), accepting);
    let audit = Audit::of(&load, &replies(stack)?);
    Ok(Report::new(&load, &times, audit, memory))
}

async fn stories(stack: &Stack, load: &Load) -> Result<Vec<Story>, anyhow::Error> {
    let ledger = stack
        .view()
        .ledger()
        .ok_or_else(|| anyhow!("the template has no table"))?;
    let bot = stack.bot_id().to_string();
    let updates: Vec<(String, i64)> = load.update_ids().map(|id| (bot.clone(), id)).collect();
    Ok(ledger.stories(&updates).await?.into_values().collect())
}

/// What simulated Telegram was asked to send, in order.
fn replies(stack: &Stack) -> Result<Vec<Reply>, anyhow::Error> {
    let sim = stack
        .sim()
        .ok_or_else(|| anyhow!("this stack has no simulated telegram"))?;
    let calls = sim
        .calls()
        .into_iter()
        .filter(|call| call.method == "sendMessage" && call.is_done());
    Ok(calls
        .map(|call| Reply {
            chat: call.chat_id.unwrap_or_default(),
            text: call.params["text"].as_str().unwrap_or_default().to_owned(),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_above_zero() {
        assert_eq!(rate("25.5"), Ok(25.5));
        for wrong in ["0", "-1", "NaN", "inf", "fast"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
