//! The deployed ingress.

#[tokio::main(flavor = "current_thread")]
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
async fn main() -> Result<(), lambda_http::Error> {
    ingress::run(&|name| std::env::var(name).ok()).await
}
