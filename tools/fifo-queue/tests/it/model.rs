//! The engine against the model: any sequence of calls, time and reopening gives the same answers.

use std::path::Path;
use std::sync::Arc;

use fifo_queue::{Engine, ManualClock, ReceiveRequest, SendEntry};
use proptest::prelude::*;

use crate::model_reference::{Model, Settings, Ticket};
use crate::support::{DEAD, QUEUE, START_MS, Texts, fifo, open, redrive_to};

const QUEUES: [&str; 2] = [QUEUE, DEAD];

/// What the file must hold: a description, and the number of rows that are wrong.
const INVARIANTS: [(&str, &str); 3] = [
    (
        "each group knows its first message and how many are in flight",
        "SELECT count(*) FROM groups AS g WHERE
             head_seq IS NOT (SELECT min(seq) FROM messages WHERE group_id = g.id)
             OR ready IS NOT (SELECT state = 0 FROM messages WHERE group_id = g.id ORDER BY seq LIMIT 1)
             OR in_flight <> (SELECT count(*) FROM messages WHERE group_id = g.id AND state = 1)",
    ),
    (
        "each message has a group and a payload",
        "SELECT count(*) FROM messages WHERE group_id NOT IN (SELECT id FROM groups)
             OR seq NOT IN (SELECT seq FROM payloads)",
    ),
    (
        "each payload has a message",
        "SELECT count(*) FROM payloads WHERE seq NOT IN (SELECT seq FROM messages)",
    ),
];

#[derive(Debug, Clone)]
enum Step {
    Send {
        group: u8,
        dedup: u8,
    },
    Receive {
        queue: usize,
        max: usize,
        visibility_s: Option<i64>,
    },
    Delete {
        ticket: prop::sample::Index,
    },
    Hide {
        ticket: prop::sample::Index,
        seconds: i64,
    },
    Advance {
        ms: i64,
    },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let queue = prop_oneof![4 => Just(0_usize), 1 => Just(1)];
    let visibility_s = prop_oneof![3 => Just(None), 1 => (0..15_i64).prop_map(Some)];
    let seconds = prop_oneof![2 => Just(0), 3 => 1..20_i64, 1 => Just(43_200)];
    let ms = prop_oneof![6 => 1..6_000_i64, 2 => 10_000..90_000_i64, 1 => 290_000..310_000_i64];
    prop_oneof![
        8 => (0..3_u8, 0..30_u8).prop_map(|(group, dedup)| Step::Send { group, dedup }),
        8 => (queue, 1..=10_usize, visibility_s)
            .prop_map(|(queue, max, visibility_s)| Step::Receive { queue, max, visibility_s }),
        4 => any::<prop::sample::Index>().prop_map(|ticket| Step::Delete { ticket }),
        5 => (any::<prop::sample::Index>(), seconds).prop_map(|(ticket, seconds)| Step::Hide { ticket, seconds }),
        4 => ms.prop_map(|ms| Step::Advance { ms }),
        1 => Just(Step::Reopen),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    let retention_s = prop_oneof![1 => Just(60_i64), 3 => Just(345_600)];
    let max_receives = prop_oneof![1 => Just(None), 2 => (1..4_i64).prop_map(Some)];
    let delay_s = prop_oneof![2 => Just(0), 1 => 1..4_i64];
    (1..12_i64, delay_s, retention_s, any::<bool>(), max_receives).prop_map(
        |(visibility_s, delay_s, retention_s, dedup_per_group, max_receives)| Settings {
            visibility_s,
            delay_s,
            retention_s,
            dedup_per_group,
            max_receives,
        },
    )
}

fn create(engine: &Engine, settings: &Settings) {
    let numbers = [
        ("VisibilityTimeout", settings.visibility_s.to_string()),
        ("DelaySeconds", settings.delay_s.to_string()),
        ("MessageRetentionPeriod", settings.retention_s.to_string()),
    ];
    let mut attributes = fifo(&[]);
    attributes.extend(numbers.map(|(name, value)| (name.to_owned(), value)));
    if !settings.dedup_per_group {
        attributes.insert("DeduplicationScope".to_owned(), "queue".to_owned());
        attributes.insert("FifoThroughputLimit".to_owned(), "perQueue".to_owned());
    }
    if let Some(max_receives) = settings.max_receives {
        attributes.insert("RedrivePolicy".to_owned(), redrive_to(DEAD, max_receives));
    }
    engine.create_queue(DEAD, &fifo(&[]), &Texts::new()).unwrap();
    engine.create_queue(QUEUE, &attributes, &Texts::new()).unwrap();
}

/// Both sides of a run.
struct Run<'a> {
    path: &'a Path,
    clock: Arc<ManualClock>,
    engine: Option<Engine>,
    model: Model,
    /// Message ids by the model's numbers.
    ids: Vec<String>,
    /// Every handle ever given out.
    handles: Vec<(usize, String, Ticket)>,
}

