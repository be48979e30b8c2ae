//! Updates that get an outcome: committed once, dispatched whole, with the chat's state.

use penstock_bot::Outcome;
use penstock_bot::example::ExampleBot;
use penstock_domain::intent::IntentState;
use penstock_events::{Outcome as Ends, queued, samples};
use penstock_testkit::Fault;

use super::scripted::Run;
use super::*;

fn two_sends() -> Outcome {
    let say = |text: &str| json!({"chat_id": 5, "text": text});
    Outcome::of("two")
        .call("sendMessage", &say("first"))
        .call("sendMessage", &say("second"))
}

#[tokio::test]
async fn an_update_is_done_and_its_sends_are_dispatched() {
    let world = world();
    world.bot.told(1, Act::Give(two_sends()));
    assert_eq!(deliver(&world, &[record(1, 5)]).await, back(NONE));
    let row = row(&world, 1);
    assert_eq!(
        (row.record.state, row.record.attempts, row.record.open),
        (State::Done, 1, 2)
    );
    assert_eq!(row.record.result.as_deref(), Some("two"));
    let queued = world.outbound.messages();
    let ids: Vec<_> = queued
        .iter()
        .map(|sent| (sent.group.0.as_str(), sent.deduplication.0.as_str()))
        .collect();
    assert_eq!(
        ids,
        [("7000001:c:5", "7000001:1:0"), ("7000001:c:5", "7000001:1:1")]
    );
    let sends = sends(&world);
    assert_eq!(
        (sends[0].n, sends[0].previous, sends[0].of, sends[0].received_at),
        (0, None, 2, START)
    );
    assert_eq!(
        (sends[1].n, sends[1].previous, sends[1].key.as_str()),
        (1, Some(0), "7000001:1")
    );
    assert!(sends[1].call.params.contains("second"));
}

#[tokio::test]
async fn an_outcome_without_sends_is_done_too() {
    let world = world();
    world.bot.told(1, Act::Give(Outcome::ignored()));
    assert_eq!(deliver(&world, &[record(1, 5)]).await, back(NONE));
    assert_eq!(row(&world, 1).record.state, State::Done);
    assert_eq!(world.outbound.calls(), 0);
}

#[tokio::test]
async fn the_updates_of_a_chat_are_handled_in_their_order() {
    let world = world();
    world.bot.told(1, Act::Work(Duration::from_millis(5)));
    let batch = [record(1, 5), record(2, 5), record(3, 6), record(4, 5)];
    assert_eq!(deliver(&world, &batch).await, back(NONE));
    let of_chat_5: Vec<_> = world
        .bot
        .ran()
        .into_iter()
        .filter(|update| *update != 3)
        .collect();
    assert_eq!(of_chat_5, [1, 2, 4]);
}

#[tokio::test]
async fn a_repeat_of_a_done_update_is_acknowledged_and_does_nothing() {
    let world = world();
    let record = record(1, 5);
    assert_eq!(deliver(&world, std::slice::from_ref(&record)).await, back(NONE));
    let before = row(&world, 1);
    world.clock.advance(Duration::from_secs(400));
    assert_eq!(deliver(&world, &[again(&record)]).await, back(NONE));
    assert_eq!((world.bot.ran(), row(&world, 1)), (vec![1], before));
    assert_eq!(world.outbound.messages().len(), 1);
}

#[tokio::test]
async fn a_repeat_of_a_done_update_dispatches_only_what_is_still_intended() {
    let world = world();
    world.bot.told(1, Act::Give(two_sends()));
    let record = record(1, 5);
    assert_eq!(deliver(&world, std::slice::from_ref(&record)).await, back(NONE));
    let mut row = row(&world, 1);
    row.record.intents[0].state = IntentState::Sent;
    world.inbox.put(row);
    world.outbound.drain();
    world.outbound.forget_deduplication();
    assert_eq!(deliver(&world, &[again(&record)]).await, back(NONE));
    let sends = sends(&world);
    assert_eq!(
        (sends.len(), sends[0].n, sends[0].previous, sends[0].of),
        (1, 1, Some(0), 2)
    );
}

