//! `penstock drill`: breaks something on purpose and sees the pipeline recover.

mod audit;
mod backend_outage;
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
    /// Kill a bot's own backend (SIGKILL) under a steady load, start it again, and see every update wait for it and come
    /// back by a ramp
    #[command(after_help = EXIT_CODES)]
    BackendOutage(backend_outage::BackendOutageArgs),
    /// The bot that `backend-outage` kills where no framework is named
    #[command(name = backend_outage::BUILT_IN, hide = true)]
    BuiltInBackend(backend_outage::BackendArgs),
}

pub(crate) async fn run(drill: &Drill) -> Result<Ended, Failure> {
    match drill {
        Drill::KillStack(args) => kill_stack::run(args).await,
        Drill::CrashMatrix(args) => Box::pin(crash_matrix::run(args)).await,
        Drill::BackendOutage(args) => Box::pin(backend_outage::run(args)).await,
        Drill::BuiltInBackend(args) => backend_outage::serve(args).await,
    }
}
