//! The bot's own records, deferral, and intents that are too big for the record.

use penstock_domain::data::{Change, DataItem, DataKey, DataWrite, Expect};
use penstock_domain::intent::{Call, plan};
use penstock_domain::ledger::{ClaimRequest, Refusal, State};
use penstock_domain::time::Timestamp;
use penstock_ports::{Claim, Commit, Commitment, Filed, Inbox as _, Repairs as _, StateWrite, Verdict};

use super::{Case, DAY, MILLISECOND, START, World, failure, plain, request};

fn write(id: &str, expect: Expect, change: Change) -> DataWrite {
    DataWrite {
        key: DataKey::new("order", id),
        expect,
        change,
    }
}

fn put(id: &str, expect: Expect, value: &str) -> DataWrite {
    write(id, expect, Change::Put(value.to_owned()))
}

/// Commits a fresh Update with those writes.
async fn commit<W: World>(world: &W, writes: Vec<DataWrite>, now: Timestamp) -> (Commitment, String) {
    let case = Case::new(world);
    let claim = case.acquire("worker", now).await;
    let commit = Commit {
        writes,
        ..plain(None)
    };
    (case.commit(&claim, &commit, now).await, case.key().to_string())
}

async fn stored<W: World>(world: &W, id: &str) -> Option<DataItem> {
    let keys = [DataKey::new("order", id)];
    let mut items = world
        .ledger()
        .data(world.bot(), &keys)
        .await
        .expect("data answers");
    items.remove(0)
}

