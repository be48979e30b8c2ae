//! Requests with up to ten entries. Entries fail one by one, in an answer with status 200; a mistake of the
//! batch as a whole refuses it.

use serde::{Deserialize, Serialize};

use super::Server;
use super::error::{Failure, query_code};
use super::messages::{WireMessage, WireSent};
use super::wire::{self, queue_name};
use crate::error::Refusal;
use crate::message::SendEntry;
use crate::rules::batch;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Batch<T> {
    queue_url: Option<String>,
    #[serde(default = "Vec::new")]
    entries: Vec<Entry<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry<T> {
    #[serde(default)]
    id: String,
    #[serde(flatten)]
    content: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Handle {
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Done<T> {
    id: String,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Failed {
    id: String,
    sender_fault: bool,
    code: String,
    message: String,
}

#[derive(Serialize)]
struct Nothing {}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Answer<T> {
    successful: Vec<Done<T>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Failed>,
}

/// Sorts outcomes into those that succeeded and those that did not.
fn answer<T: Serialize>(outcomes: Vec<(String, Result<T, Refusal>)>) -> Result<String, Failure> {
    let mut answer = Answer {
        successful: Vec::new(),
        failed: Vec::new(),
    };
    for (id, outcome) in outcomes {
        match outcome {
            Ok(content) => answer.successful.push(Done { id, content }),
            Err(refusal) => answer.failed.push(Failed {
                id,
                sender_fault: true,
                code: query_code(refusal.code),
                message: refusal.message,
            }),
        }
    }
    wire::write(&answer)
}

/// Splits entries into those that can be tried and those whose form already refuses them; `join` puts the
/// outcomes back in the order of the entries.
struct Sorted<T> {
    ids: Vec<String>,
    refused: Vec<Option<Refusal>>,
    good: Vec<T>,
}

impl<T> Sorted<T> {
    fn new<W>(entries: Vec<Entry<W>>, read: impl Fn(W) -> Result<T, Refusal>) -> Self {
        let mut sorted = Self {
            ids: Vec::new(),
            refused: Vec::new(),
            good: Vec::new(),
        };
        for entry in entries {
            sorted.ids.push(entry.id);
            match read(entry.content) {
                Ok(content) => {
                    sorted.good.push(content);
                    sorted.refused.push(None);
                }
                Err(refusal) => sorted.refused.push(Some(refusal)),
            }
        }
        sorted
    }
}

fn join<R>(
    ids: Vec<String>,
    refused: Vec<Option<Refusal>>,
    outcomes: Vec<Result<R, Refusal>>,
) -> Vec<(String, Result<R, Refusal>)> {
    let mut outcomes = outcomes.into_iter();
    ids.into_iter()
        .zip(refused)
        .filter_map(|(id, refused)| match refused {
            Some(refusal) => Some((id, Err(refusal))),
            None => outcomes.next().map(|outcome| (id, outcome)),
        })
        .collect()
}

/// Reads and checks a batch.
fn read<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<(String, Vec<Entry<T>>), Failure> {
    let batch: Batch<T> = wire::read(body)?;
    let queue = queue_name(batch.queue_url.as_deref())?.to_owned();
    batch::check_ids(batch.entries.iter().map(|entry| entry.id.as_str()))?;
    Ok((queue, batch.entries))
}

pub(super) fn send(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let (queue, entries) = read::<WireMessage>(body)?;
    let Sorted { ids, refused, good } = Sorted::new(entries, WireMessage::entry);
    let outcomes: Vec<Result<WireSent, Refusal>> = if good.is_empty() {
        Vec::new()
    } else {
        let show =
            |(entry, outcome): (&SendEntry, Result<_, _>)| outcome.map(|sent| WireSent::new(entry, sent));
        good.iter()
            .zip(server.engine.send_batch(&queue, &good)?)
            .map(show)
            .collect()
    };
    answer(join(ids, refused, outcomes))
}

pub(super) fn delete(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let (queue, entries) = read::<Handle>(body)?;
    let Sorted { ids, refused, good } = Sorted::new(entries, |entry| {
        entry
            .receipt_handle
            .ok_or_else(|| Refusal::missing("ReceiptHandle"))
    });
    let handles: Vec<&str> = good.iter().map(String::as_str).collect();
    let outcomes = if handles.is_empty() {
        Vec::new()
    } else {
        server.engine.delete_batch(&queue, &handles)?
    };
    answer(nothing(join(ids, refused, outcomes)))
}

pub(super) fn change_visibility(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let (queue, entries) = read::<Handle>(body)?;
    let Sorted { ids, refused, good } = Sorted::new(entries, |entry| {
        let handle = entry
            .receipt_handle
            .ok_or_else(|| Refusal::missing("ReceiptHandle"))?;
        let seconds = entry
            .visibility_timeout
            .ok_or_else(|| Refusal::missing("VisibilityTimeout"))?;
        Ok((handle, seconds))
    });
    let changes: Vec<(&str, i64)> = good
        .iter()
        .map(|(handle, seconds)| (handle.as_str(), *seconds))
        .collect();
    let outcomes = if changes.is_empty() {
        Vec::new()
    } else {
        server.engine.change_visibility_batch(&queue, &changes)?
    };
    answer(nothing(join(ids, refused, outcomes)))
}

fn nothing(outcomes: Vec<(String, Result<(), Refusal>)>) -> Vec<(String, Result<Nothing, Refusal>)> {
    outcomes
        .into_iter()
        .map(|(id, outcome)| (id, outcome.map(|()| Nothing {})))
        .collect()
}
