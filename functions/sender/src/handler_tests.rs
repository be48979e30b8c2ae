//! The sender, case by case, over the ledger and the Bot API in memory. This file has what all cases need.

use crate::throttles::Throttles;
use std::time::Duration;

use penstock_batch::{Record, Time};
use penstock_domain::failure::Disposition;
use penstock_domain::ids::{BotId, LedgerKey, UpdateDigest, UpdateId, trace_id};
use penstock_domain::intent::{Call, IntentRecord, IntentState, OnUnknown, plan};
use penstock_domain::kind::UpdateKind;
use penstock_domain::ledger::{ClaimRequest, Owner};
use penstock_domain::secret::{BotSecret, BotToken, InstantAck};
use penstock_domain::time::Timestamp;
use penstock_formats::outbound::{Origin, Outbound};
use penstock_ports::{ApiError, Claim, Clock as _, Commit, Commitment, Inbox as _, Meaning, Subject};
use penstock_testkit::contract::RETENTION;
use penstock_testkit::{FakeBotApi, FakeLedger, FakeQueue, FakeSecrets, FixedDraw, ManualClock};
use serde_json::{Value, json};

use crate::handler::{Deps, handle};

#[path = "handler_tests/ambiguous.rs"]
mod ambiguous;
#[path = "handler_tests/gate.rs"]
mod gate;
#[path = "handler_tests/queue.rs"]
mod queue;
#[path = "handler_tests/refusals.rs"]
mod refusals;
#[path = "handler_tests/sent.rs"]
mod sent;

const BOT: BotId = BotId(7_000_001);
const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);
/// What every test text holds, so that it is found wherever it must not be.
const PRIVATE: &str = "a private text";
const TOKEN: &str = "7000001:token-of-the-tests";

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

/// The sender's dependencies, and the queue that its deliveries come from.
struct World {
    deps: Deps<FakeLedger, FakeBotApi, FakeSecrets, ManualClock, FixedDraw>,
    queue: FakeQueue,
}

fn secret(token: &str) -> BotSecret {
    BotSecret {
        token: BotToken::new(token.to_owned()),
        webhook_secret: None,
        path_key: None,
        instant_ack: InstantAck::Off,
        backend: penstock_domain::secret::BackendSecret::default(),
    }
}

fn world() -> World {
    World {
        deps: Deps {
            ledger: FakeLedger::new(RETENTION),
            api: FakeBotApi::default(),
            secrets: FakeSecrets::with(BOT, secret(TOKEN)),
            clock: ManualClock::at(START),
            draw: FixedDraw::default(),
            throttles: Throttles::default(),
        },
        queue: FakeQueue::default(),
    }
}

fn key(update: i64) -> LedgerKey {
    LedgerKey::new(BOT, UpdateId(update))
}

fn call(method: &str, params: &Value) -> Call {
    Call::new(method, params.to_string())
}

fn say(chat: i64, n: u32) -> Call {
    call(
        "sendMessage",
        &json!({"chat_id": chat, "text": format!("{PRIVATE} {n}")}),
    )
}

/// Commits an Update that asks for these calls; the deliveries of its intents.
async fn committed(world: &World, update: i64, calls: Vec<Call>) -> Vec<Record> {
    let now = world.deps.clock.now();
    let intents = plan(BOT, calls).unwrap();
    let subject = Subject {
        key: key(update),
        bot_id: BOT,
        update_id: update,
        kind: UpdateKind::Message,
        group: penstock_domain::ids::MessageGroupId(format!("{BOT}:c:5")),
        received_at: now,
        trace_id: trace_id(BOT, UpdateId(update)),
        digest: None,
    };
    let request = ClaimRequest {
        owner: Owner("processor".to_owned()),
        redrive: 0,
        digest: UpdateDigest(1),
        now,
        lease_until: now + Duration::from_secs(18),
    };
    let ledger = &world.deps.ledger;
    let Claim::Acquired(claim) = ledger.claim(&subject, &request).await.unwrap() else {
        panic!("claimed before")
    };
    let commit = Commit {
        intents: intents.clone(),
        state: None,
        writes: Vec::new(),
        result: "ok".to_owned(),
    };
    assert_eq!(
        ledger
            .commit(&subject, &penstock_ports::RunAs::Claimed(claim), &commit, now)
            .await
            .unwrap(),
        Commitment::Done
    );
    let origin = Origin {
        bot_id: BOT,
        update_id: UpdateId(update),
        key: key(update),
        redrive: 0,
        received_at: now,
        trace_id: subject.trace_id.clone(),
    };
    let of = u8::try_from(intents.len()).unwrap();
    let record = |intent: &penstock_domain::intent::Intent| Record {
        id: format!("m{update}.{}", intent.n),
        receipt: format!("receipt of m{update}.{}", intent.n),
        group: intent.group.0.clone(),
        receive_count: 1,
        sent_at_ms: now.as_millis(),
        body: Outbound::new(&origin, intent, 0, of).write().unwrap(),
    };
    intents.iter().map(record).collect()
}

