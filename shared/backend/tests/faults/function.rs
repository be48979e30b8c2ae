//! A function as the backend, behind a loopback fake of Lambda's Invoke.

use std::time::Duration;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_lambda::config::{Credentials, SharedCredentialsProvider};
use penstock_backend::{BackendClient, LambdaBackend, LambdaTimes, Target};
use penstock_domain::breaker::{Cause, ProbeAnswer};
use penstock_domain::failure::Disposition;
use penstock_domain::intent::Call;
use penstock_domain::secret::WebhookSecret;
use penstock_ports::{Backend, BackendError, Silence, Unreached};
use serde_json::Value;

use crate::server::{
    AMPLE, Nobody, SECRET, SHORT, Server, Step, Still, UPDATE, code, deliver, following, write,
};

const ARN: &str = "arn:aws:lambda:eu-west-1:123456789012:function:my-bot:live";

/// The SDK's configuration with that endpoint. Region and credentials are made up.
fn sdk(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new("AKIDEXAMPLE", "made-up", None, None, "test");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(endpoint)
        .build()
}

fn target() -> Target {
    Target::parse(ARN, Some(WebhookSecret::new(SECRET.to_owned())), None).unwrap()
}

pub(crate) fn function(endpoint: &str) -> LambdaBackend<Still> {
    function_with(endpoint, LambdaTimes::default())
}

fn function_with(endpoint: &str, times: LambdaTimes) -> LambdaBackend<Still> {
    let Target::Lambda(target) = target() else {
        panic!("{ARN} is no ARN");
    };
    LambdaBackend::new(target, &sdk(endpoint), times, Still)
}

/// A Lambda that gives this answer to an invocation; `head` are further header lines.
async fn lambda(status: u16, head: &str, payload: &str) -> (Server, LambdaBackend<Still>) {
    let server = following(vec![
        Step::Read,
        write(&format!(
            "HTTP/1.1 {status} X\r\n{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{payload}",
            payload.len()
        )),
    ])
    .await;
    let backend = function(&format!("http://{}", server.address));
    (server, backend)
}

#[tokio::test]
async fn a_function_gets_the_update_as_from_an_http_api() {
    let (server, backend) = lambda(200, "", "{}").await;
    assert_eq!(deliver(&backend, AMPLE).await, Ok(None));
    let seen = &server.seen()[0];
    assert!(
        seen.head.starts_with("POST /2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu-west-1%3A123456789012%3Afunction%3Amy-bot%3Alive/invocations"),
        "{}",
        seen.head
    );
    assert!(
        seen.header("authorization")
            .unwrap()
            .contains("/eu-west-1/lambda/")
    );
    let event: Value = serde_json::from_slice(&seen.body).unwrap();
    assert_eq!(event["body"], UPDATE);
    assert_eq!(event["requestContext"]["http"]["method"], "POST");
    let headers = &event["headers"];
    for (name, value) in [
        ("x-telegram-bot-api-secret-token", SECRET),
        ("idempotency-key", "4242:8"),
        ("penstock-attempt", "1"),
        ("penstock-try", "3"),
        ("penstock-received-at", "2026-01-02T03:04:05.006Z"),
        (
            "traceparent",
            "00-00000000000010920000000000000008-0000000000000003-01",
        ),
        ("content-type", "application/json"),
    ] {
        assert_eq!(headers[name], value, "{name}");
    }
}

