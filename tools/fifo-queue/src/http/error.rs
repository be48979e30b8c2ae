//! Refusals and failures as the protocol shows them: `__type` in the body, and the code of the older query
//! protocol in a header, which SDKs prefer.

use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::error::{Code, EngineError, Refusal};

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    Refused(Refusal),
    Broken(EngineError),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused(refusal) => Self::Refused(refusal),
            other => Self::Broken(other),
        }
    }
}

/// Name of the error's shape in the service model.
pub(crate) fn shape(code: Code) -> &'static str {
    match code {
        Code::QueueDoesNotExist => "QueueDoesNotExist",
        Code::QueueNameExists => "QueueNameExists",
        Code::InvalidAttributeName => "InvalidAttributeName",
        Code::InvalidAttributeValue => "InvalidAttributeValue",
        Code::InvalidParameterValue => "InvalidParameterValue",
        Code::MissingParameter => "MissingParameter",
        Code::InvalidMessageContents => "InvalidMessageContents",
        Code::ReceiptHandleIsInvalid => "ReceiptHandleIsInvalid",
        Code::MessageNotInflight => "MessageNotInflight",
        Code::BatchEntryIdsNotDistinct => "BatchEntryIdsNotDistinct",
        Code::InvalidBatchEntryId => "InvalidBatchEntryId",
        Code::TooManyEntriesInBatchRequest => "TooManyEntriesInBatchRequest",
        Code::EmptyBatchRequest => "EmptyBatchRequest",
        Code::BatchRequestTooLong => "BatchRequestTooLong",
        Code::PurgeQueueInProgress => "PurgeQueueInProgress",
        Code::UnsupportedOperation => "UnsupportedOperation",
        Code::ResourceNotFound => "ResourceNotFoundException",
        Code::InvalidAction => "InvalidAction",
        Code::MalformedInput => "SerializationException",
    }
}

/// The code of the query protocol.
pub(crate) fn query_code(code: Code) -> String {
    match code {
        Code::QueueDoesNotExist => "AWS.SimpleQueueService.NonExistentQueue".to_owned(),
        Code::QueueNameExists => "QueueAlreadyExists".to_owned(),
        Code::MessageNotInflight
        | Code::BatchEntryIdsNotDistinct
        | Code::InvalidBatchEntryId
        | Code::TooManyEntriesInBatchRequest
        | Code::EmptyBatchRequest
        | Code::BatchRequestTooLong
        | Code::PurgeQueueInProgress
        | Code::UnsupportedOperation => format!("AWS.SimpleQueueService.{}", shape(code)),
        other => shape(other).to_owned(),
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, kind, code, message) = match &self {
            Self::Refused(refusal) => {
                let kind = format!("com.amazonaws.sqs#{}", shape(refusal.code));
                let code = format!("{};Sender", query_code(refusal.code));
                (StatusCode::BAD_REQUEST, kind, code, refusal.message.clone())
            }
            Self::Broken(error) => {
                tracing::error!(error = error as &dyn std::error::Error, "queue request failed");
                let kind = "com.amazonaws.sqs#InternalFailure".to_owned();
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    kind,
                    "InternalFailure;Receiver".to_owned(),
                    error.to_string(),
                )
            }
        };
        let body = json!({ "__type": kind, "message": message }).to_string();
        let mut response = (status, body).into_response();
        if let Ok(code) = HeaderValue::from_str(&code) {
            response.headers_mut().insert("x-amzn-query-error", code);
        }
        response
    }
}
