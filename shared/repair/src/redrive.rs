//! Redriving one Update: planned first, so that it can be shown before it is done.
//!
//! ```text
//! read record and body ──> decide ──Begin──> write `pending` and audit ──> send copy `{key}:r{n}`
//!                             └────Repeat────────────────────────────────────^   (no write, no second audit row)
//! ```
//! A crash between write and copy leaves `pending`, which listings show after a minute, and which is then repeated.

use penstock_domain::ids::LedgerKey;
use penstock_domain::repair::{Act, Redrive, decide_redrive};
use penstock_domain::time::Timestamp;
use penstock_formats::redriven::{Kept, redriven};
use penstock_ports::{Enqueue, Letter, QueueSender, Repaired, Repairs};

use crate::error::RepairError;

/// Longest message (SQS: 1 MiB), with room for its attributes.
pub(crate) const MAX_MESSAGE: usize = 1024 * 1024 - 1024;
/// How often a redrive that met somebody else's is decided anew.
const MAX_LOOKS: usize = 3;

/// A redrive that is allowed now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    letter: Letter,
    step: Redrive,
    message: Enqueue,
}

impl Planned {
    /// The record that it is about.
    #[must_use]
    pub fn letter(&self) -> &Letter {
        &self.letter
    }

    /// What it does.
    #[must_use]
    pub fn step(&self) -> Redrive {
        self.step
    }
}

/// A redrive that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redriven {
    /// The generation that it is in now.
    pub generation: u32,
    /// Its copy was sent once more; nothing else was changed.
    pub is_repeat: bool,
}

/// The message of an Update in a generation.
pub(crate) fn message(letter: &Letter, raw: &str, generation: u32) -> Result<Enqueue, RepairError> {
    let subject = &letter.subject;
    let kept = Kept {
        bot_id: subject.bot_id,
        key: &letter.record.key,
        received_at: subject.received_at,
        trace_id: &subject.trace_id,
        digest: letter.record.digest,
        raw,
    };
    let body = redriven(&kept, generation).map_err(RepairError::UnfitBody)?;
    if body.len() > MAX_MESSAGE {
        return Err(RepairError::TooLong(body.len()));
    }
    Ok(Enqueue {
        group: subject.group.clone(),
        deduplication: letter.record.key.deduplication_id(generation),
        body,
    })
}

/// Reads a record.
///
/// # Errors
/// [`RepairError::NotFound`], or the ledger's.
pub(crate) async fn letter<L: Repairs>(ledger: &L, key: &LedgerKey) -> Result<Letter, RepairError> {
    let found = ledger.letter(key).await.map_err(RepairError::Store)?;
    found.ok_or_else(|| RepairError::NotFound(key.clone()))
}

/// What redriving an Update would do now. Writes nothing.
///
/// # Errors
/// [`RepairError`] if it cannot be redriven.
pub async fn plan<L: Repairs>(ledger: &L, key: &LedgerKey, now: Timestamp) -> Result<Planned, RepairError> {
    let letter = letter(ledger, key).await?;
    let step = decide_redrive(&letter.seen(), now).map_err(RepairError::Refused)?;
    let raw = ledger.body(key).await.map_err(RepairError::Store)?;
    let message = message(&letter, &raw.ok_or(RepairError::NoBody)?, step.generation())?;
    Ok(Planned {
        letter,
        step,
        message,
    })
}

/// Redrives an Update: the ledger first, then its copy.
///
/// # Errors
/// [`RepairError`]; with [`RepairError::NotQueued`] the ledger has it.
pub async fn carry_out<L: Repairs, Q: QueueSender>(
    ledger: &L,
    updates: &Q,
    mut planned: Planned,
    act: &Act,
) -> Result<Redriven, RepairError> {
    let mut looks = 0;
    while let Redrive::Begin { .. } = planned.step {
        let repaired = ledger
            .redrive(&planned.letter, act)
            .await
            .map_err(RepairError::Store)?;
        if repaired == Repaired::Done {
            break;
        }
        looks += 1;
        if looks == MAX_LOOKS {
            return Err(RepairError::Changed);
        }
        planned = plan(ledger, &planned.letter.record.key, act.at()).await?;
    }
    let is_repeat = matches!(planned.step, Redrive::Repeat { .. });
    updates
        .enqueue(planned.message)
        .await
        .map_err(RepairError::NotQueued)?;
    Ok(Redriven {
        generation: planned.step.generation(),
        is_repeat,
    })
}
