//! `penstock unknown list`.

use clap::Args;
use penstock_domain::time::Timestamp;
use penstock_ports::{AttentionKind, Letter, Need};
use penstock_repair::{Filter, find};
use serde::Serialize;

use super::sends::Send;
use crate::failure::{Ended, Failure};
use crate::operator::age;
use crate::operator::place::PlaceArgs;
use crate::table::{Align, lines};
use crate::{called, print};

/// Which ones.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// At most so many updates, the oldest
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    most: u32,
    #[command(flatten)]
    place: PlaceArgs,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row {
    key: String,
    /// `unknown`, or `stuck`: sent again by a person, and its copy seems to be lost.
    need: &'static str,
    age_ms: u64,
    #[serde(flatten)]
    send: Send,
}

#[derive(Debug, Serialize)]
struct Listing {
    sends: Vec<Row>,
    total: usize,
    /// There are more than `--most`.
    has_more: bool,
}

const HEADING: &[(&str, Align)] = &[
    ("age", Align::Right),
    ("need", Align::Left),
    ("method", Align::Left),
    ("code", Align::Left),
    ("update", Align::Left),
    ("send", Align::Right),
    ("group", Align::Left),
];

pub(super) async fn run(args: &ListArgs) -> Result<Ended, Failure> {
    let place = args.place.find().await?;
    let (bot, now) = (place.bot()?, place.now());
    let most = usize::try_from(args.most).unwrap_or(usize::MAX);
    let kinds = [AttentionKind::Unknown];
    let found = find(&place.ledger, bot, &kinds, &Filter::default(), most, now).await;
    let found = found.map_err(|error| Failure::Broken(error.into()))?;
    let sends: Vec<Row> = found
        .letters
        .iter()
        .flat_map(|(letter, need)| rows(letter, need, now))
        .collect();
    let listing = Listing {
        total: sends.len(),
        sends,
        has_more: found.has_more,
    };
    if args.json {
        print::json(&listing);
    } else {
        listing.tell(&args.place.words());
    }
    Ok(Ended::Well)
}

fn rows(letter: &Letter, need: &Need, now: Timestamp) -> Vec<Row> {
    let Need::Sends { unknown, stuck } = need else {
        return Vec::new();
    };
    let age = letter.attention.map(|(_, since)| now.since(since));
    let age_ms = age.map_or(0, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    let row = |n: u8, need| {
        let stored = letter.record.intents.iter().find(|stored| stored.intent.n == n)?;
        Some(Row {
            key: letter.record.key.as_str().to_owned(),
            need,
            age_ms,
            send: Send::of(stored),
        })
    };
    let unknown = unknown.iter().filter_map(|n| row(*n, "unknown"));
    unknown
        .chain(stuck.iter().filter_map(|n| row(*n, "stuck")))
        .collect()
}

impl Listing {
    fn tell(&self, place: &str) {
        let cells = |row: &Row| {
            vec![
                age::told(std::time::Duration::from_millis(row.age_ms)),
                row.need.to_owned(),
                row.send.method.clone(),
                row.send.code.clone().unwrap_or_default(),
                row.key.clone(),
                row.send.n.to_string(),
                row.send.group.clone(),
            ]
        };
        if !self.sends.is_empty() {
            let rows: Vec<_> = self.sends.iter().map(cells).collect();
            lines(HEADING, &rows).iter().for_each(|line| print::data(line));
        }
        let more = if self.has_more { ", and more" } else { "" };
        print::data(&match self.total {
            0 => "no unknown sends".to_owned(),
            1 => format!("1 send{more}"),
            total => format!("{total} sends{more}"),
        });
        if let Some(first) = self.sends.first() {
            let next = called::command(&format!("unknown show {}{place}", first.key));
            print::note(&format!("next: {next}"));
        }
    }
}
