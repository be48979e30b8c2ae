//! The report of a feeding: a table for people, JSON for programs. Holds no text of an Update.

use std::time::Duration;

use serde::Serialize;

use super::case::Case;
use super::judge::Observed;
use crate::figures;
use crate::table::{Align, lines};

/// One case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    sample: String,
    kind: String,
    http_status: u16,
    outcome: &'static str,
    /// On the wall clock.
    latency_ms: Option<u64>,
    sent: usize,
    failed: usize,
    unknown: usize,
    trouble: Option<String>,
    as_expected: bool,
    differences: Vec<String>,
}

impl Row {
    pub(super) fn new(case: &Case, observed: &Observed, differences: Vec<String>, scale: f64) -> Self {
        Self {
            sample: case.name.clone(),
            kind: case.kind.clone(),
            http_status: observed.status,
            outcome: observed.end.name(),
            latency_ms: observed
                .latency_ms
                .map(|stack_ms| figures::on_the_wall(stack_ms, scale)),
            sent: observed.sends.sent,
            failed: observed.sends.failed,
            unknown: observed.sends.unknown,
            trouble: observed.trouble.clone(),
            as_expected: differences.is_empty(),
            differences,
        }
    }

    fn cells(&self) -> Vec<String> {
        let verdict = if self.as_expected {
            "yes".to_owned()
        } else {
            format!("NO: {}", self.differences.join("; "))
        };
        let trouble = self
            .trouble
            .as_ref()
            .map(|code| format!(" ({code})"))
            .unwrap_or_default();
        vec![
            self.sample.clone(),
            if self.kind.is_empty() {
                "-".to_owned()
            } else {
                self.kind.clone()
            },
            self.http_status.to_string(),
            self.outcome.to_owned(),
            self.latency_ms
                .map_or_else(|| "-".to_owned(), |ms| ms.to_string()),
            format!("{}/{}/{}", self.sent, self.failed, self.unknown),
            format!("{verdict}{trouble}"),
        ]
    }
}

/// All cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Report {
    samples: Vec<Row>,
    as_expected: usize,
    of: usize,
    /// Whether nothing was on its way any more at the end.
    idle: bool,
    seconds: f64,
}

impl Report {
    pub(super) fn new(samples: Vec<Row>, idle: bool, time: Duration) -> Self {
        Self {
            as_expected: samples.iter().filter(|row| row.as_expected).count(),
            of: samples.len(),
            samples,
            idle,
            seconds: (time.as_secs_f64() * 10.0).round() / 10.0,
        }
    }

    /// Whether every case ended as expected, and nothing is left under way.
    pub(crate) fn is_good(&self) -> bool {
        self.idle && self.as_expected == self.of
    }

    /// The table, and a line of summary.
    pub(crate) fn lines(&self) -> Vec<String> {
        use Align::{Left, Right};
        let heading = [
            ("sample", Left),
            ("kind", Left),
            ("http", Right),
            ("outcome", Left),
            ("ms", Right),
            ("sent/failed/unknown", Right),
            ("as expected", Left),
        ];
        let rows: Vec<Vec<String>> = self.samples.iter().map(Row::cells).collect();
        let mut told = lines(&heading, &rows);
        let (good, of) = (self.as_expected, self.of);
        told.push(format!(
            "{good} of {of} samples ended as expected, in {:.1} s",
            self.seconds
        ));
        told
    }
}

#[cfg(test)]
mod tests {
    use penstock_domain::ids::LedgerKey;
    use penstock_domain::ids::{BotId, UpdateId};

    use super::super::case::Source;
    use super::*;
    use crate::ledger::samples::entry;

    fn row(differences: &[&str]) -> Row {
        let case = Case::all_of(&Source::BuiltIn)
            .unwrap()
            .into_iter()
            .find(|case| case.name == "callback")
            .unwrap();
        let key = LedgerKey::new(BotId(424_242), UpdateId(1));
        let observed = Observed::of(200, &key, Some(&entry("done", &["sent", "failed"])));
        Row::new(
            &case,
            &observed,
            differences.iter().map(|text| (*text).to_owned()).collect(),
            1.0,
        )
    }

    #[test]
    fn the_table_tells_each_sample_and_the_sum() {
        let report = Report::new(
            vec![row(&[]), row(&["http 500, expected 200"])],
            true,
            Duration::from_secs(4),
        );
        let told = report.lines();
        assert_eq!(
            told[0],
            "sample    kind            http  outcome   ms  sent/failed/unknown  as expected"
        );
        assert_eq!(
            told[1],
            "callback  callback_query   200  done     143                1/1/0  yes (bot_api_400)"
        );
        assert_eq!(
            told[2],
            "callback  callback_query   200  done     143                1/1/0  NO: http 500, expected 200 (bot_api_400)"
        );
        assert_eq!(told[3], "1 of 2 samples ended as expected, in 4.0 s");
        assert!(!report.is_good());
    }

    #[test]
    fn a_report_is_good_only_when_nothing_is_left_under_way() {
        assert!(Report::new(vec![row(&[])], true, Duration::ZERO).is_good());
        assert!(!Report::new(vec![row(&[])], false, Duration::ZERO).is_good());
    }
}
