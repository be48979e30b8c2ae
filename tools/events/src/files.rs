//! The files that are made of the catalogue. Says what they hold; writing them is the program's business.

use penstock_domain::route::{RouteError, route};
use penstock_formats::quarantine::Reason;
use serde_json::{Value, json};

use crate::catalogue::samples;
use crate::http::{HttpWrap, http_event};
use crate::sample::{Expect, Outcome, SAMPLE_BOT_ID, Sample, Secret, with_update_id};
use crate::sqs::{Queued, SAMPLE_RECEIVED_AT_MS, SqsWrap, quarantined, queued, sqs_event};

/// A secret of the right shape that is not the bot's.
const WRONG_SECRET: &str = "sample-webhook-secret-that-is-not-the-right-one";

/// The samples that also exist as an event of the dead-letter queue.
const REDRIVEN: [&str; 3] = ["text", "callback", "unknown_kind"];

/// Added to the `update_id` of those, so that they are Updates of their own, which no function has seen before.
const REDRIVEN_ID_OFFSET: i64 = 100_000_000;

/// What stands around a message that ingress put into the dead-letter queue itself.
const DEAD_LETTERS: SqsWrap<'static> = SqsWrap {
    queue: "penstock-updates-dlq.fifo",
    redriven_from: None,
    receive_count: 1,
};

/// What stands around a message that SQS moved there.
const REDRIVE: SqsWrap<'static> = SqsWrap {
    redriven_from: Some("penstock-updates.fifo"),
    ..DEAD_LETTERS
};

/// A file below `events/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFile {
    /// Its path below `events/`.
    pub path: String,
    /// What it holds.
    pub content: Vec<u8>,
    /// Whether it is committed; the others are too big and are written on demand.
    pub is_committed: bool,
}

/// Why the files cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A sample that should be accepted is no Update.
    #[error("sample `{sample}` should be accepted but is no update: correct its expectation or its raw file")]
    NoUpdate {
        /// Its name.
        sample: &'static str,
        /// What is wrong with it.
        #[source]
        source: RouteError,
    },
    /// A body could not be written as JSON.
    #[error("sample `{sample}` cannot be written as a queue message")]
    Unwritable {
        /// Its name.
        sample: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

/// Every file that is made: `http/` for ingress, `sqs/` for processor, `dead/` for dead_letter, in `raw/` the big ones,
/// and `expect.json` for programs that are not written in Rust. The other files of `raw/` are the source and are never
/// written.
///
/// # Errors
/// [`FilesError`] if the catalogue expects the impossible.
pub fn files() -> Result<Vec<EventFile>, FilesError> {
    let mut files = Vec::new();
    for sample in samples() {
        let raw = sample.raw();
        let mut add = |folder: &str, content: Vec<u8>| {
            let path = format!("{folder}/{}", sample.file());
            files.push(EventFile {
                path,
                content,
                is_committed: !sample.is_made(),
            });
        };
        if sample.is_made() {
            add("raw", raw.to_vec());
        }
        add("http", pretty(http_event(&raw, &http_wrap(sample))));
        match sample.expect.outcome {
            Outcome::Done | Outcome::Dead => {
                add("sqs", event(&accepted(sample, &raw)?, &SqsWrap::default()));
                let other = sample
                    .update_id()
                    .and_then(|id| with_update_id(&raw, id + REDRIVEN_ID_OFFSET));
                if let (true, Some(other)) = (REDRIVEN.contains(&sample.name), other) {
                    add("dead", event(&accepted(sample, &other)?, &REDRIVE));
                }
            }
            Outcome::Quarantined => add("dead", event(&set_aside(sample, &raw)?, &DEAD_LETTERS)),
            Outcome::Refused => {}
        }
    }
    let expect: Vec<Value> = samples().iter().map(expectation).collect();
    files.push(EventFile {
        path: "expect.json".to_owned(),
        content: pretty(expect.into()),
        is_committed: true,
    });
    Ok(files)
}

/// What ingress puts into the updates queue for an accepted sample.
fn accepted(sample: &Sample, raw: &[u8]) -> Result<Queued, FilesError> {
    queued(raw, SAMPLE_BOT_ID, SAMPLE_RECEIVED_AT_MS).map_err(|source| FilesError::NoUpdate {
        sample: sample.name,
        source,
    })
}

/// What ingress puts into the dead-letter queue for a sample that is no Update.
fn set_aside(sample: &Sample, raw: &[u8]) -> Result<Queued, FilesError> {
    let reason = match route(raw) {
        Err(RouteError::BadUpdateId) => Reason::BadUpdateId,
        Err(RouteError::Unparseable(_)) | Ok(_) => Reason::Unparseable,
    };
    quarantined(raw, reason, SAMPLE_BOT_ID, SAMPLE_RECEIVED_AT_MS).map_err(|source| FilesError::Unwritable {
        sample: sample.name,
        source,
    })
}

fn event(message: &Queued, wrap: &SqsWrap<'_>) -> Vec<u8> {
    pretty(sqs_event(std::slice::from_ref(message), wrap))
}

fn expectation(sample: &Sample) -> Value {
    let Expect {
        http_status,
        outcome,
        sends,
        refused,
    } = sample.expect;
    json!({
        "name": sample.name,
        "kind": sample.kind,
        "http_status": http_status,
        "outcome": outcome.name(),
        "sends": { "min": sends.min, "max": sends.max },
        "refused": refused,
    })
}

fn http_wrap(sample: &Sample) -> HttpWrap<'static> {
    match sample.secret {
        Secret::Right => HttpWrap::default(),
        Secret::Wrong => HttpWrap {
            secret: Some(WRONG_SECRET),
            ..HttpWrap::default()
        },
    }
}

