//! Who may work on an Update: leases, crashes, copies of earlier generations, ids that were drawn anew.

use penstock_formats::envelope::Envelope;

use super::*;

/// The same delivery, as a copy of another generation.
fn of_generation(record: &Record, redrive: u32) -> Record {
    let body = Envelope {
        redrive,
        ..Envelope::read(&record.body).unwrap()
    }
    .write();
    Record {
        body,
        ..record.clone()
    }
}

#[tokio::test]
async fn what_another_worker_holds_comes_back_when_its_lease_can_have_ended_and_so_does_its_group() {
    let world = world();
    claimed_by_another(&world, &record(1, 5)).await;
    world.clock.advance(Duration::from_secs(7));
    let batch = [again(&record(1, 5)), record(2, 5), record(3, 6)];
    // 19 s of lease and 2 s of margin between the clocks.
    assert_eq!(deliver(&world, &batch).await, back(&[("m1", 13), ("m2", 13)]));
    assert_eq!(world.bot.ran(), [3]);
    assert_eq!(row(&world, 1).record.attempts, 1);
}

#[tokio::test]
async fn what_killed_its_worker_is_taken_over_by_a_delivery_that_runs_nothing_else() {
    let world = world();
    let dead = claimed_by_another(&world, &record(1, 5)).await;
    world.clock.advance(Duration::from_millis(20_001));
    assert_eq!(deliver(&world, &[again(&record(1, 5))]).await, back(NONE));
    let row = row(&world, 1);
    assert_eq!((row.record.state, row.record.attempts), (State::Done, 2));
    assert!(row.record.fence > dead.fence);
}

