//! A backend that is a Lambda function, invoked by its ARN. One invocation per call: the SDK's own retries are off.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{Region, SdkConfig};
use aws_sdk_lambda::Client;
use aws_sdk_lambda::config::http::HttpResponse;
use aws_sdk_lambda::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_lambda::operation::invoke::{InvokeError, InvokeOutput};
use aws_sdk_lambda::primitives::Blob;
use penstock_domain::breaker::ProbeAnswer;
use penstock_domain::intent::Call;
use penstock_domain::time::Timestamp;
use penstock_ports::{Backend, BackendError, Clock, Forward, NotRun, Silence, Unreached};

use crate::answer::{judge, retry_after};
use crate::event::{Request, event};
use crate::failure::{chain, no_answer, unreached};
use crate::mask::Mask;
use crate::reply::answer;
use crate::request::{USER_AGENT, headers, reveal};
use crate::target::LambdaTarget;

/// Longest time to connect to Lambda, as for a webhook.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Longest probe: half the lease of a probe ([`penstock_domain::breaker::PROBE_LEASE`]).
const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// The status that stands for a function that ran and failed: it is there.
const FAILED: u16 = 500;

/// Errors that end by themselves, whatever their status: credentials that are being renewed, a function that is being
/// changed, a file system that is being mounted (Lambda API reference, Invoke, errors).
const NOT_NOW: &[&str] = &[
    "ExpiredTokenException",
    "ResourceConflictException",
    "EFSMountConnectivityException",
    "EFSMountTimeoutException",
    "SnapStartNotReadyException",
];

/// Times of the calls to Lambda.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LambdaTimes {
    /// Longest time until a connection stands.
    pub connect: Duration,
    /// Longest probe.
    pub probe: Duration,
}

/// 3 s to connect, 5 s for a probe.
impl Default for LambdaTimes {
    fn default() -> Self {
        Self {
            connect: CONNECT_TIMEOUT,
            probe: PROBE_LIMIT,
        }
    }
}

/// Invokes a function.
#[derive(Debug, Clone)]
pub struct LambdaBackend<C> {
    client: Client,
    target: LambdaTarget,
    probe_limit: Duration,
    clock: C,
}

impl<C: Clock> LambdaBackend<C> {
    /// A client of that function, in the function's own region, with the credentials and the endpoint of `sdk`. The
    /// timeouts of `sdk` do not count: a delivery has its limit.
    #[must_use]
    pub fn new(target: LambdaTarget, sdk: &SdkConfig, times: LambdaTimes, clock: C) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(times.connect)
            .disable_read_timeout()
            .disable_operation_timeout()
            .disable_operation_attempt_timeout()
            .build();
        let config = aws_sdk_lambda::config::Builder::from(sdk)
            .region(Region::new(target.region.clone()))
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            // A function that thinks for long is not a stalled stream.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        Self {
            client: Client::from_conf(config),
            target,
            probe_limit: times.probe,
            clock,
        }
    }

    async fn invoke(&self, event: String, limit: Duration) -> Result<InvokeOutput, BackendError> {
        let sent = self
            .client
            .invoke()
            .function_name(&self.target.arn)
            .payload(Blob::new(event))
            .send();
        match tokio::time::timeout(limit, sent).await {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(failure(&error, self.clock.now())),
            Err(_) => Err(no_answer(Silence::TimeOver)),
        }
    }
}

impl<C: Clock> Backend for LambdaBackend<C> {
    async fn deliver(&self, forward: &Forward<'_>) -> Result<Option<Call>, BackendError> {
        let secret = reveal(self.target.secret.as_ref());
        let request = event(Request {
            method: "POST",
            headers: headers(forward),
            secret,
            body: Some(forward.update),
            id: forward.trace_id,
            at: forward.received_at,
        });
        let output = self.invoke(request, forward.limit).await?;
        let mask = || {
            Mask::of(
                forward.update,
                secret.into_iter().chain([self.target.arn.as_str()]),
            )
        };
        let payload = output.payload.as_ref().map_or(&[][..], Blob::as_ref);
        if output.function_error.is_some() {
            return Err(BackendError::NoAnswer {
                why: Silence::FunctionFailed,
                excerpt: mask().excerpt(payload),
            });
        }
        judge(answer(payload), self.clock.now(), mask).await
    }

