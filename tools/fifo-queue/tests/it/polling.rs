//! Long polling: what wakes it, and when it ends. No test here waits for real time to pass.

use std::sync::Arc;
use std::time::Duration;

use fifo_queue::{Clock, Code, Engine, EngineError, ManualClock, Options, ReceiveRequest, SendEntry};

use tokio::sync::Notify;

use crate::support::{QUEUE, START_MS, Texts, bodies, fifo, refused};

/// Stands still, and its waits never end by themselves: only a wake-up ends a poll on it. Tells when one begins.
#[derive(Default)]
struct Frozen {
    waiting: Notify,
}

impl Clock for Frozen {
    fn now_ms(&self) -> i64 {
        START_MS
    }

    fn real_duration(&self, _ms: i64) -> Duration {
        self.waiting.notify_one();
        Duration::from_secs(3600)
    }
}

/// Leaps over every wait.
struct Leaping(ManualClock);

impl Clock for Leaping {
    fn now_ms(&self) -> i64 {
        self.0.now_ms()
    }

    fn real_duration(&self, ms: i64) -> Duration {
        self.0.advance(ms);
        Duration::ZERO
    }
}

/// Far longer than any wake-up takes; only a lost one gets here.
const LOST: Duration = Duration::from_secs(60);

fn engine(clock: Arc<dyn Clock>, attributes: &[(&str, &str)]) -> Engine {
    let engine = Engine::open(None, Options::default(), clock).unwrap();
    engine
        .create_queue(QUEUE, &fifo(attributes), &Texts::new())
        .unwrap();
    engine
}

fn waiting() -> ReceiveRequest {
    ReceiveRequest {
        max_messages: 10,
        wait_s: Some(20),
        ..ReceiveRequest::default()
    }
}

fn send(engine: &Engine, body: &str) {
    engine.send(QUEUE, &SendEntry::fifo("a", body, body)).unwrap();
}

/// Begins to wait, then lets `act` happen, and answers what the wait gave.
async fn woken_by(clock: &Frozen, engine: &Engine, act: impl FnOnce()) -> Result<Vec<String>, EngineError> {
    let request = waiting();
    let received = tokio::time::timeout(LOST, engine.receive(QUEUE, &request));
    let act = async {
        clock.waiting.notified().await;
        act();
    };
    let (received, ()) = tokio::join!(received, act);
    received.expect("a wake-up").map(|messages| bodies(&messages))
}

fn frozen() -> (Arc<Frozen>, Engine) {
    let clock = Arc::new(Frozen::default());
    (clock.clone(), engine(clock, &[]))
}

#[tokio::test]
async fn long_poll_wakes_on_send() {
    let (clock, engine) = frozen();
    assert_eq!(
        woken_by(&clock, &engine, || send(&engine, "m1")).await.unwrap(),
        ["m1"]
    );
}

#[tokio::test]
async fn long_poll_wakes_when_a_delete_frees_the_group() {
    let (clock, engine) = frozen();
    send(&engine, "m1");
    send(&engine, "m2");
    let held = engine
        .try_receive(QUEUE, &ReceiveRequest::default())
        .unwrap()
        .remove(0);
    assert_eq!(
        woken_by(&clock, &engine, || engine
            .delete(QUEUE, &held.receipt_handle)
            .unwrap())
        .await
        .unwrap(),
        ["m2"]
    );
}

#[tokio::test]
async fn long_poll_wakes_when_a_message_is_given_back() {
    let (clock, engine) = frozen();
    send(&engine, "m1");
    let held = engine
        .try_receive(QUEUE, &ReceiveRequest::default())
        .unwrap()
        .remove(0);
    let give_back = || engine.change_visibility(QUEUE, &held.receipt_handle, 0).unwrap();
    assert_eq!(woken_by(&clock, &engine, give_back).await.unwrap(), ["m1"]);
}

#[tokio::test]
async fn long_poll_ends_with_its_queue() {
    let (clock, engine) = frozen();
    let woken = woken_by(&clock, &engine, || engine.delete_queue(QUEUE).unwrap()).await;
    assert_eq!(refused(woken), Code::QueueDoesNotExist);
}

#[tokio::test]
async fn long_poll_ends_when_told_to_stop() {
    let (clock, engine) = frozen();
    let request = waiting();
    let stop = clock.waiting.notified();
    let received = tokio::time::timeout(LOST, engine.receive_until(QUEUE, &request, stop)).await;
    assert!(received.expect("an end").unwrap().is_empty());
}

#[tokio::test]
async fn long_poll_looks_again_when_all_are_woken() {
    let (clock, engine) = frozen();
    let request = waiting();
    let wake_then_send = async {
        clock.waiting.notified().await;
        engine.wake_all();
        clock.waiting.notified().await;
        send(&engine, "m1");
    };
    let received = tokio::time::timeout(LOST, engine.receive(QUEUE, &request));
    let (received, ()) = tokio::join!(received, wake_then_send);
    assert_eq!(bodies(&received.expect("a wake-up").unwrap()), ["m1"]);
}

#[tokio::test]
async fn long_poll_waits_exactly_until_a_visibility_ends() {
    let clock = Arc::new(Leaping(ManualClock::at(START_MS)));
    let engine = engine(clock.clone(), &[("VisibilityTimeout", "5")]);
    send(&engine, "m1");
    engine.try_receive(QUEUE, &ReceiveRequest::default()).unwrap();
    assert_eq!(bodies(&engine.receive(QUEUE, &waiting()).await.unwrap()), ["m1"]);
    assert_eq!(clock.now_ms(), START_MS + 5_000);
}

#[tokio::test]
async fn long_poll_gives_up_after_its_wait() {
    let clock = Arc::new(Leaping(ManualClock::at(START_MS)));
    let engine = engine(clock.clone(), &[]);
    assert!(engine.receive(QUEUE, &waiting()).await.unwrap().is_empty());
    assert_eq!(clock.now_ms(), START_MS + 20_000);
}

#[tokio::test]
async fn queue_decides_the_wait_when_the_request_does_not() {
    let clock = Arc::new(Leaping(ManualClock::at(START_MS)));
    let engine = engine(clock.clone(), &[("ReceiveMessageWaitTimeSeconds", "3")]);
    assert!(
        engine
            .receive(QUEUE, &ReceiveRequest::default())
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(clock.now_ms(), START_MS + 3_000);
    let at_once = ReceiveRequest {
        wait_s: Some(0),
        ..ReceiveRequest::default()
    };
    assert!(engine.receive(QUEUE, &at_once).await.unwrap().is_empty());
    assert_eq!(clock.now_ms(), START_MS + 3_000);
}
