//! The function that the tests of the local stack run: it does what each message tells it. It is also
//! the real functions, for the one test that runs them.
//!
//! Served by the real runtime, in processes that the host starts, like any function. Started as
//! `local-test-function host TEMPLATE STATE_DIR TRACE_FILE` it is a host itself, so that a test can
//! kill a whole stack.

mod host;
mod script;

use std::io::Write as _;
use std::process::ExitCode;

use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;

/// Names that this program serves by a script; any other function is the real one.
const SCRIPTED: [&str; 3] = ["worker", "web", "broken"];

fn main() -> ExitCode {
    let asked = std::env::args().nth(2).unwrap_or_default();
    if !SCRIPTED.contains(&asked.as_str())
        && let Some(code) = penstock_local::function_main(std::env::args().skip(1))
    {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let outcome = runtime.block_on(async {
        match arguments.as_slice() {
            ["__function", "broken"] => Err("this function cannot start".into()),
            ["__function", name] => {
                penstock_local::end_with_the_host();
                serve(name).await
            }
            ["host", template, state_dir, trace] => host::run(template, state_dir, trace).await,
            other => Err(format!("what is {other:?}?").into()),
        }
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(error.as_ref()),
    }
}

async fn serve(name: &str) -> Result<(), lambda_runtime::Error> {
    let is_web = name == "web";
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| async move {
        if is_web {
            script::web(&event.payload)
        } else {
            script::batch(&event.payload).await
        }
    }))
    .await
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    // Nowhere is left to say that this failed.
    writeln!(std::io::stderr().lock(), "{error}").ok();
    ExitCode::FAILURE
}
