//! Changing the body of a dead letter, and closing one.

use penstock_domain::ids::{LedgerKey, UpdateDigest};
use penstock_domain::repair::{Act, decide_discard, decide_edit, fit};
use penstock_domain::time::Timestamp;
use penstock_ports::{Letter, Repaired, Repairs};

use crate::error::RepairError;
use crate::redrive::{letter, message};

/// A dead letter whose body may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Editable {
    letter: Letter,
    raw: String,
}

impl Editable {
    /// The body as it is. Personal data.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Whether that body may take its place: same id, kind and chat, and short enough for the queue.
    ///
    /// # Errors
    /// [`RepairError`] if not.
    pub fn check(&self, new: &str) -> Result<(), RepairError> {
        let subject = &self.letter.subject;
        fit(&self.raw, new, subject.update_id, subject.kind, &subject.group).map_err(RepairError::Misfit)?;
        message(&self.letter, new, self.letter.record.redrive + 1).map(|_| ())
    }
}

/// Reads a dead letter whose body may be changed.
///
/// # Errors
/// [`RepairError`] if it may not.
pub async fn editable<L: Repairs>(
    ledger: &L,
    key: &LedgerKey,
    now: Timestamp,
) -> Result<Editable, RepairError> {
    let letter = letter(ledger, key).await?;
    decide_edit(&letter.seen(), now).map_err(RepairError::Refused)?;
    let raw = ledger.body(key).await.map_err(RepairError::Store)?;
    Ok(Editable {
        letter,
        raw: raw.ok_or(RepairError::NoBody)?,
    })
}

/// Changes the body.
///
/// # Errors
/// [`RepairError`]; [`RepairError::Changed`] if it is not as it was read any more.
pub async fn edit<L: Repairs>(
    ledger: &L,
    editable: &Editable,
    new: &str,
    act: &Act,
) -> Result<(), RepairError> {
    editable.check(new)?;
    let before = UpdateDigest::of(editable.raw.as_bytes());
    done(ledger.edit(&editable.letter, before, new.trim(), act).await)
}

/// Closes a dead letter.
///
/// # Errors
/// [`RepairError`]; [`RepairError::Changed`] if somebody else touched it in the same moment.
pub async fn discard<L: Repairs>(ledger: &L, key: &LedgerKey, act: &Act) -> Result<(), RepairError> {
    let letter = letter(ledger, key).await?;
    decide_discard(&letter.seen(), act.at()).map_err(RepairError::Refused)?;
    done(ledger.discard(&letter, act).await)
}

pub(crate) fn done(answer: Result<Repaired, penstock_ports::PortError>) -> Result<(), RepairError> {
    match answer.map_err(RepairError::Store)? {
        Repaired::Done => Ok(()),
        Repaired::Changed => Err(RepairError::Changed),
    }
}
