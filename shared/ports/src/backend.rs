//! The bot owner's own backend, as the processor sees it in forward mode: one try to hand over an Update, classed once.

use std::fmt;
use std::time::Duration;

use penstock_domain::breaker::{Cause, ProbeAnswer};
use penstock_domain::failure::Disposition;
use penstock_domain::ids::LedgerKey;
use penstock_domain::intent::Call;
use penstock_domain::time::Timestamp;

/// One try to hand over an Update.
#[derive(Clone, Copy)]
pub struct Forward<'a> {
    /// The Update as Telegram wrote it. It is sent byte for byte.
    pub update: &'a str,
    /// Its key in the ledger: the idempotency key, equal for every try.
    pub key: &'a LedgerKey,
    /// Which attempt it is, from 1. A refund or a redrive takes it back.
    pub attempt: u32,
    /// The fence of the claim: it never goes down, so a later try has a higher one.
    pub fence: u64,
    /// When Penstock received the Update.
    pub received_at: Timestamp,
    /// 32 hex digits, see [`penstock_domain::ids::trace_id`].
    pub trace_id: &'a str,
    /// Longest whole exchange, from the name's look-up to the last byte of the answer.
    pub limit: Duration,
}

/// Hands Updates to a backend. Never repeats by itself.
pub trait Backend: Send + Sync {
    /// Hands one over. A 2xx is done; where its body asks for a Bot API method that Telegram would run, that call comes
    /// back.
    ///
    /// # Errors
    /// See [`BackendError`].
    fn deliver(
        &self,
        forward: &Forward<'_>,
    ) -> impl Future<Output = Result<Option<Call>, BackendError>> + Send;

    /// Asks whether the backend is there, without an Update.
    fn probe(&self) -> impl Future<Output = ProbeAnswer> + Send;
}

/// Why no connection stood. Nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unreached {
    /// The port was refused.
    #[error("its port refused the connection; is it running?")]
    Refused,
    /// The name was not found.
    #[error("its host name was not found; check the URL and the DNS record")]
    Name,
    /// Longer than the time to connect.
    #[error("it did not accept a connection in time; check its address, its firewall and its load")]
    Slow,
    /// Its certificate is signed by nobody who is trusted here.
    #[error("its certificate is signed by an unknown authority; give the authority's certificate")]
    UnknownAuthority,
    /// Its certificate is over, or not yet valid.
    #[error("its certificate is not valid at this time; renew it")]
    NotValidNow,
    /// Its certificate is for another name.
    #[error("its certificate is for another host name; check the URL or the certificate")]
    OtherName,
    /// Another failure of TLS.
    #[error("TLS could not be agreed on; does it speak TLS 1.2 or 1.3 on that port?")]
    Tls,
    /// Anything else before the request was written.
    #[error("no connection came about")]
    Other,
}

/// Why there is no answer though the request was, or may have been, written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Silence {
    /// The exchange took longer than its limit.
    #[error("its time was over")]
    TimeOver,
    /// The connection ended, or what came is no HTTP.
    #[error("the connection broke off, or what came was no HTTP answer")]
    BrokenOff,
    /// The function crashed, or ran into its own timeout.
    #[error("the function failed; see its own log")]
    FunctionFailed,
}

/// Why Lambda did not run the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotRun {
    /// There is none of that ARN.
    Missing,
    /// Penstock may not invoke it.
    Denied,
    /// Too many at once.
    Throttled,
    /// Lambda is failing, or the function is being changed; with Lambda's HTTP status.
    NotNow(u16),
    /// Lambda refuses the call for good; with its HTTP status.
    Refused(u16),
}

impl fmt::Display for NotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such function; check the ARN and its qualifier"),
            Self::Denied => f.write_str("Penstock may not invoke it; allow lambda:InvokeFunction on the ARN"),
            Self::Throttled => f.write_str("too many of it run at once"),
            Self::NotNow(status) => write!(f, "Lambda answered {status}"),
            Self::Refused(status) => write!(f, "Lambda refused the call with {status}; check the function"),
        }
    }
}

/// What is kept of a backend's answer, for the owner to see. Masked, and kept out of logs: `Debug` shows its length.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Excerpt(String);

impl Excerpt {
    /// Wraps a text that is masked already.
    #[must_use]
    pub fn masked(text: String) -> Self {
        Self(text)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} bytes]", self.0.len())
    }
}

