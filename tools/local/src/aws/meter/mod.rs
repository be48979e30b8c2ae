//! Counts what is called, by whom, and what DynamoDB and SQS would bill for it. Stands in front of the embedded
//! services when a stack is asked to count; never changes what a call does.

mod units;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};

use units::{Asked, Told, Units, asking_for_capacity, queue_of, used};

/// Most of a request or answer that is looked at: DynamoDB's own limit, 16 MB.
const BODY_LIMIT: usize = 16 * 1024 * 1024;
/// Who calls without a name: this program itself, looking at its stack.
const NAMELESS: &str = "tools";

/// Who called what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallKey {
    /// The function, or `mapping` for an event source mapping.
    pub caller: String,
    /// `SendMessage`, `UpdateItem` and so on.
    pub operation: String,
    /// The queue, for a call of SQS; else empty.
    pub queue: String,
}

/// How often, and what it costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CallCount {
    /// Requests.
    pub calls: u64,
    /// Requests as they are billed: SQS bills one for every 64 KB of payload.
    pub paid: u64,
    /// Receives, of those, that brought nothing: idle polling.
    pub empty: u64,
    /// Write units of DynamoDB.
    pub write_units: f64,
    /// Read units of DynamoDB.
    pub read_units: f64,
}

impl CallCount {
    /// Adds what another one counted.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.paid += other.paid;
        self.empty += other.empty;
        self.write_units += other.write_units;
        self.read_units += other.read_units;
    }
}

/// The counts. Clones count into the same.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Mutex<BTreeMap<CallKey, CallCount>>>);

impl Meter {
    /// What was counted since the last time, and begins anew.
    #[must_use]
    pub fn take(&self) -> BTreeMap<CallKey, CallCount> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn count(&self, key: CallKey, units: Units) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.entry(key).or_default().add(&CallCount {
            calls: 1,
            paid: units.paid,
            empty: u64::from(units.is_empty),
            write_units: units.write,
            read_units: units.read,
        });
    }
}

/// A layer that counts each call when it was answered. One that its caller gave up is not counted.
pub(super) async fn count(State(meter): State<Meter>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let Some((service, operation)) = operation(&parts.headers) else {
        return next.run(Request::from_parts(parts, body)).await;
    };
    let body = match to_bytes(body, BODY_LIMIT).await {
        Ok(body) => body,
        Err(error) => return (StatusCode::PAYLOAD_TOO_LARGE, error.to_string()).into_response(),
    };
    let caller = caller(&parts.headers);
    let queue = queue_of(&body);
    let (asked, body) = if service.starts_with("DynamoDB") {
        parts.headers.remove(header::CONTENT_LENGTH);
        (Asked::Table(operation.clone()), asking_for_capacity(body))
    } else if service == "AmazonSQS" {
        (Asked::Queue(body.len()), body)
    } else {
        (Asked::Other, body)
    };
    let answer = next.run(Request::from_parts(parts, Body::from(body))).await;
    let (parts, body) = answer.into_parts();
    let body = match to_bytes(body, BODY_LIMIT).await {
        Ok(body) => body,
        Err(error) => return (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    };
    let units = used(
        &asked,
        &Told {
            is_success: parts.status.is_success(),
            is_receive: operation == "ReceiveMessage",
            body: &body,
        },
    );
    let key = CallKey {
        caller,
        operation,
        queue,
    };
    meter.count(key, units);
    Response::from_parts(parts, Body::from(body))
}

/// Service and operation of a target: `DynamoDB_20120810.UpdateItem`.
fn operation(headers: &HeaderMap) -> Option<(String, String)> {
    let target = headers.get("x-amz-target")?.to_str().ok()?;
    let (service, operation) = target.split_once('.')?;
    Some((service.to_owned(), operation.to_owned()))
}

/// The name that an SDK was told to call itself (`AWS_SDK_UA_APP_ID`): `app/processor` in its user agent.
fn caller(headers: &HeaderMap) -> String {
    let agents = ["x-amz-user-agent", "user-agent"];
    let words = agents
        .iter()
        .filter_map(|name| headers.get(*name)?.to_str().ok())
        .flat_map(str::split_ascii_whitespace);
    let name = words.filter_map(|word| word.strip_prefix("app/")).next();
    name.unwrap_or(NAMELESS).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(entries: &[(&'static str, &'static str)]) -> HeaderMap {
        entries
            .iter()
            .map(|(name, value)| {
                (
                    header::HeaderName::from_static(name),
                    header::HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn a_caller_is_named_by_its_user_agent() {
        let named = headers(&[(
            "user-agent",
            "aws-sdk-rust/1.3 os/linux lang/rust/1.95 app/processor",
        )]);
        assert_eq!(caller(&named), "processor");
        assert_eq!(caller(&headers(&[("user-agent", "curl/8")])), NAMELESS);
        assert_eq!(caller(&headers(&[])), NAMELESS);
    }

    #[test]
    fn a_target_names_service_and_operation() {
        let target = headers(&[("x-amz-target", "AmazonSQS.SendMessage")]);
        assert_eq!(
            operation(&target),
            Some(("AmazonSQS".to_owned(), "SendMessage".to_owned()))
        );
        assert_eq!(operation(&headers(&[])), None);
    }

    #[test]
    fn what_was_taken_is_counted_anew() {
        let meter = Meter::default();
        let key = CallKey {
            caller: "sender".to_owned(),
            operation: "UpdateItem".to_owned(),
            queue: String::new(),
        };
        for _ in 0..2 {
            let units = Units {
                paid: 1,
                write: 2.0,
                ..Units::default()
            };
            meter.count(key.clone(), units);
        }
        let taken = meter.take();
        assert_eq!((taken[&key].calls, taken[&key].write_units), (2, 4.0));
        assert!(meter.take().is_empty());
    }
}
