//! Running a batch.
//!
//! SQS hands out a group only up to its first hidden message. So when a message of a group fails, the group's rest is
//! not tried: it is reported too, and hidden no longer than the one that failed. Otherwise the rest would block the
//! group after the failed one is long done.
//!
//! Lambda deletes what was handled when the whole batch is over. Until then its groups are not handed out, so one slow
//! chat would hold the others of its batch. Hence, once the batch runs for longer than [`Time::patience`]:
//!
//! ```text
//! group ends ─┬─ all handled ──> its messages are deleted at once      (Lambda's own delete later is a no-op)
//!             └─ one failed ───> what was handled is deleted, the rest hidden at once
//! ```

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use penstock_ports::Deliveries;

use crate::alone::Alone;
use crate::answer::hide;
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

    /// Looks at a record that is not handled now, since one before it in its group comes back. It comes back with that
    /// one, whatever this does.
    fn passed_over(&self, record: &Record, alone: &Alone) -> impl Future<Output = ()> + Send {
        let _ = (record, alone);
        async {}
    }
}

/// The time that is left.
pub trait Time: Sync {
    /// Until the function is killed.
    fn left(&self) -> Duration;

    /// What one record may need at the most.
    fn needed(&self) -> Duration;

    /// How long the groups that have ended wait for the others before their messages are deleted one group at a time
    /// (design section 4: 250 ms), on the wall. A call for a group costs money; most batches are over sooner.
    fn patience(&self) -> Duration;
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

/// What became of a group.
struct Ended<'a> {
    done: Vec<&'a Record>,
    /// With the wait of all of them.
    failed: Vec<(&'a Record, Duration)>,
}

/// Runs a batch: groups concurrent, each in the order given. The queue is told early of groups that have ended while
/// others still run.
pub async fn run(
    records: &[Record],
    handler: &impl Handler,
    time: &impl Time,
    queue: &impl Deliveries,
) -> Report {
    let alone = Alone::default();
    let mut running: FuturesUnordered<_> = groups(records)
        .into_iter()
        .map(|members| Box::pin(run_group(members, handler, time, &alone)))
        .collect();
    let mut patience = std::pin::pin!(tokio::time::sleep(time.patience()));
    let mut is_late = false;
    // Ended, and the queue does not know yet.
    let mut untold: Vec<Ended<'_>> = Vec::new();
    let mut telling = FuturesUnordered::new();
    let mut failed: Vec<(&Record, Option<Duration>)> = Vec::new();
    while !(running.is_empty() && telling.is_empty()) {
        tokio::select! {
            // In this order, not in one that is drawn: the same run gives the same calls. Each ends by itself, so that
            // none starves another.
            biased;
            Some(ended) = running.next(), if !running.is_empty() => untold.push(ended),
            Some(told) = telling.next(), if !telling.is_empty() => failed.extend(told),
            () = &mut patience, if !is_late => is_late = true,
        }
        if is_late && !running.is_empty() && !untold.is_empty() {
            telling.push(tell(std::mem::take(&mut untold), queue));
        }
    }
    let at_the_end = untold.into_iter().flat_map(|ended| ended.failed);
    failed.extend(at_the_end.map(|(record, wait)| (record, Some(wait))));
    report(records, &failed)
}

fn groups(records: &[Record]) -> Vec<Vec<&Record>> {
    let mut groups: Vec<Vec<&Record>> = Vec::new();
    for record in records {
        match groups.iter_mut().find(|group| group[0].group == record.group) {
            Some(members) => members.push(record),
            None => groups.push(vec![record]),
        }
    }
    groups
}

/// Tells the queue what became of groups: handled messages are deleted, failed ones hidden. Gives back the failed ones,
/// each with the wait that is still to be set. What cannot be told is no loss: Lambda deletes what is not reported, and
/// a failed one comes back when its own visibility ends.
async fn tell<'a>(ended: Vec<Ended<'a>>, queue: &impl Deliveries) -> Vec<(&'a Record, Option<Duration>)> {
    let receipts: Vec<_> = ended
        .iter()
        .flat_map(|ended| &ended.done)
        .map(|record| record.receipt.clone())
        .collect();
    let failed: Vec<_> = ended.iter().flat_map(|ended| &ended.failed).copied().collect();
    let delete = async {
        if receipts.is_empty() {
            return;
        }
        match queue.delete(receipts).await {
            Ok(0) => {}
            Ok(refused) => tracing::warn!(
                refused,
                "handled deliveries with stale handles come back once more"
            ),
            Err(error) => tracing::warn!(error = %error, "handled deliveries not deleted early"),
        }
    };
    let hides: Vec<_> = failed
        .iter()
        .map(|(record, wait)| Hide {
            receipt: record.receipt.clone(),
            hidden_for: *wait,
        })
        .collect();
    let ((), is_hidden) = tokio::join!(delete, hide(&hides, queue));
    failed
        .into_iter()
        .map(|(record, wait)| (record, (!is_hidden).then_some(wait)))
        .collect()
}

fn report(records: &[Record], failed: &[(&Record, Option<Duration>)]) -> Report {
    let mut report = Report::default();
    for record in records {
        let Some((_, wait)) = failed.iter().find(|(failed, _)| failed.id == record.id) else {
            continue;
        };
        report.failures.push(record.id.clone());
        if let Some(hidden_for) = *wait {
            report.hide.push(Hide {
                receipt: record.receipt.clone(),
                hidden_for,
            });
        }
    }
    report
}

/// Runs a group up to its first failure; the rest shares its wait.
async fn run_group<'a>(
    members: Vec<&'a Record>,
    handler: &impl Handler,
    time: &impl Time,
    alone: &Alone,
) -> Ended<'a> {
    for (index, record) in members.iter().enumerate() {
        if let Verdict::ComeBackIn(wait) = run_one(record, handler, time, alone).await {
            for record in &members[index + 1..] {
                pass_over(record, handler, time, alone).await;
            }
            return Ended {
                done: members[..index].to_vec(),
                failed: members[index..].iter().map(|record| (*record, wait)).collect(),
            };
        }
    }
    Ended {
        done: members,
        failed: Vec::new(),
    }
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

/// Only with time to spare: nobody depends on it.
async fn pass_over(record: &Record, handler: &impl Handler, time: &impl Time, alone: &Alone) {
    if time.left() < time.needed() || !alone.begin() {
        return;
    }
    let passed = AssertUnwindSafe(handler.passed_over(record, alone))
        .catch_unwind()
        .await;
    alone.end();
    if passed.is_err() {
        tracing::error!("looking at a record that waits panicked");
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
