//! The bot's gate: who waits at it, and that whoever waited gets through.

use penstock_domain::throttle::CELL;
use penstock_ports::Outbox as _;
use penstock_testkit::Fault;

use super::*;

async fn busy_for(world: &World, cells: u32) {
    world
        .deps
        .ledger
        .debit_bot(BOT, cells, world.deps.clock.now())
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn with_more_than_a_second_of_queue_ahead_a_send_waits_unclaimed_and_nothing_is_called() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    busy_for(&world, 40).await;
    // What is ahead, and half a second: the draw is 0.5 and it was received once.
    assert_eq!(deliver(&world, &[record]).await, back(&[("m1.0", 40 * 35 + 500)]));
    assert_eq!(
        (world.deps.api.calls().len(), state(&world, 1)),
        (0, IntentState::Intended)
    );
}

#[tokio::test(start_paused = true)]
async fn with_up_to_a_second_of_queue_ahead_a_send_goes() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    busy_for(&world, 20).await;
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    assert_eq!(world.deps.api.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_answers_a_query_or_only_decorates_never_waits_at_the_gate() {
    let world = world();
    busy_for(&world, 1_000).await;
    let batch = [
        one(
            &world,
            1,
            call(
                "answerPreCheckoutQuery",
                &json!({"pre_checkout_query_id": "7", "ok": true}),
            ),
        )
        .await,
        one(
            &world,
            2,
            call("sendChatAction", &json!({"chat_id": 6, "action": "typing"})),
        )
        .await,
        one(&world, 3, say(7, 1)).await,
    ];
    let answered = deliver(&world, &batch).await;
    assert_eq!(
        answered.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(),
        ["m3.0"]
    );
    let called: Vec<_> = world
        .deps
        .api
        .sent()
        .into_iter()
        .map(|(method, _)| method)
        .collect();
    assert_eq!(called.len(), 2);
    assert!(!called.contains(&"sendMessage".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_cannot_be_reached_stops_nobody() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    world.deps.ledger.fail_next(1, Fault::Unavailable);
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    assert_eq!(state(&world, 1), IntentState::Sent);
}

/// A clock that goes with the timers.
#[derive(Debug)]
struct RunningClock(tokio::time::Instant);

impl penstock_ports::Clock for RunningClock {
    fn now(&self) -> Timestamp {
        START + self.0.elapsed()
    }
}

/// Each waits for its own turn, counted from the debit: not for its turn after the one before it has had its own.
#[tokio::test(start_paused = true)]
async fn ten_sends_of_one_chat_wait_for_the_gate_once_and_not_ten_times() {
    let world = world();
    let records = committed(&world, 1, (1..=10).map(|n| say(5, n)).collect()).await;
    busy_for(&world, 20).await;
    let deps = Deps {
        ledger: world.deps.ledger,
        api: world.deps.api,
        secrets: world.deps.secrets,
        clock: RunningClock(tokio::time::Instant::now()),
        draw: FixedDraw::default(),
        throttles: Throttles::default(),
    };
    let answered = handle(&deps, &world.queue, records, &PLENTY).await;
    assert!(answered.batch_item_failures.is_empty());
    assert_eq!(deps.api.calls().len(), 10);
    // Twenty were before them, and nine of themselves before the last.
    let due = START + CELL * (20 + 9);
    let now = penstock_ports::Clock::now(&deps.clock);
    assert!(now >= due && now < due + CELL, "{}", now.since(START).as_millis());
}

/// Many chats at once: those that wait must not push each other back for ever.
#[tokio::test(start_paused = true)]
async fn a_burst_over_the_bots_rate_is_sent_whole_at_that_rate() {
    const BURST: i64 = 300;
    let world = world();
    let mut due = Vec::new();
    for update in 1..=BURST {
        due.push((world.deps.clock.now(), one(&world, update, say(update, 1)).await));
    }
    let mut sent_in_second = vec![0_usize; 60];
    for second in &mut sent_in_second {
        let now = world.deps.clock.now();
        let before = world.deps.api.calls().len();
        let (ready, mut waiting): (Vec<_>, Vec<_>) = due.into_iter().partition(|(at, _)| *at <= now);
        for batch in ready.chunks(10) {
            let records: Vec<_> = batch.iter().map(|(_, record)| record.clone()).collect();
            let answered = deliver(&world, &records).await;
            for (id, wait) in answered {
                let record = records.iter().find(|record| record.id == id).unwrap();
                waiting.push((now + wait, again(record)));
            }
        }
        due = waiting;
        *second = world.deps.api.calls().len() - before;
        world.deps.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(due, [], "some wait for ever");
    let last = sent_in_second.iter().rposition(|sent| *sent > 0).unwrap();
    let longest = u64::try_from(BURST).unwrap() * u64::try_from(CELL.as_millis()).unwrap() / 1000 + 40;
    assert!(u64::try_from(last).unwrap() <= longest, "{sent_in_second:?}");
    // The draw is fixed here, so that all wait alike. A second's own sends, and what is reserved within the horizon, which a real clock would wait out.
    assert!(
        sent_in_second.iter().all(|sent| *sent <= 30 + 28 + 10),
        "{sent_in_second:?}"
    );
}
