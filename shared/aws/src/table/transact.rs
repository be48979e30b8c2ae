//! The transaction of an outcome: the Update's record first, then the chat's state, the bot's own records and the rows
//! of big intents. What cancelled it is read part by part.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use penstock_domain::time::Timestamp;
use penstock_ports::{Commit, PortError, RunAs, StateWrite, Subject};

use super::data::data_item;
use super::expression::{Write, request_token};
use super::{ITEM_VERSION, Item, Ledger, chat_pk, item};
use crate::error::port_error;
use crate::hooks::point;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        point("ledger.commit.before");
        let answer = self
            .client
            .transact_write_items()
            .set_transact_items(Some(items))
            .client_request_token(request_token(&format!("{run:?}|{commit:?}|{now}")))
            .send()
            .await;
        point("ledger.commit.after");
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

/// Reads a cancelled transaction.
fn cancelled(
    operation: &'static str,
    places: &[Part],
    error: SdkError<TransactWriteItemsError, HttpResponse>,
) -> Result<Refused, PortError> {
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error()
    else {
        return Err(port_error(operation, error));
    };
    let reasons = cancelled.cancellation_reasons();
    let codes: Vec<_> = places
        .iter()
        .copied()
        .zip(reasons.iter().map(|reason| reason.code().unwrap_or(NO_REASON)))
        .collect();
    match meaning(&codes) {
        Meaning::Ledger => Ok(Refused::Ledger(
            reasons.first().and_then(|reason| reason.item().cloned()),
        )),
        Meaning::State => Ok(Refused::State),
        Meaning::Data(n) => Ok(Refused::Data(n)),
        Meaning::NeverTaken(code) => Err(PortError::Rejected {
            operation,
            code,
            source: Box::new(error),
        }),
        Meaning::NotNow(code) => Err(PortError::Unavailable { operation, code }),
    }
}

/// The code of an item that did not refuse.
const NO_REASON: &str = "None";

/// What the reasons of a cancelled transaction come to.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    Ledger,
    State,
    Data(usize),
    NeverTaken(String),
    NotNow(String),
}

/// Reads the reasons, one for each item. The Update's record comes first: who lost it has no say about the rest. Then
/// what no repeat would cure. Two transactions that met at the chat's state or at a record are a changed state: what was
/// read is read anew.
fn meaning(codes: &[(Part, &str)]) -> Meaning {
    let find = |wanted: &str| {
        codes
            .iter()
            .find(|(_, code)| *code == wanted)
            .map(|(part, _)| *part)
    };
    if let Some((Part::Ledger, "ConditionalCheckFailed")) = codes.first() {
        return Meaning::Ledger;
    }
    if let Some((_, code)) = codes
        .iter()
        .find(|(_, code)| ["ValidationError", "ItemCollectionSizeLimitExceeded"].contains(code))
    {
        return Meaning::NeverTaken((*code).to_owned());
    }
    match find("ConditionalCheckFailed") {
        Some(Part::State) => return Meaning::State,
        Some(Part::Data(n)) => return Meaning::Data(n),
        // The record was the first; rows have no condition.
        Some(Part::Ledger | Part::Row) | None => {}
    }
    match find("TransactionConflict") {
        Some(Part::State | Part::Data(_)) => return Meaning::State,
        Some(Part::Ledger | Part::Row) | None => {}
    }
    let code = codes
        .iter()
        .map(|(_, code)| *code)
        .find(|code| *code != NO_REASON);
    Meaning::NotNow(code.unwrap_or("TransactionCanceled").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_of_a_cancelled_transaction_has_one_meaning() {
        const REFUSED: &str = "ConditionalCheckFailed";
        const CONFLICT: &str = "TransactionConflict";
        let not_now = |code: &str| Meaning::NotNow(code.to_owned());
        let never = || Meaning::NeverTaken("ValidationError".to_owned());
        for (codes, expected) in [
            ([REFUSED, "None", "None", "None"], Meaning::Ledger),
            ([REFUSED, REFUSED, REFUSED, "None"], Meaning::Ledger),
            ([REFUSED, "None", "ValidationError", "None"], Meaning::Ledger),
            (["None", REFUSED, REFUSED, "None"], Meaning::State),
            (["None", "None", REFUSED, "None"], Meaning::Data(0)),
            (["None", "None", REFUSED, "ValidationError"], never()),
            (["ValidationError", "None", "None", "None"], never()),
            (["None", CONFLICT, "None", "None"], Meaning::State),
            (["None", "None", CONFLICT, "None"], Meaning::State),
            ([CONFLICT, "None", "None", "None"], not_now(CONFLICT)),
            (
                ["None", "ThrottlingError", "None", "None"],
                not_now("ThrottlingError"),
            ),
            (
                ["None", "None", "None", "ProvisionedThroughputExceeded"],
                not_now("ProvisionedThroughputExceeded"),
            ),
            (["None"; 4], not_now("TransactionCanceled")),
        ] {
            let places = [Part::Ledger, Part::State, Part::Data(0), Part::Row];
            let given: Vec<_> = places.into_iter().zip(codes).collect();
            assert_eq!(meaning(&given), expected, "{codes:?}");
        }
    }
}
