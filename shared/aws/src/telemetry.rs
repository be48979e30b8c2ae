//! Logs: one JSON object a line on standard output, as Lambda takes them. Never a text, a name, a token or a URL.

use tracing_subscriber::EnvFilter;

/// Begins to log at the level that the environment names (`AWS_LAMBDA_LOG_LEVEL`, default `info`). A second call does
/// nothing.
pub fn init_tracing(lookup: &crate::Lookup<'_>) {
    let level = lookup("AWS_LAMBDA_LOG_LEVEL")
        .unwrap_or_else(|| "info".to_owned())
        .to_lowercase();
    // The SDK's own lines at debug level hold whole requests.
    let filter =
        format!("warn,ingress={level},processor={level},sender={level},dead_letter={level},penstock={level}");
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_ansi(false)
        .with_env_filter(EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info")))
        .finish();
    // A subscriber that is there already stays: tests set their own.
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        crate::panics::log_panics_without_their_messages();
    }
}
