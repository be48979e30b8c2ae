//! A batch: debit, then each record to its intent.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use penstock_batch::{Alone, Record, Time, Verdict, answer, growing_wait, run};
use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::{BotId, LedgerKey, MessageGroupId, chat_of_group};
use penstock_domain::intent::Call;
use penstock_domain::method::spends_send_budget;
use penstock_formats::ReadError;
use penstock_formats::outbound::Outbound;
use penstock_ports::{
    BotApi, Clock, Deliveries, Draw, Filed, Inbox, Outbox, PortError, SecretSource, Subject,
};

use crate::gate::{Turn, Wanted, turns};
use crate::send::Sending;
use crate::throttles::Throttles;

/// What the sender works with.
pub struct Deps<L, A, S, C, D> {
    /// The ledger.
    pub ledger: L,
    /// The Bot API.
    pub api: A,
    /// Bot secrets.
    pub secrets: S,
    /// The clock.
    pub clock: C,
    /// Chance.
    pub draw: D,
    /// What this instance knows of its bots' limits.
    pub throttles: Throttles,
}

/// Handles a batch of the queue that it came from. It cannot fail as a whole: what was not handled is named in the
/// answer.
pub async fn handle<L, A, S, C, D, Q>(
    deps: &Deps<L, A, S, C, D>,
    queue: &Q,
    records: Vec<Record>,
    time: &impl Time,
) -> SqsBatchResponse
where
    L: Inbox + Outbox,
    A: BotApi,
    S: SecretSource,
    C: Clock,
    D: Draw,
    Q: Deliveries,
{
    let read: BTreeMap<String, Result<Outbound, ReadError>> = records
        .iter()
        .map(|record| (record.id.clone(), Outbound::read(&record.body)))
        .collect();
    let records = sorted(records, &read);
    let now = deps.clock.now();
    let wanted = records.iter().filter_map(|record| {
        let outbound = read.get(&record.id)?.as_ref().ok()?;
        // One that is put off has no turn yet.
        let is_due = outbound.call.not_before.is_none_or(|at| at <= now);
        (is_due && spends_send_budget(&outbound.call.method)).then(|| Wanted {
            id: record.id.clone(),
            bot: outbound.bot_id,
            chat: chat_of_group(&MessageGroupId(record.group.clone())).to_owned(),
            cells: messages_of(&outbound.call),
            receive_count: record.receive_count,
        })
    });
    let turns = turns(&deps.ledger, &deps.throttles, &deps.draw, wanted.collect(), now).await;
    let report = run(
        &records,
        &Records {
            deps,
            read: &read,
            turns: &turns,
        },
        time,
        queue,
    )
    .await;
    answer(&report, queue).await
}

/// A dispatch that was repeated may have put intents in out of their order: those of one Update are sorted by their
/// number. Updates stay as the queue has them: their ids may fall. So does what a person has sent again: before the head
/// of its group it would pass the hold that the head waits out.
fn sorted(mut records: Vec<Record>, read: &BTreeMap<String, Result<Outbound, ReadError>>) -> Vec<Record> {
    let outbound = |record: &Record| read.get(&record.id).and_then(|read| read.as_ref().ok());
    let mut first_of: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut place_of = BTreeMap::new();
    for (index, record) in records.iter().enumerate() {
        let place = match outbound(record) {
            Some(outbound) if outbound.resend == 0 => {
                let update = (record.group.clone(), outbound.key.as_str().to_owned());
                (*first_of.entry(update).or_insert(index), outbound.n)
            }
            Some(_) | None => (index, 0),
        };
        place_of.insert(record.id.clone(), place);
    }
    records.sort_by(|a, b| {
        let place = |record: &Record| place_of.get(&record.id).copied();
        a.group.cmp(&b.group).then_with(|| place(a).cmp(&place(b)))
    });
    records
}

/// Messages that a call comes to: an album and what is copied or forwarded together are several (design section 5).
fn messages_of(call: &Call) -> u32 {
    let several = match call.method.as_str() {
        "sendMediaGroup" => "media",
        "copyMessages" | "forwardMessages" => "message_ids",
        _ => return 1,
    };
    let params: serde_json::Value = serde_json::from_str(&call.params).unwrap_or_default();
    let count = params[several].as_array().map_or(1, Vec::len);
    u32::try_from(count.max(1)).unwrap_or(u32::MAX)
}