#[tokio::test]
async fn what_a_function_returns_is_read_as_api_gateway_does() {
    let dice = Some(Call::new("sendDice", r#"{"chat_id":5}"#.to_owned()));
    let method = r#"{"method":"sendDice","chat_id":5}"#;
    let proxy = serde_json::json!({"statusCode": 200, "body": method}).to_string();
    let text =
        serde_json::json!({"statusCode": 200, "body": method, "headers": {"Content-Type": "text/plain"}});
    for (payload, call) in [
        (method, dice.clone()),
        (proxy.as_str(), dice),
        (&text.to_string(), None),
        ("null", None),
        ("\"ok\"", None),
        (r#"{"statusCode":204}"#, None),
    ] {
        let (_server, backend) = lambda(200, "", payload).await;
        assert_eq!(deliver(&backend, AMPLE).await, Ok(call), "{payload}");
    }
}

#[tokio::test]
async fn the_status_that_a_function_returns_counts_as_a_webhooks() {
    for (payload, code, class, cause) in [
        (
            r#"{"statusCode":503}"#,
            "backend_503",
            "transient",
            Some(Cause::BadGateway),
        ),
        (
            r#"{"statusCode":404,"body":"no"}"#,
            "backend_404",
            "permanent",
            None,
        ),
        (
            r#"{"statusCode":429,"headers":{"retry-after":"7"}}"#,
            "backend_429",
            "throttled",
            None,
        ),
        (r#"{"statusCode":"x"}"#, "backend_500", "transient", None),
    ] {
        let (_server, backend) = lambda(200, "", payload).await;
        let error = deliver(&backend, AMPLE).await.unwrap_err();
        assert_eq!(error.code(), code);
        assert_eq!(
            (error.disposition().name(), error.cause()),
            (class, cause),
            "{code}"
        );
    }
}

#[tokio::test]
async fn a_function_that_crashes_is_no_answer_and_is_not_invoked_again() {
    let payload = r#"{"errorType":"TypeError","errorMessage":"Mimi is undefined"}"#;
    let (server, backend) = lambda(200, "x-amz-function-error: Unhandled\r\n", payload).await;
    let error = deliver(&backend, AMPLE).await.unwrap_err();
    assert_eq!(error.code(), "backend_no_answer");
    assert_eq!(
        (error.disposition(), error.cause()),
        (Disposition::Transient, None)
    );
    assert_eq!(
        error.excerpt(),
        Some(r#"{"errorType":"TypeError","errorMessage":"*** is undefined"}"#)
    );
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn what_lambda_itself_refuses_is_classed_and_not_repeated() {
    for (status, kind, code, class, cause) in [
        (
            429,
            "TooManyRequestsException",
            "backend_function_throttled",
            "throttled",
            None,
        ),
        (
            404,
            "ResourceNotFoundException",
            "backend_function_missing",
            "permanent",
            None,
        ),
        (
            403,
            "AccessDeniedException",
            "backend_function_denied",
            "permanent",
            None,
        ),
        (500, "ServiceException", "backend_lambda_500", "transient", None),
        (
            502,
            "EC2ThrottledException",
            "backend_lambda_502",
            "transient",
            Some(Cause::BadGateway),
        ),
        (
            413,
            "RequestTooLargeException",
            "backend_lambda_413",
            "permanent",
            None,
        ),
    ] {
        let head = format!("x-amzn-errortype: {kind}\r\nretry-after: 4\r\n");
        let (server, backend) = lambda(status, &head, r#"{"message":"x"}"#).await;
        let error = deliver(&backend, AMPLE).await.unwrap_err();
        assert_eq!(error.code(), code);
        assert_eq!(
            (error.disposition().name(), error.cause()),
            (class, cause),
            "{kind}"
        );
        assert_eq!(error.retry_after(), Some(Duration::from_secs(4)));
        assert_eq!(server.connections(), 1, "{kind} was repeated");
    }
}

#[tokio::test]
async fn a_lambda_that_is_not_there_is_unreachable_and_one_that_is_silent_gives_no_answer() {
    let nobody = Nobody::new();
    let backend = function(nobody.url().trim_end_matches('/'));
    assert_eq!(
        deliver(&backend, AMPLE).await,
        Err(BackendError::Unreachable(Unreached::Refused))
    );
    assert_eq!(backend.probe().await, ProbeAnswer::Nothing);
    for (steps, limit, why) in [
        (vec![Step::Read, Step::Stall], SHORT, Silence::TimeOver),
        (vec![Step::Read, Step::Reset], AMPLE, Silence::BrokenOff),
        (
            vec![
                Step::Read,
                write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"),
                Step::Reset,
            ],
            AMPLE,
            Silence::BrokenOff,
        ),
    ] {
        let server = following(steps).await;
        match deliver(&function(&format!("http://{}", server.address)), limit).await {
            Err(BackendError::NoAnswer { why: seen, .. }) => assert_eq!(seen, why),
            other => panic!("{other:?}"),
        }
        assert!(server.connections() <= 1, "it was repeated");
    }
}

#[tokio::test]
async fn a_connection_to_lambda_that_does_not_come_about_in_time_is_unreachable() {
    // It takes the connection and never answers the handshake.
    let server = following(vec![Step::Stall]).await;
    let times = LambdaTimes {
        connect: SHORT,
        probe: SHORT,
    };
    let backend = function_with(&format!("https://{}", server.address), times);
    assert_eq!(
        deliver(&backend, AMPLE).await,
        Err(BackendError::Unreachable(Unreached::Slow))
    );
    assert_eq!(backend.probe().await, ProbeAnswer::Nothing);
}

#[tokio::test]
async fn a_probe_invokes_the_function_with_a_head() {
    let failed = "x-amz-function-error: Unhandled\r\n";
    for (status, head, payload, answer) in [
        (200, "", r#"{"statusCode":401}"#, 401),
        (200, "", r#"{"statusCode":503}"#, 503),
        (200, failed, "{}", 500),
        (404, "x-amzn-errortype: ResourceNotFoundException\r\n", "{}", 404),
        (503, "", "{}", 503),
    ] {
        let (server, backend) = lambda(status, head, payload).await;
        assert_eq!(backend.probe().await, ProbeAnswer::Status(answer));
        let event: Value = serde_json::from_slice(&server.seen()[0].body).unwrap();
        assert_eq!(event["requestContext"]["http"]["method"], "HEAD");
        assert_eq!(event.get("body"), None);
        assert!(!event.to_string().contains(SECRET));
    }
}

#[tokio::test]
async fn a_client_is_made_for_whatever_the_target_is() {
    let (server, _) = lambda(200, "", r#"{"statusCode":404}"#).await;
    let sdk = sdk(&format!("http://{}", server.address));
    let client = BackendClient::new(target(), &sdk, Still).unwrap();
    assert_eq!(code(&client, AMPLE).await, "backend_404");
    let nobody = Nobody::new();
    let webhook = Target::parse(&nobody.url(), None, None).unwrap();
    let client = BackendClient::new(webhook, &sdk, Still).unwrap();
    assert_eq!(code(&client, AMPLE).await, "backend_unreachable");
}
