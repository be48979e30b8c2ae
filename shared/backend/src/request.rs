//! What a backend is told beside the Update: the headers, the same over HTTP and in a function's event.

use penstock_domain::secret::WebhookSecret;
use penstock_ports::Forward;

use crate::date::rfc3339;

/// Telegram's header for the secret (Bot API, setWebhook).
pub(crate) const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";

/// How Penstock names itself.
pub(crate) const USER_AGENT: &str = concat!("Penstock/", env!("CARGO_PKG_VERSION"));

/// Hex digits of a W3C trace id.
const TRACE_DIGITS: usize = 32;

/// The headers of a delivery, names in lower case. The secret is not among them: an adapter adds it in its own way.
pub(crate) fn headers(forward: &Forward<'_>) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("user-agent", USER_AGENT.to_owned()),
        ("idempotency-key", forward.key.to_string()),
        ("penstock-attempt", forward.attempt.to_string()),
        ("penstock-try", forward.fence.to_string()),
        ("penstock-received-at", rfc3339(forward.received_at)),
    ];
    headers.extend(traceparent(forward.trace_id, forward.fence).map(|value| ("traceparent", value)));
    headers
}

/// The W3C trace context: the trace is the Update's, the span is the try. Sampled, since the default of tracing
/// libraries is to record what has no parent, and a backend should not lose its traces by being behind Penstock.
/// `None` for an id that the standard refuses.
fn traceparent(trace_id: &str, fence: u64) -> Option<String> {
    let is_id = trace_id.len() == TRACE_DIGITS
        && trace_id
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && trace_id.bytes().any(|byte| byte != b'0');
    // A span of zeros is refused too.
    is_id.then(|| format!("00-{trace_id}-{:016x}-01", fence.max(1)))
}

/// The secret as both adapters look at it.
pub(crate) fn reveal(secret: Option<&WebhookSecret>) -> Option<&str> {
    secret.map(WebhookSecret::reveal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_context_is_what_the_standard_takes() {
        let id = "0000000000001092000000000000ffff";
        assert_eq!(
            traceparent(id, 3).unwrap(),
            format!("00-{id}-0000000000000003-01")
        );
        assert!(traceparent(id, 0).unwrap().ends_with("-0000000000000001-01"));
        for bad in ["", "abc", &"0".repeat(32), &"A".repeat(32), &"g".repeat(32)] {
            assert_eq!(traceparent(bad, 1), None, "{bad}");
        }
    }
}
