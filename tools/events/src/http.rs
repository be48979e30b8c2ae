//! A webhook request as an HTTP API event (payload format 2.0). Never decides whether the request is a good one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::sample::{SAMPLE_BOT_ID, SAMPLE_PATH_KEY, SAMPLE_SECRET};

/// What stands around the body in an HTTP API event.
#[derive(Debug, Clone, Copy)]
pub struct HttpWrap<'a> {
    /// The bot in the path.
    pub bot_id: u64,
    /// The last part of the path.
    pub path_key: &'a str,
    /// The secret header; absent if `None`.
    pub secret: Option<&'a str>,
    /// The HTTP method.
    pub method: &'a str,
    /// When API Gateway received it, in milliseconds since the epoch.
    pub received_at_ms: i64,
}

impl Default for HttpWrap<'static> {
    fn default() -> Self {
        Self {
            bot_id: SAMPLE_BOT_ID,
            path_key: SAMPLE_PATH_KEY,
            secret: Some(SAMPLE_SECRET),
            method: "POST",
            received_at_ms: crate::sqs::SAMPLE_RECEIVED_AT_MS,
        }
    }
}

/// The event that API Gateway hands to the function for such a request. Bytes that are no UTF-8 are base64, as there.
#[must_use]
pub fn http_event(raw: &[u8], wrap: &HttpWrap<'_>) -> Value {
    let path = format!("/telegram/{}/{}", wrap.bot_id, wrap.path_key);
    let (body, is_base64) = match std::str::from_utf8(raw) {
        Ok(text) => (text.to_owned(), false),
        Err(_) => (STANDARD.encode(raw), true),
    };
    let domain = "a1b2c3d4e5.execute-api.us-east-1.amazonaws.com";
    let mut headers = json!({
        "accept-encoding": "gzip, deflate",
        "content-length": raw.len().to_string(),
        "content-type": "application/json",
        "host": domain,
        "x-amzn-trace-id": "Root=1-6aa28ea4-000000000000000000000001",
        // 192.0.2.0/24 is for documentation (RFC 5737).
        "x-forwarded-for": "192.0.2.10",
        "x-forwarded-port": "443",
        "x-forwarded-proto": "https",
    });
    if let Some(secret) = wrap.secret {
        headers["x-telegram-bot-api-secret-token"] = secret.into();
    }
    json!({
        "version": "2.0",
        "routeKey": "ANY /{proxy+}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": headers,
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "a1b2c3d4e5",
            "domainName": domain,
            "domainPrefix": "a1b2c3d4e5",
            "http": {
                "method": wrap.method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.10",
                "userAgent": "",
            },
            "requestId": "SampleRequest00=",
            "routeKey": "ANY /{proxy+}",
            "stage": "$default",
            "time": "10/Sep/2026:00:35:00 +0000",
            "timeEpoch": wrap.received_at_ms,
        },
        "pathParameters": { "proxy": &path[1..] },
        "body": body,
        "isBase64Encoded": is_base64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_carried_as_it_is_and_other_bytes_as_base64() {
        let text = http_event("{\"a\":\"\\ud83d\u{ffff}\"}".as_bytes(), &HttpWrap::default());
        assert_eq!(text["body"], "{\"a\":\"\\ud83d\u{ffff}\"}");
        assert_eq!(text["isBase64Encoded"], false);
        let bytes = http_event(b"\xff\xfe", &HttpWrap::default());
        assert_eq!(bytes["body"], "//4=");
        assert_eq!(bytes["isBase64Encoded"], true);
    }

    #[test]
    fn the_path_names_the_bot_and_its_key_and_the_header_carries_the_secret() {
        let wrap = HttpWrap {
            bot_id: 7,
            path_key: "k",
            secret: Some("s"),
            ..HttpWrap::default()
        };
        let event = http_event(b"{}", &wrap);
        assert_eq!(event["rawPath"], "/telegram/7/k");
        assert_eq!(event["requestContext"]["http"]["path"], "/telegram/7/k");
        assert_eq!(event["pathParameters"]["proxy"], "telegram/7/k");
        assert_eq!(event["headers"]["x-telegram-bot-api-secret-token"], "s");
        let bare = http_event(b"{}", &HttpWrap { secret: None, ..wrap });
        assert_eq!(bare["headers"].get("x-telegram-bot-api-secret-token"), None);
    }
}
