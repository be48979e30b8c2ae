//! The drill `crash-matrix`: every arrow of the pipeline, by every kind of Update. A function process is killed at the
//! arrow, the host starts another one, and in the end everything is there once and in order. Each run has a stack of its
//! own.

mod arrows;
mod backend;
mod forward;
mod judge;
mod load;
mod report;
mod rig;
mod rows;
mod special;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::arrows::{Alone, Plan, long, named, sampled};
use self::forward::is_forward;
use self::load::{Case, Ids, kinds};
use self::report::{Report, Row};
use self::rig::Rig;
use self::special::special;
use crate::failure::{Ended, Failure};
use crate::print;

/// How the drill is run.
#[derive(Debug, Args)]
pub(crate) struct CrashMatrixArgs {
    /// Only so many runs, drawn from all; without it every arrow meets every case
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
    /// What the sample is drawn by; another one each time unless given
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Only arrows whose name holds this
    #[arg(long, value_name = "NAME")]
    arrow: Option<String>,
    /// Crashes at the arrow of each batch
    #[arg(long, default_value_t = 1, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=8))]
    crashes: u32,
    /// Let time run so many times as fast: leases and visibilities pass soon, but functions get less time for their work
    #[arg(long, default_value_t = 30.0, value_name = "X")]
    time_scale: f64,
    /// Runs at the same time
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: u32,
    /// Seconds to wait until a stack is at rest
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    idle_limit: u64,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &CrashMatrixArgs) -> Result<Ended, Failure> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let arrows = named(args.arrow.as_deref());
    if arrows.is_empty() {
        let all = named(None).join(", ");
        return Err(Failure::NotFound(anyhow!(
            "no arrow has that in its name; these are: {all}"
        )));
    }
    let plans = match args.sample {
        Some(runs) => sampled(&arrows, runs as usize, seed),
        None => long(&arrows),
    };
    print::note(&format!(
        "{} runs, {} at a time, seed {seed}; {} times as fast",
        plans.len(),
        args.jobs,
        args.time_scale
    ));
    let begun = Instant::now();
    let rows = all(plans, args).await?;
    let report = Report::new(seed, args.time_scale, rows, begun.elapsed());
    if args.json {
        print::json(&report);
    } else {
        report.lines().iter().for_each(|line| print::data(line));
    }
    Ok(Ended::well_if(report.is_clean()))
}

/// Runs the plans, so many at a time, and tells of each that ends.
async fn all(plans: Vec<Plan>, args: &CrashMatrixArgs) -> Result<Vec<Row>, Failure> {
    let places = Arc::new(Semaphore::new(args.jobs as usize));
    let count = plans.len();
    let (scale, crashes) = (args.time_scale, args.crashes);
    let limit = Duration::from_secs(args.idle_limit);
    let mut running = JoinSet::new();
    for plan in plans {
        let places = Arc::clone(&places);
        running.spawn(async move {
            // The places are never closed.
            let _place = places.acquire_owned().await.ok();
            let row = Box::pin(one(&plan, scale, crashes, limit)).await?;
            if row.hits > 0 || !matches!(plan.alone, Alone::Some(..)) || plan.nth == 1 {
                return Ok(row);
            }
            // No process passes it that often.
            let plan = Plan { nth: 1, ..plan };
            Box::pin(one(&plan, scale, crashes, limit)).await
        });
    }
    let mut rows = Vec::with_capacity(count);
    print::note(report::HEAD);
    while let Some(ended) = running.join_next().await {
        let row = ended.map_err(|error| Failure::Broken(error.into()))?;
        let row = row.map_err(Failure::Broken)?;
        print::note(&format!("{}  {}/{count}", row.line(), rows.len() + 1));
        row.troubles
            .iter()
            .for_each(|trouble| print::note(&format!("  {trouble}")));
        rows.push(row);
    }
    Ok(rows)
}

/// One plan on a stack of its own. What keeps a stack from coming to rest, a machine that is too busy as a rule, is a
/// trouble of the run, not of the drill.
async fn one(plan: &Plan, scale: f64, crashes: u32, limit: Duration) -> Result<Row, anyhow::Error> {
    let begun = Instant::now();
    let mut rig = Rig::start(plan, scale, limit).await?;
    let mut row = Row {
        arrow: plan.arrow.to_owned(),
        nth: plan.nth,
        ..Row::default()
    };
    let crashed = if is_forward(plan.arrow) {
        forward::crash(plan, crashes, &mut rig, &mut row).await
    } else {
        crash(plan, crashes, &mut rig, &mut row).await.map(|()| 0)
    };
    match crashed {
        Ok(may_double) => {
            row.add(rig.judge().await?);
            row.add(rig.judge_handed(may_double));
        }
        // What has not come to its end is not lost: it still waits.
        Err(error) => row.troubles.push(format!("{error:#}; not judged")),
    }
    rig.stop().await;
    row.took(begun.elapsed());
    Ok(row)
}

async fn crash(plan: &Plan, crashes: u32, rig: &mut Rig, row: &mut Row) -> Result<(), anyhow::Error> {
    let now_ms = rig.now_ms();
    let cases = [kinds(&mut rig.ids, true), special(&mut rig.ids, now_ms)].concat();
    row.hits += rig.batch(&cases, crashes).await?;
    let now_ms = rig.now_ms();
    let cases = chosen(&plan.alone, &mut rig.ids, now_ms);
    row.alone_tried = cases.len();
    for case in &cases {
        if rig.alone(case).await? {
            row.hits += 1;
            row.alone_hit.push(case.name.clone());
        }
    }
    Ok(())
}

/// The cases that go in one by one.
fn chosen(alone: &Alone, ids: &mut Ids, now_ms: i64) -> Vec<Case> {
    let mut cases = || [kinds(ids, false), special(ids, now_ms)].concat();
    match alone {
        Alone::No => Vec::new(),
        Alone::All => cases(),
        Alone::Some(count, seed) => {
            let mut cases = cases();
            fastrand::Rng::with_seed(*seed).shuffle(&mut cases);
            cases.truncate(*count);
            cases
        }
    }
}

#[cfg(test)]
mod tests {
    use penstock_domain::ids::BotId;

    use super::*;

    #[test]
    fn a_few_cases_are_drawn_and_the_same_by_the_same_seed() {
        let names = |alone: &Alone| -> Vec<String> {
            let cases = chosen(alone, &mut Ids::new(BotId(424_242)), 1_790_000_000_000);
            cases.into_iter().map(|case| case.name).collect()
        };
        assert_eq!(names(&Alone::Some(3, 5)), names(&Alone::Some(3, 5)));
        assert_eq!(names(&Alone::Some(3, 5)).len(), 3);
        assert!(names(&Alone::All).len() >= 28 + 11);
        assert!(names(&Alone::No).is_empty());
    }
}
