//! `penstock dead`: the letters that died, for a person to look at and to put right. Never holds a rule of repair: those
//! are the domain's and `penstock-repair`'s. Bodies are shown only where they were asked for.

mod change;
mod discard;
mod list;
mod redrive;
mod select;
mod show;

use clap::Subcommand;
use penstock_domain::ids::LedgerKey;

use crate::called;
use crate::cli::EXIT_CODES;
use crate::failure::{Ended, Failure};
use crate::operator::place::PlaceArgs;

/// Dead letters.
#[derive(Debug, Subcommand)]
pub(crate) enum Dead {
    /// List what died, oldest first
    #[command(after_help = EXIT_CODES)]
    List(list::ListArgs),
    /// Tell one letter's story: its tries, what people did to it, and what to do next
    #[command(after_help = EXIT_CODES)]
    Show(show::ShowArgs),
    /// Replace a letter's body, before it is redriven
    #[command(after_help = EXIT_CODES)]
    Edit(change::EditArgs),
    /// Send letters through again: by key, or all that a filter names, oldest first in each chat
    #[command(after_help = EXIT_CODES)]
    Redrive(redrive::RedriveArgs),
    /// Close letters: they are kept as long as a settled update, and shown no more
    #[command(after_help = EXIT_CODES)]
    Discard(discard::DiscardArgs),
}

pub(crate) async fn run(command: &Dead) -> Result<Ended, Failure> {
    match command {
        Dead::List(args) => Box::pin(list::run(args)).await,
        Dead::Show(args) => Box::pin(show::run(args)).await,
        Dead::Edit(args) => Box::pin(change::run(args)).await,
        Dead::Redrive(args) => Box::pin(redrive::run(args)).await,
        Dead::Discard(args) => Box::pin(discard::run(args)).await,
    }
}

/// The command that sends a letter through again, for a person to type.
fn redrive_command(key: &LedgerKey, place: &PlaceArgs) -> String {
    let actor = called::actor();
    called::command(&format!(
        "dead redrive {key} --reason TEXT{actor}{}",
        place.words()
    ))
}

/// How the failure of a repair of one letter ends a command.
fn failed(error: penstock_repair::RepairError) -> Failure {
    use penstock_repair::RepairError as E;
    match error {
        error @ E::NotFound(_) => Failure::NotFound(error.into()),
        error => Failure::Broken(error.into()),
    }
}
