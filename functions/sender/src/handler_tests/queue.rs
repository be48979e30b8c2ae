//! What the queue is told: bodies that nothing vouches for, bodies of newer releases, time that runs out.

use penstock_domain::ledger::State;
use penstock_testkit::Fault;

use super::*;
use penstock_testkit::lines::{heard, listen};

fn with_body(record: &Record, body: &str) -> Record {
    Record {
        body: body.to_owned(),
        ..record.clone()
    }
}

#[tokio::test]
async fn a_body_that_is_none_of_ours_is_parked_and_its_group_goes_on() {
    for body in ["nonsense", "", r#"{"schema_version":1,"method":"sendMessage"}"#] {
        let world = world();
        let record = one(&world, 1, say(5, 1)).await;
        let odd = Record {
            id: "odd".to_owned(),
            receipt: "receipt of odd".to_owned(),
            ..with_body(&record, body)
        };
        assert_eq!(deliver(&world, &[odd, record]).await, back(NONE), "{body}");
        assert_eq!(state(&world, 1), IntentState::Sent);
        let parked = world
            .deps
            .ledger
            .row(&LedgerKey::quarantined(BOT, body.as_bytes()))
            .unwrap();
        assert_eq!(
            (parked.record.state, parked.raw.as_deref()),
            (State::Dead, Some(body))
        );
        assert_eq!(parked.record.tries[0].code, "malformed_body");
    }
}

#[tokio::test]
async fn a_body_of_a_newer_release_waits_longer_each_time() {
    let world = world();
    let mut newer = with_body(
        &one(&world, 1, say(5, 1)).await,
        r#"{"schema_version":2,"whatever":[1]}"#,
    );
    let mut waits = Vec::new();
    for _ in 0..9 {
        waits.push(deliver(&world, std::slice::from_ref(&newer)).await[0].1.as_secs());
        newer = again(&newer);
    }
    assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 600, 600]);
    assert!(world.deps.api.calls().is_empty());
}

/// Nothing says that it was ever asked for, or that it was not sent.
#[tokio::test]
async fn a_send_that_no_ledger_knows_is_parked_and_never_just_acknowledged() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    let elsewhere = self::world();
    assert_eq!(
        deliver(&elsewhere, std::slice::from_ref(&record)).await,
        back(NONE)
    );
    assert!(elsewhere.deps.api.calls().is_empty());
    let parked = elsewhere
        .deps
        .ledger
        .row(&LedgerKey::quarantined(BOT, record.body.as_bytes()))
        .unwrap();
    assert_eq!(
        (parked.record.state, parked.raw.as_deref()),
        (State::Dead, Some(record.body.as_str()))
    );
    assert_eq!(parked.record.tries[0].code, "no_intent");
}

#[tokio::test]
async fn what_cannot_be_parked_now_comes_back() {
    let world = world();
    let record = with_body(&one(&world, 1, say(5, 1)).await, "nonsense");
    world.deps.ledger.fail_next(1, Fault::Unavailable);
    assert_eq!(
        deliver(&world, std::slice::from_ref(&record)).await,
        back(&[("m1.0", 5_000)])
    );
    assert_eq!(deliver(&world, &[again(&record)]).await, back(NONE));
    assert_eq!(world.deps.ledger.rows().len(), 2);
}

#[tokio::test]
async fn with_the_table_away_nothing_is_called_and_everything_comes_back() {
    let world = world();
    let batch = [one(&world, 1, say(5, 1)).await, one(&world, 2, say(6, 1)).await];
    world.deps.ledger.fail_next(3, Fault::Unavailable);
    assert_eq!(
        deliver(&world, &batch).await,
        back(&[("m1.0", 5_000), ("m2.0", 5_000)])
    );
    assert!(world.deps.api.calls().is_empty());
    assert_eq!(
        deliver(&world, &batch.map(|record| again(&record))).await,
        back(NONE)
    );
    assert_eq!(world.deps.api.calls().len(), 2);
}

#[tokio::test]
async fn nothing_is_claimed_when_the_time_left_would_not_let_it_end() {
    let world = world();
    let batch = [one(&world, 1, say(5, 1)).await, one(&world, 2, say(6, 1)).await];
    let short = Left(crate::limits::NEEDED - Duration::from_millis(1));
    assert_eq!(
        deliver_in(&world, &batch, &short).await,
        back(&[("m1.0", 0), ("m2.0", 0)])
    );
    assert_eq!(
        (state(&world, 1), world.deps.api.calls().len()),
        (IntentState::Intended, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn no_log_line_and_no_stored_failure_holds_a_text_a_token_or_a_chat() {
    const CHAT: i64 = 700_000_123;
    listen();
    let unreachable = refused(403, Disposition::Permanent, Meaning::ChatUnreachable);
    let refused_token = refused(401, Disposition::Permanent, Meaning::BotRefused);
    let errors = [
        None,
        Some(no_answer()),
        Some(throttled(5)),
        Some(unreachable),
        Some(refused_token),
    ];
    for error in errors {
        for fault in [None, Some(Fault::Unavailable), Some(Fault::Rejected)] {
            let world = world();
            let record = one(&world, 1, say(CHAT, 1)).await;
            if let Some(error) = error.clone() {
                world.deps.api.answer("sendMessage", Err(error));
            }
            if let Some(fault) = fault {
                world.deps.ledger.fail_call(world.deps.ledger.calls() + 3, fault);
                world.deps.secrets.fail_next(1, fault);
            }
            deliver_until_done(&world, &record).await;
            let failure = intent(&world, 1, 0).failure;
            assert!(failure.is_none_or(|failure| !failure.message.contains(PRIVATE)));
        }
    }
    let logged = heard();
    assert!(logged.contains("\"sent\"") && logged.contains("not sent") && logged.contains("nobody knows"));
    for private in [PRIVATE, "token-of-the-tests", "700000123"] {
        assert!(!logged.contains(private), "a log line holds {private}");
    }
}

/// SQS drops it then, without a word to anybody: no dead-letter queue sees it.
#[tokio::test]
async fn a_send_that_waits_for_its_token_is_somebodys_before_the_queue_drops_it() {
    let world = world();
    let mut record = one(&world, 1, say(5, 1)).await;
    world.deps.secrets.remove(BOT);
    let kept_until = world.deps.clock.now() + Duration::from_secs(14 * 86_400);
    while world.deps.clock.now() < kept_until && record.receive_count < 1_000 {
        match deliver(&world, std::slice::from_ref(&record)).await.first() {
            None => break,
            Some((_, wait)) => world.deps.clock.advance(*wait),
        };
        record = again(&record);
    }
    let attention = world.deps.ledger.row(&key(1)).unwrap().attention;
    let left_to_the_dead_letter_queue = record.receive_count >= 1_000;
    assert!(
        attention.is_some() || left_to_the_dead_letter_queue,
        "{:?} after {} receives, in no list",
        state(&world, 1),
        record.receive_count
    );
}
