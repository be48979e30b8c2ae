//! Requests about one message, and receiving.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::actions::nothing;
use super::error::Failure;
use super::wire::{self, WireAttribute, queue_name};
use super::{HttpConfig, Server};
use crate::digest;
use crate::error::{Code, Refusal};
use crate::message::{ReceiveRequest, Received, SendEntry, Sent};

/// System attributes that can be asked for.
const SYSTEM_ATTRIBUTES: [&str; 10] = [
    "All",
    "ApproximateFirstReceiveTimestamp",
    "ApproximateReceiveCount",
    "AWSTraceHeader",
    "DeadLetterQueueSourceArn",
    "MessageDeduplicationId",
    "MessageGroupId",
    "SenderId",
    "SentTimestamp",
    "SequenceNumber",
];

/// A message to send, in a request of its own or in a batch.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct WireMessage {
    message_body: Option<String>,
    message_group_id: Option<String>,
    message_deduplication_id: Option<String>,
    delay_seconds: Option<i64>,
    #[serde(default)]
    message_attributes: BTreeMap<String, WireAttribute>,
    #[serde(default)]
    message_system_attributes: BTreeMap<String, WireAttribute>,
}

impl WireMessage {
    pub(super) fn entry(self) -> Result<SendEntry, Refusal> {
        Ok(SendEntry {
            body: self.message_body.ok_or_else(|| Refusal::missing("MessageBody"))?,
            group: self.message_group_id,
            dedup_id: self.message_deduplication_id,
            delay_s: self.delay_seconds,
            attributes: wire::attributes(self.message_attributes)?,
            trace_header: wire::trace_header(self.message_system_attributes)?,
        })
    }
}

/// What is answered to a stored message.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct WireSent {
    message_id: String,
    #[serde(rename = "MD5OfMessageBody")]
    body_sum: String,
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    attributes_sum: Option<String>,
    #[serde(
        rename = "MD5OfMessageSystemAttributes",
        skip_serializing_if = "Option::is_none"
    )]
    system_sum: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence_number: Option<String>,
}

