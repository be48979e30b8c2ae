//! The event that an HTTP API makes of a request, payload format 2.0.
//!
//! Never changes a body: text stays text, anything else goes as base64.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;

/// The route of the template that everything matches.
const ROUTE_KEY: &str = "ANY /{proxy+}";

/// What is known of a request.
#[derive(Debug)]
pub(super) struct HttpRequest<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
    pub(super) source_ip: &'a str,
    pub(super) request_id: &'a str,
    pub(super) account_id: &'a str,
    pub(super) now_ms: i64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HttpEvent<'a> {
    version: &'static str,
    route_key: &'static str,
    raw_path: &'a str,
    raw_query_string: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cookies: Vec<String>,
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    query_string_parameters: BTreeMap<String, String>,
    request_context: RequestContext<'a>,
    path_parameters: BTreeMap<&'static str, &'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    is_base64_encoded: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestContext<'a> {
    account_id: &'a str,
    api_id: &'static str,
    domain_name: String,
    domain_prefix: &'static str,
    http: HttpPart<'a>,
    request_id: &'a str,
    route_key: &'static str,
    stage: &'static str,
    time: String,
    time_epoch: i64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HttpPart<'a> {
    method: &'a str,
    path: &'a str,
    protocol: &'static str,
    source_ip: &'a str,
    user_agent: String,
}

/// The event of a request.
pub(super) fn http_event<'a>(request: &HttpRequest<'a>) -> HttpEvent<'a> {
    let headers = joined_headers(request.headers);
    let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
    let (body, is_base64_encoded) = body_text(&header("content-type"), request.body);
    HttpEvent {
        version: "2.0",
        route_key: ROUTE_KEY,
        raw_path: request.path,
        raw_query_string: request.query,
        cookies: cookies(request.headers),
        query_string_parameters: query_parameters(request.query),
        request_context: RequestContext {
            account_id: request.account_id,
            api_id: "local",
            domain_name: header("host"),
            domain_prefix: "local",
            http: HttpPart {
                method: request.method,
                path: request.path,
                protocol: "HTTP/1.1",
                source_ip: request.source_ip,
                user_agent: header("user-agent"),
            },
            request_id: request.request_id,
            route_key: ROUTE_KEY,
            stage: "$default",
            time: access_log_time(request.now_ms),
            time_epoch: request.now_ms,
        },
        path_parameters: BTreeMap::from([("proxy", request.path.trim_start_matches('/'))]),
        headers,
        body,
        is_base64_encoded,
    }
}

/// Names in lower case, several values of one name joined with a comma; cookies are apart.
fn joined_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut joined: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers.iter().filter(|(name, _)| *name != "cookie") {
        let value = String::from_utf8_lossy(value.as_bytes());
        joined
            .entry(name.as_str().to_owned())
            .and_modify(|all| {
                all.push(',');
                all.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    joined
}

fn cookies(headers: &HeaderMap) -> Vec<String> {
    headers
        .get_all("cookie")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .map(|cookie| cookie.trim().to_owned())
        .collect()
}

fn query_parameters(query: &str) -> BTreeMap<String, String> {
    let mut parameters: BTreeMap<String, String> = BTreeMap::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = percent_decoded(value);
        parameters
            .entry(percent_decoded(name))
            .and_modify(|all| {
                all.push(',');
                all.push_str(&value);
            })
            .or_insert(value);
    }
    parameters
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (
            first,
            escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()),
        ) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(first),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The body, and whether it is base64.
fn body_text(content_type: &str, body: &[u8]) -> (Option<String>, bool) {
    if body.is_empty() {
        return (None, false);
    }
    match std::str::from_utf8(body) {
        Ok(text) if is_text(content_type) => (Some(text.to_owned()), false),
        _ => (Some(BASE64.encode(body)), true),
    }
}

/// Media types that an HTTP API passes on as text.
fn is_text(content_type: &str) -> bool {
    let media_type = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    media_type.starts_with("text/")
        || matches!(
            media_type.as_str(),
            "application/json" | "application/javascript" | "application/xml"
        )
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml")
}

/// `12/Mar/2020:19:03:58 +0000`, as access logs write it.
fn access_log_time(ms: i64) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let seconds = ms.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days since 1 March of year 0, in eras of 400 years, so that leap days come last.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 2
    } else {
        shifted_month - 10
    };
    let year = year_of_era + era * 400 + i64::from(month < 2);
    let name = usize::try_from(month)
        .ok()
        .and_then(|month| MONTHS.get(month))
        .copied()
        .unwrap_or("???");
    format!(
        "{day:02}/{name}/{year}:{:02}:{:02}:{:02} +0000",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(headers: &[(&'static str, &'static str)], query: &str, body: &[u8]) -> serde_json::Value {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let request = HttpRequest {
            method: "POST",
            path: "/telegram/1/key",
            query,
            headers: &map,
            body,
            source_ip: "127.0.0.1",
            request_id: "r",
            account_id: "000000000000",
            now_ms: 1_584_039_838_123,
        };
        serde_json::to_value(http_event(&request)).unwrap()
    }

    #[test]
    fn a_json_body_stays_text_and_names_are_lower_case() {
        let event = event(
            &[
                ("Content-Type", "application/json; charset=utf-8"),
                ("X-A", "1"),
                ("X-A", "2"),
            ],
            "",
            b"{\"update_id\": 1}",
        );
        assert_eq!(event["version"], "2.0");
        assert_eq!(event["body"], "{\"update_id\": 1}");
        assert_eq!(event["isBase64Encoded"], false);
        assert_eq!(event["headers"]["x-a"], "1,2");
        assert_eq!(event["rawPath"], "/telegram/1/key");
        assert_eq!(event["pathParameters"]["proxy"], "telegram/1/key");
        assert_eq!(event["requestContext"]["http"]["method"], "POST");
        assert_eq!(event["requestContext"]["time"], "12/Mar/2020:19:03:58 +0000");
    }

    #[test]
    fn what_is_no_text_goes_as_base64() {
        for (content_type, body) in [
            ("application/octet-stream", &b"abc"[..]),
            ("application/x-www-form-urlencoded", b"a=b"),
            ("application/json", b"\xff\xfe"),
        ] {
            let event = event(&[("content-type", content_type)], "", body);
            assert_eq!(event["isBase64Encoded"], true, "{content_type}");
            assert_eq!(event["body"], BASE64.encode(body), "{content_type}");
        }
    }

    #[test]
    fn an_empty_body_is_absent() {
        let event = event(&[], "", b"");
        assert!(event.get("body").is_none());
        assert_eq!(event["isBase64Encoded"], false);
    }

    #[test]
    fn queries_are_decoded_and_joined() {
        let event = event(&[("cookie", "a=1; b=2")], "x=1&x=%C3%A9+2&y&z=%zz", b"");
        assert_eq!(
            event["queryStringParameters"],
            serde_json::json!({"x": "1,é 2", "y": "", "z": "%zz"})
        );
        assert_eq!(event["rawQueryString"], "x=1&x=%C3%A9+2&y&z=%zz");
        assert_eq!(event["cookies"], serde_json::json!(["a=1", "b=2"]));
    }

    #[test]
    fn access_log_times_know_leap_days() {
        assert_eq!(access_log_time(0), "01/Jan/1970:00:00:00 +0000");
        assert_eq!(access_log_time(1_709_164_800_000), "29/Feb/2024:00:00:00 +0000");
        assert_eq!(access_log_time(1_735_689_599_999), "31/Dec/2024:23:59:59 +0000");
    }
}
