//! The delivery protocol on the whole stack: what an Update does that crashes its worker, or takes its time, to the
//! chats beside it, and what is in the queue that this release cannot read.

use std::time::Duration;

use penstock_domain::ledger::State;

use crate::stack::{FAST, TestStack, start, text};

const UPDATES: &str = "penstock-updates.fifo";
const CHAT: i64 = 700_000_000;

/// Waits until so many replies to that chat have been sent; the bound is never reached by a stack that works.
async fn replied(stack: &TestStack, chat: i64, count: usize) {
    for _ in 0..3_000 {
        if stack.replies(chat).len() >= count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("chat {chat} was not answered: {:?}", stack.replies(chat));
}

async fn queue_while_paused(stack: &TestStack, bodies: Vec<String>) {
    stack.stack.set_mapping_enabled(UPDATES, false).unwrap();
    for body in bodies {
        assert_eq!(stack.post(body).await, 200);
    }
    stack.stack.set_mapping_enabled(UPDATES, true).unwrap();
}

/// Its process dies nine times: once unclaimed, then as often as it may be tried.
#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_kills_every_worker_burns_at_most_one_attempt_of_its_neighbours_and_holds_nobody() {
    const OTHERS: i64 = 200;
    let stack = start(|options| options.time_scale = 2.0 * FAST).await;
    let others = (1..=OTHERS).map(|n| text(n, CHAT + n, "hello"));
    let poison = text(1_000, CHAT, "!crash");
    // Amid the others, so that its batches have neighbours.
    let mut bodies: Vec<_> = others.collect();
    bodies.insert(3, poison);
    queue_while_paused(&stack, bodies).await;
    stack.rest().await;

    let dead = stack.record(1_000).await.unwrap();
    assert_eq!(
        (dead.state, dead.attempts),
        (State::Dead, 9),
        "eight tries and the one too many"
    );
    assert_eq!(dead.tries.last().unwrap().code, "worker_died");
    let parked_at = dead.tries.last().unwrap().at;
    for n in 1..=OTHERS {
        let record = stack.record(n).await.unwrap();
        assert_eq!(record.state, State::Done);
        assert!(
            record.attempts <= 2,
            "update {n} took {} attempts",
            record.attempts
        );
        assert_eq!(stack.replies(CHAT + n), ["Message 1 of this chat: hello"]);
    }
    let last_reply = stack.sim().calls().iter().map(|call| call.at_ms).max().unwrap();
    assert!(
        last_reply < parked_at.as_millis(),
        "others waited for the poison's end"
    );
    stack.stack.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_takes_its_time_holds_no_other_chat_of_its_batch() {
    let stack = start(|_| {}).await;
    let slow = CHAT;
    let others = || (1..=9_i64).map(|n| CHAT + n);
    let mut bodies = vec![text(1, slow, "!sleep 9000")];
    bodies.extend(others().map(|chat| text(chat, chat, "first")));
    queue_while_paused(&stack, bodies).await;
    for chat in others() {
        replied(&stack, chat, 1).await;
    }
    // Their groups are free again only if the first messages were deleted.
    let mut posted_at = Vec::new();
    for chat in others() {
        posted_at.push(stack.stack.view().clock().now_ms());
        assert_eq!(stack.post(text(chat + 100, chat, "second")).await, 200);
    }
    for chat in others() {
        replied(&stack, chat, 2).await;
    }
    let calls = stack.sim().calls();
    let answered_after = others().zip(posted_at).filter_map(|(chat, posted_at)| {
        let last = calls.iter().rfind(|call| call.chat_id == Some(chat))?;
        Some(last.at_ms - posted_at)
    });
    let slowest = answered_after.max();
    println!("beside a handler of 9 s the slowest of nine chats is answered after {slowest:?} ms");
    assert!(stack.replies(slow).is_empty(), "they waited for the slow one");
    stack.rest().await;
    assert_eq!(stack.replies(slow), ["done"]);
    for chat in others() {
        assert_eq!(stack.replies(chat).len(), 2, "deleted twice, handled once");
    }
    stack.stack.shutdown().await;
}

/// After idle weeks Telegram draws update ids anew.
#[tokio::test(flavor = "multi_thread")]
async fn an_update_id_that_is_used_again_with_another_body_is_another_update() {
    let stack = start(|options| options.time_scale = FAST).await;
    for (chat, said) in [(CHAT, "one"), (CHAT + 1, "two"), (CHAT, "one"), (CHAT + 1, "two")] {
        assert_eq!(stack.post(text(1, chat, said)).await, 200);
        stack.rest().await;
    }
    assert_eq!(stack.replies(CHAT), ["Message 1 of this chat: one"]);
    assert_eq!(stack.replies(CHAT + 1), ["Message 1 of this chat: two"]);
    stack.stack.shutdown().await;
}

/// A rollback must not empty the queue into the dead-letter queue.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_newer_release_queued_waits_unharmed_and_only_its_own_chat_with_it() {
    let stack = start(|options| options.time_scale = 2.0 * FAST).await;
    stack.stack.set_mapping_enabled(UPDATES, false).unwrap();
    assert_eq!(stack.post(text(1, CHAT, "old")).await, 200);
    stack.enqueue_newer(2, CHAT).await;
    assert_eq!(stack.post(text(3, CHAT, "behind")).await, 200);
    stack.stack.set_mapping_enabled(UPDATES, true).unwrap();
    for n in 10..40_i64 {
        assert_eq!(stack.post(text(n, CHAT + n, "hello")).await, 200);
        replied(&stack, CHAT + n, 1).await;
    }
    replied(&stack, CHAT, 1).await;
    // Several growing waits pass; each receive says so.
    while stack.logged("newer schema") < 4 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        stack.replies(CHAT),
        ["Message 1 of this chat: old"],
        "the order was broken"
    );
    assert!(stack.record(2).await.is_none() && stack.record(3).await.is_none());
    let depths = stack.stack.view().queues().await.unwrap();
    let waiting = |name: &str| {
        let queue = depths.iter().find(|queue| queue.name == name).unwrap();
        queue.visible + queue.in_flight
    };
    assert_eq!(waiting(UPDATES), 2, "the newer one and the one behind it");
    assert_eq!(waiting("penstock-updates-dlq.fifo"), 0);
    stack.stack.shutdown().await;
}