/// The only intent of an Update that asks for this call.
async fn one(world: &World, update: i64, call: Call) -> Record {
    committed(world, update, vec![call]).await.remove(0)
}

fn again(record: &Record) -> Record {
    Record {
        receive_count: record.receive_count + 1,
        ..record.clone()
    }
}

fn intent(world: &World, update: i64, n: usize) -> IntentRecord {
    world.deps.ledger.record(&key(update)).unwrap().intents[n].clone()
}

fn state(world: &World, update: i64) -> IntentState {
    intent(world, update, 0).state
}

/// The code of an intent's last failure.
fn why(world: &World, update: i64) -> String {
    intent(world, update, 0)
        .failure
        .map(|failure| failure.code)
        .unwrap_or_default()
}

/// What was answered for a batch: the records that come back, with the wait of each.
type Back = Vec<(String, Duration)>;

async fn deliver_in(world: &World, records: &[Record], time: &Left) -> Back {
    let before = world.queue.hidden().len();
    let response = handle(&world.deps, &world.queue, records.to_vec(), time).await;
    let failed: Vec<_> = response
        .batch_item_failures
        .into_iter()
        .map(|failure| failure.item_identifier)
        .collect();
    let hidden = world.queue.hidden().split_off(before);
    let receipts = hidden.iter().map(|hidden| hidden.receipt.clone());
    assert!(
        receipts.eq(failed.iter().map(|id| format!("receipt of {id}"))),
        "each failed record gets a visibility"
    );
    failed
        .into_iter()
        .zip(hidden.into_iter().map(|hidden| hidden.hidden_for))
        .collect()
}

async fn deliver(world: &World, records: &[Record]) -> Back {
    deliver_in(world, records, &PLENTY).await
}

fn back(records: &[(&str, u64)]) -> Back {
    records
        .iter()
        .map(|(id, millis)| ((*id).to_owned(), Duration::from_millis(*millis)))
        .collect()
}

const NONE: &[(&str, u64)] = &[];

/// Delivers one record until it is acknowledged, each time when its visibility ends; how often that took.
async fn deliver_until_done(world: &World, first: &Record) -> u32 {
    let mut record = first.clone();
    for deliveries in 1..=30 {
        match deliver(world, std::slice::from_ref(&record)).await.first() {
            None => return deliveries,
            // Visibility is whole seconds, rounded up.
            Some((_, wait)) => world.deps.clock.advance(Duration::from_secs(
                wait.as_millis().div_ceil(1000).try_into().unwrap(),
            )),
        };
        record = again(&record);
    }
    panic!("never acknowledged");
}

fn refused(code: u16, disposition: Disposition, meaning: Meaning) -> ApiError {
    let method = "sendMessage".to_owned();
    ApiError::Refused {
        method,
        code,
        description: "a description".to_owned(),
        disposition,
        meaning,
    }
}

fn no_answer() -> ApiError {
    ApiError::NoAnswer {
        method: "sendMessage".to_owned(),
    }
}

fn throttled(secs: u64) -> ApiError {
    refused(
        429,
        Disposition::Throttled {
            retry_after: Duration::from_secs(secs),
        },
        Meaning::Plain,
    )
}

/// The texts' numbers of the calls that were made, in order.
fn texts(world: &World) -> Vec<u32> {
    let number = |params: String| {
        let params: Value = serde_json::from_str(&params).unwrap();
        params["text"]
            .as_str()
            .unwrap()
            .rsplit(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    world
        .deps
        .api
        .sent()
        .into_iter()
        .map(|(_, params)| number(params))
        .collect()
}
