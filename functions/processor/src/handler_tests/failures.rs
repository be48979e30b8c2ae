//! Bots that err, panic or hang: tried again by the formula, then parked with the raw Update and its history, while
//! nobody else notices.

use penstock_bot::{BotError, Outcome};
use penstock_domain::failure::Disposition;
use penstock_domain::intent::MAX_INTENTS;

use super::*;

fn transient() -> Act {
    Act::Fail(BotError::Transient {
        code: "backend_busy",
        message: "the backend is busy".to_owned(),
    })
}

fn permanent() -> Act {
    Act::Fail(BotError::Permanent {
        code: "no_such_order",
        message: "there is no such order".to_owned(),
    })
}

/// Fails an Update until it is dead, beside another chat's; the waits between its tries, in seconds.
async fn waits_until_dead(world: &World, act: Act) -> Vec<u64> {
    world.bot.told(1, act);
    let mut failing = record(1, 5);
    let mut waits = Vec::new();
    for other in 100..120 {
        let answered = deliver(world, &[failing.clone(), record(other, 6)]).await;
        assert_eq!(
            row(world, other).record.state,
            State::Done,
            "another chat has to wait"
        );
        let Some((id, wait)) = answered.first() else {
            return waits;
        };
        assert_eq!((id.as_str(), answered.len()), ("m1", 1));
        assert_eq!(row(world, 1).record.state, State::Retrying);
        assert_eq!(row(world, 1).record.next_at, Some(world.clock.now() + *wait));
        waits.push(wait.as_secs());
        world.clock.advance(*wait);
        failing = again(&failing);
    }
    panic!("never dead");
}

#[tokio::test]
async fn a_bot_that_errs_is_tried_eight_times_by_the_formula_and_then_parked_with_raw_body_and_history() {
    let world = world();
    assert_eq!(
        waits_until_dead(&world, transient()).await,
        [2, 4, 8, 16, 32, 64, 128]
    );
    let row = row(&world, 1);
    assert_eq!(
        (row.record.state, row.record.attempts, row.attention),
        (State::Dead, 8, Some("dead"))
    );
    assert_eq!(row.raw.as_deref(), Some(message(1, 5).as_str()));
    let tries: Vec<_> = row
        .record
        .tries
        .iter()
        .map(|one| (one.code.as_str(), one.attempt))
        .collect();
    assert_eq!(
        tries,
        (1..=8)
            .map(|attempt| ("backend_busy", attempt))
            .collect::<Vec<_>>()
    );
    assert!(row.record.tries.is_sorted_by_key(|one| one.at));
    assert!(sends(&world).iter().all(|send| send.update_id.0 != 1));
}

#[tokio::test]
async fn a_failure_that_nobody_classed_is_tried_three_times() {
    let world = world();
    let unclassified = Act::Fail(BotError::Unclassified {
        message: "odd".to_owned(),
    });
    assert_eq!(waits_until_dead(&world, unclassified).await, [2, 4]);
    assert_eq!(row(&world, 1).record.tries[2].code, "handler_error");
}

