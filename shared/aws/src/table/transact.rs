//! The transaction of an outcome: the Update's record first, then the chat's state, the bot's own records and the rows
//! of big intents. What cancelled it is read part by part.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, Put, TransactWriteItem};
use penstock_domain::time::Timestamp;
use penstock_ports::{Commit, PortError, RunAs, StateWrite, Subject};
use sha2::{Digest as _, Sha256};

use super::data::data_item;
use super::expression::Write;
use super::{ITEM_VERSION, Item, Ledger, chat_pk, item};
use crate::error::port_error;

/// What refused an outcome.
pub(crate) enum Refused {
    /// The Update's record, as it is.
    Ledger(Option<Item>),
    /// The version of the chat's state.
    State,
    /// A write of the bot's own.
    Data(usize),
}

/// Whose part of the transaction an item is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Ledger,
    State,
    Data(usize),
    Row,
}

impl Ledger {
    /// Sends the transaction; what refused it, if something did.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one transaction, each used once"
    )]
    pub(crate) async fn transact(
        &self,
        operation: &'static str,
        subject: &Subject,
        run: &RunAs,
        commit: &Commit,
        outcome: Write,
        rows: Vec<Item>,
        now: Timestamp,
    ) -> Result<Option<Refused>, PortError> {
        let table = self.table.as_ref();
        let parts =
            parts(table, subject, commit, outcome, rows, now).map_err(|error| PortError::Rejected {
                operation,
                code: "construction".to_owned(),
                source: Box::new(error),
            })?;
        let (places, items): (Vec<Part>, Vec<TransactWriteItem>) = parts.into_iter().unzip();
        let answer = self
            .client
            .transact_write_items()
            .set_transact_items(Some(items))
            .client_request_token(request_token(run, commit, now))
            .send()
            .await;
        match answer {
            Ok(_) => Ok(None),
            Err(error) => cancelled(operation, &places, error).map(Some),
        }
    }
}

fn parts(
    table: &str,
    subject: &Subject,
    commit: &Commit,
    outcome: Write,
    rows: Vec<Item>,
    now: Timestamp,
) -> Result<Vec<(Part, TransactWriteItem)>, BuildError> {
    let empty = TransactWriteItem::builder;
    let mut parts = vec![(
        Part::Ledger,
        empty().update(outcome.into_transact(table)?).build(),
    )];
    if let Some(state) = &commit.state {
        let put = state_put(table, subject, state, now)?;
        parts.push((Part::State, empty().put(put).build()));
    }
    for (n, write) in commit.writes.iter().enumerate() {
        parts.push((Part::Data(n), data_item(table, subject, write, now)?));
    }
    for row in rows {
        let put = Put::builder().table_name(table).set_item(Some(row)).build()?;
        parts.push((Part::Row, empty().put(put).build()));
    }
    Ok(parts)
}

fn state_put(table: &str, subject: &Subject, state: &StateWrite, now: Timestamp) -> Result<Put, BuildError> {
    let put = Put::builder().table_name(table).set_item(Some(item::m([
        ("pk", item::s(chat_pk(subject.bot_id, &state.chat))),
        ("sk", item::s("STATE")),
        ("v", item::n(ITEM_VERSION)),
        ("version", item::n(state.read_version + 1)),
        ("state", item::s(&state.state)),
        ("updated_at", item::n(now)),
    ])));
    if state.read_version == 0 {
        return put.condition_expression("attribute_not_exists(pk)").build();
    }
    put.condition_expression("#version = :read")
        .expression_attribute_names("#version", "version")
        .expression_attribute_values(":read", item::n(state.read_version))
        .build()
}

/// The same for a repeat of the same write, different for any other: DynamoDB refuses a token that it has seen with
/// other parameters, the time included. At most 36 characters.
fn request_token(run: &RunAs, commit: &Commit, now: Timestamp) -> String {
    let text = format!("{run:?}|{commit:?}|{now}");
    Sha256::digest(text.as_bytes())[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Reads a cancelled transaction. The Update's record comes first: whoever lost it has no say about the rest.
fn cancelled(
    operation: &'static str,
    places: &[Part],
    error: SdkError<TransactWriteItemsError, HttpResponse>,
) -> Result<Refused, PortError> {
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error()
    else {
        return Err(port_error(operation, error));
    };
    let code = |reason: &CancellationReason| reason.code().unwrap_or("None").to_owned();
    let reasons: Vec<(Part, &CancellationReason)> = places
        .iter()
        .copied()
        .zip(cancelled.cancellation_reasons())
        .collect();
    let refused = reasons
        .iter()
        .find(|(_, reason)| code(reason) == "ConditionalCheckFailed");
    match refused {
        Some((Part::Ledger, reason)) => return Ok(Refused::Ledger(reason.item().cloned())),
        Some((Part::State, _)) => return Ok(Refused::State),
        Some((Part::Data(n), _)) => return Ok(Refused::Data(*n)),
        // Rows have no condition.
        Some((Part::Row, _)) | None => {}
    }
    let other = reasons
        .iter()
        .map(|(_, reason)| code(reason))
        .find(|code| code != "None")
        .unwrap_or_else(|| "TransactionCanceled".to_owned());
    // Items that are too large are a validation error; everything else (TransactionConflict, throttling) is for now.
    if other == "ValidationError" || other == "ItemCollectionSizeLimitExceeded" {
        return Err(PortError::Rejected {
            operation,
            code: other,
            source: Box::new(error),
        });
    }
    Err(PortError::Unavailable {
        operation,
        code: other,
    })
}
