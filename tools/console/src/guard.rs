//! Who may talk to the console: only pages that it served itself, and only under a loopback name. A web page
//! of somebody else must neither read it (by DNS rebinding) nor post to it. The decision is pure.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Method, StatusCode};

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Asked for under a name that is not this machine's.
    ForeignHost,
    /// A change asked for by another page.
    ForeignOrigin,
}

impl Refusal {
    fn text(self) -> &'static str {
        match self {
            Self::ForeignHost => {
                "this console answers only under a loopback address; open it as http://127.0.0.1 with its port"
            }
            Self::ForeignOrigin => "another page may not act in this console; use the one at its own address",
        }
    }
}

/// `127.0.0.1:8080` without its port, in lower case.
fn host_name(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, _)) => name,
        None => host.split(':').next().unwrap_or_default(),
    }
}

fn is_loopback(host: &str) -> bool {
    ["127.0.0.1", "localhost", "::1"]
        .iter()
        .any(|name| host_name(host).eq_ignore_ascii_case(name))
}

/// Decides about a request by its method and headers.
pub(crate) fn check(method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = text(HOST.as_str()).unwrap_or_default();
    if !is_loopback(host) {
        return Err(Refusal::ForeignHost);
    }
    if [Method::GET, Method::HEAD].contains(method) {
        return Ok(());
    }
    // Tools such as curl send neither header; browsers always send one of them with a POST.
    let same_origin = text(ORIGIN.as_str()).is_none_or(|origin| origin == format!("http://{host}"));
    let same_site = text("sec-fetch-site").is_none_or(|site| ["same-origin", "none"].contains(&site));
    if same_origin && same_site {
        Ok(())
    } else {
        Err(Refusal::ForeignOrigin)
    }
}

/// The check as a layer.
pub(crate) async fn layer(request: Request, next: Next) -> Response {
    match check(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => (StatusCode::FORBIDDEN, refusal.text()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(method: &Method, headers: &[(&str, &str)]) -> Result<(), Refusal> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        check(method, &map)
    }

    #[test]
    fn the_console_answers_only_under_loopback_names() {
        for host in ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080"] {
            assert_eq!(verdict(&Method::GET, &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "penstock.example",
            "127.0.0.1.penstock.example:80",
            "10.0.0.5",
            "",
            "[::2]:80",
        ] {
            assert_eq!(
                verdict(&Method::GET, &[("host", host)]),
                Err(Refusal::ForeignHost),
                "{host}"
            );
        }
        assert_eq!(verdict(&Method::GET, &[]), Err(Refusal::ForeignHost));
    }

    #[test]
    fn another_origin_cannot_post() {
        let host = ("host", "127.0.0.1:8080");
        let post = |more: &[(&str, &str)]| verdict(&Method::POST, &[&[host], more].concat());
        assert_eq!(post(&[("origin", "http://127.0.0.1:8080")]), Ok(()));
        assert_eq!(post(&[]), Ok(()));
        for origin in ["http://127.0.0.1:9999", "https://penstock.example", "null"] {
            assert_eq!(
                post(&[("origin", origin)]),
                Err(Refusal::ForeignOrigin),
                "{origin}"
            );
        }
        assert_eq!(
            post(&[("sec-fetch-site", "cross-site")]),
            Err(Refusal::ForeignOrigin)
        );
        assert_eq!(
            post(&[("sec-fetch-site", "same-site")]),
            Err(Refusal::ForeignOrigin)
        );
    }
}