#[tokio::test]
async fn a_bot_that_panics_is_tried_three_times_wherever_it_panics() {
    for act in [Act::Panic, Act::PanicAtOnce, Act::PanicAtState] {
        let world = world();
        assert_eq!(waits_until_dead(&world, act).await, [2, 4]);
        let row = row(&world, 1);
        assert_eq!((row.record.state, row.record.tries.len()), (State::Dead, 3));
        for one in &row.record.tries {
            assert_eq!(one.code, "handler_panicked");
            assert!(!one.message.contains(PRIVATE), "the panic's own message is kept");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_bot_that_hangs_is_stopped_and_tried_again_and_another_chat_does_not_wait_for_it() {
    let world = world();
    world.bot.told(1, Act::Work(Duration::from_secs(3600)));
    let begun = tokio::time::Instant::now();
    assert_eq!(
        deliver(&world, &[record(1, 5), record(2, 6)]).await,
        back(&[("m1", 2)])
    );
    assert_eq!(begun.elapsed(), crate::limits::HANDLER_LIMIT);
    assert_eq!(row(&world, 2).record.state, State::Done);
    let row = row(&world, 1);
    assert_eq!(
        (row.record.state, row.record.tries[0].code.as_str()),
        (State::Retrying, "handler_timeout")
    );
    world.bot.told(1, Act::Give(Outcome::ignored()));
    world.clock.advance(Duration::from_secs(2));
    assert_eq!(deliver(&world, &[again(&record(1, 5))]).await, back(NONE));
}

#[tokio::test]
async fn the_rest_of_a_group_comes_back_with_the_one_that_failed_and_unburned() {
    let world = world();
    world.bot.told(1, transient());
    let batch = [record(1, 5), record(2, 5), record(3, 5)];
    assert_eq!(
        deliver(&world, &batch).await,
        back(&[("m1", 2), ("m2", 2), ("m3", 2)])
    );
    assert_eq!(world.bot.ran(), [1]);
    assert_eq!(
        world.inbox.rows().len(),
        1,
        "an update that was not tried was claimed"
    );
}

#[tokio::test]
async fn a_permanent_failure_is_parked_at_once_and_its_group_goes_on() {
    let world = world();
    world.bot.told(1, permanent());
    assert_eq!(deliver(&world, &[record(1, 5), record(2, 5)]).await, back(NONE));
    let dead = row(&world, 1);
    assert_eq!((dead.record.state, dead.record.attempts), (State::Dead, 1));
    assert_eq!(dead.raw.as_deref(), Some(message(1, 5).as_str()));
    assert_eq!(dead.record.tries[0].disposition, Disposition::Permanent);
    assert_eq!(row(&world, 2).record.state, State::Done);
    let before = row(&world, 1);
    assert_eq!(
        deliver(&world, &[again(&record(1, 5))]).await,
        back(NONE),
        "a copy of a dead update"
    );
    assert_eq!(row(&world, 1), before);
}

#[tokio::test]
async fn nothing_is_tried_before_the_instant_that_the_bot_was_told() {
    let world = world();
    let after = Duration::from_secs(2_282);
    world.bot.told(
        1,
        Act::Fail(BotError::RetryAfter {
            code: "come_later",
            after,
        }),
    );
    let answered = deliver(&world, &[record(1, 5)]).await;
    assert!(answered[0].1 >= after, "{answered:?}");
    // A copy that comes early anyway waits for what is left.
    world.clock.advance(Duration::from_secs(1_000));
    let early = deliver(&world, &[again(&record(1, 5))]).await;
    assert_eq!(early[0].1 + Duration::from_secs(1_000), answered[0].1);
    assert_eq!(world.bot.ran(), [1]);
}

/// What no retry would cure is refused before the commit: it must not become an outcome.
#[tokio::test]
async fn calls_that_can_never_be_sent_are_parked_before_the_commit() {
    let say = json!({"chat_id": 5, "text": "x"});
    let many = (0..=MAX_INTENTS).fold(Outcome::of("many"), |outcome, _| {
        outcome.call("sendMessage", &say)
    });
    let no_object = Outcome::of("odd")
        .call("sendMessage", &say)
        .call("sendMessage", &json!([1]));
    let large = Outcome::of("large").call(
        "sendMessage",
        &json!({"chat_id": 5, "text": "x".repeat(1024 * 1024)}),
    );
    // The queue would drop it before its time.
    let late = |days: u64| penstock_domain::intent::Call {
        not_before: Some(START + Duration::from_secs(days * 86_400)),
        ..penstock_domain::intent::Call::new("sendMessage", say.to_string())
    };
    let far = Outcome::of("far").then(late(12)).then(late(13));
    for outcome in [many, no_object, large, far] {
        let world = world();
        world.bot.told(1, Act::Give(outcome.clone()));
        assert_eq!(
            deliver(&world, &[record(1, 5), record(2, 5)]).await,
            back(NONE),
            "{}",
            outcome.result
        );
        let row = row(&world, 1);
        assert_eq!(
            (row.record.state, row.record.tries[0].code.as_str()),
            (State::Dead, "invalid_calls")
        );
        assert_eq!((row.record.intents.len(), row.record.result), (0, None));
        let sent: Vec<_> = sends(&world).iter().map(|send| send.update_id.0).collect();
        assert_eq!(sent, [2]);
    }
}

#[tokio::test]
async fn ten_calls_are_allowed() {
    let world = world();
    let say = json!({"chat_id": 5, "text": "x"});
    let ten = (0..MAX_INTENTS).fold(Outcome::of("ten"), |outcome, _| outcome.call("sendMessage", &say));
    world.bot.told(1, Act::Give(ten));
    assert_eq!(deliver(&world, &[record(1, 5)]).await, back(NONE));
    assert_eq!(sends(&world).len(), 10);
}

#[tokio::test]
async fn an_inline_query_that_nobody_waits_for_is_parked_unrun_and_a_late_button_is_still_handled() {
    let world = world();
    let inline = r#"{"update_id":1,"inline_query":{"id":"77","from":{"id":9},"query":"x"}}"#;
    let button = r#"{"update_id":2,"callback_query":{"id":"78","from":{"id":9},"data":"x"}}"#;
    world.clock.advance(Duration::from_secs(31));
    assert_eq!(deliver(&world, &[record_of(inline)]).await, back(NONE));
    world.clock.advance(Duration::from_secs(3600));
    assert_eq!(deliver(&world, &[record_of(button)]).await, back(NONE));
    let row = row(&world, 1);
    assert_eq!(
        (row.record.state, row.record.tries[0].code.as_str()),
        (State::Dead, "expired")
    );
    assert_eq!(row.raw.as_deref(), Some(inline));
    assert_eq!(world.bot.ran(), [2]);
}
