//! The drill `kill-stack`: a load, SIGKILL in the middle of it, a second start on the same state, and an audit. What
//! had no 200 at the kill is posted again, as Telegram does.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use penstock_aws::Ledger;
use penstock_domain::ids::BotId;
use penstock_domain::ledger::Retention;
use penstock_local::ledger::{LedgerReader, Story};
use penstock_ports::Inbox as _;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::audit::Audit;
use super::child::StackProcess;
use crate::failure::{Ended, Failure};
use crate::figures;
use crate::load::{Lane, Load};
use crate::print;
use crate::running::Running;

/// Connections to the webhook.
const CONNECTIONS: u32 = 8;
/// Fewest processors and senders at the same time (Lambda's least `MaximumConcurrency`): the first stack is to have
/// updates in its queues when it is killed.
const SLOW: [&str; 2] = ["--parameter", "MaximumConcurrency=2"];
/// Updates looked at to see how far the load is: so many of them, spread evenly.
const PROBES: u32 = 100;
/// Between two looks at the ledger.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

/// How the drill is run.
#[derive(Debug, Args)]
pub(crate) struct KillStackArgs {
    /// Updates
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    updates: u32,
    /// Chats that they are spread over
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    chats: u32,
    /// Let time run so many times as fast, so that leases of the killed functions end soon
    #[arg(long, default_value_t = 20.0, value_name = "X")]
    time_scale: f64,
    /// Where the state is kept; a temporary directory unless given
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Seconds to wait for the half, and for the end
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    idle_limit: u64,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// What the drill found.
#[derive(Debug, Serialize)]
struct Report {
    updates: u32,
    /// Done at the kill, of a hundred looked at.
    percent_done_at_kill: u32,
    accepted_at_kill: u32,
    orphans: Vec<u32>,
    recovered_in_ms: u64,
    audit: Audit,
}

pub(crate) async fn run(args: &KillStackArgs) -> Result<Ended, Failure> {
    let temporary = tempfile::tempdir().map_err(Failure::usage)?;
    let state_dir = args
        .state_dir
        .clone()
        .unwrap_or_else(|| temporary.path().join("state"));
    let report = Box::pin(drill(args, &state_dir)).await?;
    if args.json {
        print::json(&report);
    } else {
        report.lines().iter().for_each(|line| print::data(line));
    }
    Ok(Ended::well_if(
        report.orphans.is_empty() && report.audit.is_clean(),
    ))
}

async fn drill(args: &KillStackArgs, state_dir: &Path) -> Result<Report, anyhow::Error> {
    let limit = Duration::from_secs(args.idle_limit);
    let load = Load::new(args.updates, args.chats);
    let first = StackProcess::start(state_dir, args.time_scale, &SLOW).await?;
    print::note(&format!(
        "posting {} updates over {} chats",
        load.updates, load.chats
    ));
    let posting = post(load.lanes(CONNECTIONS), &first.running);
    let percent_done_at_kill = half_done(&first.running, &load, limit).await?;
    let orphans = first.kill().await?;
    print::note(&format!("killed with about {percent_done_at_kill} % done"));
    let lanes = finished(posting).await?;
    let left: usize = lanes.iter().map(Lane::len).sum();
    let accepted_at_kill = load.updates - u32::try_from(left).unwrap_or(load.updates);

    let begun = Instant::now();
    let second = StackProcess::start(state_dir, args.time_scale, &[]).await?;
    let lanes = finished(post(lanes, &second.running)).await?;
    if !lanes.iter().all(Lane::is_empty) {
        return Err(anyhow!(
            "the stack stopped to accept updates after its second start: look at its log"
        ));
    }
    let stories = all_ended(&second.running, &load, limit).await?;
    let recovered_in_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let counters = counters(&second.running, &load).await?;
    let audit = Audit::of(&load, &stories, &counters);
    let orphans = [orphans, second.kill().await?].concat();
    Ok(Report {
        updates: load.updates,
        percent_done_at_kill,
        accepted_at_kill,
        orphans,
        recovered_in_ms,
        audit,
    })
}

/// Posts in the background; each lane comes back with what it could not post.
fn post(lanes: Vec<Lane>, running: &Running) -> JoinSet<Lane> {
    let begun = Instant::now();
    let mut posting = JoinSet::new();
    for mut lane in lanes {
        let webhook = running.webhook();
        posting.spawn(async move {
            if let Err(error) = lane.post(&webhook, None, begun).await {
                tracing::debug!(%error, "a lane stopped");
            }
            lane
        });
    }
    posting
}

async fn finished(mut posting: JoinSet<Lane>) -> Result<Vec<Lane>, anyhow::Error> {
    let mut lanes = Vec::new();
    while let Some(lane) = posting.join_next().await {
        lanes.push(lane?);
    }
    Ok(lanes)
}

/// Waits until half of the load is done; gives back how many percent are.
async fn half_done(running: &Running, load: &Load, limit: Duration) -> Result<u32, anyhow::Error> {
    let probes = PROBES.min(load.updates);
    // The middle of each of so many equal parts.
    let ids: Vec<i64> = (0..probes)
        .map(|n| load.update_id((2 * n + 1) * load.updates / (2 * probes)))
        .collect();
    let begun = Instant::now();
    while begun.elapsed() < limit {
        let stories = stories(running, &ids).await?;
        let done = stories.values().filter(|story| story.state == "done").count();
        let percent = u32::try_from(done * 100 / ids.len()).unwrap_or(100);
        if percent >= 50 {
            return Ok(percent);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Err(anyhow!(
        "less than half was done after {}: give it longer with --idle-limit",
        figures::duration(limit)
    ))
}

/// Waits until every update and each of its sends has ended; gives back what there is at the limit.
async fn all_ended(
    running: &Running,
    load: &Load,
    limit: Duration,
) -> Result<HashMap<i64, Story>, anyhow::Error> {
    let (begun, mut told) = (Instant::now(), Instant::now());
    let mut ended: HashMap<i64, Story> = HashMap::new();
    loop {
        let open: Vec<i64> = load.update_ids().filter(|id| !ended.contains_key(id)).collect();
        let seen = stories(running, &open).await?;
        let is_late = begun.elapsed() >= limit;
        ended.extend(seen.into_iter().filter(|(_, story)| is_late || story.is_final()));
        if is_late || ended.len() == load.updates as usize {
            return Ok(ended);
        }
        if told.elapsed() >= PROGRESS_EVERY {
            told = Instant::now();
            print::note(&format!("{} of {} ended", ended.len(), load.updates));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn stories(running: &Running, ids: &[i64]) -> Result<HashMap<i64, Story>, anyhow::Error> {
    let bot = running.bot_id.to_string();
    let updates: Vec<(String, i64)> = ids.iter().map(|id| (bot.clone(), *id)).collect();
    let reader = LedgerReader::new(running.clients().dynamodb, &running.table);
    let stories = reader.stories(&updates).await?;
    Ok(stories.into_iter().map(|((_, id), story)| (id, story)).collect())
}

/// What the example bot has counted in each chat.
async fn counters(running: &Running, load: &Load) -> Result<BTreeMap<i64, u64>, anyhow::Error> {
    // Nothing is written, so the lives of records do not matter.
    let retention = Retention {
        dedup_window: Duration::ZERO,
        dead: Duration::ZERO,
    };
    let ledger = Ledger::new(running.clients().dynamodb, &running.table, retention);
    let mut counters = BTreeMap::new();
    for (chat, _) in load.messages_by_chat() {
        let state = ledger
            .chat_state(BotId(running.bot_id), &chat.to_string())
            .await?;
        let state: serde_json::Value = match state {
            Some((text, _)) => serde_json::from_str(&text)?,
            None => continue,
        };
        counters.extend(state["messages"].as_u64().map(|count| (chat, count)));
    }
    Ok(counters)
}

impl Report {
    fn lines(&self) -> Vec<String> {
        let Audit {
            done,
            lost,
            not_done,
            sent,
            unknown,
            not_sent,
            odd,
            miscounted_chats,
        } = self.audit;
        let recovered = figures::duration(Duration::from_millis(self.recovered_in_ms));
        vec![
            format!(
                "killed with {} of {} updates accepted and about {} % done; all ended {recovered} after the second start",
                self.accepted_at_kill, self.updates, self.percent_done_at_kill
            ),
            format!(
                "updates: {done} done  {lost} lost  {not_done} not done  {odd} with an odd number of sends"
            ),
            format!("sends: {sent} sent  {unknown} unknown (on their way at the kill)  {not_sent} not sent"),
            format!(
                "chats: {miscounted_chats} miscounted  functions left behind: {}",
                self.orphans.len()
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_tells_what_the_kill_cost() {
        let report = Report {
            updates: 2_000,
            percent_done_at_kill: 52,
            accepted_at_kill: 1_700,
            orphans: Vec::new(),
            recovered_in_ms: 12_300,
            audit: Audit {
                done: 2_000,
                sent: 1_997,
                unknown: 3,
                ..Audit::default()
            },
        };
        let told = report.lines().join("\n");
        assert!(
            told.contains("1700 of 2000 updates accepted and about 52 % done; all ended 12.3 s"),
            "{told}"
        );
        assert!(told.contains("3 unknown (on their way at the kill)"), "{told}");
    }
}
