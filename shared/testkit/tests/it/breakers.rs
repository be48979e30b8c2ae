//! The item of a breaker: written in every state as it always was, and closed where it cannot be read.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use penstock_domain::breaker::{Breaker, Evidence, Meter, Percent, Probe, Rate, Sign};
use penstock_domain::gcra::Gcra;
use penstock_domain::ids::{BotId, LedgerKey, MessageGroupId};
use penstock_domain::ledger::Owner;
use penstock_domain::time::Timestamp;
use penstock_ports::{BreakerChange, Breakers as _, Changed};
use serde_json::Value;

use crate::dynamodb::{Table, embedded_table};
use crate::golden::assert_written;

const BOT: BotId = BotId(424_242);
const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_123);
const PK: &str = "BOT#424242";
const SECOND: Duration = Duration::from_secs(1);

macro_rules! golden {
    ($name:literal) => {
        (
            $name,
            serde_json::from_str::<Value>(include_str!(concat!("../../../../tests/golden/", $name, ".json")))
                .unwrap(),
        )
    };
}

fn meter() -> Meter {
    let mut meter = Meter::default();
    meter.add(1_200, NOW - 7_200 * SECOND);
    meter.add(300, NOW - 60 * SECOND);
    meter.add(7, NOW);
    meter
}

async fn change(table: &Table, seen: u64, breaker: &Breaker) {
    let change = BreakerChange {
        seen,
        writer: Owner(format!("0f0e0d0c-process:{seen}")),
        breaker: breaker.clone(),
        meter: meter(),
    };
    let changed = table.ledger.change(BOT, &change, NOW).await.unwrap();
    assert_eq!(changed, Changed::Done);
}

#[tokio::test]
async fn a_breaker_is_written_in_every_state_as_it_always_was() {
    let table = embedded_table().await;
    let rate = Rate::from_stored(20);
    let evidence = Evidence {
        sign: Some(Sign {
            key: LedgerKey::from_stored("424242:1001".to_owned()),
            group: MessageGroupId("424242:c:1001".to_owned()),
            at: NOW - SECOND,
        }),
        answered_at: Some(NOW - 2 * SECOND),
    };
    let closed = Breaker::Closed {
        evidence: evidence.clone(),
        proved_at: Some(NOW - 600 * SECOND),
    };
    let open = Breaker::Open {
        opened_at: NOW,
        rate,
        probe_at: NOW + 10 * SECOND,
    };
    let half_open = Breaker::HalfOpen {
        opened_at: NOW,
        rate,
        probe: Probe {
            owner: Owner("0f0e0d0c-request:1".to_owned()),
            lease_until: NOW + 20 * SECOND,
        },
    };
    let ramp = Breaker::Ramp {
        opened_at: NOW,
        rate,
        ramp_at: NOW + 11 * SECOND,
        percent: Percent::WHOLE,
        step_at: NOW + 101 * SECOND,
        evidence,
    };
    let states = [
        (&closed, golden!("v1/breaker_closed")),
        (&open, golden!("v1/breaker_open")),
        (&half_open, golden!("v1/breaker_half_open")),
    ];
    for (seen, (breaker, golden)) in (0..).zip(states) {
        change(&table, seen, breaker).await;
        assert_written(&table, PK, "BREAKER", golden).await;
    }
    let slow = Gcra {
        interval: 10 * SECOND,
        tolerance: Duration::ZERO,
    };
    for _ in 0..2 {
        table.ledger.reserve(BOT, slow, 1, NOW).await.unwrap();
    }
    change(&table, 3, &ramp).await;
    assert_written(&table, PK, "BREAKER", golden!("v1/breaker_ramp")).await;
}

#[tokio::test]
async fn a_breaker_that_cannot_be_read_is_closed_and_the_next_change_mends_it() {
    let table = embedded_table().await;
    let open = Breaker::Open {
        opened_at: NOW,
        rate: Rate::from_stored(20),
        probe_at: NOW,
    };
    let newer = ("v", AttributeValue::N("2".to_owned()));
    let unknown = ("state", AttributeValue::S("ajar".to_owned()));
    let odd = ("opened_at", AttributeValue::S("yesterday".to_owned()));
    for (seen, (name, value)) in (0..).zip([newer, unknown, odd]) {
        change(&table, seen, &open).await;
        assert_eq!(table.ledger.breaker(BOT).await.unwrap().breaker, open);
        let mut item = table.get(PK.to_owned(), "BREAKER").await.unwrap();
        item.insert(name.to_owned(), value);
        table.put(item).await;
        let stored = table.ledger.breaker(BOT).await.unwrap();
        assert_eq!(
            (stored.breaker, stored.version),
            (Breaker::default(), seen + 1),
            "{name}"
        );
    }
}

#[tokio::test]
async fn an_item_that_its_gate_made_is_a_closed_breaker_of_this_release() {
    let table = embedded_table().await;
    let gate = Rate::from_stored(1).gate(Percent::FIRST);
    table.ledger.reserve(BOT, gate, 1, NOW).await.unwrap();
    let item = table.get(PK.to_owned(), "BREAKER").await.unwrap();
    let mut names: Vec<_> = item.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["expires_at", "pk", "sk", "tat", "v"]);
    assert_eq!(
        table.ledger.breaker(BOT).await.unwrap().breaker,
        Breaker::default()
    );
    change(&table, 0, &Breaker::default()).await;
}

#[tokio::test]
async fn a_place_at_the_gate_leaves_the_version_of_a_newer_release() {
    let table = embedded_table().await;
    change(&table, 0, &Breaker::default()).await;
    let mut item = table.get(PK.to_owned(), "BREAKER").await.unwrap();
    item.insert("v".to_owned(), AttributeValue::N("2".to_owned()));
    table.put(item).await;
    let gate = Rate::from_stored(1).gate(Percent::FIRST);
    for _ in 0..2 {
        table.ledger.reserve(BOT, gate, 1, NOW).await.unwrap();
    }
    let item = table.get(PK.to_owned(), "BREAKER").await.unwrap();
    assert_eq!(item["v"], AttributeValue::N("2".to_owned()));
}
