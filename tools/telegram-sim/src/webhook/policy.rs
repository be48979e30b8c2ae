//! What Telegram does after a delivery: pure decisions over (state, now, draw). No clock, no HTTP.

/// Cap of the back-off is a draw between these, seconds (server source, `WebhookActor.cpp`).
const CAP_S: (f64, f64) = (60.0, 120.0);
/// `Retry-After` is clamped to an hour (server source).
const RETRY_AFTER_MAX_S: i64 = 3_600;
/// A webhook that answers nothing but 410 for this long is removed (server source: 23 hours).
const GONE_MS: i64 = 23 * 3_600_000;

/// What came back from the webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A complete HTTP answer. `retry_after` as the header had it.
    Status {
        code: u16,
        reason: String,
        retry_after: Option<String>,
    },
    /// None, and why, in Telegram's words.
    Failed(String),
}

/// What happens to the update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Confirmed; the next update of its lane may go.
    Delivered,
    /// Tried again at this time.
    RetryAt(i64),
    /// Kept until it expires then, without another try: it still blocks its lane.
    DropAt(i64),
    /// Dropped at once, because the receiver asked for a wait past its life.
    DropNow,
}

impl Answer {
    /// 200 to 299 is a success, anything else is not: redirects are not followed.
    pub(crate) fn is_success(&self) -> bool {
        matches!(self, Self::Status { code: 200..=299, .. })
    }

    /// The text of `last_error_message`.
    pub(crate) fn error_message(&self) -> String {
        match self {
            Self::Status { code, reason, .. } => format!("Wrong response from the webhook: {code} {reason}"),
            Self::Failed(text) => text.clone(),
        }
    }

    /// The wait that a failed answer asked for: whole seconds only, clamped.
    fn retry_after_s(&self) -> Option<i64> {
        match self {
            Self::Status {
                retry_after: Some(text),
                ..
            } => text
                .trim()
                .parse::<i64>()
                .ok()
                .map(|seconds| seconds.clamp(0, RETRY_AFTER_MAX_S)),
            _ => None,
        }
    }
}

/// Decides about an update whose try number `failures` + 1 has just ended with `answer`. `draw` is in [0, 1).
///
/// The first retry is at once, then 2, 4, 8, 16, 32 seconds, doubling up to a random cap.
pub(crate) fn next(failures: u32, now: i64, expires_at: i64, answer: &Answer, draw: f64) -> Next {
    if answer.is_success() {
        return Next::Delivered;
    }
    if let Some(seconds) = answer.retry_after_s() {
        let at = now + seconds * 1_000;
        return if at >= expires_at {
            Next::DropNow
        } else {
            Next::RetryAt(at)
        };
    }
    let at = now + backoff_ms(failures, draw);
    if at >= expires_at {
        Next::DropAt(expires_at.max(now))
    } else {
        Next::RetryAt(at)
    }
}

/// The wait after `failures` earlier failures, milliseconds.
#[expect(clippy::cast_possible_truncation, reason = "at most 120,000")]
fn backoff_ms(failures: u32, draw: f64) -> i64 {
    if failures == 0 {
        return 0;
    }
    let doubling = 2_f64.powi(i32::try_from(failures.min(30)).unwrap_or(30));
    let cap = CAP_S.0 + (CAP_S.1 - CAP_S.0) * draw;
    (doubling.min(cap) * 1_000.0) as i64
}

