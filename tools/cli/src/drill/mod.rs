//! `penstock drill`: breaks something on purpose and sees the pipeline recover.

mod audit;
mod child;
mod kill_stack;

use clap::Subcommand;

use crate::failure::{Ended, Failure};

/// The drills.
#[derive(Debug, Subcommand)]
pub(crate) enum Drill {
    /// Kill the whole stack (SIGKILL) in the middle of a load, start it again, and see every update finish
    KillStack(kill_stack::KillStackArgs),
}

pub(crate) async fn run(drill: &Drill) -> Result<Ended, Failure> {
    match drill {
        Drill::KillStack(args) => kill_stack::run(args).await,
    }
}
