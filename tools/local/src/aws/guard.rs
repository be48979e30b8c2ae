//! Keeps web pages away from listeners that have no access control.
//!
//! A page in a browser on this machine reaches loopback ports, by a name that resolves there too. A browser says who
//! asks; the programs of the stack never do. Never looks at anything but headers.

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

/// The names by which the stack's own programs reach a loopback port.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// A layer: 403 for a request of a web page, or for one to another host's name.
pub(crate) async fn programs_only(request: Request, next: Next) -> Response {
    match refusal(request.headers()) {
        Some(reason) => (StatusCode::FORBIDDEN, reason).into_response(),
        None => next.run(request).await,
    }
}

/// Why a request is refused, by its headers.
fn refusal(headers: &HeaderMap) -> Option<&'static str> {
    if headers.contains_key(header::ORIGIN) {
        return Some("web pages have no access here; use a program without an origin header");
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    (!host.is_some_and(is_own)).then_some("this host is not served here; use 127.0.0.1")
}

fn is_own(host: &str) -> bool {
    let is_port = |rest: &str| {
        rest.is_empty()
            || rest
                .strip_prefix(':')
                .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let host = host.to_ascii_lowercase();
    NAMES
        .iter()
        .any(|name| host.strip_prefix(name).is_some_and(is_port))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn is_refused(headers: &[(HeaderName, &'static str)]) -> bool {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect();
        refusal(&headers).is_some()
    }

    #[test]
    fn only_the_names_of_the_loopback_are_served() {
        for host in ["127.0.0.1:4566", "127.0.0.1", "LOCALHOST:1", "[::1]:80", "[::1]"] {
            assert!(!is_refused(&[(header::HOST, host)]), "{host}");
        }
        for host in [
            "penstock.example",
            "127.0.0.1.penstock.example:80",
            "localhost.penstock.example",
            "127.0.0.1:80@penstock.example",
            "",
        ] {
            assert!(is_refused(&[(header::HOST, host)]), "{host}");
        }
        assert!(is_refused(&[]));
    }

    #[test]
    fn a_web_page_is_refused_even_at_the_right_host() {
        for origin in ["null", "http://127.0.0.1:4566", "https://penstock.example"] {
            let headers = [(header::HOST, "127.0.0.1:4566"), (header::ORIGIN, origin)];
            assert!(is_refused(&headers), "{origin}");
        }
    }
}
