//! The table's items are written as they always were, attribute by attribute, and read back from what was written
//! then. A golden file is never edited: a changed format is a new version with files of its own.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use penstock_domain::data::{Change, DataKey, DataWrite, Expect};
use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::{BotId, LedgerKey, Scope, UpdateDigest, UpdateId, quarantine_group, trace_id};
use penstock_domain::intent::{Call, IntentClaim, OnUnknown, plan};
use penstock_domain::kind::UpdateKind;
use penstock_domain::ledger::{ClaimRequest, Owner};
use penstock_domain::repair::Act;
use penstock_domain::time::Timestamp;
use penstock_ports::{
    Claim, ClaimAs, Commit, Commitment, Filed, Inbox, IntentSettlement, IntentStart, Outbox, Repaired,
    Repairs as _, RunAs, SettleAs, Settlement, StateWrite, Subject, Verdict,
};
use serde_json::{Map, Value, json};

use crate::dynamodb::{Table, embedded_table};

const BOT: BotId = BotId(424_242);
const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_123);

macro_rules! golden {
    ($name:literal) => {
        (
            $name,
            serde_json::from_str::<Value>(include_str!(concat!("../../../../tests/golden/", $name, ".json")))
                .unwrap(),
        )
    };
}

/// As the DynamoDB API renders it in JSON.
fn rendered(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(digits) => json!({ "N": digits }),
        AttributeValue::M(map) => json!({ "M": item(map) }),
        AttributeValue::L(list) => json!({ "L": list.iter().map(rendered).collect::<Vec<_>>() }),
        other => panic!("no item of these has {other:?}"),
    }
}

fn item(map: &HashMap<String, AttributeValue>) -> Value {
    Value::Object(
        map.iter()
            .map(|(name, value)| (name.clone(), rendered(value)))
            .collect::<Map<_, _>>(),
    )
}

pub(crate) async fn assert_written(table: &Table, pk: &str, sk: &str, (name, expected): (&str, Value)) {
    let written = item(&table.get(pk.to_owned(), sk).await.expect("it was written"));
    let pretty = serde_json::to_string_pretty(&written).unwrap();
    assert_eq!(written, expected, "{name} would be written as\n{pretty}");
}

fn subject(update: i64) -> Subject {
    Subject {
        key: LedgerKey::new(BOT, UpdateId(update)),
        bot_id: BOT,
        update_id: update,
        kind: UpdateKind::Message,
        group: Scope::Chat("1001".to_owned()).group(BOT),
        received_at: Timestamp::from_millis(1_789_999_999_500),
        trace_id: trace_id(BOT, UpdateId(update)),
        digest: None,
    }
}

async fn claimed(table: &Table, subject: &Subject) -> ClaimAs {
    let request = ClaimRequest {
        owner: Owner("0f0e0d0c-request:1".to_owned()),
        redrive: 0,
        digest: UpdateDigest(0x0123_4567_89ab_cdef),
        now: NOW,
        lease_until: NOW + Duration::from_secs(19),
    };
    match table.ledger.claim(subject, &request).await.unwrap() {
        Claim::Acquired(claim) => claim,
        Claim::Refused(refusal, _) => panic!("{refusal:?}"),
    }
}

fn failed(code: &str, disposition: Disposition) -> Failure {
    Failure::new(code, "the backend answered 429", disposition, 1, NOW)
}

#[tokio::test]
async fn a_claimed_update_is_written_as_it_always_was() {
    let table = embedded_table().await;
    claimed(&table, &subject(1001)).await;
    assert_written(
        &table,
        "UPD#424242:1001",
        "LEDGER",
        golden!("v1/ledger_processing"),
    )
    .await;
}

#[tokio::test]
async fn an_update_that_is_tried_again_is_written_as_it_always_was() {
    let table = embedded_table().await;
    let subject = subject(1002);
    let claim = claimed(&table, &subject).await;
    let throttled = Disposition::Throttled {
        retry_after: Duration::from_secs(3),
    };
    let verdict = Verdict::Retry {
        next_at: NOW + Duration::from_secs(3),
        failure: failed("backend_429", throttled),
    };
    let settled = Inbox::settle(&table.ledger, &subject, &RunAs::Claimed(claim), &verdict, NOW).await;
    assert_eq!(settled.unwrap(), Settlement::Settled);
    assert_written(&table, "UPD#424242:1002", "LEDGER", golden!("v1/ledger_retrying")).await;
}

