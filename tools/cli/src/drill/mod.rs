//! `penstock drill`: breaks something on purpose and sees the pipeline recover.

mod audit;
mod child;
mod crash_matrix;
mod kill_stack;

use clap::Subcommand;

use crate::cli::EXIT_CODES;
use crate::failure::{Ended, Failure};

/// The drills.
#[derive(Debug, Subcommand)]
pub(crate) enum Drill {
    /// Kill the whole stack (SIGKILL) in the middle of a load, start it again, and see every update finish
    #[command(after_help = EXIT_CODES)]
    KillStack(kill_stack::KillStackArgs),
    /// Kill a function process at every arrow of the pipeline, for every kind of update, and see nothing lost, doubled
    /// or out of order
    #[command(after_help = EXIT_CODES)]
    CrashMatrix(crash_matrix::CrashMatrixArgs),
}

pub(crate) async fn run(drill: &Drill) -> Result<Ended, Failure> {
    match drill {
        Drill::KillStack(args) => kill_stack::run(args).await,
        Drill::CrashMatrix(args) => Box::pin(crash_matrix::run(args)).await,
    }
}
