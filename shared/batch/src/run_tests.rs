//! Batches, case by case.

use std::collections::HashMap;
use std::sync::Mutex;

use super::*;
use penstock_ports::{PortError, VisibilityChange};
use proptest::prelude::*;

/// Time that is left, and patience.
struct Left(Duration, Duration);
impl Time for Left {
    fn left(&self) -> Duration {
        self.0
    }
    fn needed(&self) -> Duration {
        Duration::from_secs(5)
    }
    fn patience(&self) -> Duration {
        self.1
    }
}

const AN_HOUR: Duration = Duration::from_secs(3_600);
/// Enough time, and a batch that never counts as slow.
#[expect(non_upper_case_globals, reason = "reads as the value that it is")]
const Plenty: Left = Left(Duration::from_secs(20), AN_HOUR);
/// Enough time, and a batch that is slow at once.
const SLOW: Left = Left(Duration::from_secs(20), Duration::ZERO);

/// Remembers what it was told.
#[derive(Default)]
struct Queue {
    deleted: Mutex<Vec<String>>,
    hidden: Mutex<Vec<VisibilityChange>>,
    is_away: bool,
    told: tokio::sync::Notify,
}

impl Queue {
    fn answer(&self) -> Result<usize, PortError> {
        self.told.notify_one();
        if self.is_away {
            return Err(PortError::Unavailable {
                operation: "test",
                code: "away".to_owned(),
            });
        }
        Ok(0)
    }
}

impl Deliveries for Queue {
    async fn hide(&self, changes: Vec<VisibilityChange>) -> Result<usize, PortError> {
        self.hidden.lock().unwrap().extend(changes);
        self.answer()
    }
    async fn delete(&self, receipts: Vec<String>) -> Result<usize, PortError> {
        self.deleted.lock().unwrap().extend(receipts);
        self.answer()
    }
}

/// Records of the group `slow` end only when the queue was told of another group.
struct SlowGroup<'a> {
    queue: &'a Queue,
    fails: &'static [&'static str],
}

impl Handler for SlowGroup<'_> {
    async fn handle(&self, record: &Record, _alone: &Alone) -> Verdict {
        if record.group == "slow" {
            self.queue.told.notified().await;
        }
        if self.fails.contains(&record.id.as_str()) {
            return Verdict::ComeBackIn(Duration::from_secs(9));
        }
        Verdict::Done
    }
}

/// Runs a slow batch; a queue that is never told ends the test instead of hanging it.
async fn run_slow(batch: &[Record], queue: &Queue, fails: &'static [&'static str]) -> Report {
    let handler = SlowGroup { queue, fails };
    tokio::time::timeout(Duration::from_secs(30), run(batch, &handler, &SLOW, queue))
        .await
        .expect("the queue is told while a group still runs")
}

#[tokio::test]
async fn groups_that_have_ended_are_freed_while_a_slow_one_still_runs() {
    let batch = [record("s1", "slow"), record("a1", "a"), record("a2", "a")];
    let queue = Queue::default();
    let report = run_slow(&batch, &queue, &[]).await;
    assert_eq!(
        report,
        Report::default(),
        "Lambda deletes them once more, which is a success"
    );
    assert_eq!(*queue.deleted.lock().unwrap(), ["receipt of a1", "receipt of a2"]);
}

#[tokio::test]
async fn a_group_that_failed_is_hidden_at_once_beside_a_slow_one_and_not_again_at_the_end() {
    let batch = [
        record("s1", "slow"),
        record("a1", "a"),
        record("a2", "a"),
        record("a3", "a"),
    ];
    let queue = Queue::default();
    let report = run_slow(&batch, &queue, &["a2"]).await;
    assert_eq!(report.failures, ["a2", "a3"]);
    assert!(report.hide.is_empty(), "the queue knows it already");
    assert_eq!(*queue.deleted.lock().unwrap(), ["receipt of a1"]);
    let hidden: Vec<_> = queue
        .hidden
        .lock()
        .unwrap()
        .iter()
        .map(|change| (change.receipt.clone(), change.hidden_for.as_secs()))
        .collect();
    assert_eq!(
        hidden,
        [("receipt of a2".to_owned(), 9), ("receipt of a3".to_owned(), 9)]
    );
}

#[tokio::test]
async fn what_the_queue_could_not_be_told_early_is_told_at_the_end() {
    let batch = [record("s1", "slow"), record("a1", "a")];
    let queue = Queue {
        is_away: true,
        ..Queue::default()
    };
    let report = run_slow(&batch, &queue, &["a1"]).await;
    assert_eq!(report.failures, ["a1"]);
    assert_eq!(report.hide.len(), 1);
}

#[tokio::test]
async fn a_quick_batch_costs_no_call() {
    let queue = Queue::default();
    let handler = Scripted {
        waits: [("a1".to_owned(), Duration::from_secs(7))].into(),
        ..Scripted::default()
    };
    let batch = [record("a1", "a"), record("b1", "b")];
    let report = run(&batch, &handler, &Plenty, &queue).await;
    assert_eq!(report.hide.len(), 1);
    assert!(queue.deleted.lock().unwrap().is_empty() && queue.hidden.lock().unwrap().is_empty());
}

/// Fails the records it is told to, and remembers what it saw.
#[derive(Default)]
struct Scripted {
    waits: HashMap<String, Duration>,
    panics: Option<String>,
    seen: Mutex<Vec<String>>,
    passed_over: Mutex<Vec<String>>,
}