impl WireSent {
    pub(super) fn new(entry: &SendEntry, sent: Sent) -> Self {
        Self {
            message_id: sent.message_id,
            body_sum: digest::of_body(&entry.body),
            attributes_sum: digest::of_attributes(&entry.attributes),
            system_sum: digest::of_trace_header(entry.trace_header.as_deref()),
            sequence_number: sent.sequence_number,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Send {
    queue_url: Option<String>,
    #[serde(flatten)]
    message: WireMessage,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Receive {
    queue_url: Option<String>,
    max_number_of_messages: Option<usize>,
    visibility_timeout: Option<i64>,
    wait_time_seconds: Option<i64>,
    receive_request_attempt_id: Option<String>,
    #[serde(default)]
    attribute_names: Vec<String>,
    #[serde(default)]
    message_system_attribute_names: Vec<String>,
    #[serde(default)]
    message_attribute_names: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct WireReceived {
    message_id: String,
    receipt_handle: String,
    #[serde(rename = "MD5OfBody")]
    body_sum: String,
    body: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    message_attributes: BTreeMap<String, WireAttribute>,
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    attributes_sum: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<WireReceived>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Handle {
    queue_url: Option<String>,
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

impl Handle {
    fn receipt_handle(&self) -> Result<&str, Refusal> {
        self.receipt_handle
            .as_deref()
            .ok_or_else(|| Refusal::missing("ReceiptHandle"))
    }
}

pub(super) fn send(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: Send = wire::read(body)?;
    let entry = request.message.entry()?;
    let sent = server
        .engine
        .send(queue_name(request.queue_url.as_deref())?, &entry)?;
    wire::write(&WireSent::new(&entry, sent))
}

pub(super) async fn receive(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: Receive = wire::read(body)?;
    let queue = queue_name(request.queue_url.as_deref())?;
    let system: Vec<String> = request
        .attribute_names
        .into_iter()
        .chain(request.message_system_attribute_names)
        .collect();
    if let Some(unknown) = system
        .iter()
        .find(|name| !SYSTEM_ATTRIBUTES.contains(&name.as_str()))
    {
        return Err(Refusal::new(Code::InvalidAttributeName, format!("unknown attribute {unknown}")).into());
    }
    let max_messages = request.max_number_of_messages.unwrap_or(1);
    if max_messages == 0 {
        let message = "value 0 for parameter MaxNumberOfMessages is invalid: 1 to 10 are allowed";
        return Err(Refusal::parameter(message).into());
    }
    let wanted = ReceiveRequest {
        max_messages,
        visibility_s: request.visibility_timeout,
        wait_s: request.wait_time_seconds,
        attempt_id: request.receive_request_attempt_id,
    };
    let mut closing = server.closing.clone();
    let closed = async {
        if closing.wait_for(|closing| *closing).await.is_err() {
            // Nobody is left to close this server.
            std::future::pending::<()>().await;
        }
    };
    let received = server.engine.receive_until(queue, &wanted, closed).await?;
    let show = |message| show(&server.config, message, &system, &request.message_attribute_names);
    wire::write(&Answer {
        messages: received.into_iter().map(show).collect(),
    })
}

pub(super) fn delete(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: Handle = wire::read(body)?;
    server.engine.delete(
        queue_name(request.queue_url.as_deref())?,
        request.receipt_handle()?,
    )?;
    nothing()
}

pub(super) fn change_visibility(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: Handle = wire::read(body)?;
    let seconds = request
        .visibility_timeout
        .ok_or_else(|| Refusal::missing("VisibilityTimeout"))?;
    let queue = queue_name(request.queue_url.as_deref())?;
    server
        .engine
        .change_visibility(queue, request.receipt_handle()?, seconds)?;
    nothing()
}

/// Whether an attribute called `name` was asked for: by name, by `prefix.*`, or with all.
fn is_asked(asked: &[String], name: &str) -> bool {
    asked.iter().any(|asked| match asked.strip_suffix(".*") {
        Some(prefix) => prefix.is_empty() || name.starts_with(prefix),
        None => asked == "All" || asked == name,
    })
}

fn show(config: &HttpConfig, message: Received, system: &[String], user: &[String]) -> WireReceived {
    let source = message.dead_letter_source.map(|name| config.queue_arn(&name));
    let mut attributes: BTreeMap<&'static str, String> = [
        ("SenderId", Some(config.account_id.clone())),
        ("SentTimestamp", Some(message.sent_ms.to_string())),
        ("ApproximateReceiveCount", Some(message.receive_count.to_string())),
        (
            "ApproximateFirstReceiveTimestamp",
            Some(message.first_received_ms.to_string()),
        ),
        ("SequenceNumber", message.sequence_number),
        ("MessageDeduplicationId", message.dedup_id),
        ("MessageGroupId", message.group),
        ("AWSTraceHeader", message.trace_header),
        ("DeadLetterQueueSourceArn", source),
    ]
    .into_iter()
    .filter_map(|(name, value)| value.map(|value| (name, value)))
    .collect();
    attributes.retain(|name, _| system.iter().any(|asked| asked == "All" || asked == name));
    let mut asked = message.attributes;
    asked.retain(|name, _| is_asked(user, name));
    WireReceived {
        message_id: message.message_id,
        receipt_handle: message.receipt_handle,
        body_sum: digest::of_body(&message.body),
        body: message.body,
        attributes,
        attributes_sum: digest::of_attributes(&asked),
        message_attributes: asked
            .iter()
            .map(|(name, value)| (name.clone(), value.into()))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_asked_for_by_name_prefix_or_all() {
        let asked = |names: &[&str], name: &str| {
            is_asked(
                &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(),
                name,
            )
        };
        assert!(asked(&["All"], "a"));
        assert!(asked(&[".*"], "a"));
        assert!(asked(&["x", "bar.*"], "bar.one"));
        assert!(asked(&["a"], "a"));
        assert!(!asked(&["a"], "ab"));
        assert!(!asked(&["bar.*"], "foo"));
        assert!(!asked(&[], "a"));
    }
}