/// Follows 410 answers: since when there was nothing else, and whether the webhook has to go.
pub(crate) fn gone(since: Option<i64>, now: i64, answer: &Answer) -> (Option<i64>, bool) {
    match answer {
        Answer::Status { code: 410, .. } => {
            let since = since.unwrap_or(now);
            (Some(since), now - since > GONE_MS)
        }
        _ => (None, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, retry_after: Option<&str>) -> Answer {
        Answer::Status {
            code,
            reason: "x".to_owned(),
            retry_after: retry_after.map(ToOwned::to_owned),
        }
    }

    const FAR: i64 = 86_400_000;

    /// Times of the tries of an update that always fails at once, until it is dropped.
    fn tries(life_ms: i64, draw: f64) -> Vec<i64> {
        let (mut now, mut times) = (0, Vec::new());
        for failures in 0..2_000 {
            times.push(now);
            match next(failures, now, life_ms, &status(500, None), draw) {
                Next::RetryAt(at) => now = at,
                _ => return times,
            }
        }
        times
    }

    #[test]
    fn any_2xx_is_a_success_and_nothing_else_is() {
        for code in [200, 204, 299] {
            assert_eq!(next(0, 0, FAR, &status(code, None), 0.5), Next::Delivered);
        }
        for code in [199, 301, 302, 400, 403, 404, 410, 500, 503] {
            assert_eq!(
                next(0, 0, FAR, &status(code, None), 0.5),
                Next::RetryAt(0),
                "{code}"
            );
        }
    }

    #[test]
    fn the_first_retry_is_at_once_and_then_the_wait_doubles() {
        assert_eq!(
            tries(FAR, 0.0)[..8],
            [0, 0, 2_000, 6_000, 14_000, 30_000, 62_000, 122_000]
        );
    }

    #[test]
    fn the_wait_is_capped_by_a_draw_between_one_and_two_minutes() {
        assert_eq!(next(20, 0, FAR, &status(500, None), 0.0), Next::RetryAt(60_000));
        assert_eq!(next(20, 0, FAR, &status(500, None), 0.5), Next::RetryAt(90_000));
    }

    #[test]
    fn a_callback_is_tried_eight_times_and_an_inline_query_five() {
        assert_eq!(tries(150_000, 0.5).len(), 8);
        assert_eq!(tries(30_000, 0.5).len(), 5);
    }

    #[test]
    fn a_message_is_tried_about_a_thousand_times_in_its_day() {
        let count = tries(FAR, 0.5).len();
        assert!((950..=970).contains(&count), "{count}");
    }

    #[test]
    fn retry_after_replaces_the_back_off() {
        assert_eq!(
            next(5, 1_000, FAR, &status(503, Some("7")), 0.5),
            Next::RetryAt(8_000)
        );
        assert_eq!(
            next(5, 1_000, FAR, &status(503, Some("0")), 0.5),
            Next::RetryAt(1_000)
        );
        assert_eq!(
            next(0, 0, FAR, &status(503, Some("99999")), 0.5),
            Next::RetryAt(3_600_000)
        );
    }

    #[test]
    fn retry_after_that_is_no_whole_number_is_ignored() {
        let date = status(503, Some("Wed, 21 Oct 2026 07:28:00 GMT"));
        assert_eq!(next(1, 0, FAR, &date, 0.5), Next::RetryAt(2_000));
        assert_eq!(
            next(1, 0, FAR, &status(503, Some("1.5")), 0.5),
            Next::RetryAt(2_000)
        );
    }

    #[test]
    fn retry_after_past_the_life_of_the_update_drops_it_at_once() {
        assert_eq!(next(0, 0, 30_000, &status(503, Some("30")), 0.5), Next::DropNow);
    }

    #[test]
    fn a_back_off_past_the_life_of_the_update_keeps_it_until_it_expires() {
        assert_eq!(
            next(6, 20_000, 30_000, &status(500, None), 0.5),
            Next::DropAt(30_000)
        );
    }

    #[test]
    fn a_connection_failure_is_retried_like_any_other() {
        let answer = Answer::Failed("Read timeout expired".to_owned());
        assert_eq!(next(2, 0, FAR, &answer, 0.5), Next::RetryAt(4_000));
        assert_eq!(answer.error_message(), "Read timeout expired");
    }

    #[test]
    fn more_than_twenty_three_hours_of_nothing_but_410_remove_the_webhook() {
        let (since, close) = gone(None, 5, &status(410, None));
        assert_eq!((since, close), (Some(5), false));
        assert_eq!(gone(since, 5 + GONE_MS, &status(410, None)), (Some(5), false));
        assert_eq!(gone(since, 6 + GONE_MS, &status(410, None)), (Some(5), true));
        assert_eq!(gone(since, 6 + GONE_MS, &status(500, None)), (None, false));
    }
}