/// Sorted by name, so that the bytes do not depend on which map serde_json was built with.
fn pretty(mut event: Value) -> Vec<u8> {
    event.sort_all_objects();
    format!("{event:#}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    fn events() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events")
    }

    #[test]
    fn committed_event_files_are_what_the_generator_makes() {
        for file in files().unwrap().iter().filter(|file| file.is_committed) {
            let path = events().join(&file.path);
            let there = std::fs::read(&path).unwrap_or_default();
            assert!(
                there == file.content,
                "{} is out of date: run `penstock-events generate`",
                path.display()
            );
        }
    }

    #[test]
    fn no_event_file_is_without_a_sample() {
        let made: BTreeMap<String, ()> = files().unwrap().into_iter().map(|file| (file.path, ())).collect();
        let raw: BTreeMap<String, ()> = samples()
            .iter()
            .map(|sample| (format!("raw/{}", sample.file()), ()))
            .collect();
        let mut seen = 0;
        for folder in ["raw", "http", "sqs", "dead"] {
            for entry in std::fs::read_dir(events().join(folder)).unwrap() {
                let path = format!("{folder}/{}", entry.unwrap().file_name().to_string_lossy());
                let known = if folder == "raw" { &raw } else { &made };
                assert!(known.contains_key(&path), "events/{path} belongs to no sample");
                seen += 1;
            }
        }
        assert!(seen > 22 * 3, "only {seen} files");
    }

    #[test]
    fn redriven_events_are_updates_that_no_other_event_holds() {
        let files = files().unwrap();
        let dead: Vec<_> = files
            .iter()
            .filter(|file| file.path.starts_with("dead/"))
            .collect();
        assert_eq!(
            dead.len(),
            REDRIVEN.len() + 2,
            "those, and the two samples that are no Updates"
        );
        for file in dead.iter().filter(|file| {
            REDRIVEN
                .iter()
                .any(|name| file.path == format!("dead/{name}.json"))
        }) {
            let event: Value = serde_json::from_slice(&file.content).unwrap();
            let envelope: Value =
                serde_json::from_str(event["Records"][0]["body"].as_str().unwrap()).unwrap();
            let id = envelope["update_id"].as_i64().unwrap();
            assert!(
                id > REDRIVEN_ID_OFFSET * 5 && samples().iter().all(|sample| sample.update_id() != Some(id))
            );
            assert_eq!(envelope["update"]["update_id"].as_i64(), Some(id));
        }
    }

    #[test]
    fn big_files_are_not_committed() {
        let ignored = std::fs::read_to_string(events().join(".gitignore")).unwrap();
        for file in files().unwrap() {
            assert_eq!(file.is_committed, file.content.len() < 64 * 1024, "{}", file.path);
            let name = file.path.rsplit('/').next().unwrap();
            assert_eq!(
                !file.is_committed,
                ignored.lines().any(|line| line == format!("*/{name}")),
                "{name}"
            );
        }
    }
}