struct Records<'a, L, A, S, C, D> {
    deps: &'a Deps<L, A, S, C, D>,
    read: &'a BTreeMap<String, Result<Outbound, ReadError>>,
    turns: &'a BTreeMap<String, Turn>,
}

impl<L, A, S, C: Clock, D: Draw> Records<'_, L, A, S, C, D> {
    /// Waits for a send's turn; gives back the wait of one that has none in this delivery. Waiters of a hold that came
    /// up meanwhile are spread over as much again, so that they don't all come back in one instant.
    async fn turn(&self, record: &Record, outbound: &Outbound) -> Result<(), Duration> {
        match self.turns.get(&record.id) {
            None => return Ok(()),
            Some(Turn::Later(wait)) => return Err(*wait),
            Some(Turn::At(due)) => {
                let wait = due.since(self.deps.clock.now());
                if !wait.is_zero() {
                    tokio::time::sleep(self.deps.clock.real(wait)).await;
                }
            }
        }
        match self
            .deps
            .throttles
            .held_for(outbound.bot_id, self.deps.clock.now())
        {
            Some(held) => Err(held + held.mul_f64(self.deps.draw.draw().get())),
            None => Ok(()),
        }
    }
}

impl<L: Inbox + Outbox, A: BotApi, S: SecretSource, C: Clock, D: Draw> penstock_batch::Handler
    for Records<'_, L, A, S, C, D>
{
    async fn handle(&self, record: &Record, _alone: &Alone) -> Verdict {
        match self.read.get(&record.id) {
            Some(Ok(outbound)) => match self.turn(record, outbound).await {
                Err(wait) => Verdict::held(wait),
                Ok(()) => {
                    Sending {
                        deps: self.deps,
                        record,
                        outbound,
                    }
                    .handle()
                    .await
                }
            },
            Some(Err(ReadError::Newer(version))) => {
                tracing::error!(
                    version,
                    receive_count = record.receive_count,
                    "newer schema: waiting for a newer release"
                );
                Verdict::ComeBackIn(growing_wait(record.receive_count, self.deps.draw.draw().get()))
            }
            Some(Err(error @ ReadError::Malformed(_))) => {
                park(
                    self.deps,
                    record,
                    BotId::of_name(&record.group),
                    "malformed_body",
                    &error.to_string(),
                )
                .await
            }
            None => Verdict::ComeBackIn(Duration::ZERO),
        }
    }
}

/// Keeps a body that nothing can vouch for, for a person.
pub(crate) async fn park<L: Inbox, A, S, C: Clock, D: Draw>(
    deps: &Deps<L, A, S, C, D>,
    record: &Record,
    bot_id: BotId,
    code: &str,
    message: &str,
) -> Verdict {
    let now = deps.clock.now();
    let key = LedgerKey::quarantined(bot_id, record.body.as_bytes());
    let subject = Subject::stranger(key, bot_id, &record.group, now);
    let failure = Failure::new(code, message, Disposition::Permanent, 1, now);
    match deps
        .ledger
        .file_dead(&subject, 0, &record.body, &failure, now)
        .await
    {
        Ok(Filed::Dead | Filed::Already | Filed::Done(_)) => {
            tracing::error!(bot.id = bot_id.0, code, key = %subject.key, "an outbound body was parked");
            Verdict::Done
        }
        Ok(Filed::HeldUntil(until)) => Verdict::held(until.since(now)),
        Err(error) => store_away(deps, record, &error),
    }
}

/// The table is away: the record comes back, no attempt is burned.
pub(crate) fn store_away<L, A, S, C, D: Draw>(
    deps: &Deps<L, A, S, C, D>,
    record: &Record,
    error: &PortError,
) -> Verdict {
    tracing::warn!(error = %error, receive_count = record.receive_count, "the table is away: the send waits");
    Verdict::ComeBackIn(growing_wait(record.receive_count, deps.draw.draw().get()))
}

#[cfg(test)]
#[path = "handler_tests.rs"]
mod tests;
