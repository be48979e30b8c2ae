//! Fresh Updates run without a claim: one write fewer, and every refusal of the write that settles them is heeded.

use penstock_bot::BotError;
use penstock_testkit::Fault;

use super::*;

fn fails(world: &World, update: i64, error: BotError) {
    world.bot.told(update, Act::Fail(error));
}

fn away() -> BotError {
    BotError::Transient {
        code: "away",
        message: String::new(),
    }
}

fn no_use() -> BotError {
    BotError::Permanent {
        code: "no_use",
        message: String::new(),
    }
}

#[tokio::test]
async fn a_fresh_update_is_done_with_one_write_and_keeps_a_whole_record() {
    let world = world();
    assert_eq!(deliver(&world, &[fresh(1, 5)]).await, back(NONE));
    assert_eq!(world.inbox.calls(), 1, "the outcome alone");
    let record = row(&world, 1).record;
    assert_eq!(
        (record.state, record.attempts, record.fence.0),
        (State::Done, 1, 1)
    );
    assert!(record.owner.is_some() && record.digest.is_some());
    assert_eq!(world.outbound.messages().len(), 1);
}

#[tokio::test]
async fn what_is_not_the_first_delivery_of_a_fresh_update_is_claimed() {
    let moved = record(1, 5);
    let again = again(&fresh(1, 5));
    let mut redriven = fresh(1, 5);
    redriven.body = redriven.body.replace(r#""redrive":0"#, r#""redrive":1"#);
    let mut undated = fresh(1, 5);
    undated.sent_at_ms = 0;
    for delivery in [moved, again, redriven, undated] {
        let world = world();
        deliver(&world, &[delivery]).await;
        assert_eq!(world.inbox.calls(), 2, "claim and outcome");
    }
}

#[tokio::test]
async fn a_fresh_update_that_fails_is_kept_with_its_try_and_claimed_as_its_second() {
    let world = world();
    fails(&world, 1, away());
    assert_eq!(deliver(&world, &[fresh(1, 5)]).await, back(&[("m1", 2)]));
    let record = row(&world, 1).record;
    assert_eq!(
        (record.state, record.attempts, record.tries.len()),
        (State::Retrying, 1, 1)
    );
    world.clock.advance(Duration::from_secs(2));
    world.bot.told(1, Act::Work(Duration::ZERO));
    assert_eq!(deliver(&world, &[again(&fresh(1, 5))]).await, back(NONE));
    assert_eq!(row(&world, 1).record.attempts, 2);
}

#[tokio::test]
async fn a_fresh_update_that_can_never_work_is_a_dead_letter_at_once() {
    let world = world();
    fails(&world, 1, no_use());
    assert_eq!(deliver(&world, &[fresh(1, 5)]).await, back(NONE));
    assert_eq!(
        (row(&world, 1).record.state, row(&world, 1).raw),
        (State::Dead, Some(message(1, 5)))
    );
}

/// Telegram repeats an Update after the window in which SQS knows it.
#[tokio::test]
async fn a_fresh_copy_of_an_update_that_is_done_dispatches_what_was_left_and_changes_nothing() {
    let world = world();
    world.outbound.fail_next(1, Fault::NeverArrived);
    assert_eq!(deliver(&world, &[fresh(1, 5)]).await, back(&[("m1", 5)]));
    let before = row(&world, 1);
    assert!(world.outbound.messages().is_empty());
    for act in [Act::Work(Duration::ZERO), Act::Fail(away()), Act::Fail(no_use())] {
        world.bot.told(1, act);
        world.clock.advance(Duration::from_secs(1));
        assert_eq!(deliver(&world, &[fresh(1, 5)]).await, back(NONE));
        assert_eq!(row(&world, 1), before, "the first outcome stands");
        assert_eq!(world.outbound.messages().len(), 1, "dispatched once");
    }
}

/// Never a bare acknowledgement: whoever holds it may yet crash.
#[tokio::test]
async fn a_fresh_copy_of_an_update_that_is_held_or_waits_comes_back_and_changes_nothing() {
    for act in [Act::Work(Duration::ZERO), Act::Fail(away()), Act::Fail(no_use())] {
        let world = world();
        claimed_by_another(&world, &record(1, 5)).await;
        let before = row(&world, 1);
        world.bot.told(1, act.clone());
        assert_eq!(deliver(&world, &[fresh(1, 5)]).await, back(&[("m1", 20)]));
        assert_eq!(row(&world, 1), before);
        // Its holder died: the next delivery claims, and finds that.
        world.clock.advance(Duration::from_secs(60));
        assert_eq!(deliver(&world, &[fresh(1, 5)]).await, back(&[("m1", 1)]));
        assert_eq!(row(&world, 1), before);
        assert!(world.outbound.messages().is_empty());
    }
}

#[tokio::test]
async fn a_fresh_copy_of_a_dead_letter_is_acknowledged_and_changes_nothing() {
    let world = world();
    fails(&world, 1, no_use());
    deliver(&world, &[fresh(1, 5)]).await;
    let before = row(&world, 1);
    world.bot.told(1, Act::Work(Duration::ZERO));
    assert_eq!(deliver(&world, &[fresh(1, 5)]).await, back(NONE));
    assert_eq!(row(&world, 1), before);
    assert!(world.outbound.messages().is_empty());
}

/// The next delivery goes by the suffixed key.
#[tokio::test]
async fn a_fresh_update_under_a_reused_id_comes_back_and_is_done_under_its_own_key() {
    let world = world();
    // Nothing of it is open, so it would be forgotten first.
    world.bot.told(1, Act::Give(penstock_bot::Outcome::ignored()));
    deliver(&world, &[fresh(1, 5)]).await;
    let other = Record {
        id: "other".to_owned(),
        receipt: "receipt of other".to_owned(),
        ..fresh(1, 6)
    };
    let first_life = row(&world, 1).record.expires_at;
    assert_eq!(
        deliver(&world, std::slice::from_ref(&other)).await,
        back(&[("other", 1)])
    );
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(deliver(&world, &[again(&other)]).await, back(NONE));
    let rows = world.inbox.rows();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.record.state == State::Done));
    // The record in whose way it stood outlives anything that may be open of the other.
    assert!(row(&world, 1).record.expires_at > first_life);
}

#[tokio::test]
async fn a_fresh_update_whose_store_is_away_comes_back_and_is_claimed_with_nothing_burned() {
    for fault in [Fault::Unavailable, Fault::NeverArrived, Fault::AnswerLost] {
        let world = world();
        world.inbox.fail_next(1, fault);
        assert_eq!(deliver(&world, &[fresh(1, 5)]).await, back(&[("m1", 5)]));
        world.clock.advance(Duration::from_secs(5));
        assert_eq!(deliver(&world, &[again(&fresh(1, 5))]).await, back(NONE));
        let record = row(&world, 1).record;
        assert_eq!((record.state, record.attempts), (State::Done, 1), "{fault:?}");
        assert_eq!(world.outbound.messages().len(), 1, "{fault:?}");
    }
}
