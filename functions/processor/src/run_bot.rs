//! Running the bot's handler: a panic or a hang is a failed try, like an error.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use penstock_bot::{Bot, BotError, Context, Incoming, Outcome, Reads};
use penstock_domain::data::{MAX_RECORDS, is_valid_key};
use penstock_domain::failure::Disposition;
use penstock_domain::retry::{MAX_UNCLASSIFIED, RetryPolicy};
use penstock_ports::Clock;

use crate::limits::HANDLER_LIMIT;

/// A failed try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFailure {
    /// Stable, short.
    pub code: Cow<'static, str>,
    /// For people, without texts or names.
    pub message: String,
    /// Its class.
    pub disposition: Disposition,
    /// Tries in all, where it is fewer than the policy's.
    pub max_attempts: Option<u32>,
    /// Whether it burns no attempt.
    pub is_given_back: bool,
    /// When one that burns none is tried again; without one, longer each time.
    pub comes_back_in: Option<Duration>,
}

/// A panic that was just caught on this thread. Its own message may hold a person's text, so only its place is kept.
fn panicked() -> RunFailure {
    RunFailure {
        code: "handler_panicked".into(),
        message: match penstock_aws::last_panic_place() {
            Some(place) => format!("the handler panicked at {place}"),
            None => "the handler panicked; see the function's log for where".to_owned(),
        },
        disposition: Disposition::Transient,
        max_attempts: Some(MAX_UNCLASSIFIED),
        is_given_back: false,
        comes_back_in: None,
    }
}

impl RunFailure {
    /// One that no further try would cure.
    pub(crate) fn permanent(code: &'static str, message: String) -> Self {
        Self {
            code: code.into(),
            message,
            disposition: Disposition::Permanent,
            max_attempts: None,
            is_given_back: false,
            comes_back_in: None,
        }
    }
}

/// Asks the bot what it wants to read.
pub(crate) fn reads<B: Bot>(bot: &B, incoming: &Incoming) -> Result<Reads, RunFailure> {
    let reads = std::panic::catch_unwind(AssertUnwindSafe(|| bot.reads(incoming))).map_err(|_| panicked())?;
    if reads.records.len() > MAX_RECORDS {
        let message = format!(
            "{} records asked for; at most {MAX_RECORDS} are read",
            reads.records.len()
        );
        return Err(RunFailure::permanent("invalid_reads", message));
    }
    match reads.records.iter().position(|key| !is_valid_key(key)) {
        None => Ok(reads),
        Some(n) => Err(RunFailure::permanent(
            "invalid_reads",
            format!("record {n} that was asked for has no valid key"),
        )),
    }
}

/// Asks the bot how often the Update is tried; one that panics at the question gets the default, and its run tells.
pub(crate) fn policy<B: Bot>(bot: &B, incoming: &Incoming) -> RetryPolicy {
    std::panic::catch_unwind(AssertUnwindSafe(|| bot.policy(incoming))).unwrap_or_default()
}

pub(crate) async fn run_bot<B: Bot, C: Clock>(
    bot: &B,
    clock: &C,
    context: &Context,
    incoming: &Incoming,
) -> Result<Outcome, RunFailure> {
    let limit = clock.real(HANDLER_LIMIT);
    // Inside a future of ours, so that a handler that panics before it gives one back is caught too.
    let run = AssertUnwindSafe(async { bot.handle(context, incoming).await }).catch_unwind();
    let failure = |code: &'static str, message: String, disposition, max_attempts| RunFailure {
        code: code.into(),
        message,
        disposition,
        max_attempts,
        is_given_back: false,
        comes_back_in: None,
    };
    match tokio::time::timeout(limit, run).await {
        Err(_) => Err(failure(
            "handler_timeout",
            format!("the handler did not end within {} s", HANDLER_LIMIT.as_secs()),
            Disposition::Transient,
            None,
        )),
        Ok(Err(_)) => Err(panicked()),
        Ok(Ok(Ok(outcome))) => Ok(outcome),
        Ok(Ok(Err(error))) => Err(match error {
            BotError::Transient { code, message } => failure(code, message, Disposition::Transient, None),
            BotError::RetryAfter { code, after } => failure(
                code,
                format!("asked to come again after {} s", after.as_secs()),
                Disposition::Throttled { retry_after: after },
                None,
            ),
            BotError::Permanent { code, message } => failure(code, message, Disposition::Permanent, None),
            BotError::Unclassified { message } => failure(
                "handler_error",
                message,
                Disposition::Transient,
                Some(MAX_UNCLASSIFIED),
            ),
        }),
    }
}
