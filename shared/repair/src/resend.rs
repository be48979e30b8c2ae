//! Making one send again, or saying that it has arrived.

use penstock_domain::ids::{LedgerKey, UpdateId};
use penstock_domain::intent::IntentRecord;
use penstock_domain::repair::{Act, Refused, Resend, decide_resend, decide_settle};
use penstock_formats::outbound::{Origin, Outbound};
use penstock_ports::{Enqueue, Letter, QueueSender, Repairs};

use crate::edit::done;
use crate::error::RepairError;
use crate::redrive::letter;

/// A send that was made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resent {
    /// The resending that it is in now.
    pub resend: u32,
    /// Its copy was sent to the queue once more; nothing else was changed.
    pub is_repeat: bool,
}

fn find(letter: &Letter, n: u8, act: &Act) -> Result<IntentRecord, RepairError> {
    if letter.record.expires_at < act.at().as_millis().div_euclid(1000) {
        return Err(RepairError::Refused(Refused::Expired));
    }
    let mut intents = letter.record.intents.iter();
    let found = intents.find(|stored| stored.intent.n == n).cloned();
    found.ok_or(RepairError::NoSuchSend(n))
}

/// Makes a send again that failed or is unknown: the ledger first, then its copy. It may arrive a second time; whoever
/// asks for it has looked.
///
/// # Errors
/// [`RepairError`]; with [`RepairError::NotQueued`] the ledger has it.
pub async fn resend<L: Repairs, Q: QueueSender>(
    ledger: &L,
    outbound: &Q,
    key: &LedgerKey,
    n: u8,
    act: &Act,
) -> Result<Resent, RepairError> {
    let letter = letter(ledger, key).await?;
    let stored = find(&letter, n, act)?;
    let resent_at = letter.resent_at.get(&n).copied();
    let step =
        decide_resend(stored.state, stored.resend, resent_at, act.at()).map_err(RepairError::SendRefused)?;
    let message = message(&letter, &stored, step.number())?;
    if let Resend::Begin { .. } = step {
        done(ledger.resend(&letter, n, act).await)?;
    }
    outbound.enqueue(message).await.map_err(RepairError::NotQueued)?;
    Ok(Resent {
        resend: step.number(),
        is_repeat: matches!(step, Resend::Repeat { .. }),
    })
}

fn message(letter: &Letter, stored: &IntentRecord, resend: u32) -> Result<Enqueue, RepairError> {
    let origin = Origin {
        bot_id: letter.subject.bot_id,
        update_id: UpdateId(letter.subject.update_id),
        key: letter.record.key.clone(),
        redrive: letter.record.redrive,
        received_at: letter.subject.received_at,
        trace_id: letter.subject.trace_id.clone(),
    };
    let n = stored.intent.n;
    let of = u8::try_from(letter.record.intents.len()).unwrap_or(u8::MAX);
    let body = Outbound::new(&origin, &stored.intent, resend, of).write();
    Ok(Enqueue {
        group: stored.intent.group.clone(),
        deduplication: letter.record.key.intent_deduplication_id(n, resend),
        body: body.map_err(|_| RepairError::UnfitSend {
            n,
            state: stored.state,
        })?,
    })
}

/// Says of an unknown send that it has arrived.
///
/// # Errors
/// [`RepairError`] if it is not unknown.
pub async fn settle_unknown<L: Repairs>(
    ledger: &L,
    key: &LedgerKey,
    n: u8,
    act: &Act,
) -> Result<(), RepairError> {
    let letter = letter(ledger, key).await?;
    let stored = find(&letter, n, act)?;
    decide_settle(stored.state).map_err(RepairError::SendRefused)?;
    done(ledger.settle_unknown(&letter, n, act).await)
}
