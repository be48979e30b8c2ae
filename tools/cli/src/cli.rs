//! The command line. Never does anything itself: each command is a module of its own.

use clap::{Parser, Subcommand};

use crate::failure::{Ended, Failure};
use crate::{bench, dead, dev, drill, status, trace, trigger, unknown};

/// What every command's help ends with.
pub(crate) const EXIT_CODES: &str = "Exit codes: 0 all is well; 1 it ran but did not end as it should; 2 something has to be put \
                          right first (command line, port, token, state directory); 3 not found.";

/// Telegram bots on AWS Lambda, whole on this machine.
#[derive(Debug, Parser)]
#[command(name = "penstock", version, after_help = EXIT_CODES, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// Without a command it is `penstock dev`.
    #[command(flatten)]
    dev: dev::DevArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the whole pipeline here, and talk to the bot in the browser or through Telegram
    #[command(after_help = EXIT_CODES)]
    Dev(Box<dev::DevArgs>),
    /// Send a sample update, or one of your own, to the running stack
    #[command(after_help = EXIT_CODES)]
    Trigger(trigger::TriggerArgs),
    /// Tell how a stack is: its queues, the bot's backend, and what needs a person
    #[command(after_help = EXIT_CODES)]
    Status(status::StatusArgs),
    /// Tell what became of an update
    #[command(after_help = EXIT_CODES)]
    Trace(trace::TraceArgs),
    /// Look at what died, and put it right
    #[command(subcommand, after_help = EXIT_CODES)]
    Dead(dead::Dead),
    /// Look at sends of which nobody knows whether they arrived, and settle them
    #[command(subcommand, after_help = EXIT_CODES)]
    Unknown(unknown::Unknown),
    /// Measure the pipeline on a stack of its own, and check that nothing is lost, doubled or out of order
    #[command(after_help = EXIT_CODES)]
    Bench(bench::BenchArgs),
    /// Break something on purpose and see the pipeline recover
    #[command(subcommand, after_help = EXIT_CODES)]
    Drill(drill::Drill),
}

impl Cli {
    /// The command, or `dev`.
    pub(crate) fn into_command(self) -> Command {
        self.command.unwrap_or_else(|| Command::Dev(Box::new(self.dev)))
    }
}

/// Runs a command to its end.
pub(crate) async fn run(command: Command) -> Result<Ended, Failure> {
    match command {
        Command::Dev(args) => Box::pin(dev::run(&args)).await,
        Command::Trigger(args) => trigger::run(&args).await,
        Command::Status(args) => Box::pin(status::run(&args)).await,
        Command::Trace(args) => Box::pin(trace::run(&args)).await,
        Command::Dead(dead) => Box::pin(dead::run(&dead)).await,
        Command::Unknown(unknown) => Box::pin(unknown::run(&unknown)).await,
        Command::Bench(args) => Box::pin(bench::run(&args)).await,
        Command::Drill(drill) => Box::pin(drill::run(&drill)).await,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn parse(line: &str) -> Result<Command, clap::Error> {
        Cli::try_parse_from(line.split(' ')).map(Cli::into_command)
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_command_is_dev_and_takes_its_options() {
        let Ok(Command::Dev(args)) = parse("penstock --port 3000 --headless") else {
            panic!("not dev")
        };
        assert_eq!((args.port, args.headless), (Some(3000), true));
        let Ok(Command::Dev(same)) = parse("penstock dev --port 3000 --headless") else {
            panic!("not dev")
        };
        assert_eq!(same.port, args.port);
        assert!(matches!(parse("penstock"), Ok(Command::Dev(_))));
    }

    #[test]
    fn options_of_dev_in_front_of_another_command_are_refused() {
        assert!(parse("penstock --headless trace 5").is_err());
    }

    #[test]
    fn an_unknown_command_or_option_is_an_error_with_code_two() {
        for line in [
            "penstock deploy-now",
            "penstock dev --prot 1",
            "penstock trace",
            "penstock trace x --bot -",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn a_change_of_dead_letters_says_why_and_all_of_them_only_with_yes() {
        for line in [
            "penstock dead edit 5 --actor me",
            "penstock dead redrive 5 --actor me",
            "penstock dead discard 5 --actor me",
            "penstock dead redrive --all --reason x --actor me",
            "penstock dead discard --all --reason x --actor me",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
        assert!(parse("penstock dead redrive --all --yes --reason x --actor me").is_ok());
        assert!(parse("penstock dead redrive --chat -100123 --reason x --actor me").is_ok());
    }

    #[test]
    fn an_unknown_send_is_settled_in_one_of_two_ways_with_a_reason() {
        for line in [
            "penstock unknown settle 5 --reason x --actor me",
            "penstock unknown settle 5 --sent --resend --reason x --actor me",
            "penstock unknown settle 5 --sent --actor me",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
        assert!(parse("penstock unknown settle 5 --send 2 --resend --reason x --actor me").is_ok());
    }

    #[test]
    fn every_command_can_answer_in_json() {
        for line in [
            "penstock dev --json",
            "penstock trigger text --json",
            "penstock status --json",
            "penstock trace 5 --json",
            "penstock bench --json",
            "penstock dead list --json",
            "penstock dead show 5 --json",
            "penstock dead edit 5 --json --reason x --actor me",
            "penstock dead redrive 5 --json --reason x --actor me",
            "penstock dead discard 5 --json --reason x --actor me",
            "penstock unknown list --json",
            "penstock unknown show 5 --json",
            "penstock unknown settle 5 --sent --json --reason x --actor me",
            "penstock bench calls --json",
            "penstock drill kill-stack --json",
            "penstock drill crash-matrix --json",
            "penstock drill backend-outage --framework grammy,built-in --json",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
    }
}
