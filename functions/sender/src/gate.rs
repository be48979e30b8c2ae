//! The bot's gate: one debit a batch and bot, before its first call, shared over all instances.

use std::collections::BTreeMap;
use std::time::Duration;

use penstock_domain::ids::BotId;
use penstock_domain::method::spends_send_budget;
use penstock_domain::time::Timestamp;
use penstock_formats::outbound::Outbound;
use penstock_ports::Outbox;

/// More queue than this ahead of a batch is waited out by visibility, not here.
const MOST_AHEAD: Duration = Duration::from_secs(1);

/// Debits what the batch is about to send; gives back the bots that have to wait, with their waits. A gate that cannot
/// be reached lets the batch pass: Telegram's own 429 is still obeyed.
pub(crate) async fn debit<L: Outbox>(
    ledger: &L,
    batch: impl Iterator<Item = &Outbound>,
    now: Timestamp,
) -> BTreeMap<BotId, Duration> {
    let mut cells: BTreeMap<BotId, u32> = BTreeMap::new();
    for outbound in batch.filter(|outbound| spends_send_budget(&outbound.call.method)) {
        *cells.entry(outbound.bot_id).or_default() += 1;
    }
    let mut waits = BTreeMap::new();
    for (bot, cells) in cells {
        match ledger.debit_bot(bot, cells, now).await {
            Ok(ahead) if ahead > MOST_AHEAD => {
                waits.insert(bot, ahead);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(bot.id = bot.0, error = %error, "the bot's gate is away"),
        }
    }
    waits
}
