//! Running a batch.
//!
//! SQS hands out a group only up to its first hidden message. So when a message of a group fails, the group's rest is
//! not tried: it is reported too, and hidden no longer than the one that failed. Otherwise the rest would block the
//! group after the failed one is long done.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::join_all;

use crate::alone::Alone;
use crate::record::Record;

/// Wait of a record whose handler panicked outside the bot's own code.
const AFTER_PANIC: Duration = Duration::from_secs(30);

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Handled: it may be deleted.
    Done,
    /// It comes back after this wait; the rest of its group with it.
    ComeBackIn(Duration),
}

/// Least wait of a record that somebody else holds: at 0 the next poll would have it again, and spin.
const LEAST_HELD: Duration = Duration::from_secs(1);

impl Verdict {
    /// Somebody else holds the record for that long.
    #[must_use]
    pub fn held(wait: Duration) -> Self {
        Self::ComeBackIn(wait.max(LEAST_HELD))
    }
}

/// Handles one record after the other.
pub trait Handler: Sync {
    /// Handles a record. `alone` is the right to be the only one of this batch.
    fn handle(&self, record: &Record, alone: &Alone) -> impl Future<Output = Verdict> + Send;
}

/// The time that is left.
pub trait Time: Sync {
    /// Until the function is killed.
    fn left(&self) -> Duration;

    /// What one record may need at the most.
    fn needed(&self) -> Duration;
}

/// A delivery whose visibility has to be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hide {
    /// Its receipt handle.
    pub receipt: String,
    /// For how long from now.
    pub hidden_for: Duration,
}

/// What became of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Ids of the records that were not handled, in the order of the batch.
    pub failures: Vec<String>,
    /// Their new visibility.
    pub hide: Vec<Hide>,
}

/// Runs a batch: groups concurrent, each in the order given.
pub async fn run(records: &[Record], handler: &impl Handler, time: &impl Time) -> Report {
    let mut groups: Vec<(&str, Vec<&Record>)> = Vec::new();
    for record in records {
        match groups.iter_mut().find(|(group, _)| *group == record.group) {
            Some((_, members)) => members.push(record),
            None => groups.push((&record.group, vec![record])),
        }
    }
    let alone = Alone::default();
    let waits = join_all(
        groups
            .iter()
            .map(|(_, members)| Box::pin(run_group(members, handler, time, &alone))),
    )
    .await;
    let hidden: Vec<(&Record, Duration)> = waits.into_iter().flatten().collect();
    let mut report = Report::default();
    for record in records {
        if let Some((_, hidden_for)) = hidden.iter().find(|(hidden, _)| hidden.id == record.id) {
            report.failures.push(record.id.clone());
            report.hide.push(Hide {
                receipt: record.receipt.clone(),
                hidden_for: *hidden_for,
            });
        }
    }
    report
}

/// Runs a group; gives back the records that were not handled, each with its wait.
async fn run_group<'a>(
    members: &[&'a Record],
    handler: &impl Handler,
    time: &impl Time,
    alone: &Alone,
) -> Vec<(&'a Record, Duration)> {
    for (index, record) in members.iter().enumerate() {
        if let Verdict::ComeBackIn(wait) = run_one(record, handler, time, alone).await {
            return members[index..].iter().map(|record| (*record, wait)).collect();
        }
    }
    Vec::new()
}

async fn run_one(record: &Record, handler: &impl Handler, time: &impl Time, alone: &Alone) -> Verdict {
    if time.left() < time.needed() || !alone.begin() {
        return Verdict::ComeBackIn(Duration::ZERO);
    }
    let verdict = AssertUnwindSafe(handler.handle(record, alone))
        .catch_unwind()
        .await;
    alone.end();
    verdict.unwrap_or(Verdict::ComeBackIn(AFTER_PANIC))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Mutex;

    use super::*;
    use proptest::prelude::*;

    struct Plenty;
    impl Time for Plenty {
        fn left(&self) -> Duration {
            Duration::from_secs(20)
        }
        fn needed(&self) -> Duration {
            Duration::from_secs(5)
        }
    }

    /// Fails the records it is told to, and remembers what it saw.
    #[derive(Default)]
    struct Scripted {
        waits: HashMap<String, Duration>,
        panics: Option<String>,
        seen: Mutex<Vec<String>>,
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
        let report = run(&batch, &handler, &Plenty).await;
        assert_eq!(report.failures, ["a2", "a3"]);
        assert!(
            report
                .hide
                .iter()
                .all(|hide| hide.hidden_for == Duration::from_secs(7))
        );
        assert_eq!(*handler.seen.lock().unwrap(), ["a1", "b1", "a2", "b2"]);
    }

    #[tokio::test]
    async fn a_panic_is_one_failed_record() {
        let batch = [record("a1", "a"), record("b1", "b")];
        let handler = Scripted {
            panics: Some("a1".to_owned()),
            ..Scripted::default()
        };
        let report = run(&batch, &handler, &Plenty).await;
        assert_eq!(report.failures, ["a1"]);
        assert_eq!(report.hide[0].hidden_for, AFTER_PANIC);
    }

    #[tokio::test]
    async fn nothing_begins_that_the_time_left_would_not_let_end() {
        struct Little;
        impl Time for Little {
            fn left(&self) -> Duration {
                Duration::from_secs(4)
            }
            fn needed(&self) -> Duration {
                Duration::from_secs(5)
            }
        }
        let handler = Scripted::default();
        let report = run(&[record("a1", "a"), record("b1", "b")], &handler, &Little).await;
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
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let report = runtime.block_on(run(&batch, &handler, &Plenty));
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
}
