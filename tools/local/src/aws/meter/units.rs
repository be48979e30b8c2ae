//! What a call costs, read off its request and its answer. Pure.
//!
//! DynamoDB: what the table reports when it is asked (it sizes writes by the larger image, doubles transactions and
//! adds index writes, as the service does). A refused condition reports nothing and is billed as a write of the item
//! that refused it, one unit at least; in a transaction every member is billed, twice. SQS: a request for every 64 KB
//! of payload, one at least (AWS, SQS pricing).

use bytes::Bytes;
use dynoxide::types::{Item, item_size};
use serde_json::{Value, json};

/// SQS bills a request for each such chunk of payload.
const CHUNK_BYTES: usize = 64 * 1024;
/// A write unit of DynamoDB.
const WRITE_UNIT_BYTES: usize = 1024;
/// What a transactional write costs more than a plain one.
const TRANSACTIONAL: f64 = 2.0;

/// What a call costs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Units {
    /// Billed requests.
    pub(super) paid: u64,
    /// A receive that brought nothing.
    pub(super) is_empty: bool,
    /// Write units.
    pub(super) write: f64,
    /// Read units.
    pub(super) read: f64,
}

/// A request, as far as its cost depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// Of a table: the operation.
    Table(String),
    /// Of a queue: the bytes of the request.
    Queue(usize),
    Other,
}

/// Its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    pub(super) is_success: bool,
    pub(super) is_receive: bool,
    pub(super) body: &'a [u8],
}

pub(super) fn used(asked: &Asked, told: &Told<'_>) -> Units {
    match asked {
        Asked::Table(operation) => table(operation, told),
        Asked::Queue(bytes) => {
            let payload = if told.is_receive { told.body.len() } else { *bytes };
            Units {
                paid: u64::try_from(payload.div_ceil(CHUNK_BYTES).max(1)).unwrap_or(u64::MAX),
                is_empty: told.is_receive && told.is_success && !brings_messages(told.body),
                ..Units::default()
            }
        }
        Asked::Other => Units {
            paid: 1,
            ..Units::default()
        },
    }
}

fn brings_messages(answer: &[u8]) -> bool {
    serde_json::from_slice::<Value>(answer).is_ok_and(|answer| {
        answer["Messages"]
            .as_array()
            .is_some_and(|messages| !messages.is_empty())
    })
}

fn table(operation: &str, told: &Told<'_>) -> Units {
    let answer: Value = serde_json::from_slice(told.body).unwrap_or_default();
    let units = if told.is_success {
        capacity(&answer["ConsumedCapacity"])
    } else {
        refused(&answer)
    };
    let is_read = ["Get", "BatchGet", "TransactGet", "Query", "Scan"]
        .iter()
        .any(|prefix| operation.starts_with(prefix));
    Units {
        paid: 1,
        read: if is_read { units } else { 0.0 },
        write: if is_read { 0.0 } else { units },
        ..Units::default()
    }
}

/// One table's, or a list of several tables'.
fn capacity(reported: &Value) -> f64 {
    match reported {
        Value::Array(tables) => tables.iter().map(capacity).sum(),
        table => table["CapacityUnits"].as_f64().unwrap_or(0.0),
    }
}

/// Of a write that its condition refused; other refusals are free.
fn refused(answer: &Value) -> f64 {
    let kind = answer["__type"].as_str().unwrap_or_default();
    if kind.ends_with("ConditionalCheckFailedException") {
        return write_units(&answer["Item"]);
    }
    let reasons = answer["CancellationReasons"].as_array();
    reasons
        .into_iter()
        .flatten()
        .map(|reason| TRANSACTIONAL * write_units(&reason["Item"]))
        .sum()
}

/// Of an item as it stands in an answer; of none, the least.
fn write_units(item: &Value) -> f64 {
    let size = serde_json::from_value::<Item>(item.clone()).map_or(0, |item| item_size(&item));
    // An item has 400 KB at most.
    f64::from(u32::try_from(size.div_ceil(WRITE_UNIT_BYTES).max(1)).unwrap_or(u32::MAX))
}

