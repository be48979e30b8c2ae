//! `penstock status`: how a stack is at this moment. Only looks; a backend that is away is no failure of the command.

use clap::Args;
use penstock_local::backend::{BackendState, BackendStatus};
use penstock_ports::AttentionKind;
use penstock_repair::{Filter, find};
use serde::Serialize;

use crate::called;
use crate::failure::{Ended, Failure};
use crate::operator::place::{Place, PlaceArgs};
use crate::print;
use crate::table::{Align, lines};

/// The template's queues, in the order of an update's way.
const QUEUES: [&str; 6] = [
    "updates",
    "outbound",
    "bulk",
    "updates-dlq",
    "outbound-dlq",
    "bulk-dlq",
];
/// Most letters that are counted: more are told as "or more".
const MOST: usize = 1_000;

/// Which stack.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// A stack at one moment.
#[derive(Debug, Serialize)]
struct Status {
    stack: String,
    bot: u64,
    queues: Vec<Queue>,
    /// What its breaker says; of a bot inside the function it never says anything but `up`.
    backend: BackendStatus,
    backend_words: String,
    /// Letters and sends that need a person.
    needs_person: usize,
    has_more: bool,
}

#[derive(Debug, Serialize)]
struct Queue {
    name: &'static str,
    waiting: u64,
    in_flight: u64,
}

pub(crate) async fn run(args: &StatusArgs) -> Result<Ended, Failure> {
    let place = args.place.find().await?;
    let status = read(&place).await?;
    if args.json {
        print::json(&status);
    } else {
        status.lines().iter().for_each(|line| print::data(line));
        if status.needs_person > 0 {
            let place = args.place.words();
            let [dead, unknown] =
                ["dead list", "unknown list"].map(|list| called::command(&format!("{list}{place}")));
            print::note(&format!("next: {dead}, {unknown}"));
        }
    }
    Ok(Ended::Well)
}

async fn read(place: &Place) -> Result<Status, Failure> {
    let bot = place.bot()?;
    let mut queues = Vec::with_capacity(QUEUES.len());
    for name in QUEUES {
        let (waiting, in_flight) = place.depth(name).await?;
        queues.push(Queue {
            name,
            waiting,
            in_flight,
        });
    }
    let backend = place.backend(bot).await?;
    let kinds = [
        AttentionKind::Dead,
        AttentionKind::Quarantine,
        AttentionKind::Unknown,
    ];
    let found = find(&place.ledger, bot, &kinds, &Filter::default(), MOST, place.now()).await;
    let found = found.map_err(|error| Failure::Broken(error.into()))?;
    Ok(Status {
        stack: place.stack().to_owned(),
        bot: bot.0,
        queues,
        backend_words: backend.words(place.now().as_millis()),
        backend,
        needs_person: found.letters.len(),
        has_more: found.has_more,
    })
}

impl Status {
    fn lines(&self) -> Vec<String> {
        let heading = [
            ("queue", Align::Left),
            ("waiting", Align::Right),
            ("in flight", Align::Right),
        ];
        let row = |queue: &Queue| {
            vec![
                format!("{}.fifo", queue.name),
                queue.waiting.to_string(),
                queue.in_flight.to_string(),
            ]
        };
        let rows: Vec<_> = self.queues.iter().map(row).collect();
        let mut told = lines(&heading, &rows);
        told.push(String::new());
        if self.backend.state != BackendState::Up || self.backend.since_ms.is_some() {
            let state = match self.backend.state {
                BackendState::Up => "up",
                BackendState::Away => "away",
                BackendState::Returning => "returning",
            };
            told.push(format!("backend: {state} {}", self.backend_words));
        } else {
            told.push("backend: up, or there is none (a bot inside the function)".to_owned());
        }
        told.push(match (self.needs_person, self.has_more) {
            (0, _) => "nothing needs a person".to_owned(),
            (count, true) => format!("{count} or more need a person"),
            (1, false) => "1 needs a person".to_owned(),
            (count, false) => format!("{count} need a person"),
        });
        told
    }
}

#[cfg(test)]
mod tests {
    use penstock_domain::breaker::{Breaker, Rate};
    use penstock_domain::time::Timestamp;

    use super::*;

    fn status(breaker: &Breaker, needs_person: usize) -> String {
        let backend = BackendStatus::of(breaker);
        let status = Status {
            stack: "penstock".to_owned(),
            bot: 7,
            queues: vec![Queue {
                name: "updates",
                waiting: 12,
                in_flight: 3,
            }],
            backend_words: backend.words(60_000),
            backend,
            needs_person,
            has_more: false,
        };
        status.lines().join("\n")
    }

    #[test]
    fn an_outage_is_told_with_how_long_it_lasts_and_what_to_do() {
        let open = Breaker::Open {
            opened_at: Timestamp::from_millis(0),
            rate: Rate::from_stored(50),
            probe_at: Timestamp::from_millis(0),
        };
        let told = status(&open, 2);
        assert!(told.contains("updates.fifo       12          3"), "{told}");
        assert!(told.contains("backend: away for 1 min: updates wait"), "{told}");
        assert!(told.ends_with("2 need a person"), "{told}");
        let told = status(&Breaker::default(), 0);
        assert!(told.contains("backend: up"), "{told}");
        assert!(told.ends_with("nothing needs a person"), "{told}");
    }
}
