//! The event with which a function is invoked: an HTTP API's, payload format 2.0, which Function URLs send too. So a
//! handler that was made for either takes Updates from Penstock unchanged.

use penstock_domain::time::Timestamp;
use serde_json::{Map, Value, json};

use crate::date::common_log;
use crate::request::{SECRET_HEADER, USER_AGENT};

/// The route of an API that has one function for everything.
const ROUTE: &str = "$default";

/// A host that is none (RFC 2606): there is no address under which the function was called.
const HOST: &str = "penstock.invalid";

/// What an event says.
pub(crate) struct Request<'a> {
    /// `POST` or `HEAD`.
    pub(crate) method: &'static str,
    /// Headers, names in lower case, without the secret.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The secret.
    pub(crate) secret: Option<&'a str>,
    /// The body; a HEAD has none.
    pub(crate) body: Option<&'a str>,
    /// The id of the request: the Update's trace.
    pub(crate) id: &'a str,
    /// When the Update came.
    pub(crate) at: Timestamp,
}

/// The event as JSON.
pub(crate) fn event(request: Request<'_>) -> String {
    let mut headers: Map<String, Value> = request
        .headers
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    headers.insert("host".to_owned(), HOST.into());
    if let Some(body) = request.body {
        headers.insert("content-length".to_owned(), body.len().to_string().into());
    }
    if let Some(secret) = request.secret {
        headers.insert(SECRET_HEADER.to_owned(), secret.into());
    }
    let mut event = json!({
        "version": "2.0",
        "routeKey": ROUTE,
        "rawPath": "/",
        "rawQueryString": "",
        "headers": headers,
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "penstock",
            "domainName": HOST,
            "domainPrefix": "penstock",
            "http": {
                "method": request.method,
                "path": "/",
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": USER_AGENT,
            },
            "requestId": request.id,
            "routeKey": ROUTE,
            "stage": ROUTE,
            "time": common_log(request.at),
            "timeEpoch": request.at.as_millis(),
        },
        "isBase64Encoded": false,
    });
    if let (Some(body), Some(event)) = (request.body, event.as_object_mut()) {
        event.insert("body".to_owned(), body.into());
    }
    event.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lambda_events::apigw::ApiGatewayV2httpRequest;

    #[test]
    fn a_handler_of_an_http_api_reads_it() {
        let update = "{\"text\":\"\\ud83d \u{e9} \\\"\"}";
        let text = event(Request {
            method: "POST",
            headers: vec![("content-type", "application/json".to_owned())],
            secret: Some("s"),
            body: Some(update),
            id: "abc",
            at: Timestamp::from_millis(1_767_323_045_006),
        });
        let read: ApiGatewayV2httpRequest = serde_json::from_str(&text).unwrap();
        assert_eq!(read.body.as_deref(), Some(update));
        assert_eq!(read.headers[SECRET_HEADER], "s");
        assert_eq!(read.request_context.http.method.as_str(), "POST");
        assert_eq!(read.request_context.time_epoch, 1_767_323_045_006);
        assert_eq!(
            (
                read.version.as_deref(),
                read.raw_path.as_deref(),
                read.is_base64_encoded
            ),
            (Some("2.0"), Some("/"), false)
        );
    }

    #[test]
    fn a_head_has_no_body_and_no_secret() {
        let text = event(Request {
            method: "HEAD",
            headers: Vec::new(),
            secret: None,
            body: None,
            id: "abc",
            at: Timestamp::default(),
        });
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read.get("body"), None);
        assert_eq!(read["headers"], json!({"host": HOST}));
    }
}