/// The request, asking for what it consumes.
pub(super) fn asking_for_capacity(body: Bytes) -> Bytes {
    let Ok(Value::Object(mut request)) = serde_json::from_slice::<Value>(&body) else {
        return body;
    };
    request.insert("ReturnConsumedCapacity".to_owned(), json!("TOTAL"));
    Value::Object(request).to_string().into()
}

/// The name of the queue that a request is for; empty if it is for none.
pub(super) fn queue_of(body: &[u8]) -> String {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let url = request["QueueUrl"].as_str().unwrap_or_default();
    url.rsplit('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(is_success: bool, body: &Value) -> Units {
        let body = body.to_string();
        let told = Told {
            is_success,
            is_receive: false,
            body: body.as_bytes(),
        };
        used(&Asked::Table("UpdateItem".to_owned()), &told)
    }

    #[test]
    fn a_table_says_itself_what_was_consumed() {
        let one = json!({"ConsumedCapacity": {"TableName": "t", "CapacityUnits": 3.0}});
        assert_eq!(told(true, &one).write, 3.0);
        let body = json!({"ConsumedCapacity": [{"CapacityUnits": 0.5}, {"CapacityUnits": 1.0}]}).to_string();
        let answer = Told {
            is_success: true,
            is_receive: false,
            body: body.as_bytes(),
        };
        let read = used(&Asked::Table("BatchGetItem".to_owned()), &answer);
        assert_eq!((read.read, read.write), (1.5, 0.0));
    }

    #[test]
    fn a_refused_condition_costs_as_much_as_the_item_that_refused_it() {
        let kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
        // 2 + 1 + 1,021 bytes are 1 KB, one more is a second unit.
        for (bytes, units) in [(1_021, 1.0), (1_022, 2.0)] {
            let answer =
                json!({"__type": kind, "Item": {"pk": {"S": "a"}, "x": {"S": "y".repeat(bytes - 1)}}});
            assert_eq!(told(false, &answer).write, units, "{bytes}");
        }
        assert_eq!(told(false, &json!({"__type": kind})).write, 1.0);
        assert_eq!(
            told(false, &json!({"__type": "x#ThrottlingException"})).write,
            0.0
        );
        let cancelled =
            json!({"CancellationReasons": [{"Code": "ConditionalCheckFailed"}, {"Code": "None"}]});
        assert_eq!(told(false, &cancelled).write, 4.0);
    }

    #[test]
    fn sqs_bills_every_sixty_four_kilobytes() {
        let body = json!({"Messages": [{}]}).to_string();
        let answer = |is_receive| Told {
            is_success: true,
            is_receive,
            body: body.as_bytes(),
        };
        for (bytes, paid) in [(1, 1), (65_536, 1), (65_537, 2), (1_048_576, 16)] {
            assert_eq!(used(&Asked::Queue(bytes), &answer(false)).paid, paid, "{bytes}");
        }
        assert_eq!(used(&Asked::Queue(1_048_576), &answer(true)).paid, 1);
    }

    #[test]
    fn a_receive_without_messages_is_idle_polling() {
        for (body, is_empty) in [
            ("{}", true),
            ("{\"Messages\":[]}", true),
            ("{\"Messages\":[{}]}", false),
        ] {
            let answer = Told {
                is_success: true,
                is_receive: true,
                body: body.as_bytes(),
            };
            assert_eq!(used(&Asked::Queue(10), &answer).is_empty, is_empty, "{body}");
        }
    }

    #[test]
    fn a_request_asks_for_its_capacity_and_is_else_the_same() {
        let asked = asking_for_capacity(Bytes::from_static(b"{\"TableName\":\"t\"}"));
        let asked: Value = serde_json::from_slice(&asked).unwrap();
        assert_eq!(
            asked,
            json!({"TableName": "t", "ReturnConsumedCapacity": "TOTAL"})
        );
        assert_eq!(asking_for_capacity(Bytes::from_static(b"x")), "x");
        assert_eq!(
            queue_of(br#"{"QueueUrl":"http://x/0/updates.fifo"}"#),
            "updates.fifo"
        );
        assert_eq!(queue_of(b"{}"), "");
    }
}
