//! What a crash matrix tells. Pure.

use std::time::Duration;

use serde::Serialize;

use super::judge::Found;
use crate::figures;

/// One run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) arrow: String,
    /// The pass at which a process of the batch died.
    pub(super) nth: u32,
    /// Processes that died there.
    pub(super) hits: u32,
    /// Cases that hit it one by one, of so many that were tried.
    pub(super) alone_hit: Vec<String>,
    pub(super) alone_tried: usize,
    pub(super) updates: usize,
    pub(super) lost: usize,
    pub(super) doubled: usize,
    pub(super) out_of_order: usize,
    pub(super) unknown: usize,
    /// Tries that handed an Update to its backend again, after one that died with its process.
    pub(super) handed_again: usize,
    pub(super) seconds: f64,
    /// What is wrong.
    pub(super) troubles: Vec<String>,
}

impl Row {
    pub(super) fn add(&mut self, found: Found) {
        self.updates += found.updates;
        self.lost += found.lost;
        self.doubled += found.doubled;
        self.out_of_order += found.out_of_order;
        self.unknown += found.unknown;
        self.handed_again += found.handed_again;
        self.troubles.extend(found.troubles);
    }

    pub(super) fn took(&mut self, time: Duration) {
        self.seconds = (time.as_secs_f64() * 10.0).round() / 10.0;
    }

    /// Whether nothing was lost, doubled or out of order, and the run came to its end.
    pub(super) fn is_clean(&self) -> bool {
        self.troubles.is_empty() && self.lost + self.doubled + self.out_of_order == 0
    }

    pub(super) fn line(&self) -> String {
        let hits = if self.hits == 0 {
            "never".to_owned()
        } else {
            self.hits.to_string()
        };
        let alone = format!("{}/{}", self.alone_hit.len(), self.alone_tried);
        format!(
            "{:<34}{:>4}{:>7}{:>8}{:>9}{:>6}{:>9}{:>14}{:>9}{:>9.1}",
            self.arrow,
            self.nth,
            hits,
            alone,
            self.updates,
            self.lost,
            self.doubled,
            self.out_of_order,
            self.unknown,
            self.seconds
        )
    }
}

/// All runs.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) seed: u64,
    pub(super) time_scale: f64,
    pub(super) rows: Vec<Row>,
    pub(super) arrows: usize,
    pub(super) crashes: u32,
    pub(super) updates: usize,
    pub(super) lost: usize,
    pub(super) doubled: usize,
    pub(super) out_of_order: usize,
    pub(super) unknown: usize,
    pub(super) handed_again: usize,
    /// Arrows that no run hit: of those nothing is known.
    pub(super) never_hit: Vec<String>,
    pub(super) seconds: f64,
}

/// What stands above the rows.
pub(super) const HEAD: &str = "arrow                              nth   hits   alone  updates  lost  doubled  out of order  unknown  seconds";

impl Report {
    pub(super) fn new(seed: u64, time_scale: f64, mut rows: Vec<Row>, time: Duration) -> Self {
        rows.sort_by(|a, b| (&a.arrow, a.nth).cmp(&(&b.arrow, b.nth)));
        let sum = |figure: fn(&Row) -> usize| rows.iter().map(figure).sum();
        let mut arrows: Vec<String> = rows.iter().map(|row| row.arrow.clone()).collect();
        arrows.dedup();
        let is_hit = |arrow: &String| rows.iter().any(|row| row.arrow == *arrow && row.hits > 0);
        let never_hit = arrows.iter().filter(|arrow| !is_hit(arrow)).cloned().collect();
        Self {
            seed,
            time_scale,
            arrows: arrows.len(),
            crashes: rows.iter().map(|row| row.hits).sum(),
            updates: sum(|row| row.updates),
            lost: sum(|row| row.lost),
            doubled: sum(|row| row.doubled),
            out_of_order: sum(|row| row.out_of_order),
            unknown: sum(|row| row.unknown),
            handed_again: sum(|row| row.handed_again),
            never_hit,
            seconds: (time.as_secs_f64() * 10.0).round() / 10.0,
            rows,
        }
    }

    pub(super) fn is_clean(&self) -> bool {
        self.rows.iter().all(Row::is_clean)
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![HEAD.to_owned()];
        lines.extend(self.rows.iter().map(Row::line));
        for row in self.rows.iter().filter(|row| !row.is_clean()) {
            let trouble = |trouble: &String| format!("{} (crash at pass {}): {trouble}", row.arrow, row.nth);
            lines.extend(row.troubles.iter().map(trouble));
        }
        if !self.never_hit.is_empty() {
            lines.push(format!("never hit: {}", self.never_hit.join(", ")));
        }
        if self.handed_again > 0 {
            lines.push(format!(
                "handed to the backend again, after a try that died with its process: {}",
                self.handed_again
            ));
        }
        lines.push(format!(
            "{} arrows, {} never hit; {} crashes, {} updates: {} lost  {} doubled  {} out of order  {} unknown; {}",
            self.arrows,
            self.never_hit.len(),
            self.crashes,
            self.updates,
            self.lost,
            self.doubled,
            self.out_of_order,
            self.unknown,
            figures::duration(Duration::from_secs_f64(self.seconds))
        ));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(arrow: &str, nth: u32, hits: u32) -> Row {
        Row {
            arrow: arrow.to_owned(),
            nth,
            hits,
            updates: 10,
            ..Row::default()
        }
    }

    #[test]
    fn an_arrow_that_one_of_its_runs_hit_is_hit() {
        let rows = vec![row("b.after", 1, 0), row("a.before", 4, 2), row("a.before", 1, 0)];
        let report = Report::new(7, 30.0, rows, Duration::from_secs(3));
        assert_eq!((report.arrows, report.crashes, report.updates), (2, 2, 30));
        assert_eq!(report.never_hit, ["b.after"]);
        assert!(report.is_clean());
        let lines = report.lines();
        assert!(
            lines[1].starts_with("a.before") && lines[3].contains("never"),
            "{lines:?}"
        );
        assert!(lines[5].starts_with("2 arrows, 1 never hit; 2 crashes, 30 updates: 0 lost"));
    }

    #[test]
    fn any_violation_or_trouble_makes_it_unclean_and_is_told() {
        for found in [
            Found {
                lost: 1,
                ..Found::default()
            },
            Found {
                doubled: 1,
                ..Found::default()
            },
            Found {
                out_of_order: 1,
                ..Found::default()
            },
            Found {
                troubles: vec!["not at rest".to_owned()],
                ..Found::default()
            },
        ] {
            let mut bad = row("a.before", 1, 1);
            bad.add(found);
            let report = Report::new(7, 30.0, vec![bad, row("b.after", 1, 1)], Duration::ZERO);
            assert!(!report.is_clean());
        }
        let mut unknown = row("a.before", 1, 1);
        unknown.add(Found {
            unknown: 3,
            ..Found::default()
        });
        assert!(Report::new(7, 30.0, vec![unknown], Duration::ZERO).is_clean());
    }
}
