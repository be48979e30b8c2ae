//! The bot's gate: one debit a batch and bot, before its first call, shared over all instances.

use std::collections::BTreeMap;
use std::time::Duration;

use penstock_domain::ids::BotId;
use penstock_domain::throttle::CELL;
use penstock_domain::time::Timestamp;
use penstock_ports::{Debit, Draw, Outbox};

/// Over how many seconds those that wait are spread at the most. More would leave the gate idle when few are left.
const WIDEST_SPREAD: u32 = 8;

/// When a send has its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// At this instant, at most the gate's horizon and a batch's own sends from the debit; the function waits it out. No
    /// wait from when it is looked at: the sends of one chat come one after the other, and their waits would add up.
    At(Timestamp),
    /// Not in this delivery: nothing is reserved, it asks again after this wait.
    Later(Duration),
}

/// A send that wants a turn.
pub(crate) struct Wanted {
    pub(crate) id: String,
    pub(crate) bot: BotId,
    pub(crate) receive_count: u32,
}

/// Asks the gates for what a batch is about to send. A gate that cannot be reached lets its sends pass: Telegram's own
/// 429 is still obeyed.
pub(crate) async fn turns<L: Outbox, D: Draw>(
    ledger: &L,
    draw: &D,
    wanted: Vec<Wanted>,
    now: Timestamp,
) -> BTreeMap<String, Turn> {
    let mut by_bot: BTreeMap<BotId, Vec<Wanted>> = BTreeMap::new();
    for send in wanted {
        by_bot.entry(send.bot).or_default().push(send);
    }
    let mut turns = BTreeMap::new();
    for (bot, sends) in by_bot {
        let cells = u32::try_from(sends.len()).unwrap_or(u32::MAX);
        let debit = match ledger.debit_bot(bot, cells, now).await {
            Ok(debit) => debit,
            Err(error) => {
                tracing::warn!(bot.id = bot.0, error = %error, "the bot's gate is away");
                continue;
            }
        };
        for (place, send) in (0_u32..).zip(sends) {
            let turn = match debit {
                Debit::Reserved { ahead } => Turn::At(now + ahead + CELL * place),
                Debit::Full { ahead } => Turn::Later(ahead + spread(send.receive_count, draw)),
            };
            turns.insert(send.id, turn);
        }
    }
    turns
}

/// The longer something has waited, the wider its waits are spread: what a long queue asks for in vain stays small.
fn spread<D: Draw>(receive_count: u32, draw: &D) -> Duration {
    let widest = Duration::from_secs(u64::from((1 + receive_count / 4).min(WIDEST_SPREAD)));
    widest.mul_f64(draw.draw().get())
}
