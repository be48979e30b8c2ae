//! What an answer means for the Update. Knows nothing of how it came: over HTTP and from a function alike.

use std::time::Duration;

use penstock_domain::intent::Call;
use penstock_domain::time::Timestamp;
use penstock_ports::{BackendError, Silence};

use crate::call::{Asked, Notation, read, read_beginning};
use crate::mask::Mask;

/// Longest body that is read, in bytes. Telegram takes parameters of at most 1 MiB from an answer.
pub(crate) const MAX_BODY: usize = 1024 * 1024;

/// Longest wait that an answer can ask for: the longest that SQS hides a message (12 h). It is asked again then.
const LONGEST_RETRY_AFTER: Duration = Duration::from_hours(12);

/// An answer as it came.
#[derive(Default)]
pub(crate) struct Answer {
    /// HTTP status.
    pub(crate) status: u16,
    /// `Content-Type`, empty if there is none.
    pub(crate) content_type: String,
    /// `Content-Encoding`, empty if there is none. None was asked for.
    pub(crate) content_encoding: String,
    /// `Retry-After`.
    pub(crate) retry_after: Option<String>,
    /// What was read of the body, at most [`MAX_BODY`].
    pub(crate) body: Vec<u8>,
    /// Whether that is all.
    pub(crate) end: End,
}

/// How the reading of a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum End {
    /// At its end.
    #[default]
    Whole,
    /// It is longer than what is read.
    TooLong,
    /// Before its end.
    Broken(Silence),
}

/// Judges an answer. `mask` is made only where something of the body is kept.
///
/// A 2xx is done. Where it could hold a method its whole body counts, as for Telegram: one that breaks off is no answer.
/// One that is too long is done without a call: the handler has run, and to run it again would bring the same.
pub(crate) async fn judge(
    answer: Answer,
    now: Timestamp,
    mask: impl FnOnce() -> Mask,
) -> Result<Option<Call>, BackendError> {
    if !(200..300).contains(&answer.status) {
        return Err(BackendError::Refused {
            status: answer.status,
            retry_after: answer.retry_after.and_then(|value| retry_after(&value, now)),
            excerpt: mask().excerpt(&answer.body),
        });
    }
    let Some(notation) = Notation::of(&answer.content_type) else {
        return Ok(None);
    };
    if !matches!(
        answer.content_encoding.to_ascii_lowercase().as_str(),
        "" | "identity"
    ) {
        tracing::warn!("the backend's answer is encoded, which was not asked for; it is taken as empty");
        return Ok(None);
    }
    let asked = match answer.end {
        End::Broken(why) => {
            return Err(BackendError::NoAnswer {
                why,
                excerpt: penstock_ports::Excerpt::default(),
            });
        }
        End::Whole => read(&notation, &answer.body).await,
        End::TooLong => read_beginning(&notation, &answer.body).await,
    };
    match asked {
        Asked::Call(call) => Ok(Some(call)),
        Asked::Files { method } => Err(BackendError::ReplyHasFiles { method }),
        Asked::Nothing => Ok(None),
        Asked::Unreadable => {
            tracing::warn!(
                "the backend's answer is not what its content type says, or over {MAX_BODY} bytes; it is taken as empty"
            );
            Ok(None)
        }
        Asked::NotRun => {
            tracing::warn!(
                "the backend's answer asks for a method that no answer can run; it is taken as empty"
            );
            Ok(None)
        }
    }
}

/// The wait of a `Retry-After`, seconds or a date, at most [`LONGEST_RETRY_AFTER`]; `None` if it is neither, or over.
pub(crate) fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    let wait = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Digits that are no u64 are more than the longest wait.
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let at = httpdate::parse_http_date(value).ok()?;
        let since_epoch = at.duration_since(std::time::UNIX_EPOCH).ok()?;
        (Timestamp::default() + since_epoch).since(now)
    };
    Some(wait.min(LONGEST_RETRY_AFTER)).filter(|wait| !wait.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(value: &str) -> Option<u64> {
        // 1994-11-06 08:49:37 UTC, the example of RFC 9110.
        let now = Timestamp::from_millis(784_111_777_000);
        retry_after(value, now).map(|wait| wait.as_secs())
    }

    fn judged(status: u16, content_type: &str, end: End) -> Result<Option<Call>, String> {
        let answer = Answer {
            status,
            content_type: content_type.to_owned(),
            end,
            ..Answer::default()
        };
        let judged = judge(answer, Timestamp::default(), Mask::default);
        futures::executor::block_on(judged).map_err(|error| error.code())
    }

    #[test]
    fn a_status_counts_whatever_became_of_its_body() {
        for end in [End::Whole, End::TooLong, End::Broken(Silence::TimeOver)] {
            assert_eq!(judged(404, "", end), Err("backend_404".to_owned()));
            assert_eq!(judged(200, "text/plain", end), Ok(None));
        }
    }

    #[test]
    fn a_2xx_that_could_hold_a_method_counts_only_when_it_is_whole() {
        let json = "application/json";
        assert_eq!(judged(200, json, End::Whole), Ok(None));
        assert_eq!(judged(200, json, End::TooLong), Ok(None));
        assert_eq!(
            judged(200, json, End::Broken(Silence::TimeOver)),
            Err("backend_no_answer".to_owned())
        );
    }

    #[test]
    fn a_wait_comes_in_seconds_or_as_a_date() {
        assert_eq!(after("120"), Some(120));
        assert_eq!(after(" 7 "), Some(7));
        assert_eq!(after("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
        assert_eq!(after("Sunday, 06-Nov-94 08:50:37 GMT"), Some(60));
        assert_eq!(after("Sun Nov  6 08:50:37 1994"), Some(60));
    }

    #[test]
    fn a_wait_that_is_none_or_over_is_left_out() {
        for value in ["", "0", "-5", "1.5", "soon", "Sun, 06 Nov 1994 08:49:00 GMT"] {
            assert_eq!(after(value), None, "{value}");
        }
    }

    #[test]
    fn no_wait_is_longer_than_sqs_can_hide_a_message() {
        let longest = Some(43_200);
        assert_eq!(after("43201"), longest);
        assert_eq!(after("99999999999999999999999"), longest);
        assert_eq!(after("Fri, 31 Dec 9999 23:59:59 GMT"), longest);
    }
}