/// Whoever comes second finds it, and whose it is.
pub async fn a_record_is_made_once_and_names_the_update_that_made_it<W: World>(world: &W) {
    let first = commit(world, vec![put("1", Expect::Absent, r#"{"n":1}"#)], START).await;
    assert_eq!(first.0, Commitment::Done);
    let second = commit(world, vec![put("1", Expect::Absent, r#"{"n":2}"#)], START).await;
    assert_eq!(second.0, Commitment::Unexpected { n: 0 });
    let item = stored(world, "1").await.expect("it is there");
    assert_eq!(
        (item.value.as_str(), item.by.as_str()),
        (r#"{"n":1}"#, first.1.as_str())
    );
}

/// Neither the outcome, nor the chat's state, nor another record.
pub async fn a_write_that_finds_something_else_keeps_the_whole_outcome_out<W: World>(world: &W) {
    commit(world, vec![put("1", Expect::Absent, "1")], START).await;
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    let refused = Commit {
        intents: case.sends(1),
        state: Some(StateWrite {
            chat: "1001".to_owned(),
            read_version: 0,
            state: "{}".to_owned(),
        }),
        writes: vec![put("2", Expect::Absent, "2"), put("1", Expect::Absent, "1")],
        result: "ok".to_owned(),
    };
    assert_eq!(
        case.commit(&claim, &refused, START).await,
        Commitment::Unexpected { n: 1 }
    );
    assert_eq!(case.state().await, State::Processing);
    assert_eq!(stored(world, "2").await, None);
    let state = case.ledger().chat_state(case.subject.bot_id, "1001").await;
    assert_eq!(state.expect("chat state answers"), None);
    // And it may still be settled otherwise.
    assert_eq!(case.commit(&claim, &plain(None), START).await, Commitment::Done);
}

/// A version is good for one write, and never comes back.
pub async fn a_record_changes_only_under_the_version_that_was_read<W: World>(world: &W) {
    commit(world, vec![put("1", Expect::Absent, "1")], START).await;
    let first = stored(world, "1").await.expect("it is there").version;
    // In the same millisecond, too.
    let done = commit(world, vec![put("1", Expect::Version(first), "2")], START)
        .await
        .0;
    assert_eq!(done, Commitment::Done);
    let second = stored(world, "1").await.expect("it is there");
    assert!(second.version > first);
    let stale = commit(world, vec![put("1", Expect::Version(first), "3")], START)
        .await
        .0;
    assert_eq!(stale, Commitment::Unexpected { n: 0 });
    assert_eq!(stored(world, "1").await, Some(second.clone()));
    let gone = write("1", Expect::Version(second.version), Change::Remove);
    assert_eq!(commit(world, vec![gone], START).await.0, Commitment::Done);
    assert_eq!(stored(world, "1").await, None);
    let later = START + MILLISECOND + MILLISECOND;
    commit(world, vec![put("1", Expect::Absent, "4")], later).await;
    assert!(stored(world, "1").await.expect("it is there").version > second.version);
}

/// A check writes nothing and refuses like a write.
pub async fn a_record_can_be_asked_for_without_being_changed<W: World>(world: &W) {
    commit(world, vec![put("1", Expect::Absent, "1")], START).await;
    let before = stored(world, "1").await;
    let check = |expect| vec![write("1", expect, Change::Check)];
    assert_eq!(
        commit(world, check(Expect::Present), START).await.0,
        Commitment::Done
    );
    assert_eq!(commit(world, check(Expect::Any), START).await.0, Commitment::Done);
    let refused = commit(world, check(Expect::Absent), START).await.0;
    assert_eq!(refused, Commitment::Unexpected { n: 0 });
    assert_eq!(stored(world, "1").await, before);
    let absent = vec![write("2", Expect::Present, Change::Remove)];
    assert_eq!(
        commit(world, absent, START).await.0,
        Commitment::Unexpected { n: 0 }
    );
}

/// The lost lease comes first: a late worker learns nothing else, and changes nothing.
pub async fn a_late_workers_records_are_not_written<W: World>(world: &W) {
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    let late = Commit {
        writes: vec![put("1", Expect::Absent, "1")],
        ..plain(None)
    };
    assert_eq!(case.commit(&claim, &plain(None), START).await, Commitment::Done);
    let stranger = penstock_ports::ClaimAs {
        fence: penstock_domain::ledger::Fence(0),
        ..claim
    };
    assert_eq!(case.commit(&stranger, &late, START).await, Commitment::LeaseLost);
    assert_eq!(stored(world, "1").await, None);
}

/// Asked for in any order, each stands where it was asked for.
pub async fn records_are_read_in_the_order_they_were_asked_for<W: World>(world: &W) {
    commit(
        world,
        vec![put("1", Expect::Absent, "1"), put("3", Expect::Absent, "3")],
        START,
    )
    .await;
    let keys = ["3", "2", "1"].map(|id| DataKey::new("order", id));
    let items = world
        .ledger()
        .data(world.bot(), &keys)
        .await
        .expect("data answers");
    let values: Vec<_> = items
        .iter()
        .map(|item| item.as_ref().map(|item| item.value.as_str()))
        .collect();
    assert_eq!(values, [Some("3"), None, Some("1")]);
}

/// It waits like a retry, and the try does not count.
pub async fn a_deferral_gives_the_try_back<W: World>(world: &W) {
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    let next_at = START + DAY;
    let defer = Verdict::Defer {
        next_at,
        failure: failure("away", 1, START),
    };
    assert!(case.settle(&claim, &defer, START).await);
    // The same write once more.
    assert!(case.settle(&claim, &defer, START).await);
    let record = case.record().await;
    assert_eq!(
        (record.state, record.attempts, record.tries.len()),
        (State::Deferred, 0, 1)
    );
    let early = request("next", next_at - MILLISECOND);
    assert_eq!(case.refused(&early).await, Refusal::HeldUntil(next_at));
    assert_eq!(case.acquire("next", next_at).await.attempt, 1);
}

/// A repeat of the Update, and a letter of it, still have what is to be dispatched.
pub async fn an_intent_that_is_too_big_for_the_record_is_read_back_whole<W: World>(world: &W) {
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    // Does not compress: digits of a running hash.
    let mut text = String::new();
    let mut digest = penstock_domain::ids::UpdateDigest::of(b"seed");
    while text.len() < 300_000 {
        digest = penstock_domain::ids::UpdateDigest::of(digest.to_string().as_bytes());
        text.push_str(&digest.to_string());
    }
    let call = |text: &str| Call::new("sendMessage", format!(r#"{{"chat_id":1001,"text":"{text}"}}"#));
    let intents = plan(case.subject.bot_id, vec![call("small"), call(&text), call(&text)]);
    let commit = Commit {
        intents: intents.expect("the calls are valid"),
        ..plain(None)
    };
    assert_eq!(case.commit(&claim, &commit, START).await, Commitment::Done);
    assert_eq!(
        case.commit(&claim, &commit, START).await,
        Commitment::Done,
        "repeated"
    );
    let whole = |record: &penstock_domain::ledger::Record| {
        let stored = record.intents.iter().map(|stored| &stored.intent);
        assert!(stored.eq(&commit.intents));
    };
    whole(&case.record().await);
    let again = ClaimRequest {
        ..request("again", START)
    };
    match case.claim(&again).await {
        Claim::Refused(Refusal::Done, record) => whole(&record),
        other => panic!("{other:?}"),
    }
    let letter = failure("parked", 1, START);
    let filed = case
        .ledger()
        .file_dead(&case.subject, 0, "{}", &letter, START)
        .await;
    match filed.expect("filing answers") {
        Filed::Done(record) => whole(&record),
        other => panic!("{other:?}"),
    }
    let letter = case.ledger().letter(case.key()).await.expect("letter answers");
    whole(&letter.expect("it is there").record);
    assert_eq!(case.begin(0, "sender", START).await, 1);
}

/// Of two writes of one millisecond, too, though neither says what it expects.
pub async fn who_read_before_a_blind_write_writes_nothing_over_it<W: World>(world: &W) {
    commit(world, vec![put("blind", Expect::Any, "1")], START).await;
    let read = stored(world, "blind").await.expect("it is there").version;
    commit(world, vec![put("blind", Expect::Any, "2")], START).await;
    let over = commit(world, vec![put("blind", Expect::Version(read), "3")], START).await;
    assert_eq!(over.0, Commitment::Unexpected { n: 0 });
}
