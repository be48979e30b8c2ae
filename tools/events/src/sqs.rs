//! Messages as ingress puts them into its queues, and the SQS event around them. The bodies are written by the code that
//! ingress uses; nothing here knows their format.

use md5::{Digest as _, Md5};
use penstock_domain::ids::{BotId, LedgerKey, quarantine_group, trace_id};
use penstock_domain::route::{RouteError, route};
use penstock_domain::time::Timestamp;
use penstock_formats::envelope::enclose;
use penstock_formats::quarantine::{Quarantined, Reason};
use serde_json::{Value, json};

/// When the committed events say that ingress received them (2026-09-10, 00:35 UTC), in milliseconds since the epoch.
pub(crate) const SAMPLE_RECEIVED_AT_MS: i64 = 1_789_000_500_000;

/// A message as ingress puts it into the updates queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// The envelope with the raw Update.
    pub body: String,
    /// What orders it.
    pub group: String,
    /// SQS's five-minute window key.
    pub deduplication_id: String,
    /// When ingress received it, in milliseconds since the epoch.
    pub received_at_ms: i64,
}

/// What stands around the messages in an SQS event.
#[derive(Debug, Clone, Copy)]
pub struct SqsWrap<'a> {
    /// The queue that the event source mapping reads.
    pub queue: &'a str,
    /// The queue from which SQS redrove the messages, if this is a dead-letter queue.
    pub redriven_from: Option<&'a str>,
    /// How often each message has been received, this time included.
    pub receive_count: u32,
}

impl Default for SqsWrap<'static> {
    fn default() -> Self {
        Self {
            queue: "penstock-updates.fifo",
            redriven_from: None,
            receive_count: 1,
        }
    }
}

/// The message that ingress puts into the updates queue for a raw Update.
///
/// # Errors
/// [`RouteError`] if the body is no Update; ingress puts such a body in quarantine.
pub fn queued(raw: &[u8], bot_id: u64, received_at_ms: i64) -> Result<Queued, RouteError> {
    let found = route(raw)?;
    let text = std::str::from_utf8(raw).map_err(|_| RouteError::Unparseable(None))?;
    let bot = BotId(bot_id);
    let trace = trace_id(bot, found.update_id);
    Ok(Queued {
        body: enclose(bot, &found, &trace, text, Timestamp::from_millis(received_at_ms)),
        group: found.group(bot).0,
        deduplication_id: LedgerKey::new(bot, found.update_id).deduplication_id(0).0,
        received_at_ms,
    })
}

/// The message that ingress puts into the dead-letter queue for a body that is no Update.
///
/// # Errors
/// Never in practice, see [`Quarantined::write`].
pub fn quarantined(
    raw: &[u8],
    reason: Reason,
    bot_id: u64,
    received_at_ms: i64,
) -> Result<Queued, serde_json::Error> {
    let bot = BotId(bot_id);
    let message = Quarantined::new(bot, reason, Timestamp::from_millis(received_at_ms), raw);
    Ok(Queued {
        body: message.write()?,
        group: quarantine_group(bot, raw).0,
        deduplication_id: message.key.as_str().to_owned(),
        received_at_ms,
    })
}

/// The event that Lambda hands to the function for these messages.
#[must_use]
pub fn sqs_event(messages: &[Queued], wrap: &SqsWrap<'_>) -> Value {
    let arn = |queue: &str| format!("arn:aws:sqs:us-east-1:000000000000:{queue}");
    let records: Vec<Value> = messages
        .iter()
        .zip(1_u64..)
        .map(|(message, n)| {
            let mut attributes = json!({
                "ApproximateReceiveCount": wrap.receive_count.to_string(),
                "SentTimestamp": (message.received_at_ms + 20).to_string(),
                "SequenceNumber": format!("{:020}", 18_000_000_000_000_000_000_u64 + n),
                "MessageGroupId": message.group,
                "SenderId": "AROAEXAMPLEEXAMPLE000:penstock",
                "MessageDeduplicationId": message.deduplication_id,
                "ApproximateFirstReceiveTimestamp": (message.received_at_ms + 60).to_string(),
            });
            if let Some(source) = wrap.redriven_from {
                attributes["DeadLetterQueueSourceArn"] = arn(source).into();
            }
            json!({
                "messageId": format!("00000000-0000-4000-8000-{n:012}"),
                "receiptHandle": format!("sample-receipt-{n}"),
                "body": message.body,
                "attributes": attributes,
                "messageAttributes": {},
                "md5OfBody": md5_hex(&message.body),
                "eventSource": "aws:sqs",
                "eventSourceARN": arn(wrap.queue),
                "awsRegion": "us-east-1",
            })
        })
        .collect();
    json!({ "Records": records })
}

fn md5_hex(text: &str) -> String {
    Md5::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_carries_the_update_byte_for_byte_in_its_chats_group() {
        let raw =
            b"{\"update_id\":5,\n\"message\":{\"chat\":{\"id\":-9},\"text\":\"\\ud83d\",\"deep\":[[[]]]}}";
        let message = queued(raw, 7, 1_000).unwrap();
        assert_eq!(message.group, "7:c:-9");
        assert_eq!(message.deduplication_id, "7:5");
        assert!(
            message
                .body
                .ends_with(&format!(",\"update\":{}}}", std::str::from_utf8(raw).unwrap()))
        );
    }

    #[test]
    fn what_is_no_update_keeps_its_bytes_in_quarantine() {
        let message = quarantined(b"\xff\xfe", Reason::Unparseable, 7, 1_000).unwrap();
        assert!(message.group.starts_with("7:q:") && message.deduplication_id.starts_with("7:q:"));
        assert_eq!(Quarantined::read(&message.body).unwrap().body, b"\xff\xfe");
    }

    #[test]
    fn characters_that_sqs_refuses_are_escaped_and_mean_the_same() {
        let raw = "{\"update_id\":5,\"message\":{\"text\":\"\u{ffff}\u{fffe}é\"}}";
        let message = queued(raw.as_bytes(), 7, 0).unwrap();
        assert!(!message.body.contains(['\u{fffe}', '\u{ffff}']));
        let envelope: Value = serde_json::from_str(&message.body).unwrap();
        assert_eq!(envelope["update"]["message"]["text"], "\u{ffff}\u{fffe}é");
    }

    #[test]
    fn what_is_no_update_is_not_queued() {
        assert!(matches!(
            queued(b"{\"update_id\":\"abc\"}", 7, 0),
            Err(RouteError::BadUpdateId)
        ));
        assert!(matches!(queued(b"\xff", 7, 0), Err(RouteError::Unparseable(_))));
    }

    #[test]
    fn every_record_of_an_event_has_its_own_id_and_place() {
        let one = queued(b"{\"update_id\":1,\"message\":{\"chat\":{\"id\":1}}}", 7, 0).unwrap();
        let two = queued(b"{\"update_id\":2,\"message\":{\"chat\":{\"id\":1}}}", 7, 0).unwrap();
        let event = sqs_event(&[one, two], &SqsWrap::default());
        let records = event["Records"].as_array().unwrap();
        assert_eq!(records.len(), 2);
        assert_ne!(records[0]["messageId"], records[1]["messageId"]);
        let place = |n: usize| {
            records[n]["attributes"]["SequenceNumber"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert!(place(0) < place(1));
        assert_eq!(records[0]["attributes"].get("DeadLetterQueueSourceArn"), None);
    }
}
