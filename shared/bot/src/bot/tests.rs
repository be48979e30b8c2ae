//! What a context says of keys and records, and what an outcome keeps.

use penstock_domain::data::Change;
use penstock_domain::ids::UpdateId;
use serde_json::json;

use super::*;

fn context(update: i64) -> Context {
    Context::first_try(
        LedgerKey::new(BotId(1), UpdateId(update)),
        Timestamp::from_millis(5),
    )
}

fn with(value: &str) -> (Context, DataKey) {
    let (mut context, key) = (context(2), DataKey::new("order", 7));
    let item = DataItem {
        value: value.to_owned(),
        version: 3,
        by: context.key.clone(),
    };
    context.records.insert(key.clone(), item);
    (context, key)
}

#[test]
fn every_action_of_every_update_has_its_own_key_and_the_same_in_every_try() {
    let again = Context {
        attempt: 2,
        now: Timestamp::from_millis(9),
        ..context(2)
    };
    assert_eq!(context(2).idempotency_key("mail"), again.idempotency_key("mail"));
    assert_ne!(
        context(2).idempotency_key("mail"),
        context(2).idempotency_key("bill")
    );
    assert_ne!(
        context(2).idempotency_key("mail"),
        context(3).idempotency_key("mail")
    );
}

#[test]
fn a_record_is_read_with_what_a_write_over_it_has_to_expect() {
    let (context, key) = with("[1]");
    assert_eq!(context.value::<Vec<u8>>(&key), Ok(Some(vec![1])));
    assert_eq!(context.as_read(&key), Expect::Version(3));
    let other = DataKey::new("order", 8);
    assert_eq!(context.value::<Vec<u8>>(&other), Ok(None));
    assert_eq!(context.as_read(&other), Expect::Absent);
}

#[test]
fn an_unreadable_record_fails_for_good_and_shows_nothing_of_itself() {
    let (context, key) = with(r#"{"name":"Anna"}"#);
    let error = context.value::<Vec<u8>>(&key).unwrap_err();
    assert!(matches!(error, BotError::Permanent { .. }));
    let (context, _) = with(r#""Anna""#);
    let told = context.value::<u64>(&key).unwrap_err().to_string();
    assert!(told.contains("order") && !told.contains("Anna"), "{told}");
}

#[test]
fn an_outcome_keeps_its_writes_in_order_with_their_conditions() {
    let key = |id: u8| DataKey::new("order", id);
    let outcome = Outcome::of("done")
        .put(key(1), Expect::Absent, &json!({"a": 1}))
        .remove(key(2), Expect::Version(3))
        .check(key(3), Expect::Present)
        .state(json!(1));
    let changes: Vec<_> = outcome
        .writes
        .iter()
        .map(|write| (write.expect, &write.change))
        .collect();
    let expected = [
        (Expect::Absent, &Change::Put(r#"{"a":1}"#.to_owned())),
        (Expect::Version(3), &Change::Remove),
        (Expect::Present, &Change::Check),
    ];
    assert_eq!(changes, expected);
    assert_eq!((outcome.result, outcome.new_state), ("done", Some(json!(1))));
}
