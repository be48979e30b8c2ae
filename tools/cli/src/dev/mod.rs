//! `penstock dev`: the whole pipeline on this machine, until it is stopped or has nothing left to do.

mod announce;
mod args;
mod signals;
mod token;

use std::time::Instant;

use anyhow::{Context as _, anyhow};
use penstock_local::Stack;

pub(crate) use args::DevArgs;

use crate::failure::{Ended, Failure};
use crate::feed::{self, Case, fresh_update_id, never_idle, wait_until_idle};
use crate::print;
use crate::running::{Running, RunningFile};
use announce::{Ready, watch};
use signals::Signals;

pub(crate) async fn run(args: &DevArgs) -> Result<Ended, Failure> {
    let started = Instant::now();
    let cases = args.events.as_ref().map(Case::all_of).transpose()?;
    let token = token::find(args).map_err(Failure::Usage)?;
    // Only now: at the prompt, Ctrl-C ends the program as usual.
    let mut signals = Signals::listen().map_err(Failure::Usage)?;
    let exe = std::env::current_exe()
        .context("this program's own file is not found")
        .map_err(Failure::Usage)?;
    let options = args.stack(token, exe).map_err(Failure::Usage)?;
    // A directory that was there before may hold Updates with the samples' own ids.
    let is_fresh = options
        .state_dir
        .as_ref()
        .is_none_or(|directory| !directory.exists());
    let stack = tokio::select! {
        stack = Box::pin(Stack::start(options)) => stack.map_err(Failure::usage)?,
        () = signals.stop() => return Ok(stopped(args)),
    };
    let running = RunningFile::write(stack.state_dir(), &Running::of(&stack)).map_err(Failure::Usage)?;
    let scale = stack.view().clock().scale();
    let watching = tokio::spawn(watch(stack.view().logs().clone(), scale, started, args.json));
    Ready::of(&stack, args, started).tell(args);
    let ended = tokio::select! {
        ended = work(&stack, args, cases, is_fresh) => ended,
        ended = bridge(&stack, args) => ended,
        () = signals.stop() => {
            print::note("stopping: batches that run are finished");
            Ok(stopped(args))
        }
    };
    watching.abort();
    drop(running);
    stack.shutdown().await;
    ended
}

/// Says when the bridge to a real bot has ended. Where nobody looks at a page, the run ends with it.
async fn bridge(stack: &Stack, args: &DevArgs) -> Result<Ended, Failure> {
    let failure = Failure::Broken(anyhow!(stack.bridge_failed().await));
    if args.headless {
        return Err(failure);
    }
    failure.tell();
    std::future::pending().await
}

/// How a run ends that was told to stop: one that has an end of its own did not reach it.
fn stopped(args: &DevArgs) -> Ended {
    Ended::well_if(!args.exit_when_idle)
}

/// What there is to do beside serving; comes back only if the run has an end of its own.
async fn work(
    stack: &Stack,
    args: &DevArgs,
    cases: Option<Vec<Case>>,
    is_fresh: bool,
) -> Result<Ended, Failure> {
    let mut ended = Ended::Well;
    if let Some(cases) = cases {
        let cases: Vec<Case> = if is_fresh { cases } else { renumbered(cases) };
        let report = feed::run(stack, &cases, args.idle_limit()).await?;
        if args.json {
            print::json(&report);
        } else {
            report.lines().iter().for_each(|line| print::data(line));
        }
        ended = Ended::well_if(report.is_good());
    } else if args.exit_when_idle && !wait_until_idle(stack, args.idle_limit()).await {
        return Err(Failure::Broken(never_idle(args.idle_limit())));
    }
    if !args.exit_when_idle {
        std::future::pending::<()>().await;
    }
    Ok(ended)
}

/// The cases under ids that this stack is not likely to have seen, in the same order.
fn renumbered(cases: Vec<Case>) -> Vec<Case> {
    let first = fresh_update_id();
    cases
        .into_iter()
        .zip(first..)
        .map(|(case, id)| case.renumbered(id))
        .collect()
}
