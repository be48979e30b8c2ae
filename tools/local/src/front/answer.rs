//! What an HTTP API makes of a function's answer, payload format 2.0.
//!
//! A function that fails or answers nonsense is a 500 with the gateway's own words: its message
//! never reaches the caller.

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use crate::lambda::Outcome;

/// An answer, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpAnswer {
    pub(super) status: StatusCode,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Bytes,
}

impl HttpAnswer {
    /// The gateway's own answer: `{"message": ...}`.
    pub(super) fn own(status: StatusCode, message: &str) -> Self {
        let body = serde_json::json!({ "message": message }).to_string();
        let json = HeaderValue::from_static("application/json");
        Self {
            status,
            headers: vec![(HeaderName::from_static("content-type"), json)],
            body: body.into(),
        }
    }
}

/// The answer that follows from how the invocation ended.
pub(super) fn http_answer(outcome: &Outcome) -> HttpAnswer {
    match outcome {
        Outcome::Answered(body) => read(body).unwrap_or_else(internal_error),
        Outcome::Failed(_) => internal_error(),
        Outcome::Throttled => HttpAnswer::own(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
    }
}

/// The gateway's answer where a function failed.
pub(super) fn internal_error() -> HttpAnswer {
    HttpAnswer::own(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
}

/// `None` where the gateway finds the answer malformed.
fn read(body: &Bytes) -> Option<HttpAnswer> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let Some(fields) = value
        .as_object()
        .filter(|fields| fields.contains_key("statusCode"))
    else {
        // Without a status the whole answer is the body of a 200.
        let json = HeaderValue::from_static("application/json");
        let headers = vec![(HeaderName::from_static("content-type"), json)];
        return Some(HttpAnswer {
            status: StatusCode::OK,
            headers,
            body: body.clone(),
        });
    };
    let status = fields
        .get("statusCode")?
        .as_u64()
        .and_then(|code| u16::try_from(code).ok())?;
    Some(HttpAnswer {
        status: StatusCode::from_u16(status).ok()?,
        headers: headers(fields)?,
        body: decoded_body(fields)?,
    })
}

fn headers(fields: &Map<String, Value>) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let mut headers = Vec::new();
    for key in ["headers", "multiValueHeaders"] {
        let Some(named) = fields.get(key).filter(|value| !value.is_null()) else {
            continue;
        };
        for (name, value) in named.as_object()? {
            let name: HeaderName = name.parse().ok()?;
            let values = match value {
                Value::Array(values) => values.iter().map(text).collect::<Option<Vec<_>>>()?,
                single => vec![text(single)?],
            };
            for value in values {
                let header = (name.clone(), HeaderValue::from_str(&value).ok()?);
                // A function may give the same value in both places.
                if !headers.contains(&header) {
                    headers.push(header);
                }
            }
        }
    }
    for cookie in fields
        .get("cookies")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        headers.push((
            HeaderName::from_static("set-cookie"),
            HeaderValue::from_str(&text(cookie)?).ok()?,
        ));
    }
    Some(headers)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn decoded_body(fields: &Map<String, Value>) -> Option<Bytes> {
    let body = match fields.get("body") {
        None | Some(Value::Null) => return Some(Bytes::new()),
        Some(value) => value.as_str()?,
    };
    if fields.get("isBase64Encoded") == Some(&Value::Bool(true)) {
        return BASE64.decode(body).ok().map(Bytes::from);
    }
    Some(Bytes::from(body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(body: &'static str) -> HttpAnswer {
        http_answer(&Outcome::Answered(Bytes::from_static(body.as_bytes())))
    }

    #[test]
    fn status_headers_cookies_and_body_are_carried_over() {
        let answer = answered(
            r#"{"statusCode":503,"headers":{"Retry-After":"5"},"multiValueHeaders":{"retry-after":["5"]},"cookies":["a=1"],"body":"later","isBase64Encoded":false}"#,
        );
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.body, "later");
        let headers: Vec<(&str, &str)> = answer
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        assert_eq!(headers, [("retry-after", "5"), ("set-cookie", "a=1")]);
    }

    #[test]
    fn base64_bodies_are_decoded() {
        assert_eq!(
            answered(r#"{"statusCode":200,"body":"AQI=","isBase64Encoded":true}"#).body,
            &[1u8, 2][..]
        );
        assert_eq!(answered(r#"{"statusCode":200,"body":null}"#).body, "");
    }

    #[test]
    fn an_answer_without_a_status_is_the_body_of_a_200() {
        let answer = answered(r#"{"ok":true}"#);
        assert_eq!(
            (answer.status, &answer.body[..]),
            (StatusCode::OK, &br#"{"ok":true}"#[..])
        );
    }

    #[test]
    fn failures_and_nonsense_are_the_gateways_own_500() {
        let error = crate::lambda::FunctionError {
            error_type: "Boom".to_owned(),
            message: "details for nobody".to_owned(),
        };
        for answer in [
            http_answer(&Outcome::Failed(error)),
            answered("no json"),
            answered(r#"{"statusCode":"many"}"#),
            answered(r#"{"statusCode":200,"headers":{"bad name":"x"}}"#),
            answered(r#"{"statusCode":200,"body":"??","isBase64Encoded":true}"#),
        ] {
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
            assert_eq!(answer.body, r#"{"message":"Internal Server Error"}"#);
        }
    }

    #[test]
    fn no_free_instance_is_a_503() {
        assert_eq!(
            http_answer(&Outcome::Throttled).status,
            StatusCode::SERVICE_UNAVAILABLE
        );
    }
}
