//! The bot's gate: one debit a batch and bot, before its first call, shared over all instances.

use std::collections::BTreeMap;
use std::time::Duration;

use penstock_batch::Record;
use penstock_domain::ids::BotId;
use penstock_domain::method::spends_send_budget;
use penstock_domain::time::Timestamp;
use penstock_formats::outbound::Outbound;
use penstock_ports::Outbox;

/// More queue than this ahead of a batch is waited out by visibility, not here.
const MOST_AHEAD: Duration = Duration::from_secs(1);

/// Whether this delivery is debited, and so may have to wait: a send, at its first delivery.
///
/// A debit is kept while the send waits for its turn. Were every delivery debited, those that come back from waiting
/// would queue up behind each other for ever, and under a steady load nothing would be sent any more. The price: a
/// repeat of a failed call is not counted; its 429s are obeyed.
pub(crate) fn is_debited(record: &Record, outbound: &Outbound) -> bool {
    record.receive_count <= 1 && spends_send_budget(&outbound.call.method)
}

/// Debits what the batch is about to send; gives back the bots whose debited sends have to wait, with their waits. A
/// gate that cannot be reached lets the batch pass: Telegram's own 429 is still obeyed.
pub(crate) async fn debit<L: Outbox>(
    ledger: &L,
    debited: impl Iterator<Item = BotId>,
    now: Timestamp,
) -> BTreeMap<BotId, Duration> {
    let mut cells: BTreeMap<BotId, u32> = BTreeMap::new();
    for bot in debited {
        *cells.entry(bot).or_default() += 1;
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
