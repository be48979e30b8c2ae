//! `penstock`: the pipeline on this machine, and the tools around it. Never holds a rule of the pipeline.

mod bench;
mod called;
mod cli;
mod dead;
mod dev;
mod drill;
mod failure;
mod feed;
mod figures;
mod ledger;
mod load;
mod operator;
mod post;
mod print;
mod processes;
mod running;
mod status;
mod table;
mod trace;
mod trigger;
mod unknown;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned());
    // The stack starts this very program for its functions.
    if let Some(code) = penstock_local::function_main(arguments) {
        return code;
    }
    let command = cli::Cli::parse().into_command();
    print::init_tracing();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(cli::run(command)),
        Err(error) => Err(failure::Failure::Usage(error.into())),
    };
    ended.map_or_else(|failure| failure.tell(), ExitCode::from)
}
