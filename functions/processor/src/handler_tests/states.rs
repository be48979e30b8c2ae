//! Chat states out of this instance's memory: never trusted.

use super::*;

type Keeper = Processor<FakeLedger, ScriptedBot>;

fn keeper() -> Keeper {
    processor(FakeLedger::new(RETENTION), ScriptedBot::that_keeps_state())
}

/// Another instance handles an Update of the chat.
async fn elsewhere(world: &mut Keeper, update: i64) {
    let kept = std::mem::take(&mut world.states);
    deliver(world, &[fresh(update, 5)]).await;
    world.states = kept;
}

async fn seen(world: &Keeper) -> String {
    world.inbox.chat_state(BOT, "5").await.unwrap().unwrap().0
}

#[tokio::test]
async fn a_second_update_of_a_chat_reads_no_state_from_the_store() {
    let world = keeper();
    deliver(&world, &[fresh(1, 5)]).await;
    let before = world.inbox.calls();
    deliver(&world, &[fresh(2, 5)]).await;
    assert_eq!(world.inbox.calls() - before, 1, "the outcome alone");
    assert_eq!(seen(&world).await, r#"{"seen":2}"#);
}

#[tokio::test]
async fn a_state_that_another_instance_changed_is_read_again_and_nothing_is_counted_twice() {
    let mut world = keeper();
    deliver(&world, &[fresh(1, 5)]).await;
    elsewhere(&mut world, 2).await;
    assert_eq!(deliver(&world, &[fresh(3, 5)]).await, back(NONE));
    assert_eq!(seen(&world).await, r#"{"seen":3}"#);
    assert_eq!(row(&world, 3).record.attempts, 1);
    assert_eq!(world.bot.ran(), [1, 2, 3, 3]);
}

/// Nothing would refuse an outcome without a new state: so it is asked for.
#[tokio::test]
async fn an_outcome_that_leaves_the_state_as_it_is_never_rests_on_a_stale_one() {
    let mut world = keeper();
    deliver(&world, &[fresh(1, 5)]).await;
    elsewhere(&mut world, 2).await;
    world.bot.told(3, Act::LeaveState);
    deliver(&world, &[fresh(3, 5)]).await;
    let last = world.bot.runs().pop().unwrap();
    assert_eq!(last.state, Some(json!({"seen": 2})));
    assert_eq!(world.bot.ran(), [1, 2, 3, 3]);
}

#[tokio::test]
async fn a_failure_that_rests_on_a_stale_state_is_no_failure_yet() {
    let mut world = keeper();
    deliver(&world, &[fresh(1, 5)]).await;
    elsewhere(&mut world, 2).await;
    world.bot.told(3, Act::FailOnState(json!({"seen": 1})));
    assert_eq!(deliver(&world, &[fresh(3, 5)]).await, back(NONE));
    assert_eq!(row(&world, 3).record.state, State::Done);
}

#[tokio::test]
async fn a_state_that_may_not_have_been_written_is_forgotten() {
    let world = keeper();
    deliver(&world, &[fresh(1, 5)]).await;
    world.inbox.fail_next(1, penstock_testkit::Fault::NeverArrived);
    deliver(&world, &[fresh(2, 5)]).await;
    world.clock.advance(Duration::from_secs(5));
    deliver(&world, &[again(&fresh(2, 5))]).await;
    assert_eq!(seen(&world).await, r#"{"seen":2}"#);
    assert_eq!(world.bot.ran(), [1, 2, 2]);
}
