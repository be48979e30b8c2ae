//! The deployed processor.

#[tokio::main(flavor = "current_thread")]
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
async fn main() -> Result<(), lambda_runtime::Error> {
    processor::run(&|name| std::env::var(name).ok()).await
}
