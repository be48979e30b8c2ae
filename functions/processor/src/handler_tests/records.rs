//! The bot's own records, and tries that are limited by class.

use penstock_bot::{BotError, Outcome};
use penstock_domain::data::{Change, DataKey, DataWrite, Expect};
use penstock_domain::retry::Preset;

use super::*;

fn order() -> DataKey {
    DataKey::new("order", 7)
}

async fn made_by(world: &World) -> Option<String> {
    let items = world.inbox.data(BOT, &[order()]).await.unwrap();
    items[0].as_ref().map(|item| item.by.to_string())
}

fn result(world: &World, update: i64) -> Option<String> {
    row(world, update).record.result
}

#[tokio::test]
async fn two_updates_that_want_the_same_record_make_it_once_and_the_second_reads_whose_it_is() {
    let world = world();
    for update in [1, 2] {
        world.bot.told(update, Act::Order(order()));
        deliver(&world, &[fresh(update, 5)]).await;
    }
    assert_eq!(made_by(&world).await.as_deref(), Some("7000001:1"));
    assert_eq!(result(&world, 2).as_deref(), Some("known"));
}

/// Both have read that there is none.
#[tokio::test]
async fn a_handler_whose_condition_failed_runs_once_more_and_is_told() {
    let world = world();
    for update in [1, 2] {
        world.bot.told(update, Act::Order(order()));
    }
    assert_eq!(deliver(&world, &[fresh(1, 5), fresh(2, 6)]).await, back(NONE));
    let mut results = [result(&world, 1), result(&world, 2)].map(Option::unwrap);
    results.sort();
    assert_eq!(results, ["conflict", "ordered"]);
    assert_eq!(world.bot.ran().len(), 3);
    for update in [1, 2] {
        assert_eq!(row(&world, update).record.attempts, 1, "no try was burned");
    }
}

#[tokio::test]
async fn a_handler_whose_condition_fails_again_is_parked() {
    let world = world();
    world.bot.told(1, Act::Order(order()));
    deliver(&world, &[fresh(1, 5)]).await;
    world.bot.told(2, Act::OrderBlindly(order()));
    for (update, delivery) in [(2, fresh(2, 5)), (3, record(3, 5))] {
        world.bot.told(update, Act::OrderBlindly(order()));
        assert_eq!(deliver(&world, &[delivery]).await, back(NONE));
        let record = row(&world, update).record;
        assert_eq!(
            (record.state, record.tries[0].code.as_str()),
            (State::Dead, "condition_failed")
        );
    }
    assert_eq!(world.bot.ran(), [1, 2, 2, 3, 3]);
    assert_eq!(made_by(&world).await.as_deref(), Some("7000001:1"));
}

#[tokio::test]
async fn writes_that_no_table_could_take_are_parked_before_anything_is_written() {
    let world = world();
    let write = DataWrite {
        key: order(),
        expect: Expect::Any,
        change: Change::Put("1".to_owned()),
    };
    let outcome = Outcome {
        writes: vec![write.clone(), write],
        ..Outcome::of("twice")
    };
    world.bot.told(1, Act::Give(outcome));
    assert_eq!(deliver(&world, &[fresh(1, 5)]).await, back(NONE));
    assert_eq!(row(&world, 1).record.tries[0].code, "invalid_writes");
    assert_eq!(made_by(&world).await, None);
}

#[tokio::test]
async fn a_class_of_updates_is_tried_by_its_own_policy() {
    let mut world = world();
    world.bot.preset = Preset::Payments;
    let error = BotError::Transient {
        code: "away",
        message: String::new(),
    };
    world.bot.told(1, Act::Fail(error));
    let mut delivery = fresh(1, 5);
    for wait_ms in [500, 1_000, 2_000, 2_000] {
        let answered = deliver(&world, std::slice::from_ref(&delivery)).await;
        assert_eq!(answered, [("m1".to_owned(), Duration::from_millis(wait_ms))]);
        world.clock.advance(Duration::from_millis(wait_ms));
        delivery = again(&delivery);
    }
    assert_eq!(deliver(&world, &[delivery]).await, back(NONE));
    assert_eq!(
        (row(&world, 1).record.state, row(&world, 1).record.attempts),
        (State::Dead, 5)
    );
}

/// Its typist has gone on: no try that would begin after that.
#[tokio::test]
async fn a_try_that_would_come_too_late_is_not_waited_for() {
    let world = world();
    let raw = r#"{"update_id":9,"inline_query":{"id":"1","from":{"id":5},"query":"","offset":""}}"#;
    let error = BotError::RetryAfter {
        code: "busy",
        after: Duration::from_secs(40),
    };
    world.bot.told(9, Act::Fail(error));
    let delivery = Record {
        sent_at_ms: START.as_millis(),
        ..record_of(raw)
    };
    assert_eq!(deliver(&world, &[delivery]).await, back(NONE));
    let record = row(&world, 9).record;
    assert_eq!(
        (record.state, record.tries[0].code.as_str()),
        (State::Dead, "expired")
    );
}