impl Handler for Scripted {
    async fn handle(&self, record: &Record, _alone: &Alone) -> Verdict {
        self.seen.lock().unwrap().push(record.id.clone());
        tokio::task::yield_now().await;
        assert_ne!(self.panics.as_ref(), Some(&record.id), "told to panic");
        self.waits
            .get(&record.id)
            .map_or(Verdict::Done, |wait| Verdict::ComeBackIn(*wait))
    }

    async fn passed_over(&self, record: &Record, _alone: &Alone) {
        self.passed_over.lock().unwrap().push(record.id.clone());
        assert_ne!(self.panics.as_ref(), Some(&record.id), "told to panic");
    }
}

fn record(id: &str, group: &str) -> Record {
    Record {
        id: id.to_owned(),
        receipt: format!("receipt of {id}"),
        group: group.to_owned(),
        receive_count: 1,
        sent_at_ms: 0,
        body: String::new(),
    }
}

#[tokio::test]
async fn a_failure_holds_the_rest_of_its_group_and_no_other() {
    let batch = [
        record("a1", "a"),
        record("b1", "b"),
        record("a2", "a"),
        record("b2", "b"),
        record("a3", "a"),
    ];
    let handler = Scripted {
        waits: [("a2".to_owned(), Duration::from_secs(7))].into(),
        ..Scripted::default()
    };
    let report = run(&batch, &handler, &Plenty, &Queue::default()).await;
    assert_eq!(report.failures, ["a2", "a3"]);
    assert!(
        report
            .hide
            .iter()
            .all(|hide| hide.hidden_for == Duration::from_secs(7))
    );
    let seen = handler.seen.lock().unwrap();
    let of = |group| {
        let ids = seen.iter().filter(move |id| id.starts_with(group));
        ids.map(String::as_str).collect::<Vec<_>>()
    };
    assert_eq!((of("a"), of("b")), (vec!["a1", "a2"], vec!["b1", "b2"]));
}

#[tokio::test]
async fn what_waits_behind_a_failure_is_looked_at_and_comes_back_whatever_becomes_of_that() {
    let batch = ["a1", "a2", "a3"].map(|id| record(id, "a"));
    let handler = Scripted {
        waits: [("a1".to_owned(), Duration::from_secs(7))].into(),
        panics: Some("a2".to_owned()),
        ..Scripted::default()
    };
    let report = run(&batch, &handler, &Plenty, &Queue::default()).await;
    assert_eq!(report.failures, ["a1", "a2", "a3"]);
    assert_eq!(*handler.passed_over.lock().unwrap(), ["a2", "a3"]);
    assert_eq!(*handler.seen.lock().unwrap(), ["a1"]);
    let little = Left(Duration::from_secs(4), AN_HOUR);
    run(&batch, &handler, &little, &Queue::default()).await;
    assert_eq!(
        handler.passed_over.lock().unwrap().len(),
        2,
        "only with time to spare"
    );
}

#[tokio::test]
async fn a_panic_is_one_failed_record() {
    let batch = [record("a1", "a"), record("b1", "b")];
    let handler = Scripted {
        panics: Some("a1".to_owned()),
        ..Scripted::default()
    };
    let report = run(&batch, &handler, &Plenty, &Queue::default()).await;
    assert_eq!(report.failures, ["a1"]);
    assert_eq!(report.hide[0].hidden_for, AFTER_PANIC);
}

#[tokio::test]
async fn nothing_begins_that_the_time_left_would_not_let_end() {
    let little = Left(Duration::from_secs(4), AN_HOUR);
    let handler = Scripted::default();
    let report = run(
        &[record("a1", "a"), record("b1", "b")],
        &handler,
        &little,
        &Queue::default(),
    )
    .await;
    assert_eq!(report.failures, ["a1", "b1"]);
    assert!(report.hide.iter().all(|hide| hide.hidden_for.is_zero()));
    assert!(handler.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn once_a_record_is_alone_nothing_else_begins() {
    struct TakesAlone(Mutex<Vec<String>>);
    impl Handler for TakesAlone {
        async fn handle(&self, record: &Record, alone: &Alone) -> Verdict {
            self.0.lock().unwrap().push(record.id.clone());
            alone.claim().await.unwrap();
            tokio::task::yield_now().await;
            Verdict::Done
        }
    }
    let handler = TakesAlone(Mutex::default());
    let report = run(
        &[record("a1", "a"), record("b1", "b"), record("a2", "a")],
        &handler,
        &Plenty,
        &Queue::default(),
    )
    .await;
    assert_eq!(*handler.0.lock().unwrap(), ["a1"]);
    assert_eq!(report.failures, ["b1", "a2"]);
}

proptest! {
    /// Whatever fails: what is reported is exactly each group's tail from its first failure on.
    #[test]
    fn what_is_reported_is_each_groups_tail(groups in proptest::collection::vec(0_usize..3, 1..10), fails in proptest::collection::vec(any::<bool>(), 10)) {
        let batch: Vec<_> = groups.iter().enumerate().map(|(i, g)| record(&format!("m{i}"), &format!("g{g}"))).collect();
        let waits = batch.iter().zip(&fails).filter(|(_, fails)| **fails).map(|(r, _)| (r.id.clone(), Duration::from_secs(1)));
        let handler = Scripted { waits: waits.collect(), ..Scripted::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let report = runtime.block_on(run(&batch, &handler, &Plenty, &Queue::default()));
        let mut failed_groups = Vec::new();
        let mut expected = Vec::new();
        for record in &batch {
            if handler.waits.contains_key(&record.id) || failed_groups.contains(&record.group) {
                failed_groups.push(record.group.clone());
                expected.push(record.id.clone());
            }
        }
        prop_assert_eq!(report.failures, expected);
    }
}
