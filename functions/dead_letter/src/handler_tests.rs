//! The dead_letter function, case by case, over the ledger in memory. This file has what all cases need, and what is
//! no Update and no intent.

use std::time::Duration;

use penstock_batch::{Record, Time};
use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::{BotId, LedgerKey, MessageGroupId, UpdateId, quarantine_group, trace_id};
use penstock_domain::intent::{Call, plan};
use penstock_domain::kind::UpdateKind;
use penstock_domain::ledger::{ClaimRequest, Owner, State};
use penstock_domain::route::route;
use penstock_domain::time::Timestamp;
use penstock_formats::envelope::{Envelope, enclose};
use penstock_formats::outbound::{Origin, Outbound};
use penstock_formats::quarantine::{Quarantined, Reason};
use penstock_ports::{
    Claim, ClaimAs, Clock as _, Commit, Commitment, Inbox, RunAs, Settlement, Subject, Verdict,
};
use penstock_testkit::contract::RETENTION;
use penstock_testkit::{FakeLedger, FakeQueue, Fault, ManualClock, Row};

use crate::handler::{Deps, handle};

#[path = "handler_tests/intents.rs"]
mod intents;
#[path = "handler_tests/updates.rs"]
mod updates;

const BOT: BotId = BotId(7_000_001);
const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

/// Time that is left in an invocation.
struct Left(Duration);

impl Time for Left {
    fn left(&self) -> Duration {
        self.0
    }
    fn needed(&self) -> Duration {
        crate::handler::NEEDED
    }
    fn patience(&self) -> Duration {
        penstock_batch::PATIENCE
    }
}

const PLENTY: Left = Left(Duration::from_secs(20));

/// The function's dependencies, and the dead-letter queue that its deliveries come from.
struct World {
    deps: Deps<FakeLedger, FakeQueue, ManualClock>,
    queue: FakeQueue,
}

fn world() -> World {
    let deps = Deps {
        ledger: FakeLedger::new(RETENTION),
        outbound: FakeQueue::default(),
        clock: ManualClock::at(START),
    };
    World {
        deps,
        queue: FakeQueue::default(),
    }
}

fn key(update: i64) -> LedgerKey {
    LedgerKey::new(BOT, UpdateId(update))
}

fn message(update: i64, chat: i64) -> String {
    format!(
        r#"{{"update_id":{update},"message":{{"message_id":1,"chat":{{"id":{chat}}},"text":"a private text"}}}}"#
    )
}

fn letter(id: &str, group: &str, body: String) -> Record {
    Record {
        id: id.to_owned(),
        receipt: format!("receipt of {id}"),
        group: group.to_owned(),
        receive_count: 1,
        sent_at_ms: START.as_millis(),
        body,
    }
}

/// An Update that the queue gave up.
fn update(update: i64, chat: i64) -> Record {
    let raw = message(update, chat);
    let found = route(raw.as_bytes()).unwrap();
    let body = enclose(BOT, &found, &trace_id(BOT, UpdateId(update)), &raw, START);
    letter(&format!("m{update}"), &found.group(BOT).0, body)
}

fn again(record: &Record) -> Record {
    Record {
        receive_count: record.receive_count + 1,
        ..record.clone()
    }
}

fn row(world: &World, key: &LedgerKey) -> Row {
    world.deps.ledger.row(key).unwrap()
}

fn subject(record: &Record) -> Subject {
    let envelope = Envelope::read(&record.body).unwrap();
    Subject {
        key: envelope.ledger_key(),
        bot_id: BOT,
        update_id: envelope.update_id.0,
        kind: UpdateKind::Message,
        group: MessageGroupId(record.group.clone()),
        received_at: START,
        trace_id: envelope.trace_id.to_owned(),
        digest: Some(envelope.digest),
    }
}

/// A processor claims the Update; its lease holds for 18 s.
async fn claimed(world: &World, record: &Record) -> ClaimAs {
    let envelope = Envelope::read(&record.body).unwrap();
    let now = world.deps.clock.now();
    let request = ClaimRequest {
        owner: Owner("a processor".to_owned()),
        redrive: envelope.redrive,
        digest: envelope.digest,
        now,
        lease_until: now + Duration::from_secs(18),
    };
    match world.deps.ledger.claim(&subject(record), &request).await.unwrap() {
        Claim::Acquired(claim) => claim,
        refused @ Claim::Refused(..) => panic!("{refused:?}"),
    }
}