#[tokio::test]
async fn an_outcome_its_sends_and_its_chat_state_are_written_as_they_always_were() {
    let table = embedded_table().await;
    let subject = subject(1003);
    let claim = claimed(&table, &subject).await;
    let call = |text: &str| Call {
        on_unknown: if text == "one" {
            OnUnknown::ResendOnce
        } else {
            OnUnknown::Hold
        },
        ..Call::new("sendMessage", format!(r#"{{"chat_id":1001,"text":"{text}"}}"#))
    };
    let mut intents = plan(BOT, ["one", "two", "three", "four"].map(call).into()).unwrap();
    (intents[3].call.not_before, intents[3].call.refers_to) = (Some(NOW + Duration::from_secs(60)), Some(0));
    let state = StateWrite {
        chat: "1001".to_owned(),
        read_version: 0,
        state: r#"{"step":1}"#.to_owned(),
    };
    let commit = Commit {
        intents,
        state: Some(state),
        writes: Vec::new(),
        result: "4 sends".to_owned(),
    };
    assert_eq!(
        table
            .ledger
            .commit(&subject, &RunAs::Claimed(claim), &commit, NOW)
            .await
            .unwrap(),
        Commitment::Done
    );
    let ends = [
        SettleAs::Sent { message_id: Some(41) },
        SettleAs::Unknown {
            failure: failed("bot_api_no_answer", Disposition::Ambiguous),
        },
        SettleAs::Retry {
            burned: true,
            next_at: NOW + Duration::from_secs(2),
            failure: failed("bot_api_502", Disposition::Transient),
        },
    ];
    for (n, settle) in (0_u8..).zip(ends) {
        let owner = Owner(format!("0f0e0d0c-sender:{n}"));
        let intent = IntentClaim {
            owner: owner.clone(),
            n,
            redrive: 0,
            resend: 0,
            previous: n.checked_sub(1),
            refers_to: None,
            now: NOW,
            lease_until: NOW + Duration::from_secs(19),
        };
        let started = table.ledger.start(&subject.key, &intent).await.unwrap();
        assert_eq!(
            started,
            IntentStart::Acquired {
                attempt: 1,
                message_id: None
            }
        );
        let settlement = IntentSettlement {
            key: subject.key.clone(),
            n,
            of: 4,
            owner: Some(owner),
            settle,
            now: NOW,
        };
        assert!(Outbox::settle(&table.ledger, &settlement).await.unwrap());
    }
    assert_written(&table, "UPD#424242:1003", "LEDGER", golden!("v1/ledger_done")).await;
    assert_written(&table, "CHAT#424242:1001", "STATE", golden!("v1/chat_state")).await;
}

#[tokio::test]
async fn a_dead_update_is_written_as_it_always_was() {
    let table = embedded_table().await;
    let subject = subject(1004);
    let claim = claimed(&table, &subject).await;
    let failure = failed("handler_rejected", Disposition::Permanent);
    let verdict = Verdict::Dead {
        raw: r#"{"update_id":1004,"message":{"chat":{"id":1001}}}"#.to_owned(),
        failure,
    };
    let settled = Inbox::settle(&table.ledger, &subject, &RunAs::Claimed(claim), &verdict, NOW).await;
    assert_eq!(settled.unwrap(), Settlement::Settled);
    assert_written(&table, "UPD#424242:1004", "LEDGER", golden!("v1/ledger_dead")).await;
}

#[tokio::test]
async fn what_a_person_does_is_written_as_it_always_was() {
    let table = embedded_table().await;
    let subject = subject(1005);
    let claim = claimed(&table, &subject).await;
    let verdict = Verdict::Dead {
        raw: r#"{"update_id":1005,"message":{"chat":{"id":1001}}}"#.to_owned(),
        failure: failed("handler_rejected", Disposition::Permanent),
    };
    let settled = Inbox::settle(&table.ledger, &subject, &RunAs::Claimed(claim), &verdict, NOW).await;
    assert_eq!(settled.unwrap(), Settlement::Settled);
    let letter = async || table.ledger.letter(&subject.key).await.unwrap().unwrap();
    let act = |ms| {
        let at = NOW + Duration::from_millis(ms);
        Act::new("arn:aws:iam::123456789012:user/ada", "the shop is back", at).unwrap()
    };
    let raw = r#"{"update_id":1005,"message":{"chat":{"id":1001},"text":"x"}}"#;
    let before = UpdateDigest(0x0123_4567_89ab_cdef);
    let edited = table.ledger.edit(&letter().await, before, raw, &act(1)).await;
    assert_eq!(edited.unwrap(), Repaired::Done);
    let redriven = table.ledger.redrive(&letter().await, &act(2)).await;
    assert_eq!(redriven.unwrap(), Repaired::Done);
    let pk = "UPD#424242:1005";
    assert_written(&table, pk, "LEDGER", golden!("v1/ledger_pending")).await;
    assert_written(&table, pk, "AUDIT#1790000000124#0", golden!("v1/audit_edit")).await;
    assert_written(&table, pk, "AUDIT#1790000000125#1", golden!("v1/audit_redrive")).await;
}

#[tokio::test]
async fn a_quarantined_body_is_stored_as_it_always_was() {
    let table = embedded_table().await;
    let body = b"\xff\x00{";
    let subject = Subject {
        key: LedgerKey::quarantined(BOT, body),
        update_id: -1,
        kind: UpdateKind::Unknown,
        group: quarantine_group(BOT, body),
        ..subject(0)
    };
    let failure = failed("unparseable", Disposition::Permanent);
    // As it travelled, so that any bytes are kept.
    let raw = include_str!("../../../../tests/golden/v1/quarantined.json").trim_end();
    let filed = table
        .ledger
        .file_dead(&subject, 0, raw, &failure, NOW)
        .await
        .unwrap();
    assert_eq!(filed, Filed::Dead);
    let pk = format!("UPD#{}", subject.key);
    assert_written(&table, &pk, "LEDGER", golden!("v1/ledger_quarantined")).await;
}

#[tokio::test]
async fn holds_and_debits_are_written_as_they_always_were() {
    let table = embedded_table().await;
    table
        .ledger
        .hold_chat(BOT, "1001", NOW + Duration::from_secs(35), NOW)
        .await
        .unwrap();
    assert_written(&table, "CHAT#424242:1001", "GATE", golden!("v1/gate")).await;
    table.ledger.debit_bot(BOT, 3, NOW).await.unwrap();
    assert_written(&table, "BOT#424242", "GATE#interactive", golden!("v1/bot_gate")).await;
}

#[tokio::test]
async fn what_an_unclaimed_run_makes_and_the_bots_own_records_are_written_as_they_always_were() {
    let table = embedded_table().await;
    let subject = subject(1005);
    let request = ClaimRequest {
        owner: Owner("0f0e0d0c-request:1".to_owned()),
        redrive: 0,
        digest: UpdateDigest(0x0123_4567_89ab_cdef),
        now: NOW,
        lease_until: NOW + Duration::from_secs(19),
    };
    // Stored as it is, since it does not compress: the parameters stand in a row.
    let digits = (0..10_000).map(|n: u64| UpdateDigest::of(&n.to_be_bytes()).to_string());
    let params = format!(r#"{{"chat_id":1001,"text":"{}"}}"#, digits.collect::<String>());
    let big = Call::new("sendMessage", params);
    let commit = Commit {
        intents: plan(BOT, vec![big]).unwrap(),
        state: None,
        writes: vec![DataWrite {
            key: DataKey::new("order", "A-7"),
            expect: Expect::Absent,
            change: Change::PutUntil(r#"{"total":3}"#.to_owned(), NOW + Duration::from_secs(60)),
        }],
        result: "ordered".to_owned(),
    };
    let run = RunAs::Unclaimed(request);
    let committed = table.ledger.commit(&subject, &run, &commit, NOW).await;
    assert_eq!(committed.unwrap(), Commitment::Done);
    assert_written(
        &table,
        "UPD#424242:1005",
        "LEDGER",
        golden!("v1/ledger_unclaimed"),
    )
    .await;
    assert_written(&table, "DATA#424242:order#A-7", "ITEM", golden!("v1/data_item")).await;
    let row = table.get("UPD#424242:1005".to_owned(), "INTENT#0").await;
    let mut names: Vec<_> = row.unwrap().into_keys().collect();
    names.sort();
    assert_eq!(names, ["expires_at", "params", "pk", "sk", "v"]);
}
