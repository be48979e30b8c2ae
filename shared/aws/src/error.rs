//! Where the SDK's errors become port errors, classed once.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use penstock_ports::PortError;

/// Codes with which the services say "not now"; nothing was applied. (DynamoDB and SQS API references, common errors.)
const NOT_NOW: &[&str] = &[
    "ThrottlingException",
    "Throttling",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "TransactionInProgressException",
    "TransactionConflictException",
    "ServiceUnavailable",
    "KmsThrottled",
    "LimitExceededException",
];

/// Converts a failed call. A service that answered 5xx may have applied the write: no answer.
pub(crate) fn port_error<E>(operation: &'static str, error: SdkError<E, HttpResponse>) -> PortError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    let code = error.code().map(str::to_owned);
    match &error {
        SdkError::ConstructionFailure(_) => PortError::Rejected {
            operation,
            code: "construction".to_owned(),
            source: Box::new(error),
        },
        SdkError::DispatchFailure(failure) if failure.is_io() && !failure.is_timeout() => {
            // A refused connection looks the same as a reset one here; every write is conditional, so both repeat.
            PortError::NoAnswer {
                operation,
                source: Box::new(error),
            }
        }
        SdkError::ServiceError(service) => match code {
            Some(code) if NOT_NOW.contains(&code.as_str()) => PortError::Unavailable { operation, code },
            _ if service.raw().status().is_server_error() => PortError::NoAnswer {
                operation,
                source: Box::new(error),
            },
            code => PortError::Rejected {
                operation,
                code: code.unwrap_or_default(),
                source: Box::new(error),
            },
        },
        _ => PortError::NoAnswer {
            operation,
            source: Box::new(error),
        },
    }
}
