//! What a drill tells. Pure.

use std::time::Duration;

use serde::Serialize;

use super::judge::Verdict;
use crate::figures;

/// One framework's run.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) framework: &'static str,
    /// Seconds that the backend was away, from its death until it listened again.
    pub(super) away_seconds: f64,
    /// What is wrong; nothing, if all is well.
    pub(super) troubles: Vec<String>,
    /// `None`: it could not be run to its end.
    pub(super) verdict: Option<Verdict>,
}

/// All runs.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) updates_per_second: f64,
    pub(super) chats: u32,
    /// Seconds before the kill, from it to the next start, and for which updates are posted after that.
    pub(super) before: u64,
    pub(super) down: u64,
    pub(super) after: u64,
    pub(super) rows: Vec<Row>,
}

impl Row {
    pub(super) fn judged(framework: &'static str, away_seconds: f64, verdict: Verdict) -> Self {
        Self {
            framework,
            away_seconds: (away_seconds * 10.0).round() / 10.0,
            troubles: verdict.troubles(),
            verdict: Some(verdict),
        }
    }

    pub(super) fn failed(framework: &'static str, error: &anyhow::Error) -> Self {
        Self {
            framework,
            away_seconds: 0.0,
            troubles: vec![format!("{error:#}")],
            verdict: None,
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.framework.to_owned()];
        if let Some(verdict) = &self.verdict {
            lines.extend(told(verdict, self.away_seconds));
        }
        if self.troubles.is_empty() {
            lines.push(line("result", "passed".to_owned()));
        }
        lines.extend(
            self.troubles
                .iter()
                .map(|trouble| line("FAILED", trouble.clone())),
        );
        lines
    }
}

impl Report {
    pub(super) fn is_clean(&self) -> bool {
        self.rows.iter().all(|row| row.troubles.is_empty())
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{} updates a second over {} chats: {} s, SIGKILL, {} s, started again, {} s more",
            self.updates_per_second, self.chats, self.before, self.down, self.after
        )];
        for row in &self.rows {
            lines.push(String::new());
            lines.extend(row.lines());
        }
        lines
    }
}

fn line(name: &str, told: String) -> String {
    format!("  {name:<12}{told}")
}

fn told(verdict: &Verdict, away_seconds: f64) -> Vec<String> {
    let Verdict {
        doubled,
        presses,
        notices,
        rates,
        ..
    } = verdict;
    let drained = verdict.drained_in_ms.map_or_else(
        || "never".to_owned(),
        |ms| figures::duration(Duration::from_millis(ms.unsigned_abs())),
    );
    let failed: Vec<String> = verdict
        .failed_tries
        .iter()
        .map(|(code, count)| format!("{count} {code}"))
        .collect();
    let failed = if failed.is_empty() {
        "none".to_owned()
    } else {
        failed.join(", ")
    };
    let ratio = rates
        .peak_ratio
        .map_or_else(|| "?".to_owned(), |ratio| ratio.to_string());
    vec![
        line(
            "updates",
            format!(
                "{} sent ({} in the {away_seconds} s without a backend)  {} done  {} lost  {} not done  {} unanswered",
                verdict.posted,
                verdict.posted_while_away,
                verdict.done,
                verdict.lost,
                verdict.not_done,
                verdict.unanswered
            ),
        ),
        line(
            "doubled",
            format!(
                "{} as the backend died before its answer  {} as it asked for another try  {} unexplained",
                doubled.died_before_answering, doubled.asked_for_again, doubled.unexplained
            ),
        ),
        line(
            "order",
            format!("{} answers out of order in their chat", verdict.out_of_order),
        ),
        line(
            "buttons",
            format!(
                "{} pressed ({} without a backend)  {} answered in its place before it was back  {} answered in time",
                presses.posted, presses.while_away, presses.answered_while_away, presses.answered
            ),
        ),
        line(
            "notices",
            format!(
                "{} chats told to wait, at most {} in one",
                notices.chats, notices.most_in_a_chat
            ),
        ),
        line(
            "tries",
            format!("{} burned; failed: {failed}", verdict.attempts_burned),
        ),
        line("drained", format!("{drained} after the backend's return")),
        line(
            "rate",
            format!(
                "{}/s before; at the return {}/s in the first minute, its peak {}/s is {ratio} times the former; busiest minute {}/s",
                rates.before, rates.first_minute, rates.peak, rates.busiest_minute
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::rates::Rates;
    use super::*;

    #[test]
    fn a_clean_run_says_so_and_a_broken_one_why() {
        let verdict = Verdict {
            posted: 500,
            done: 500,
            drained_in_ms: Some(98_300),
            rates: Rates {
                peak_ratio: Some(0.25),
                ..Rates::default()
            },
            ..Verdict::default()
        };
        let lost = Verdict {
            lost: 3,
            ..verdict.clone()
        };
        let mut report = Report {
            updates_per_second: 50.0,
            chats: 200,
            before: 120,
            down: 20,
            after: 10,
            rows: vec![Row::judged("grammy", 20.04, verdict)],
        };
        let told = report.lines().join("\n");
        assert!(
            report.is_clean() && told.contains("98.3 s after") && told.contains("passed"),
            "{told}"
        );
        assert!(
            told.contains("in the 20 s") && told.contains("0.25 times"),
            "{told}"
        );
        report.rows.push(Row::judged("php", 20.0, lost));
        report
            .rows
            .push(Row::failed("teloxide", &anyhow::anyhow!("it does not listen")));
        let told = report.lines().join("\n");
        assert!(!report.is_clean());
        assert!(told.contains("FAILED      3 updates lost"), "{told}");
        assert!(
            told.contains("teloxide\n  FAILED      it does not listen"),
            "{told}"
        );
    }
}
