//! One endpoint for every service: requests are told apart by `X-Amz-Target`.
//!
//! SQS and Secrets Manager are answered here; DynamoDB is passed on, as its library serves only a
//! listener of its own. Functions reach DynamoDB directly.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use rustack_secretsmanager_core::config::SecretsManagerConfig;
use rustack_secretsmanager_core::handler::RustackSecretsManagerHandler;
use rustack_secretsmanager_core::provider::RustackSecretsManager;
use rustack_secretsmanager_http::dispatch::dispatch_operation;
use rustack_secretsmanager_http::response::error_to_response;
use rustack_secretsmanager_http::router::resolve_operation;
use uuid::Uuid;

use super::guard::programs_only;
use super::meter::{Meter, count};

/// DynamoDB's own limit of a request, 16 MB; the largest of the three.
const BODY_LIMIT: usize = 16 * 1024 * 1024;
/// Headers that belong to one connection, or that are set anew.
const OWN_HEADERS: [header::HeaderName; 4] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::HOST,
    header::TRANSFER_ENCODING,
];

/// What the switch passes requests to.
#[derive(Debug)]
pub(super) struct Switch {
    secrets: RustackSecretsManagerHandler,
    tables_url: String,
    client: reqwest::Client,
}

impl Switch {
    pub(super) fn new(region: &str, account_id: &str, tables_url: String) -> Self {
        let config = SecretsManagerConfig {
            skip_signature_validation: true,
            default_region: region.to_owned(),
            default_account_id: account_id.to_owned(),
        };
        let secrets = RustackSecretsManagerHandler::new(Arc::new(RustackSecretsManager::new(config)));
        Self {
            secrets,
            tables_url,
            client: reqwest::Client::new(),
        }
    }

    /// The queues' router with the other services in front of it, and before all a meter if calls are counted.
    pub(super) fn around(self, queues: Router, meter: Option<Meter>) -> Router {
        let services = queues.layer(from_fn_with_state(Arc::new(self), by_target));
        let metered = match meter {
            Some(meter) => services.layer(from_fn_with_state(meter, count)),
            None => services,
        };
        metered.layer(from_fn(programs_only))
    }
}

/// The service that a target names; no target is a queue's (or a person's) request.
#[derive(Debug, PartialEq, Eq)]
enum Service {
    Queues,
    Tables,
    Secrets,
}

fn service(target: Option<&str>) -> Service {
    match target {
        Some(target) if target.starts_with("secretsmanager.") => Service::Secrets,
        Some(target) if target.starts_with("DynamoDB") => Service::Tables,
        _ => Service::Queues,
    }
}

async fn by_target(State(switch): State<Arc<Switch>>, request: Request, next: Next) -> Response {
    let target = request
        .headers()
        .get("x-amz-target")
        .and_then(|value| value.to_str().ok());
    let service = service(target);
    if service == Service::Queues {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = match axum::body::to_bytes(body, BODY_LIMIT).await {
        Ok(body) => body,
        Err(error) => return (StatusCode::PAYLOAD_TOO_LARGE, error.to_string()).into_response(),
    };
    match service {
        Service::Secrets => secrets(&switch.secrets, &parts.headers, body).await,
        Service::Tables | Service::Queues => tables(&switch, &parts.headers, body).await,
    }
}

async fn secrets(handler: &RustackSecretsManagerHandler, headers: &HeaderMap, body: Bytes) -> Response {
    let request_id = Uuid::new_v4().to_string();
    let answer = match resolve_operation(headers) {
        Ok(operation) => dispatch_operation(handler, operation, body).await,
        Err(error) => Err(error),
    };
    answer
        .unwrap_or_else(|error| error_to_response(&error, &request_id))
        .map(Body::new)
}

async fn tables(switch: &Switch, headers: &HeaderMap, body: Bytes) -> Response {
    let request = switch
        .client
        .post(&switch.tables_url)
        .headers(without_own(headers))
        .body(body);
    let answer = match request.send().await {
        Ok(answer) => answer,
        Err(error) => return (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    };
    let (status, headers) = (answer.status(), not_for_pages(without_own(answer.headers())));
    match answer.bytes().await {
        Ok(body) => (status, headers, body).into_response(),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

fn without_own(headers: &HeaderMap) -> HeaderMap {
    let mut passed = headers.clone();
    for name in OWN_HEADERS {
        passed.remove(name);
    }
    passed
}

/// DynamoDB's library lets every web page read its answers.
fn not_for_pages(headers: HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::with_capacity(headers.len());
    for (name, value) in &headers {
        if !name.as_str().starts_with("access-control-") {
            kept.append(name, value.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_names_its_service() {
        assert_eq!(service(Some("AmazonSQS.SendMessage")), Service::Queues);
        assert_eq!(service(Some("DynamoDB_20120810.GetItem")), Service::Tables);
        assert_eq!(
            service(Some("DynamoDBStreams_20120810.ListStreams")),
            Service::Tables
        );
        assert_eq!(service(Some("secretsmanager.GetSecretValue")), Service::Secrets);
        assert_eq!(service(None), Service::Queues);
    }

    #[test]
    fn no_web_page_is_let_in_by_a_header_of_an_answer() {
        let headers = [
            ("access-control-allow-origin", "*"),
            ("content-type", "application/x-amz-json-1.0"),
        ]
        .map(|(name, value)| {
            (
                header::HeaderName::from_static(name),
                header::HeaderValue::from_static(value),
            )
        });
        let kept = not_for_pages(headers.into_iter().collect());
        assert_eq!(
            kept.keys().map(|name| name.as_str()).collect::<Vec<_>>(),
            ["content-type"]
        );
    }
}
