//! The deployed sender.

#[tokio::main(flavor = "current_thread")]
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
async fn main() -> Result<(), lambda_runtime::Error> {
    sender::run(&|name| std::env::var(name).ok()).await
}
