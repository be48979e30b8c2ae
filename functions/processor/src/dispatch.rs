//! Putting intents into the outbound queue. Repeating it is safe: each has its own deduplication id, and the sender
//! claims each before it sends.

use penstock_domain::ids::DeduplicationId;
use penstock_domain::intent::{Intent, IntentState};
use penstock_domain::ledger::Record;
use penstock_formats::outbound::{Origin, Outbound};
use penstock_ports::{Enqueue, PortError, QueueSender};

/// Largest outbound body, in bytes (SQS: 1 MiB), with room for the message's own attributes.
pub(crate) const MAX_MESSAGE: usize = 1024 * 1024 - 1024;

/// The messages for an Update's intents.
///
/// # Errors
/// The number of the first intent that is no JSON or too large for the queue: no retry would cure it.
pub(crate) fn messages(origin: &Origin, intents: &[(&Intent, u32)], of: u8) -> Result<Vec<Enqueue>, u8> {
    intents
        .iter()
        .map(|(intent, resend)| {
            let body = Outbound::new(origin, intent, *resend, of)
                .write()
                .map_err(|_| intent.n)?;
            if body.len() > MAX_MESSAGE {
                return Err(intent.n);
            }
            let deduplication: DeduplicationId = origin.key.intent_deduplication_id(intent.n, *resend);
            Ok(Enqueue {
                group: intent.group.clone(),
                deduplication,
                body,
            })
        })
        .collect()
}

/// Dispatches what a committed record still has `intended`.
///
/// # Errors
/// The queue's, or that a stored intent cannot become a message: never as if nothing had been open.
pub(crate) async fn dispatch_intended<Q: QueueSender>(
    outbound: &Q,
    origin: &Origin,
    record: &Record,
) -> Result<usize, PortError> {
    const OPERATION: &str = "dispatch";
    let of = u8::try_from(record.intents.len()).unwrap_or(u8::MAX);
    let open: Vec<_> = record
        .intents
        .iter()
        .filter(|stored| stored.state == IntentState::Intended)
        .map(|stored| (&stored.intent, stored.resend))
        .collect();
    let messages = messages(origin, &open, of).map_err(|_| PortError::Unreadable {
        operation: OPERATION,
        what: "intent",
    })?;
    let count = messages.len();
    if count > 0 {
        outbound.enqueue_all(messages).await?;
    }
    Ok(count)
}
