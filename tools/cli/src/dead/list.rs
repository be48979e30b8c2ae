//! `penstock dead list`. Never shows a body.

use std::collections::BTreeMap;

use clap::Args;
use penstock_domain::time::Timestamp;
use penstock_ports::{AttentionKind, Letter, Need};
use serde::Serialize;

use super::select::FilterArgs;
use crate::called;
use crate::failure::{Ended, Failure};
use crate::operator::age;
use crate::operator::place::PlaceArgs;
use crate::print;
use crate::table::{Align, lines};

/// Which ones.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    place: PlaceArgs,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// One letter.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    key: String,
    kind: &'static str,
    /// `dead`, or `pending` where a redrive's copy was lost.
    state: &'static str,
    update_kind: &'static str,
    code: Option<String>,
    attempts: u32,
    redrive: u32,
    group: String,
    /// ms since 1970, in the stack's time.
    since: Option<i64>,
    age_ms: u64,
    received_at: i64,
}

#[derive(Debug, Serialize)]
struct Listing {
    letters: Vec<Row>,
    total: usize,
    by_kind: BTreeMap<&'static str, usize>,
    /// There are more than `--most`.
    has_more: bool,
}

impl Row {
    pub(super) fn of(letter: &Letter, need: &Need, now: Timestamp) -> Self {
        let since = letter.attention.map(|(_, since)| since);
        Self {
            key: letter.record.key.as_str().to_owned(),
            kind: match need {
                Need::Dead(kind) => kind.name(),
                Need::StuckRedrive => "stuck redrive",
                Need::Sends { .. } => AttentionKind::Unknown.name(),
            },
            state: letter.record.state.name(),
            update_kind: letter.subject.kind.name(),
            code: letter.record.tries.last().map(|failure| failure.code.clone()),
            attempts: letter.record.attempts,
            redrive: letter.record.redrive,
            group: letter.subject.group.0.clone(),
            since: since.map(Timestamp::as_millis),
            age_ms: since.map_or(0, |since| {
                u64::try_from(now.since(since).as_millis()).unwrap_or(u64::MAX)
            }),
            received_at: letter.subject.received_at.as_millis(),
        }
    }

    fn cells(&self) -> Vec<String> {
        vec![
            age::told(std::time::Duration::from_millis(self.age_ms)),
            self.kind.to_owned(),
            self.code.clone().unwrap_or_default(),
            self.attempts.to_string(),
            self.redrive.to_string(),
            self.key.clone(),
            self.group.clone(),
        ]
    }
}

const HEADING: &[(&str, Align)] = &[
    ("age", Align::Right),
    ("kind", Align::Left),
    ("code", Align::Left),
    ("tries", Align::Right),
    ("redriven", Align::Right),
    ("update", Align::Left),
    ("group", Align::Left),
];

pub(super) async fn run(args: &ListArgs) -> Result<Ended, Failure> {
    let place = args.place.find().await?;
    let kinds = [
        AttentionKind::Dead,
        AttentionKind::Expired,
        AttentionKind::Quarantine,
    ];
    let found = args.filter.find(&place, &kinds).await?;
    let now = place.now();
    let letters: Vec<Row> = found
        .letters
        .iter()
        .map(|(letter, need)| Row::of(letter, need, now))
        .collect();
    let mut by_kind = BTreeMap::new();
    for row in &letters {
        *by_kind.entry(row.kind).or_insert(0) += 1;
    }
    let listing = Listing {
        total: letters.len(),
        letters,
        by_kind,
        has_more: found.has_more,
    };
    if args.json {
        print::json(&listing);
    } else {
        listing.tell(&args.place.words());
    }
    Ok(Ended::Well)
}

impl Listing {
    fn tell(&self, place: &str) {
        if !self.letters.is_empty() {
            let rows: Vec<_> = self.letters.iter().map(Row::cells).collect();
            lines(HEADING, &rows).iter().for_each(|line| print::data(line));
        }
        print::data(&self.totals());
        if let Some(first) = self.letters.first() {
            print::note(&format!(
                "next: {}",
                called::command(&format!("dead show {}{place}", first.key))
            ));
        }
    }

    /// `3 letters: 2 dead, 1 quarantine`.
    fn totals(&self) -> String {
        if self.total == 0 {
            return "no dead letters".to_owned();
        }
        let kinds: Vec<_> = self
            .by_kind
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let (letters, more) = (
            if self.total == 1 { "letter" } else { "letters" },
            if self.has_more { ", and more" } else { "" },
        );
        format!("{} {letters}: {}{more}", self.total, kinds.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_told_by_kind() {
        let listing = |total, kinds: &[(&'static str, usize)], has_more| Listing {
            letters: Vec::new(),
            total,
            by_kind: kinds.iter().copied().collect(),
            has_more,
        };
        assert_eq!(listing(0, &[], false).totals(), "no dead letters");
        assert_eq!(listing(1, &[("dead", 1)], false).totals(), "1 letter: 1 dead");
        assert_eq!(
            listing(3, &[("quarantine", 1), ("dead", 2)], true).totals(),
            "3 letters: 2 dead, 1 quarantine, and more"
        );
    }
}
