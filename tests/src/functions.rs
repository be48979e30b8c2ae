//! The functions as processes, for the stacks that the tests start.

use std::process::ExitCode;

fn main() -> ExitCode {
    penstock_local::function_main(std::env::args().skip(1)).unwrap_or(ExitCode::FAILURE)
}
