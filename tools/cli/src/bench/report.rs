//! Figures of a bench. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use penstock_local::ledger::Story;
use serde::Serialize;

use super::audit::Audit;
use crate::figures::{self, per_second, percentile};
use crate::load::Load;
use crate::processes::Process;

/// Times read from the ledger, on the wall clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Times {
    accepting: Duration,
    processing: Duration,
    sending: Duration,
    latencies_ms: Vec<u64>,
}

impl Times {
    /// From stories in a time that runs `scale` times as fast.
    pub(super) fn of(stories: &[Story], scale: f64, accepting: Duration) -> Self {
        let first = stories
            .iter()
            .filter_map(|story| story.received_at)
            .min()
            .unwrap_or_default();
        let since = |at: Option<i64>| {
            let stack_ms = u64::try_from(at.unwrap_or(first) - first).unwrap_or(0);
            Duration::from_millis(figures::on_the_wall(stack_ms, scale))
        };
        let sent = stories
            .iter()
            .flat_map(|story| &story.sends)
            .filter_map(|send| send.sent_at)
            .max();
        let latencies = stories.iter().filter_map(Story::latency_ms);
        Self {
            accepting,
            processing: since(stories.iter().filter_map(|story| story.ended_at).max()),
            sending: since(sent),
            latencies_ms: latencies
                .map(|stack_ms| figures::on_the_wall(stack_ms, scale))
                .collect(),
        }
    }
}

/// What a bench found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Report {
    updates: u32,
    chats: u32,
    accepted_per_second: f64,
    processed_per_second: f64,
    sent_per_second: f64,
    /// From receipt to the last send, on the wall clock.
    p50_ms: Option<u64>,
    p99_ms: Option<u64>,
    audit: Audit,
    processes: Vec<Process>,
}

impl Report {
    pub(super) fn new(load: &Load, times: &Times, audit: Audit, processes: Vec<Process>) -> Self {
        let updates = load.updates as usize;
        Self {
            updates: load.updates,
            chats: load.chats,
            accepted_per_second: per_second(updates, times.accepting),
            processed_per_second: per_second(updates, times.processing),
            sent_per_second: per_second(audit.arrived, times.sending),
            p50_ms: percentile(&times.latencies_ms, 50.0),
            p99_ms: percentile(&times.latencies_ms, 99.0),
            audit,
            processes,
        }
    }

    /// Whether nothing was lost, doubled or out of order.
    pub(super) fn is_good(&self) -> bool {
        self.audit.is_clean()
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let ms = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms"));
        let Audit {
            arrived,
            lost,
            doubled,
            out_of_order,
            wrong,
        } = self.audit;
        let mut told = vec![
            format!(
                "{} updates in {} chats, {arrived} replies",
                self.updates, self.chats
            ),
            format!(
                "accepted {}/s  processed {}/s  sent {}/s",
                self.accepted_per_second, self.processed_per_second, self.sent_per_second
            ),
            format!(
                "receive to sent: p50 {}  p99 {}",
                ms(self.p50_ms),
                ms(self.p99_ms)
            ),
            format!("{lost} lost  {doubled} doubled  {out_of_order} out of order  {wrong} wrong"),
        ];
        told.extend(self.memory());
        told
    }

    /// A line for the stack and for each function: how many processes, and the largest of them.
    fn memory(&self) -> Vec<String> {
        let mut by_name: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
        for process in &self.processes {
            let (count, peak_kib) = by_name.entry(&process.name).or_default();
            *count += 1;
            *peak_kib = (*peak_kib).max(process.peak_kib);
        }
        let line = |(name, (count, peak_kib)): (&str, (usize, u64))| {
            let processes = if count == 1 {
                "1 process"
            } else {
                &format!("{count} processes")
            };
            format!(
                "memory of {name}: {processes}, at most {} MiB each",
                peak_kib / 1024
            )
        };
        by_name.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use penstock_local::ledger::SendStory;

    use super::*;

    fn story(received_at: i64, ended_at: i64, sent_at: i64) -> Story {
        let send = SendStory {
            state: "sent".to_owned(),
            sent_at: Some(sent_at),
            ..SendStory::default()
        };
        Story {
            state: "done".to_owned(),
            received_at: Some(received_at),
            ended_at: Some(ended_at),
            sends: vec![send],
            ..Story::default()
        }
    }

    #[test]
    fn times_of_a_fast_stack_are_told_on_the_wall_clock() {
        let stories = [story(1_000, 11_000, 21_000), story(2_000, 3_000, 6_000)];
        let times = Times::of(&stories, 20.0, Duration::from_millis(100));
        assert_eq!(times.processing, Duration::from_millis(500));
        assert_eq!(times.sending, Duration::from_secs(1));
        let audit = Audit {
            arrived: 2,
            ..Audit::default()
        };
        let process = |pid, peak_kib| Process {
            pid,
            name: "sender".to_owned(),
            resident_kib: 1,
            peak_kib,
        };
        let report = Report::new(
            &Load::new(2, 2),
            &times,
            audit,
            vec![process(1, 20_480), process(2, 30_720)],
        );
        assert_eq!(
            (
                report.accepted_per_second,
                report.processed_per_second,
                report.sent_per_second
            ),
            (20.0, 4.0, 2.0)
        );
        assert_eq!((report.p50_ms, report.p99_ms), (Some(200), Some(1_000)));
        assert!(report.is_good());
        assert!(report.lines()[3].starts_with("0 lost  0 doubled"));
        assert_eq!(
            report.lines()[4],
            "memory of sender: 2 processes, at most 30 MiB each"
        );
    }
}
