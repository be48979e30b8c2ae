//! Items that were written by every version so far are read. A golden file is never edited: a changed format is a new
//! version with files of its own. That today's items are written like these is tested where a table is at hand.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what fails there fails the test"
)]

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use penstock_aws::read_record;
use penstock_domain::failure::Disposition;
use penstock_domain::ids::UpdateDigest;
use penstock_domain::intent::{IntentState, OnUnknown};
use penstock_domain::ledger::{Fence, Owner, Record, State};
use penstock_domain::time::Timestamp;
use serde_json::Value;

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_123);
const DEAD_LIFE: i64 = 90 * 86_400;

macro_rules! golden {
    ($name:literal) => {
        read(include_str!(concat!("../../../tests/golden/", $name, ".json")))
    };
}

/// From the JSON of the DynamoDB API.
fn value(rendered: &Value) -> AttributeValue {
    let (kind, value) = rendered
        .as_object()
        .and_then(|object| object.iter().next())
        .unwrap();
    match (kind.as_str(), value) {
        ("S", Value::String(text)) => AttributeValue::S(text.clone()),
        ("N", Value::String(digits)) => AttributeValue::N(digits.clone()),
        ("B", Value::String(base64)) => AttributeValue::B(Blob::new(STANDARD.decode(base64).unwrap())),
        ("L", Value::Array(list)) => AttributeValue::L(list.iter().map(self::value).collect()),
        ("M", map) => AttributeValue::M(item(map)),
        other => panic!("no item of these has {other:?}"),
    }
}

fn item(rendered: &Value) -> HashMap<String, AttributeValue> {
    rendered
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, rendered)| (name.clone(), value(rendered)))
        .collect()
}

fn read(text: &str) -> Record {
    read_record("golden", &item(&serde_json::from_str(text).unwrap())).unwrap()
}

#[test]
fn a_claimed_update_is_read() {
    let record = golden!("v1/ledger_processing");
    assert_eq!(
        (record.key.as_str(), record.state),
        ("424242:1001", State::Processing)
    );
    assert_eq!(
        (record.redrive, record.attempts, record.fence, record.open),
        (0, 1, Fence(1), 0)
    );
    assert_eq!(record.owner, Some(Owner("0f0e0d0c-request:1".to_owned())));
    assert_eq!(
        (record.lease_until, record.next_at),
        (Some(NOW + Duration::from_secs(19)), None)
    );
    assert_eq!(record.digest, Some(UpdateDigest(0x0123_4567_89ab_cdef)));
    assert_eq!(record.expires_at, 1_790_000_001 + DEAD_LIFE);
    assert!(record.tries.is_empty() && record.intents.is_empty());
}

#[test]
fn an_update_that_is_tried_again_is_read() {
    let record = golden!("v1/ledger_retrying");
    assert_eq!((record.state, record.lease_until), (State::Retrying, None));
    assert_eq!(record.next_at, Some(NOW + Duration::from_secs(3)));
    let [failure] = &record.tries[..] else {
        panic!("{:?}", record.tries)
    };
    assert_eq!(
        (failure.code.as_str(), failure.attempt, failure.at),
        ("backend_429", 1, NOW)
    );
    assert_eq!(
        failure.disposition,
        Disposition::Throttled {
            retry_after: Duration::from_secs(3)
        }
    );
}

#[test]
fn an_outcome_with_sends_in_every_stage_is_read() {
    let record = golden!("v1/ledger_done");
    assert_eq!((record.state, record.open), (State::Done, 3));
    let states: Vec<_> = record.intents.iter().map(|stored| stored.state).collect();
    assert_eq!(
        states,
        [
            IntentState::Sent,
            IntentState::Unknown,
            IntentState::Retrying,
            IntentState::Intended
        ]
    );
    let [sent, unknown, retrying, intended] = &record.intents[..] else {
        panic!("{:?}", record.intents)
    };
    assert_eq!((sent.message_id, sent.attempts, sent.resend), (Some(41), 1, 0));
    assert_eq!(
        (sent.intent.n, sent.intent.previous, intended.intent.previous),
        (0, None, Some(2))
    );
    assert_eq!(
        (sent.intent.call.on_unknown, unknown.intent.call.on_unknown),
        (OnUnknown::ResendOnce, OnUnknown::Hold)
    );
    assert_eq!(sent.intent.call.method, "sendMessage");
    assert_eq!(sent.intent.call.params, r#"{"chat_id":1001,"text":"one"}"#);
    assert_eq!(sent.intent.group.0, "424242:c:1001");
    assert_eq!(
        unknown.failure.as_ref().unwrap().disposition,
        Disposition::Ambiguous
    );
    assert_eq!(unknown.owner, Some(Owner("0f0e0d0c-sender:1".to_owned())));
    assert_eq!(retrying.next_at, Some(NOW + Duration::from_secs(2)));
    assert_eq!(
        (intended.intent.call.not_before, intended.intent.call.refers_to),
        (Some(NOW + Duration::from_secs(60)), Some(0))
    );
}

#[test]
fn dead_updates_are_read_wherever_their_body_is() {
    for record in [golden!("v1/ledger_dead"), golden!("v1/ledger_dead_rows")] {
        assert_eq!(
            (record.state, record.attempts, record.tries.len()),
            (State::Dead, 1, 1)
        );
        assert_eq!(record.tries[0].disposition, Disposition::Permanent);
    }
    let quarantined = golden!("v1/ledger_quarantined");
    assert_eq!(
        (quarantined.state, quarantined.digest, quarantined.owner),
        (State::Dead, None, None)
    );
}

#[test]
fn compressed_parameters_are_read() {
    let record = golden!("v1/ledger_done_packed");
    let expected = format!(r#"{{"chat_id":1001,"text":"{}"}}"#, "penstock ".repeat(1_200));
    assert_eq!(record.intents[0].intent.call.params, expected);
}

#[test]
fn attributes_of_a_later_version_are_passed_over() {
    let text = include_str!("../../../tests/golden/v1/ledger_dead.json");
    let mut later = item(&serde_json::from_str(text).unwrap());
    later.insert("of_tomorrow".to_owned(), AttributeValue::Bool(true));
    assert_eq!(read_record("golden", &later).unwrap(), read(text));
}

#[test]
fn an_item_without_what_every_record_has_is_told_as_unreadable() {
    let text = include_str!("../../../tests/golden/v1/ledger_dead.json");
    for needed in ["key", "state", "fence", "expires_at"] {
        let mut broken = item(&serde_json::from_str(text).unwrap());
        broken.remove(needed);
        let told = read_record("golden", &broken).unwrap_err().to_string();
        assert_eq!(told, format!("golden: stored {needed} cannot be read"));
    }
}
