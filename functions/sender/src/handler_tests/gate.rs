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
async fn the_sends_of_one_chat_wait_for_the_gate_once_and_not_each_anew() {
    let world = world();
    let records = committed(&world, 1, (1..=3).map(|n| say(5, n)).collect()).await;
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
    assert_eq!(deps.api.calls().len(), 3);
    // Twenty were before them, and two of themselves before the last.
    let due = START + CELL * (20 + 2);
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

/// Sends to a group, each of another Update.
async fn to_group(world: &World, first: i64, count: i64) -> Vec<Record> {
    let mut records = Vec::new();
    for update in first..first + count {
        records.push(one(world, update, say(-5, u32::try_from(update).unwrap())).await);
    }
    records
}

#[tokio::test(start_paused = true)]
async fn a_group_gets_twenty_messages_a_minute_whichever_instance_sends_them() {
    let world = world();
    let records = to_group(&world, 1, 25).await;
    assert_eq!(deliver(&world, &records[..10]).await, back(NONE));
    // Another instance knows nothing of them but what the table tells it.
    world.deps.throttles.forget();
    world.deps.clock.advance(Duration::from_secs(30));
    assert_eq!(deliver(&world, &records[10..20]).await, back(NONE));
    let waits = deliver(&world, &records[20..]).await;
    assert_eq!(waits.len(), 5);
    assert!(
        waits
            .iter()
            .all(|(_, wait)| *wait == Duration::from_millis(30_500)),
        "{waits:?}"
    );
    assert_eq!(world.deps.api.calls().len(), 20);
    world.deps.clock.advance(Duration::from_millis(30_500));
    let comes: Vec<_> = records[20..].iter().map(again).collect();
    assert_eq!(deliver(&world, &comes).await, back(NONE));
    assert_eq!(world.deps.api.calls().len(), 25);
}

#[tokio::test(start_paused = true)]
async fn a_place_in_a_group_that_the_bot_has_no_place_for_is_given_back() {
    let world = world();
    let records = to_group(&world, 1, 20).await;
    busy_for(&world, 60).await;
    for _ in 0..5 {
        let waits = deliver(&world, &records[..10]).await;
        assert_eq!(waits.len(), 10, "the bot is busy");
    }
    world.deps.clock.advance(Duration::from_secs(5));
    for batch in records.chunks(10) {
        let comes: Vec<_> = batch.iter().map(again).collect();
        assert_eq!(
            deliver(&world, &comes).await,
            back(NONE),
            "none of its twenty places was used up"
        );
        world.deps.clock.advance(Duration::from_secs(1));
    }
}

#[tokio::test(start_paused = true)]
async fn no_send_goes_to_a_held_chat_before_its_time_whoever_was_told_of_the_hold() {
    let world = world();
    let [first, second] = to_group(&world, 1, 2).await.try_into().unwrap();
    world.deps.api.answer("sendMessage", Err(throttled(30)));
    assert_eq!(deliver(&world, std::slice::from_ref(&first)).await.len(), 1);
    world.deps.throttles.forget();
    let waits = deliver(&world, std::slice::from_ref(&second)).await;
    assert_eq!(waits, back(&[("m2.0", 30_250)]));
    assert_eq!(world.deps.api.calls().len(), 1);
    world.deps.clock.advance(Duration::from_secs(31));
    assert_eq!(
        deliver(&world, &[again(&first), again(&second)]).await,
        back(NONE)
    );
    assert_eq!(world.deps.api.calls().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_album_takes_as_many_places_as_it_has_pictures() {
    let world = world();
    let album = |pictures: usize| {
        let media = vec![json!({"type": "photo", "media": "id"}); pictures];
        call("sendMediaGroup", &json!({"chat_id": -5, "media": media}))
    };
    let records = [
        one(&world, 1, album(10)).await,
        one(&world, 2, album(9)).await,
        one(&world, 3, album(2)).await,
    ];
    let waits = deliver(&world, &records).await;
    assert_eq!(waits, back(&[("m3.0", 60_500)]));
    assert_eq!(world.deps.api.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_single_send_to_a_private_chat_costs_no_write_of_its_gate() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    let before = world.deps.ledger.calls();
    deliver(&world, &[record]).await;
    // Debit, claim, settling.
    assert_eq!(world.deps.ledger.calls() - before, 3);
}

#[tokio::test(start_paused = true)]
async fn a_chats_gate_that_cannot_be_reached_lets_its_sends_pass() {
    let world = world();
    let records = to_group(&world, 1, 2).await;
    world.deps.ledger.fail_next(1, Fault::Unavailable);
    assert_eq!(deliver(&world, &records).await, back(NONE));
    assert_eq!(world.deps.api.calls().len(), 2);
}
