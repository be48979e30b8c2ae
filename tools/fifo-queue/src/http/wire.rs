//! Shapes that several requests and answers share, and the names in queue URLs and ARNs.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::Failure;
use crate::error::{Code, Refusal};
use crate::message::{AttributeValue, MessageAttribute};
use crate::rules::redrive::name_in_arn;

/// Reads a request; an empty body is an empty object.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    let body = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| {
        Refusal::new(
            Code::MalformedInput,
            format!("the request body does not fit the operation: {error}"),
        )
        .into()
    })
}

/// Writes an answer.
pub(super) fn write<T: Serialize>(answer: &T) -> Result<String, Failure> {
    serde_json::to_string(answer).map_err(|source| {
        Failure::Broken(crate::error::EngineError::Damaged {
            what: "answer",
            source,
        })
    })
}

/// Name of the queue in a queue URL: what follows the last slash. A bare name is taken too.
pub(super) fn queue_name(url: Option<&str>) -> Result<&str, Refusal> {
    let url = url
        .ok_or_else(|| Refusal::missing("QueueUrl"))?
        .trim_end_matches('/');
    Ok(url.rsplit('/').next().unwrap_or(url))
}

/// Name of the queue in an ARN.
pub(super) fn arn_name<'a>(parameter: &str, arn: Option<&'a str>) -> Result<&'a str, Refusal> {
    let arn = arn.ok_or_else(|| Refusal::missing(parameter))?;
    name_in_arn(arn).ok_or_else(|| {
        Refusal::parameter(format!(
            "value {arn} for parameter {parameter} is invalid: it is not the ARN of a queue"
        ))
    })
}

/// A message attribute on the wire.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct WireAttribute {
    data_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    string_value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    binary_value: Option<String>,
}

impl From<&MessageAttribute> for WireAttribute {
    fn from(attribute: &MessageAttribute) -> Self {
        let (string_value, binary_value) = match &attribute.value {
            AttributeValue::Text(text) => (Some(text.clone()), None),
            AttributeValue::Binary(bytes) => (None, Some(STANDARD.encode(bytes))),
        };
        Self {
            data_type: Some(attribute.data_type.clone()),
            string_value,
            binary_value,
        }
    }
}

fn attribute(name: &str, wire: WireAttribute) -> Result<MessageAttribute, Refusal> {
    let data_type = wire.data_type.ok_or_else(|| {
        Refusal::parameter(format!(
            "the message attribute `{name}` must contain a non-empty attribute type"
        ))
    })?;
    let value = match (wire.string_value, wire.binary_value) {
        (Some(text), None) => AttributeValue::Text(text),
        (None, Some(encoded)) => AttributeValue::Binary(STANDARD.decode(encoded).map_err(|error| {
            Refusal::parameter(format!(
                "the message attribute `{name}` is not valid base64: {error}"
            ))
        })?),
        _ => {
            return Err(Refusal::parameter(format!(
                "the message attribute `{name}` must have exactly one of StringValue and BinaryValue"
            )));
        }
    };
    Ok(MessageAttribute { data_type, value })
}

/// Message attributes as the engine takes them.
pub(super) fn attributes(
    wire: BTreeMap<String, WireAttribute>,
) -> Result<BTreeMap<String, MessageAttribute>, Refusal> {
    wire.into_iter()
        .map(|(name, value)| attribute(&name, value).map(|value| (name, value)))
        .collect()
}

/// The trace header among the system attributes of a send; no other is allowed.
pub(super) fn trace_header(wire: BTreeMap<String, WireAttribute>) -> Result<Option<String>, Refusal> {
    let mut header = None;
    for (name, value) in wire {
        match (name.as_str(), attribute(&name, value)?) {
            (
                "AWSTraceHeader",
                MessageAttribute {
                    data_type,
                    value: AttributeValue::Text(text),
                },
            ) if data_type == "String" => {
                header = Some(text);
            }
            _ => {
                return Err(Refusal::parameter(format!(
                    "the message system attribute `{name}` is invalid: only AWSTraceHeader of type String is allowed"
                )));
            }
        }
    }
    Ok(header)
}
