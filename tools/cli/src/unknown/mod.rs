//! `penstock unknown`: sends of which nobody knows whether they arrived, for a person who has looked into the chat. Never
//! holds a rule of repair, and never shows what was sent.

mod list;
mod sends;
mod settle;
mod show;

use clap::Subcommand;

use crate::cli::EXIT_CODES;
use crate::failure::{Ended, Failure};

/// Unknown sends.
#[derive(Debug, Subcommand)]
pub(crate) enum Unknown {
    /// List them, oldest first; and what was sent again and its copy seems to be lost
    #[command(after_help = EXIT_CODES)]
    List(list::ListArgs),
    /// Tell of an update's sends: their states, their failures, and what people did
    #[command(after_help = EXIT_CODES)]
    Show(show::ShowArgs),
    /// Say that a send has arrived, or have it sent again
    #[command(after_help = EXIT_CODES)]
    Settle(settle::SettleArgs),
}

pub(crate) async fn run(command: &Unknown) -> Result<Ended, Failure> {
    match command {
        Unknown::List(args) => Box::pin(list::run(args)).await,
        Unknown::Show(args) => Box::pin(show::run(args)).await,
        Unknown::Settle(args) => Box::pin(settle::run(args)).await,
    }
}

/// How a repair of one send ends a command.
fn failed(error: penstock_repair::RepairError) -> Failure {
    use penstock_repair::RepairError as E;
    match error {
        error @ (E::NotFound(_) | E::NoSuchSend(_)) => Failure::NotFound(error.into()),
        error => Failure::Broken(error.into()),
    }
}