#[tokio::test(start_paused = true)]
async fn what_killed_its_worker_waits_until_the_others_have_ended_and_burns_nobodys_attempt() {
    let world = world();
    claimed_by_another(&world, &record(1, 5)).await;
    world.clock.advance(Duration::from_secs(60));
    world.bot.told(2, Act::Work(Duration::from_millis(100)));
    let batch = [record(2, 6), again(&record(1, 5)), record(4, 7), record(3, 6)];
    // The update beside it that was begun ends; what was not begun goes back untried.
    let answered = deliver(&world, &batch).await;
    assert!(
        answered.contains(&("m3".to_owned(), Duration::ZERO)),
        "{answered:?}"
    );
    assert_eq!(*world.bot.ran().last().unwrap(), 1, "it ran beside others");
    assert_eq!(row(&world, 1).record.attempts, 2);
    assert_eq!(
        (row(&world, 2).record.state, row(&world, 2).record.attempts),
        (State::Done, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn while_a_suspect_runs_nothing_else_begins() {
    let world = world();
    claimed_by_another(&world, &record(1, 5)).await;
    world.clock.advance(Duration::from_secs(60));
    world.bot.told(1, Act::Work(Duration::from_millis(100)));
    let batch = [again(&record(1, 5)), record(2, 6), record(3, 5)];
    assert_eq!(deliver(&world, &batch).await, back(&[("m2", 0), ("m3", 0)]));
    assert_eq!(world.bot.ran(), [1]);
    assert_eq!(world.inbox.rows().len(), 1, "a neighbour was claimed");
}

/// Its worker dies each time before it can say why.
#[tokio::test]
async fn what_kills_every_worker_is_parked_after_its_last_attempt_without_another_run() {
    let world = world();
    claimed_by_another(&world, &record(1, 5)).await;
    let mut row = row(&world, 1);
    row.record.attempts = 8;
    world.inbox.put(row);
    world.clock.advance(Duration::from_secs(60));
    assert_eq!(deliver(&world, &[again(&record(1, 5))]).await, back(NONE));
    let row = super::row(&world, 1);
    assert_eq!(
        (row.record.state, row.record.tries[0].code.as_str()),
        (State::Dead, "worker_died")
    );
    assert_eq!(row.raw.as_deref(), Some(message(1, 5).as_str()));
    assert!(world.bot.ran().is_empty());
}

#[tokio::test]
async fn a_worker_that_lost_its_lease_commits_nothing() {
    let world = world();
    let late = claimed_by_another(&world, &record(1, 5)).await;
    world.clock.advance(Duration::from_secs(60));
    assert_eq!(deliver(&world, &[again(&record(1, 5))]).await, back(NONE));
    let before = row(&world, 1);
    let commit = penstock_ports::Commit {
        intents: Vec::new(),
        state: None,
        writes: Vec::new(),
        result: "late".to_owned(),
    };
    let answer = world
        .inbox
        .commit(
            &before.subject,
            &penstock_ports::RunAs::Claimed(late),
            &commit,
            world.clock.now(),
        )
        .await
        .unwrap();
    assert_eq!(answer, penstock_ports::Commitment::LeaseLost);
    assert_eq!(row(&world, 1), before);
}

#[tokio::test]
async fn a_copy_of_an_earlier_generation_is_acknowledged_and_changes_nothing() {
    let world = world();
    world.bot.told(
        1,
        Act::Fail(penstock_bot::BotError::Permanent {
            code: "no",
            message: String::new(),
        }),
    );
    assert_eq!(deliver(&world, &[record(1, 5)]).await, back(NONE));
    assert!(world.inbox.redrive(&key(1), 1, world.clock.now()));
    let before = row(&world, 1);
    assert_eq!(deliver(&world, &[again(&record(1, 5))]).await, back(NONE));
    assert_eq!((row(&world, 1), world.bot.ran()), (before, vec![1]));
}

#[tokio::test]
async fn a_redriven_update_is_run_and_its_sends_carry_its_generation() {
    let world = world();
    world.bot.told(
        1,
        Act::Fail(penstock_bot::BotError::Permanent {
            code: "no",
            message: String::new(),
        }),
    );
    assert_eq!(deliver(&world, &[record(1, 5)]).await, back(NONE));
    assert!(world.inbox.redrive(&key(1), 1, world.clock.now()));
    world.bot.told(1, Act::Work(Duration::ZERO));
    assert_eq!(
        deliver(&world, &[of_generation(&record(1, 5), 1)]).await,
        back(NONE)
    );
    let row = row(&world, 1);
    assert_eq!(
        (row.record.state, row.record.attempts, row.record.redrive),
        (State::Done, 1, 1)
    );
    assert_eq!(
        (sends(&world)[0].redrive, sends(&world)[0].key.as_str()),
        (1, "7000001:1")
    );
}

/// Telegram draws update ids anew after idle weeks.
#[tokio::test]
async fn an_id_that_was_used_before_by_another_update_is_handled_under_a_key_of_its_own() {
    let world = world();
    let (first, second) = (record(1, 5), record(1, 6));
    assert_eq!(deliver(&world, std::slice::from_ref(&first)).await, back(NONE));
    let kept = row(&world, 1);
    assert_eq!(deliver(&world, std::slice::from_ref(&second)).await, back(NONE));
    assert_eq!(row(&world, 1), kept, "the first one's record was touched");
    let digest: UpdateDigest = Envelope::read(&second.body).unwrap().digest;
    let reused = LedgerKey::reused(BOT, UpdateId(1), digest);
    assert_eq!(
        world.inbox.record(&reused).map(|record| record.state),
        Some(State::Done)
    );
    let ids: Vec<_> = world
        .outbound
        .messages()
        .into_iter()
        .map(|sent| sent.deduplication.0)
        .collect();
    assert_eq!(ids, ["7000001:1:0".to_owned(), format!("{reused}:0")]);
    // A repeat of either does nothing.
    assert_eq!(
        deliver(&world, &[again(&first), again(&second)]).await,
        back(NONE)
    );
    assert_eq!(world.bot.ran(), [1, 1]);
}
