//! What the queue is told: bodies that are none of ours, of newer releases, time that runs out, the partial response.

use penstock_testkit::Fault;

use super::*;
use penstock_testkit::lines::{heard, listen};

fn with_body(record: Record, body: &str) -> Record {
    Record {
        body: body.to_owned(),
        ..record
    }
}

#[tokio::test]
async fn a_body_of_a_newer_release_waits_longer_each_time_without_an_attempt() {
    let world = world();
    let mut newer = with_body(record(1, 5), r#"{"schema_version":2,"whatever":[1]}"#);
    let mut waits = Vec::new();
    for _ in 0..9 {
        let answered = deliver(&world, &[newer.clone(), record(2, 5)]).await;
        assert_eq!(answered.len(), 2, "its group waits with it");
        waits.push(answered[0].1.as_secs());
        newer = again(&newer);
    }
    assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 600, 600]);
    assert!(world.inbox.rows().is_empty() && world.bot.ran().is_empty());
}

#[tokio::test]
async fn a_body_that_is_none_of_ours_is_parked_and_its_group_goes_on() {
    for body in [
        "nonsense",
        "",
        r#"{"schema_version":1}"#,
        r#"{"schema_version":1,"update":null}"#,
    ] {
        let world = world();
        let batch = [with_body(record(1, 5), body), record(2, 5)];
        assert_eq!(deliver(&world, &batch).await, back(NONE), "{body}");
        assert_eq!(world.bot.ran(), [2]);
        let parked = world
            .inbox
            .row(&LedgerKey::quarantined(BOT, body.as_bytes()))
            .unwrap();
        assert_eq!(
            (parked.record.state, parked.raw.as_deref()),
            (State::Dead, Some(body))
        );
        assert_eq!(parked.attention, Some("quarantine"));
        // A copy of it is parked once.
        assert_eq!(deliver(&world, &[again(&batch[0])]).await, back(NONE));
        assert_eq!(world.inbox.rows().len(), 2);
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_parked_now_comes_back() {
    let world = world();
    world.inbox.fail_next(1, Fault::Unavailable);
    let record = with_body(record(1, 5), "nonsense");
    assert_eq!(
        deliver(&world, std::slice::from_ref(&record)).await,
        back(&[("m1", 5)])
    );
    assert_eq!(deliver(&world, &[again(&record)]).await, back(NONE));
    assert_eq!(world.inbox.rows().len(), 1);
}

#[tokio::test]
async fn nothing_is_claimed_when_the_time_left_would_not_let_it_end() {
    let world = world();
    let batch = [record(1, 5), record(2, 5), record(3, 6)];
    let short = Left(crate::limits::NEEDED - Duration::from_millis(1));
    let released = deliver_in(&world, &batch, &short).await;
    assert_eq!(released, back(&[("m1", 0), ("m2", 0), ("m3", 0)]));
    assert_eq!(world.inbox.calls(), 0);
    assert!(
        deliver_in(&world, &batch, &Left(crate::limits::NEEDED))
            .await
            .is_empty()
    );
}

/// Lambda reads these bytes.
#[tokio::test]
async fn the_partial_response_names_what_failed_and_nothing_else() {
    let world = world();
    world.bot.told(1, Act::Panic);
    let bytes = |response| serde_json::to_string(&response).unwrap();
    let batch = [record(1, 5), record(2, 6), record(3, 5)];
    let response = handle(&world, &batch, &PLENTY).await;
    assert_eq!(
        bytes(response),
        r#"{"batchItemFailures":[{"itemIdentifier":"m1"},{"itemIdentifier":"m3"}]}"#
    );
    let response = handle(&world, &[record(4, 7)], &PLENTY).await;
    assert_eq!(bytes(response), r#"{"batchItemFailures":[]}"#);
}

#[tokio::test]
async fn a_visibility_that_cannot_be_set_changes_nothing_in_the_answer() {
    let world = world();
    world.bot.told(1, Act::Panic);
    world.updates.fail_next(1, Fault::Unavailable);
    let response = handle(&world, &[record(1, 5)], &PLENTY).await;
    assert_eq!(response.batch_item_failures.len(), 1);
    world.clock.advance(Duration::from_secs(120));
    world.updates.make_stale("receipt of m1");
    let response = handle(&world, &[again(&record(1, 5))], &PLENTY).await;
    assert_eq!(response.batch_item_failures.len(), 1);
}

#[tokio::test]
async fn no_log_line_holds_a_text_or_the_id_of_a_person_or_a_chat() {
    const CHAT: i64 = 700_000_123;
    listen();
    let failing = penstock_bot::BotError::Unclassified {
        message: PRIVATE.to_owned(),
    };
    for act in [
        None,
        Some(Act::Panic),
        Some(Act::PanicAtOnce),
        Some(Act::Fail(failing)),
    ] {
        for fault in [
            None,
            Some(Fault::Unavailable),
            Some(Fault::NeverArrived),
            Some(Fault::Rejected),
        ] {
            let world = world();
            if let Some(act) = act.clone() {
                world.bot.told(1, act);
            }
            if let Some(fault) = fault {
                world.inbox.fail_call(2, fault);
                world.outbound.fail_next(1, fault);
            }
            deliver_until_done(&world, &record(1, CHAT)).await;
        }
    }
    let logged = heard();
    assert!(logged.contains("\"done\"") && logged.contains("dead letter"));
    for private in [PRIVATE, "a reply", "700000123"] {
        assert!(!logged.contains(private), "a log line holds {private}");
    }
}

/// SQS hides nothing for longer than 12 hours after its receive, and refuses what asks for more.
#[tokio::test]
async fn a_wait_of_a_day_is_waited_out_in_several_receives() {
    let world = world();
    let after = Duration::from_secs(86_400);
    world.bot.told(
        1,
        Act::Fail(penstock_bot::BotError::RetryAfter {
            code: "come_later",
            after,
        }),
    );
    let answered = deliver(&world, &[record(1, 5)]).await;
    assert_eq!(answered, back(&[("m1", 12 * 3600 - 180)]));
    world.clock.advance(answered[0].1);
    assert_eq!(
        deliver(&world, &[again(&record(1, 5))]).await,
        back(&[("m1", 12 * 3600 - 180)])
    );
    assert_eq!(
        (world.bot.ran(), row(&world, 1).record.state),
        (vec![1], State::Retrying)
    );
}
