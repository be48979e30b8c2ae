//! A whole stack in this process, until it is killed.

use std::io::Write as _;

use penstock_local::{Stack, StackOptions};

/// Starts a stack, says where its services are, and never ends by itself.
pub(crate) async fn run(template: &str, state_dir: &str, trace: &str) -> Result<(), lambda_runtime::Error> {
    penstock_local::end_with_the_host();
    let mut options = StackOptions::new(std::env::current_exe()?);
    options.template = Some(template.into());
    options.state_dir = Some(state_dir.into());
    options
        .extra_env
        .insert("TRACE_FILE".to_owned(), trace.to_owned());
    let stack = Stack::start(options).await?;
    writeln!(std::io::stdout().lock(), "{}", stack.endpoint_url())?;
    std::future::pending::<()>().await;
    stack.shutdown().await;
    Ok(())
}
