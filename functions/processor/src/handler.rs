//! A batch: each record to its Update, each verdict to the queue.

use aws_lambda_events::event::sqs::SqsBatchResponse;
use penstock_batch::{Alone, Record, Time, Verdict, answer, growing_wait, run};
use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_formats::ReadError;
use penstock_formats::envelope::Envelope;
use penstock_ports::{Clock, Deliveries, Draw, Filed, Inbox, PortError, QueueSender, Subject};

use crate::cache::StateCache;
use crate::logic::Logic;
use crate::update::Delivery;

/// Receives of one message beyond which something is wrong (design section 4): a day's outage of a backend comes to about
/// 160, and after 1,000 the queue gives it up. The template's alarm counts lines with more.
const OFTEN: u32 = 300;

/// What the processor works with.
pub struct Deps<I, U, O, B, C, D> {
    /// The ledger.
    pub inbox: I,
    /// The updates queue, for the visibility of deliveries.
    pub updates: U,
    /// The outbound queue.
    pub outbound: O,
    /// What handles Updates.
    pub bot: B,
    /// The clock.
    pub clock: C,
    /// Chance.
    pub draw: D,
    /// Chat states that this instance saw lately.
    pub states: StateCache,
}

/// Handles a batch. It cannot fail as a whole: what was not handled is named in the answer.
pub async fn handle<I, U, O, B, C, D>(
    deps: &Deps<I, U, O, B, C, D>,
    records: &[Record],
    time: &impl Time,
) -> SqsBatchResponse
where
    I: Inbox,
    U: Deliveries,
    O: QueueSender,
    B: Logic,
    C: Clock,
    D: Draw,
{
    let report = run(records, &Records(deps), time, &deps.updates).await;
    answer(&report, &deps.updates).await
}

struct Records<'a, I, U, O, B, C, D>(&'a Deps<I, U, O, B, C, D>);

impl<I: Inbox, U: Deliveries, O: QueueSender, B: Logic, C: Clock, D: Draw> penstock_batch::Handler
    for Records<'_, I, U, O, B, C, D>
{
    async fn handle(&self, record: &Record, alone: &Alone) -> Verdict {
        let deps = self.0;
        if record.receive_count > OFTEN {
            tracing::error!(
                receive_count = record.receive_count,
                bot.id = BotId::of_name(&record.group).0,
                "an update was received very often: something holds it up"
            );
        }
        match Envelope::read(&record.body) {
            Ok(envelope) => Delivery::new(deps, record, &envelope).handle(alone).await,
            Err(ReadError::Newer(version)) => {
                // A newer release wrote it: it waits for the roll-forward, and no attempt is burned.
                tracing::error!(
                    version,
                    receive_count = record.receive_count,
                    "newer schema: waiting for a newer release"
                );
                Verdict::ComeBackIn(growing_wait(record.receive_count, deps.draw.draw().get()))
            }
            Err(error @ ReadError::Malformed(_)) => poison(deps, record, &error).await,
        }
    }

    async fn passed_over(&self, record: &Record, alone: &Alone) {
        if let Ok(envelope) = Envelope::read(&record.body) {
            Delivery::new(self.0, record, &envelope).passed_over(alone).await;
        }
    }
}

/// A body that is none of ours is kept for a person, and its group goes on.
async fn poison<I: Inbox, U, O, B, C: Clock, D: Draw>(
    deps: &Deps<I, U, O, B, C, D>,
    record: &Record,
    error: &ReadError,
) -> Verdict {
    let now = deps.clock.now();
    let bot_id = BotId::of_name(&record.group);
    let key = LedgerKey::quarantined(bot_id, record.body.as_bytes());
    let subject = Subject::stranger(key, bot_id, &record.group, now);
    let failure = Failure::new(
        "malformed_body",
        &error.to_string(),
        Disposition::Permanent,
        1,
        now,
    );
    match deps
        .inbox
        .file_dead(&subject, 0, &record.body, &failure, now)
        .await
    {
        Ok(Filed::Dead | Filed::Already | Filed::Done(_)) => {
            tracing::error!(bot.id = bot_id.0, key = %subject.key, "a queue body that is none of ours was parked");
            Verdict::Done
        }
        Ok(Filed::HeldUntil(until)) => Verdict::held(until.since(now)),
        Err(error) => store_away(deps, record, &error),
    }
}

/// The table or the queue is away: the record comes back, no attempt is burned.
pub(crate) fn store_away<I, U, O, B, C, D: Draw>(
    deps: &Deps<I, U, O, B, C, D>,
    record: &Record,
    error: &PortError,
) -> Verdict {
    tracing::warn!(error = %error, receive_count = record.receive_count, "a store is away: the update waits");
    Verdict::ComeBackIn(growing_wait(record.receive_count, deps.draw.draw().get()))
}

#[cfg(test)]
#[path = "handler_tests.rs"]
mod tests;
