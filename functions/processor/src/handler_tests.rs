//! The processor, case by case, over the ledger and the queues in memory. This file has what all cases need.

use std::time::Duration;

use penstock_batch::{Record, Time};
use penstock_domain::ids::{BotId, LedgerKey, UpdateDigest, UpdateId, trace_id};
use penstock_domain::kind::UpdateKind;
use penstock_domain::ledger::{ClaimRequest, Owner, State};
use penstock_domain::route::route;
use penstock_domain::time::Timestamp;
use penstock_formats::envelope::enclose;
use penstock_formats::outbound::Outbound;
use penstock_ports::{Claim, ClaimAs, Clock as _, Inbox, Subject};
use penstock_testkit::contract::RETENTION;
use penstock_testkit::{FakeLedger, FakeQueue, FixedDraw, ManualClock, Row};
use serde_json::json;

use crate::StateCache;
use crate::handler::{Deps, handle};
use crate::logic::Logic;

#[path = "handler_tests/scripted.rs"]
mod scripted;

#[path = "handler_tests/claims.rs"]
mod claims;
#[path = "handler_tests/failures.rs"]
mod failures;
#[path = "handler_tests/forward.rs"]
mod forward;
#[path = "handler_tests/outage.rs"]
mod outage;
#[path = "handler_tests/outcomes.rs"]
mod outcomes;
#[path = "handler_tests/queue.rs"]
mod queue;
#[path = "handler_tests/records.rs"]
mod records;
#[path = "handler_tests/states.rs"]
mod states;
#[path = "handler_tests/stores.rs"]
mod stores;
#[path = "handler_tests/unclaimed.rs"]
mod unclaimed;

use scripted::{Act, ScriptedBot};

const BOT: BotId = BotId(7_000_001);
const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);
/// When the deliveries of most cases were sent: so long after their receipt that they are claimed. Fresh ones are not.
const MOVED_AT: Timestamp = Timestamp::from_millis(1_790_000_000_000 + 300_000);
/// What every test text holds, so that it is found wherever it must not be.
const PRIVATE: &str = "a private text";

/// Time that is left in an invocation.
struct Left(Duration);

impl Time for Left {
    fn left(&self) -> Duration {
        self.0
    }
    fn needed(&self) -> Duration {
        crate::limits::NEEDED
    }
    fn patience(&self) -> Duration {
        penstock_batch::PATIENCE
    }
}

const PLENTY: Left = Left(Duration::from_secs(20));

type Processor<I, B> = Deps<I, FakeQueue, FakeQueue, B, ManualClock, FixedDraw>;

fn processor<I: Inbox, B: Logic>(inbox: I, bot: B) -> Processor<I, B> {
    Deps {
        inbox,
        updates: FakeQueue::default(),
        outbound: FakeQueue::default(),
        bot,
        clock: ManualClock::at(START),
        draw: FixedDraw::default(),
        states: StateCache::default(),
    }
}

type World = Processor<FakeLedger, ScriptedBot>;

fn world() -> World {
    processor(FakeLedger::new(RETENTION), ScriptedBot::default())
}

fn message(update: i64, chat: i64) -> String {
    json!({"update_id": update, "message": {"message_id": 1, "chat": {"id": chat}, "text": PRIVATE}})
        .to_string()
}

/// The delivery of a raw Update.
fn record_of(raw: &str) -> Record {
    let found = route(raw.as_bytes()).unwrap();
    let id = found.update_id;
    Record {
        id: format!("m{id}"),
        receipt: format!("receipt of m{id}"),
        group: found.group(BOT).0,
        receive_count: 1,
        sent_at_ms: MOVED_AT.as_millis(),
        body: enclose(BOT, &found, &trace_id(BOT, id), raw, START),
    }
}

/// The delivery of a message of that chat.
fn record(update: i64, chat: i64) -> Record {
    record_of(&message(update, chat))
}

/// The first delivery of an Update that has just come: it runs without a claim.
fn fresh(update: i64, chat: i64) -> Record {
    Record {
        sent_at_ms: START.as_millis(),
        ..record(update, chat)
    }
}

fn again(record: &Record) -> Record {
    Record {
        receive_count: record.receive_count + 1,
        ..record.clone()
    }
}

fn key(update: i64) -> LedgerKey {
    LedgerKey::new(BOT, UpdateId(update))
}

fn row(world: &World, update: i64) -> Row {
    world.inbox.row(&key(update)).unwrap()
}

/// What was answered for a batch: the records that come back, with the wait of each.
type Back = Vec<(String, Duration)>;

async fn deliver_in<I: Inbox, B: Logic>(world: &Processor<I, B>, records: &[Record], time: &Left) -> Back {
    let before = world.updates.hidden().len();
    let response = handle(world, records, time).await;
    let failed: Vec<_> = response
        .batch_item_failures
        .into_iter()
        .map(|failure| failure.item_identifier)
        .collect();
    let hidden = world.updates.hidden().split_off(before);
    assert_eq!(
        failed.len(),
        hidden.len(),
        "every failed record gets a visibility"
    );
    let receipts = hidden.iter().map(|hidden| hidden.receipt.clone());
    assert!(receipts.eq(failed.iter().map(|id| format!("receipt of {id}"))));
    failed
        .into_iter()
        .zip(hidden.into_iter().map(|hidden| hidden.hidden_for))
        .collect()
}

async fn deliver<I: Inbox, B: Logic>(world: &Processor<I, B>, records: &[Record]) -> Back {
    deliver_in(world, records, &PLENTY).await
}

fn back(records: &[(&str, u64)]) -> Back {
    records
        .iter()
        .map(|(id, secs)| ((*id).to_owned(), Duration::from_secs(*secs)))
        .collect()
}

const NONE: &[(&str, u64)] = &[];

/// Delivers one record until it is acknowledged, each time when its visibility ends; how often that took.
async fn deliver_until_done<I: Inbox, B: Logic>(world: &Processor<I, B>, first: &Record) -> u32 {
    let mut record = first.clone();
    for deliveries in 1..=30 {
        match deliver(world, std::slice::from_ref(&record)).await.first() {
            None => return deliveries,
            // Visibility is whole seconds, rounded up.
            Some((_, wait)) => world.clock.advance(Duration::from_secs(
                wait.as_millis().div_ceil(1000).try_into().unwrap(),
            )),
        };
        record = again(&record);
    }
    panic!("never acknowledged");
}

fn sends(world: &World) -> Vec<Outbound> {
    world
        .outbound
        .messages()
        .iter()
        .map(|message| Outbound::read(&message.body).unwrap())
        .collect()
}

/// Claims an Update as another worker, whose lease holds for 18 s.
async fn claimed_by_another(world: &World, record: &Record) -> ClaimAs {
    let envelope = penstock_formats::envelope::Envelope::read(&record.body).unwrap();
    let now = world.clock.now();
    let subject = Subject {
        key: envelope.ledger_key(),
        bot_id: BOT,
        update_id: envelope.update_id.0,
        kind: UpdateKind::Message,
        group: penstock_domain::ids::MessageGroupId(record.group.clone()),
        received_at: START,
        trace_id: String::new(),
        digest: None,
    };
    let request = ClaimRequest {
        owner: Owner(format!("another at {now}")),
        redrive: envelope.redrive,
        digest: envelope.digest,
        now,
        lease_until: now + Duration::from_secs(18),
    };
    match world.inbox.claim(&subject, &request).await.unwrap() {
        Claim::Acquired(claim) => claim,
        refused @ Claim::Refused(..) => panic!("{refused:?}"),
    }
}