impl Run<'_> {
    fn engine(&self) -> &Engine {
        self.engine.as_ref().expect("an open engine")
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Send { group, dedup } => {
                let entry = SendEntry::fifo(group.to_string(), dedup.to_string(), "x");
                let sent = self.engine().send(QUEUE, &entry).unwrap();
                let (id, duplicate) = self.model.send(*group, *dedup);
                prop_assert_eq!(sent.duplicate, duplicate);
                if !duplicate {
                    self.ids.push(sent.message_id.clone());
                }
                prop_assert_eq!(&sent.message_id, &self.ids[id]);
            }
            Step::Receive {
                queue,
                max,
                visibility_s,
            } => {
                let request = ReceiveRequest {
                    max_messages: *max,
                    visibility_s: *visibility_s,
                    ..Default::default()
                };
                let received = self.engine().try_receive(QUEUES[*queue], &request).unwrap();
                let expected = self.model.receive(*queue, *max, *visibility_s);
                let got: Vec<_> = received
                    .iter()
                    .map(|m| (&m.message_id, m.receive_count))
                    .collect();
                let wanted: Vec<_> = expected.iter().map(|m| (&self.ids[m.id], m.receive)).collect();
                prop_assert_eq!(got, wanted);
                let handles = received.into_iter().zip(expected);
                self.handles
                    .extend(handles.map(|(got, model)| (*queue, got.receipt_handle, model.ticket)));
            }
            Step::Delete { ticket } if !self.handles.is_empty() => {
                let (queue, handle, ticket) = ticket.get(&self.handles);
                let accepted = self.engine().delete(QUEUES[*queue], handle).is_ok();
                prop_assert_eq!(accepted, self.model.delete(*ticket));
            }
            Step::Hide { ticket, seconds } if !self.handles.is_empty() => {
                let (queue, handle, ticket) = ticket.get(&self.handles);
                let accepted = self
                    .engine()
                    .change_visibility(QUEUES[*queue], handle, *seconds)
                    .is_ok();
                prop_assert_eq!(accepted, self.model.hide(*ticket, *seconds));
            }
            Step::Delete { .. } | Step::Hide { .. } => {}
            Step::Advance { ms } => {
                self.clock.advance(*ms);
                self.model.advance(*ms);
            }
            Step::Reopen => {
                self.close()?;
                self.engine = Some(open(self.path, &self.clock).unwrap());
            }
        }
        self.compare_numbers()
    }

    fn close(&mut self) -> Result<(), TestCaseError> {
        drop(self.engine.take());
        let file = rusqlite::Connection::open(self.path).unwrap();
        for (what, wrong) in INVARIANTS {
            let rows: i64 = file.query_row(wrong, [], |row| row.get(0)).unwrap();
            prop_assert_eq!(rows, 0, "{}", what);
        }
        Ok(())
    }

    fn compare_numbers(&mut self) -> Result<(), TestCaseError> {
        for stats in self.engine().queues().unwrap() {
            let queue = QUEUES
                .iter()
                .position(|name| *name == stats.name)
                .expect("one of the two");
            let got = (
                stats.visible,
                stats.in_flight,
                stats.delayed,
                stats.groups_in_flight,
                stats.oldest_age_ms,
            );
            prop_assert_eq!(got, self.model.numbers(queue), "{}", stats.name);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn engine_and_model_agree(settings in settings(), steps in prop::collection::vec(step(), 1..80)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("q.db");
        let clock = Arc::new(ManualClock::at(START_MS));
        let engine = open(&path, &clock).unwrap();
        create(&engine, &settings);
        let model = Model::new(settings, START_MS);
        let mut run =
            Run { path: &path, clock, engine: Some(engine), model, ids: Vec::new(), handles: Vec::new() };
        for step in &steps {
            run.step(step)?;
        }
        run.close()?;
    }
}
