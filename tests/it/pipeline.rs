//! The promises, on the real embedded stack: functions as processes, queues and table over HTTP.

use penstock_domain::intent::IntentState;
use penstock_domain::ledger::State;
use telegram_sim::{Fault, FaultKind};

use crate::stack::{FAST, failpoint, start, text, texts_sent};

#[tokio::test(flavor = "multi_thread")]
async fn every_chat_is_answered_in_order_and_once() {
    let stack = start(|_| {}).await;
    let (chats, messages) = (5_i64, 3_i64);
    for message in 0..messages {
        for chat in 0..chats {
            assert_eq!(
                stack
                    .post(text(1_000 + message * chats + chat, 700_000_001 + chat, "hello"))
                    .await,
                200
            );
        }
    }
    stack.rest().await;
    for chat in 0..chats {
        let expected: Vec<_> = (1..=messages)
            .map(|n| format!("Message {n} of this chat: hello"))
            .collect();
        assert_eq!(stack.replies(700_000_001 + chat), expected);
    }
    stack.stack.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_telegram_repeats_is_answered_once() {
    let stack = start(|_| {}).await;
    for _ in 0..2 {
        assert_eq!(stack.post(text(1, 700_000_001, "hello")).await, 200);
        stack.rest().await;
    }
    assert_eq!(stack.replies(700_000_001), ["Message 1 of this chat: hello"]);
    let record = stack.record(1).await.unwrap();
    assert_eq!((record.state, record.open), (State::Done, 0));
    stack.stack.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_whose_answer_was_lost_is_unknown_and_not_repeated() {
    let stack = start(|options| options.time_scale = FAST).await;
    let lost = Fault {
        method: Some("sendMessage".to_owned()),
        chat: Some(700_000_001),
        kind: FaultKind::NoAnswerButDone,
        times: 1,
    };
    stack.sim().inject(lost);
    assert_eq!(stack.post(text(1, 700_000_001, "hello")).await, 200);
    assert_eq!(stack.post(text(2, 700_000_001, "next")).await, 200);
    stack.rest().await;
    let record = stack.record(1).await.unwrap();
    assert_eq!(record.intents[0].state, IntentState::Unknown);
    assert_eq!(record.open, 1, "an unknown send needs a person");
    // It had arrived, once; and the chat goes on.
    let replies = stack.replies(700_000_001);
    assert_eq!(
        replies,
        ["Message 1 of this chat: hello", "Message 2 of this chat: next"]
    );
    stack.stack.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_holds_its_chat_for_as_long_as_telegram_said_and_no_other() {
    let stack = start(|options| options.time_scale = FAST).await;
    let throttled = Fault {
        method: Some("sendMessage".to_owned()),
        chat: Some(700_000_001),
        kind: FaultKind::Status {
            code: 429,
            description: "Too Many Requests: retry after 30".to_owned(),
            parameters: Some(serde_json::json!({"retry_after": 30})),
        },
        times: 1,
    };
    stack.sim().inject(throttled);
    assert_eq!(stack.post(text(1, 700_000_001, "slow")).await, 200);
    assert_eq!(stack.post(text(2, 700_000_002, "quick")).await, 200);
    stack.rest().await;
    let calls = stack.sim().calls();
    let of = |chat: i64| {
        calls
            .iter()
            .filter(|call| call.chat_id == Some(chat))
            .collect::<Vec<_>>()
    };
    let (slow, quick) = (of(700_000_001), of(700_000_002));
    assert_eq!((slow.len(), quick.len()), (2, 1));
    assert!(
        slow[1].at_ms - slow[0].at_ms >= 30_000,
        "called again after {} ms",
        slow[1].at_ms - slow[0].at_ms
    );
    assert!(quick[0].at_ms < slow[1].at_ms, "the other chat did not wait");
    assert_eq!(
        stack.record(1).await.unwrap().intents[0].attempts,
        1,
        "a 429 burns no attempt"
    );
    stack.stack.shutdown().await;
}

/// Each new process dies at its first such point: before the commit until the tries are used up, after it just once
/// for the outcome, since that is there then.
#[tokio::test(flavor = "multi_thread")]
async fn a_processor_that_dies_loses_nothing_and_doubles_nothing() {
    for (point, state, replies) in [
        ("ledger.commit.before=crash@1", State::Dead, 0),
        ("ledger.commit.after=crash@1", State::Done, 1),
        ("sqs.send_batch.after=crash@1", State::Done, 1),
    ] {
        let stack = start(|options| {
            // Nine visibilities of 120 s pass until the tries are used up.
            options.time_scale = 2.0 * FAST;
            options.extra_env = failpoint(point);
        })
        .await;
        assert_eq!(stack.post(text(1, 700_000_001, "hello")).await, 200);
        stack.rest().await;
        let record = stack.record(1).await.unwrap();
        assert_eq!(
            (record.state, stack.replies(700_000_001).len()),
            (state, replies),
            "{point}"
        );
        stack.stack.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_queued_survives_a_restart_of_the_stack() {
    let dir = std::env::temp_dir().join(format!("penstock-restart-{}", std::process::id()));
    std::fs::remove_dir_all(&dir).ok();
    let first = start(|options| options.state_dir = Some(dir.clone())).await;
    first
        .stack
        .set_mapping_enabled("penstock-updates.fifo", false)
        .unwrap();
    for update in 1..=6 {
        assert_eq!(first.post(text(update, 700_000_001, "hello")).await, 200);
    }
    // A poll that was under way may still have taken the first one, as on AWS.
    let sim = first.sim().clone();
    first.stack.shutdown().await;
    let second = start(|options| options.state_dir = Some(dir.clone())).await;
    second.rest().await;
    let mut replies = texts_sent(&sim, 700_000_001);
    assert!(replies.len() < 6, "nothing was left for the second start");
    replies.extend(second.replies(700_000_001));
    let expected: Vec<_> = (1..=6)
        .map(|n| format!("Message {n} of this chat: hello"))
        .collect();
    assert_eq!(replies, expected);
    second.stack.shutdown().await;
    std::fs::remove_dir_all(&dir).ok();
}