    /// Invokes the function with a HEAD, which a webhook gets too. Not a dry run: that asks only whether Penstock may
    /// invoke it, and would call a function back whose every answer is 503. It is sent without the secret, so that a
    /// handler that checks it refuses at once. A function that fails at it is there; its crash has not shut the door
    /// either.
    async fn probe(&self) -> ProbeAnswer {
        let request = event(Request {
            method: "HEAD",
            headers: vec![("user-agent", USER_AGENT.to_owned())],
            secret: None,
            body: None,
            id: "probe",
            at: self.clock.now(),
        });
        match self.invoke(request, self.probe_limit).await {
            Ok(output) if output.function_error.is_some() => ProbeAnswer::Status(FAILED),
            Ok(output) => {
                let payload = output.payload.as_ref().map_or(&[][..], Blob::as_ref);
                ProbeAnswer::Status(answer(payload).status)
            }
            Err(BackendError::NotRun { why, .. }) => ProbeAnswer::Status(match why {
                NotRun::Missing => 404,
                NotRun::Denied => 403,
                NotRun::Throttled => 429,
                NotRun::NotNow(status) | NotRun::Refused(status) => status,
            }),
            Err(_) => ProbeAnswer::Nothing,
        }
    }
}

/// Classes a failed invocation. Where no connection to Lambda stood, or the request could not even be signed, nothing
/// was sent.
fn failure(error: &SdkError<InvokeError, HttpResponse>, now: Timestamp) -> BackendError {
    // Not its text: one may name the endpoint.
    tracing::debug!(
        backend.code = error.code(),
        backend.causes = chain(error).count(),
        "the exchange with Lambda broke off"
    );
    match error {
        SdkError::ServiceError(service) => {
            let raw = service.raw();
            BackendError::NotRun {
                why: not_run(raw.status().as_u16(), service.err().code().unwrap_or_default()),
                retry_after: raw
                    .headers()
                    .get("retry-after")
                    .and_then(|value| retry_after(value, now)),
            }
        }
        SdkError::ConstructionFailure(_) => BackendError::Unreachable(Unreached::Other),
        SdkError::DispatchFailure(dispatch) => {
            let connect = chain(error).any(|cause| {
                cause
                    .downcast_ref::<hyper_util::client::legacy::Error>()
                    .is_some_and(hyper_util::client::legacy::Error::is_connect)
            });
            if connect || dispatch.is_user() {
                BackendError::Unreachable(unreached(error, dispatch.is_timeout()))
            } else {
                no_answer(Silence::BrokenOff)
            }
        }
        SdkError::TimeoutError(_) => no_answer(Silence::TimeOver),
        // An answer that is none.
        _ => no_answer(Silence::BrokenOff),
    }
}

fn not_run(status: u16, code: &str) -> NotRun {
    match (status, code) {
        (_, "ResourceNotFoundException") => NotRun::Missing,
        (_, code) if NOT_NOW.contains(&code) => NotRun::NotNow(status),
        (_, "AccessDeniedException") => NotRun::Denied,
        (429, _) => NotRun::Throttled,
        (500..=599, _) => NotRun::NotNow(status),
        _ => NotRun::Refused(status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lambda_says_is_told_by_code_then_status() {
        for (status, code, expected) in [
            (404, "ResourceNotFoundException", NotRun::Missing),
            (403, "AccessDeniedException", NotRun::Denied),
            (403, "ExpiredTokenException", NotRun::NotNow(403)),
            (403, "InvalidSignatureException", NotRun::Refused(403)),
            (429, "TooManyRequestsException", NotRun::Throttled),
            (409, "ResourceConflictException", NotRun::NotNow(409)),
            (408, "EFSMountTimeoutException", NotRun::NotNow(408)),
            (410, "EFSMountFailureException", NotRun::Refused(410)),
            (413, "RequestTooLargeException", NotRun::Refused(413)),
            (500, "ServiceException", NotRun::NotNow(500)),
            (502, "EC2ThrottledException", NotRun::NotNow(502)),
            (503, "", NotRun::NotNow(503)),
        ] {
            assert_eq!(not_run(status, code), expected, "{code}");
        }
    }
}
