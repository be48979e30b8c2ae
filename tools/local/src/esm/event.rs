//! The event that Lambda makes of queue messages.
//!
//! Never drops a system attribute: the functions order and group by them.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::{Message, MessageAttributeValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;

/// `{"Records": [...]}`.
#[derive(Debug, Serialize)]
pub(super) struct SqsEvent<'a> {
    #[serde(rename = "Records")]
    records: Vec<Record<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    message_id: &'a str,
    receipt_handle: &'a str,
    body: &'a str,
    attributes: BTreeMap<&'a str, &'a str>,
    message_attributes: BTreeMap<&'a str, Attribute<'a>>,
    md5_of_body: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    md5_of_message_attributes: Option<&'a str>,
    event_source: &'static str,
    #[serde(rename = "eventSourceARN")]
    event_source_arn: &'a str,
    aws_region: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Attribute<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    string_value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_value: Option<String>,
    string_list_values: [&'a str; 0],
    binary_list_values: [&'a str; 0],
    data_type: &'a str,
}

/// The event of a batch.
pub(super) fn sqs_event<'a>(messages: &'a [Message], queue_arn: &'a str, region: &'a str) -> SqsEvent<'a> {
    SqsEvent {
        records: messages
            .iter()
            .map(|message| record(message, queue_arn, region))
            .collect(),
    }
}

fn record<'a>(message: &'a Message, queue_arn: &'a str, region: &'a str) -> Record<'a> {
    let attributes = message
        .attributes()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let message_attributes = message
        .message_attributes()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), attribute(value)))
        .collect();
    Record {
        message_id: message.message_id().unwrap_or_default(),
        receipt_handle: message.receipt_handle().unwrap_or_default(),
        body: message.body().unwrap_or_default(),
        attributes,
        message_attributes,
        md5_of_body: message.md5_of_body().unwrap_or_default(),
        md5_of_message_attributes: message.md5_of_message_attributes(),
        event_source: "aws:sqs",
        event_source_arn: queue_arn,
        aws_region: region,
    }
}

fn attribute(value: &MessageAttributeValue) -> Attribute<'_> {
    Attribute {
        string_value: value.string_value(),
        binary_value: value.binary_value().map(|blob| BASE64.encode(blob.as_ref())),
        string_list_values: [],
        binary_list_values: [],
        data_type: value.data_type(),
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::primitives::Blob;
    use aws_sdk_sqs::types::MessageSystemAttributeName as Name;

    use super::*;

    #[test]
    fn a_record_has_the_shape_that_lambda_sends() {
        let text = MessageAttributeValue::builder()
            .data_type("String")
            .string_value("v")
            .build()
            .unwrap();
        let bytes = MessageAttributeValue::builder()
            .data_type("Binary")
            .binary_value(Blob::new([1, 2]))
            .build()
            .unwrap();
        let message = Message::builder()
            .message_id("m-1")
            .receipt_handle("r-1")
            .body("{\"a\":1}")
            .md5_of_body("0cc175b9")
            .attributes(Name::MessageGroupId, "1:c:2")
            .attributes(Name::ApproximateReceiveCount, "1")
            .attributes(Name::AwsTraceHeader, "Root=1-2-3")
            .message_attributes("text", text)
            .message_attributes("bytes", bytes)
            .build();
        let messages = [message];
        let arn = "arn:aws:sqs:us-east-1:000000000000:q.fifo";
        let event = serde_json::to_value(sqs_event(&messages, arn, "us-east-1")).unwrap();
        assert_eq!(
            event,
            serde_json::json!({"Records": [{
                "messageId": "m-1",
                "receiptHandle": "r-1",
                "body": "{\"a\":1}",
                "attributes": {
                    "ApproximateReceiveCount": "1",
                    "AWSTraceHeader": "Root=1-2-3",
                    "MessageGroupId": "1:c:2",
                },
                "messageAttributes": {
                    "bytes": {"binaryValue": "AQI=", "stringListValues": [], "binaryListValues": [], "dataType": "Binary"},
                    "text": {"stringValue": "v", "stringListValues": [], "binaryListValues": [], "dataType": "String"},
                },
                "md5OfBody": "0cc175b9",
                "eventSource": "aws:sqs",
                "eventSourceARN": arn,
                "awsRegion": "us-east-1",
            }]})
        );
    }
}