/// An Update that could not be handed over. Its `Display` and `Debug` hold no URL, no secret, and nothing of the
/// Update or of the answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// No connection: nothing was delivered.
    #[error("the backend could not be reached: {0}")]
    Unreachable(Unreached),
    /// No whole answer: its handler may have run.
    #[error("the backend gave no answer: {why}")]
    NoAnswer {
        /// Why.
        why: Silence,
        /// What a function said as it failed.
        excerpt: Excerpt,
    },
    /// It answered with another status than a 2xx.
    #[error("the backend answered {status}{}", cure(*status))]
    Refused {
        /// The status.
        status: u16,
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
        /// The start of the answer's body.
        excerpt: Excerpt,
    },
    /// Lambda did not run the function.
    #[error("the backend's function was not run: {why}")]
    NotRun {
        /// Why.
        why: NotRun,
        /// When Lambda wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// A 2xx whose method carries files. They cannot wait in a queue.
    #[error(
        "the backend answered {method} with files in the answer itself, which cannot wait in a queue; \
         send them by a call of the Bot API, or name them by file_id or URL"
    )]
    ReplyHasFiles {
        /// The method.
        method: String,
    },
    /// The request could not be made.
    #[error("the request to the backend could not be made: {what} does not fit into a header")]
    Unsendable {
        /// What of it.
        what: &'static str,
    },
}

/// What the owner can do about a status; empty where it says all.
fn cure(status: u16) -> &'static str {
    match status {
        300..=399 => ", a redirect, which is not followed; give the final URL",
        401 | 403 => "; does it check the secret that Penstock has?",
        404 | 410 => "; check the path of the URL",
        405 => "; its URL has to take POST",
        _ => "",
    }
}

impl BackendError {
    /// Its class. None is ambiguous: whether the handler ran is unknown after a silence, and a repeat has the same
    /// idempotency key.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Unreachable(_) | Self::NoAnswer { .. } => Disposition::Transient,
            Self::Refused {
                status: 429,
                retry_after,
                ..
            }
            | Self::NotRun {
                why: NotRun::Throttled,
                retry_after,
            } => Disposition::Throttled {
                retry_after: retry_after.unwrap_or_default(),
            },
            Self::Refused {
                status: 408 | 425 | 500..=599,
                ..
            }
            | Self::NotRun {
                why: NotRun::NotNow(_),
                ..
            } => Disposition::Transient,
            Self::Refused { .. }
            | Self::NotRun {
                why: NotRun::Missing | NotRun::Denied | NotRun::Refused(_),
                ..
            }
            | Self::ReplyHasFiles { .. }
            | Self::Unsendable { .. } => Disposition::Permanent,
        }
    }

    /// A stable code for stored failures and metrics.
    #[must_use]
    pub fn code(&self) -> String {
        match self {
            Self::Unreachable(_) => "backend_unreachable".to_owned(),
            Self::NoAnswer { .. } => "backend_no_answer".to_owned(),
            Self::Refused { status, .. } => format!("backend_{status}"),
            Self::NotRun { why, .. } => match why {
                NotRun::Missing => "backend_function_missing".to_owned(),
                NotRun::Denied => "backend_function_denied".to_owned(),
                NotRun::Throttled => "backend_function_throttled".to_owned(),
                NotRun::NotNow(status) | NotRun::Refused(status) => format!("backend_lambda_{status}"),
            },
            Self::ReplyHasFiles { .. } => "backend_reply_has_files".to_owned(),
            Self::Unsendable { .. } => "backend_unsendable".to_owned(),
        }
    }

    /// When it wants to be asked again: a floor for whatever wait follows, for any class that is tried again.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } | Self::NotRun { retry_after, .. } => *retry_after,
            Self::Unreachable(_)
            | Self::NoAnswer { .. }
            | Self::ReplyHasFiles { .. }
            | Self::Unsendable { .. } => None,
        }
    }

    /// What it tells the breaker. `None`: the backend answered, or it was silent, which a single slow Update is too.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        match self {
            Self::Unreachable(_) => Some(Cause::Unreachable),
            Self::Refused {
                status: 502..=504, ..
            }
            | Self::NotRun {
                why: NotRun::NotNow(502..=504),
                ..
            } => Some(Cause::BadGateway),
            Self::Refused { .. }
            | Self::NotRun { .. }
            | Self::NoAnswer { .. }
            | Self::ReplyHasFiles { .. }
            | Self::Unsendable { .. } => None,
        }
    }

    /// What is kept of the answer, masked: to be stored beside the message, never to be logged.
    #[must_use]
    pub fn excerpt(&self) -> Option<&str> {
        match self {
            Self::Refused { excerpt, .. } | Self::NoAnswer { excerpt, .. } => {
                Some(excerpt.as_str()).filter(|text| !text.is_empty())
            }
            Self::Unreachable(_)
            | Self::NotRun { .. }
            | Self::ReplyHasFiles { .. }
            | Self::Unsendable { .. } => None,
        }
    }
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
