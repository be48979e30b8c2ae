//! The functions this program can be when it is started as `program __function NAME`.
//!
//! The same `run` that a deployed bootstrap calls, on the same Runtime API. Never runs a function in
//! the process of the stack.

use std::io::Read as _;
use std::process::ExitCode;

use penstock_aws::Lookup;
use penstock_bot::Bot;
use penstock_bot::example::ExampleBot;

use crate::lambda::FUNCTION_ARGUMENT;

/// Set where the processor has to run the example bot, whichever is deployed.
pub(crate) const EXAMPLE_BOT: &str = "PENSTOCK_EXAMPLE_BOT";
/// Threads of a function process; Lambda's smallest functions see two cores.
const WORKER_THREADS: usize = 2;

/// Serves a function if the arguments (without the program's name) ask for one, and gives the exit
/// code to end with; `None` when they do not, so that the program goes on as itself. The processor runs the bot that is
/// deployed, unless the stack asks for the example bot ([`StackOptions::run_example_bot`](crate::StackOptions)).
pub fn function_main(arguments: impl Iterator<Item = String>) -> Option<ExitCode> {
    serve(arguments, async |lookup| {
        if lookup(EXAMPLE_BOT).is_some() {
            return processor::serve(lookup, ExampleBot::default()).await;
        }
        processor::run(lookup).await
    })
}

/// The same with a bot of yours in the processor.
pub fn function_main_with<B: Bot>(arguments: impl Iterator<Item = String>, bot: B) -> Option<ExitCode> {
    serve(arguments, async |lookup| processor::serve(lookup, bot).await)
}

type Ended = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn serve(
    mut arguments: impl Iterator<Item = String>,
    processor: impl AsyncFnOnce(&Lookup<'_>) -> Ended,
) -> Option<ExitCode> {
    if arguments.next()? != FUNCTION_ARGUMENT {
        return None;
    }
    let name = arguments.next().unwrap_or_default();
    end_with_the_host();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(run(&name, processor)),
        Err(error) => Err(error.into()),
    };
    Some(match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, function = name, "the function ended");
            // The host reads this line when logging was not set up yet.
            write_error(&format!("function {name} ended: {error}"));
            ExitCode::FAILURE
        }
    })
}

async fn run(name: &str, processor: impl AsyncFnOnce(&Lookup<'_>) -> Ended) -> Ended {
    match name {
        "ingress" => ingress::run(&variable).await,
        "processor" => processor(&variable).await,
        "sender" => sender::run(&variable).await,
        "dead_letter" => dead_letter::run(&variable).await,
        other => {
            Err(format!("there is no function {other:?}: ingress, processor, sender, dead_letter").into())
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one reader of a function process's environment"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Ends this process when its standard input closes, which it does when the host is gone, however
/// it went. A function that hangs would otherwise outlive a killed host.
pub fn end_with_the_host() {
    std::thread::spawn(|| {
        let mut buffer = [0_u8; 64];
        while matches!(std::io::stdin().lock().read(&mut buffer), Ok(read) if read > 0) {}
        std::process::exit(0);
    });
}

fn write_error(line: &str) {
    use std::io::Write as _;
    // Nowhere is left to say that this failed.
    writeln!(std::io::stderr().lock(), "{line}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_arguments_leave_the_program_to_itself() {
        assert!(function_main(["dev".to_owned()].into_iter()).is_none());
        assert!(function_main(std::iter::empty()).is_none());
    }
}
