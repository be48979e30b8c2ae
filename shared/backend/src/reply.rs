//! Reads what a function returned, as API Gateway does: `{statusCode, headers, body, isBase64Encoded}`, or anything else
//! as the JSON body of a 200. Never judges it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::answer::{Answer, End, MAX_BODY};

/// What a body is taken for whose function names no type: a REST API and a Function URL take it for the same.
const JSON: &str = "application/json";

/// The status that API Gateway gives for an answer of no such form.
const MALFORMED: u16 = 500;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Proxy {
    status_code: Value,
    #[serde(default)]
    headers: Option<Map<String, Value>>,
    #[serde(default)]
    body: Option<Box<RawValue>>,
    #[serde(default)]
    is_base64_encoded: bool,
}

/// The answer that a function's payload stands for.
pub(crate) fn answer(payload: &[u8]) -> Answer {
    let is_proxy = serde_json::from_slice::<Map<String, Value>>(payload)
        .is_ok_and(|object| object.contains_key("statusCode"));
    if !is_proxy {
        return with_body(
            Answer {
                status: 200,
                content_type: JSON.to_owned(),
                ..Answer::default()
            },
            payload,
        );
    }
    read(payload).unwrap_or_else(|| {
        with_body(
            Answer {
                status: MALFORMED,
                ..Answer::default()
            },
            payload,
        )
    })
}

fn read(payload: &[u8]) -> Option<Answer> {
    let proxy: Proxy = serde_json::from_slice(payload).ok()?;
    let status = match &proxy.status_code {
        Value::Number(number) => number.as_u64()?,
        Value::String(digits) => digits.parse().ok()?,
        _ => return None,
    };
    let headers = proxy.headers.unwrap_or_default();
    let header = |name: &str| {
        let (_, value) = headers
            .iter()
            .find(|(written, _)| written.eq_ignore_ascii_case(name))?;
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    };
    let body = match proxy.body.as_deref().map(RawValue::get) {
        None | Some("null") => Vec::new(),
        // A body that is an object instead of its text: API Gateway refuses it, and its author meant the text.
        Some(raw) => {
            serde_json::from_str::<String>(raw).map_or_else(|_| raw.as_bytes().to_vec(), String::into_bytes)
        }
    };
    let body = if proxy.is_base64_encoded {
        STANDARD.decode(body).ok()?
    } else {
        body
    };
    let answer = Answer {
        status: u16::try_from(status)
            .ok()
            .filter(|status| (100..1000).contains(status))?,
        content_type: header("content-type").unwrap_or_else(|| JSON.to_owned()),
        content_encoding: header("content-encoding").unwrap_or_default(),
        retry_after: header("retry-after"),
        ..Answer::default()
    };
    Some(with_body(answer, &body))
}

fn with_body(answer: Answer, body: &[u8]) -> Answer {
    Answer {
        body: body[..body.len().min(MAX_BODY)].to_vec(),
        end: if body.len() > MAX_BODY {
            End::TooLong
        } else {
            End::Whole
        },
        ..answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(payload: &str) -> (u16, String, String) {
        let answer = answer(payload.as_bytes());
        (
            answer.status,
            answer.content_type,
            String::from_utf8(answer.body).unwrap(),
        )
    }

    fn expected(status: u16, content_type: &str, body: &str) -> (u16, String, String) {
        (status, content_type.to_owned(), body.to_owned())
    }

    #[test]
    fn a_proxy_answer_is_unwrapped() {
        assert_eq!(
            seen(
                r#"{"statusCode":503,"headers":{"Content-Type":"text/plain","Retry-After":7},"body":"down"}"#
            ),
            expected(503, "text/plain", "down")
        );
        assert_eq!(
            seen(r#"{"statusCode":"200","body":"eyJtZXRob2QiOiJ4In0=","isBase64Encoded":true}"#),
            expected(200, JSON, r#"{"method":"x"}"#)
        );
        assert_eq!(seen(r#"{"statusCode":204,"body":null}"#), expected(204, JSON, ""));
        assert_eq!(
            seen(r#"{"statusCode":200,"body":{"method":"x"}}"#),
            expected(200, JSON, r#"{"method":"x"}"#)
        );
        let answer = answer(br#"{"statusCode":429,"headers":{"RETRY-AFTER":7}}"#);
        assert_eq!(answer.retry_after.as_deref(), Some("7"));
    }

    #[test]
    fn anything_else_is_the_body_of_a_200() {
        for payload in [r#"{"method":"sendDice"}"#, "null", "\"ok\"", "[]", "", "not JSON"] {
            assert_eq!(seen(payload), expected(200, JSON, payload));
        }
    }

    #[test]
    fn a_malformed_proxy_answer_is_a_failure_of_the_function() {
        for payload in [
            r#"{"statusCode":true}"#,
            r#"{"statusCode":7}"#,
            r#"{"statusCode":-200}"#,
            r#"{"statusCode":200,"isBase64Encoded":true,"body":"%"}"#,
            r#"{"statusCode":200,"headers":7}"#,
        ] {
            assert_eq!(seen(payload).0, MALFORMED, "{payload}");
        }
    }
}