#[tokio::test]
async fn what_could_not_be_dispatched_burns_no_attempt_and_is_dispatched_by_the_next_delivery() {
    for fault in [Fault::Unavailable, Fault::NeverArrived, Fault::AnswerLost] {
        let world = world();
        world.bot.told(1, Act::Give(two_sends()));
        world.outbound.fail_next(1, fault);
        let batch = [record(1, 5), record(2, 5)];
        assert_eq!(
            deliver(&world, &batch).await,
            back(&[("m1", 5), ("m2", 5)]),
            "{fault:?}"
        );
        assert_eq!(
            (row(&world, 1).record.state, row(&world, 1).record.attempts),
            (State::Done, 1)
        );
        assert_eq!(
            deliver(&world, &batch.map(|record| again(&record))).await,
            back(NONE)
        );
        assert_eq!(world.bot.ran(), [1, 2]);
        let sent: Vec<_> = sends(&world)
            .iter()
            .map(|send| (send.update_id.0, send.n))
            .collect();
        assert_eq!(sent, [(1, 0), (1, 1), (2, 0)], "{fault:?}");
    }
}

#[tokio::test]
async fn a_dispatch_of_which_only_a_part_was_taken_is_completed() {
    let world = world();
    world.bot.told(1, Act::Give(two_sends()));
    world.outbound.cut_next_batch(1);
    let record = record(1, 5);
    assert_eq!(
        deliver(&world, std::slice::from_ref(&record)).await,
        back(&[("m1", 5)])
    );
    assert_eq!(deliver(&world, &[again(&record)]).await, back(NONE));
    let sent: Vec<_> = sends(&world).iter().map(|send| send.n).collect();
    assert_eq!(sent, [0, 1]);
}

#[tokio::test]
async fn the_state_of_a_chat_is_committed_with_the_outcome_and_given_to_the_next_update() {
    let world = processor(FakeLedger::new(RETENTION), ScriptedBot::that_keeps_state());
    assert_eq!(
        deliver(&world, &[record(1, 5), record(2, 6), record(3, 5)]).await,
        back(NONE)
    );
    let of_3 = Run {
        key: "7000001:3".to_owned(),
        attempt: 1,
        state: Some(json!({"seen": 1})),
    };
    assert!(world.bot.runs().contains(&of_3), "{:?}", world.bot.runs());
    let state = world.inbox.chat_state(BOT, "5").await.unwrap();
    assert_eq!(state, Some((json!({"seen": 2}).to_string(), 2)));
}

#[tokio::test]
async fn a_state_that_nobody_asked_for_is_not_written() {
    let world = world();
    world
        .bot
        .told(1, Act::Give(Outcome::ignored().state(json!({"seen": 1}))));
    assert_eq!(deliver(&world, &[record(1, 5)]).await, back(NONE));
    assert_eq!(world.inbox.chat_state(BOT, "5").await.unwrap(), None);
}

#[tokio::test]
async fn every_sample_ends_with_the_example_bot_as_the_catalogue_says() {
    for sample in samples()
        .iter()
        .filter(|sample| sample.expect.outcome == Ends::Done)
    {
        let world = processor(FakeLedger::new(RETENTION), ExampleBot::default());
        let message = queued(&sample.raw(), BOT.0, START.as_millis()).unwrap();
        let record = Record {
            id: "m".to_owned(),
            receipt: "receipt of m".to_owned(),
            group: message.group,
            receive_count: 1,
            sent_at_ms: message.received_at_ms,
            body: message.body,
        };
        assert_eq!(deliver(&world, &[record]).await, back(NONE), "{}", sample.name);
        let [row] = world.inbox.rows().try_into().unwrap();
        assert_eq!(row.record.state, State::Done, "{}", sample.name);
        let calls = world.outbound.messages().len();
        assert_eq!(row.record.intents.len(), calls, "{}", sample.name);
        // The button's answer goes with the 200 of the ingress.
        assert!(sample.expect.sends.holds(calls), "{}: {calls}", sample.name);
    }
}
