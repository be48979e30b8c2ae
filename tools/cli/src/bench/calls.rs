//! `penstock bench calls`: what one update costs in calls of AWS and in units of the table.

use anyhow::Context as _;
use clap::Args;
use penstock_local::calls::{Amount, measure};

use crate::failure::{Ended, Failure};
use crate::print;

/// How much is measured.
#[derive(Debug, Args)]
pub(crate) struct CallsArgs {
    /// Updates one by one
    #[arg(long, default_value_t = Amount::default().singles, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    singles: u32,
    /// Full batches of ten
    #[arg(long, default_value_t = Amount::default().batches, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    batches: u32,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &CallsArgs) -> Result<Ended, Failure> {
    let exe = std::env::current_exe()
        .context("this program's own file is not found")
        .map_err(Failure::Usage)?;
    let amount = Amount {
        singles: args.singles,
        batches: args.batches,
    };
    print::note(&format!(
        "{} updates one by one, then {} in full batches",
        args.singles,
        args.batches * 10
    ));
    let calls = Box::pin(measure(exe, amount))
        .await
        .map_err(|error| Failure::Broken(error.into()))?;
    if args.json {
        print::json(&calls);
    } else {
        calls.lines().iter().for_each(|line| print::data(line));
    }
    Ok(Ended::Well)
}