/// A processor ends the Update with so many messages to send.
async fn done(world: &World, record: &Record, sends: usize) {
    let claim = claimed(world, record).await;
    let call = |n| Call::new("sendMessage", format!(r#"{{"chat_id":5,"text":"part {n}"}}"#));
    let intents = plan(BOT, (0..sends).map(call).collect()).unwrap();
    let commit = Commit {
        intents,
        state: None,
        writes: Vec::new(),
        result: "ok".to_owned(),
    };
    let now = world.deps.clock.now();
    let committed = world
        .deps
        .ledger
        .commit(&subject(record), &RunAs::Claimed(claim), &commit, now)
        .await
        .unwrap();
    assert_eq!(committed, Commitment::Done);
}

/// A processor settles the Update that it claimed.
async fn settled(world: &World, record: &Record, verdict: Verdict) {
    let claim = claimed(world, record).await;
    let now = world.deps.clock.now();
    let run = RunAs::Claimed(claim);
    let settled = Inbox::settle(&world.deps.ledger, &subject(record), &run, &verdict, now).await;
    assert_eq!(settled.unwrap(), Settlement::Settled);
}

fn failure(code: &str) -> Failure {
    Failure::new(code, "", Disposition::Transient, 1, START)
}

/// What was answered for a batch: the records that come back, with the wait of each in seconds.
type Back = Vec<(String, u64)>;

async fn deliver_in(world: &World, records: &[Record], time: &Left) -> Back {
    let before = world.queue.hidden().len();
    let response = handle(&world.deps, &world.queue, records, time).await;
    let hidden = world.queue.hidden().split_off(before);
    assert_eq!(
        response.batch_item_failures.len(),
        hidden.len(),
        "each failed record gets a visibility"
    );
    let waits = hidden.iter().map(|hidden| hidden.hidden_for.as_secs());
    response
        .batch_item_failures
        .into_iter()
        .map(|failure| failure.item_identifier)
        .zip(waits)
        .collect()
}

async fn deliver(world: &World, records: &[Record]) -> Back {
    deliver_in(world, records, &PLENTY).await
}

fn back(records: &[(&str, u64)]) -> Back {
    records
        .iter()
        .map(|(id, secs)| ((*id).to_owned(), *secs))
        .collect()
}

const NONE: &[(&str, u64)] = &[];

#[tokio::test]
async fn quarantined_bytes_are_filed_as_they_came_under_the_hash_of_the_body() {
    for (reason, body) in [
        (Reason::Unparseable, &b"\xff\x00nonsense"[..]),
        (Reason::BadUpdateId, br#"{"update_id":"abc"}"#),
        (Reason::TooLarge, b"large"),
    ] {
        let world = world();
        let quarantined = Quarantined::new(BOT, reason, START, body);
        let record = letter("q", &quarantine_group(BOT, body).0, quarantined.write().unwrap());
        assert_eq!(deliver(&world, std::slice::from_ref(&record)).await, back(NONE));
        let row = row(&world, &LedgerKey::quarantined(BOT, body));
        assert_eq!(
            (row.record.state, row.attention),
            (State::Dead, Some("quarantine"))
        );
        assert_eq!(row.record.tries[0].code, reason.code());
        assert_eq!(Quarantined::read(&row.raw.unwrap()).unwrap().body, body);
        assert_eq!(deliver(&world, &[again(&record)]).await, back(NONE));
        assert_eq!(world.deps.ledger.rows().len(), 1);
    }
}

#[tokio::test]
async fn a_body_that_is_none_of_ours_is_filed_raw() {
    for (body, code) in [
        ("nonsense", "malformed_body"),
        ("", "malformed_body"),
        (r#"{"schema_version":1}"#, "malformed_body"),
        (r#"{"schema_version":2,"anything":[1]}"#, "newer_schema"),
    ] {
        let world = world();
        assert_eq!(
            deliver(&world, &[letter("f", "7000001:c:5", body.to_owned())]).await,
            back(NONE)
        );
        let row = row(&world, &LedgerKey::quarantined(BOT, body.as_bytes()));
        assert_eq!((row.record.state, row.raw.as_deref()), (State::Dead, Some(body)));
        assert_eq!(
            (row.record.tries[0].code.as_str(), row.attention),
            (code, Some("quarantine"))
        );
    }
}

#[tokio::test]
async fn a_body_in_a_group_of_no_bot_is_filed_too() {
    let world = world();
    assert_eq!(
        deliver(&world, &[letter("f", "some group", "nonsense".to_owned())]).await,
        back(NONE)
    );
    assert_eq!(
        row(&world, &LedgerKey::quarantined(BotId(0), b"nonsense"))
            .record
            .state,
        State::Dead
    );
}

#[tokio::test]
async fn with_the_table_away_every_letter_comes_back_and_none_is_lost() {
    for fault in [Fault::Unavailable, Fault::NeverArrived, Fault::AnswerLost] {
        for nth in 1..=2 {
            let world = world();
            world.deps.ledger.fail_call(nth, fault);
            assert_eq!(
                deliver(&world, &[update(1, 5)]).await,
                back(&[("m1", 5)]),
                "{fault:?} at {nth}"
            );
            assert_eq!(deliver(&world, &[again(&update(1, 5))]).await, back(NONE));
            let row = row(&world, &key(1));
            assert_eq!((row.record.state, row.raw), (State::Dead, Some(message(1, 5))));
        }
    }
}

#[tokio::test]
async fn nothing_is_begun_when_the_time_left_would_not_let_it_end() {
    let world = world();
    let short = Left(crate::handler::NEEDED - Duration::from_millis(1));
    assert_eq!(
        deliver_in(&world, &[update(1, 5)], &short).await,
        back(&[("m1", 0)])
    );
    assert_eq!(world.deps.ledger.calls(), 0);
}
