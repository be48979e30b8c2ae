//! The gates before a batch's first call, shared over all instances: each chat's, then the bot's. A chat's reservation
//! that the bot's gate has no place for is given back. A gate that cannot be reached lets its sends pass: Telegram's own
//! 429 is still obeyed.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use penstock_domain::ids::BotId;
use penstock_domain::pace::Pace;
use penstock_domain::throttle::CELL;
use penstock_domain::time::Timestamp;
use penstock_ports::{Debit, Draw, Outbox};

use crate::chat_gate::{self, Held};
use crate::throttles::Throttles;

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
    /// The chat, as its gate is kept.
    pub(crate) chat: String,
    /// Messages that it comes to.
    pub(crate) cells: u32,
    pub(crate) receive_count: u32,
}

/// Sends to one chat, in their order.
struct ToChat {
    bot: BotId,
    chat: String,
    sends: Vec<Wanted>,
    /// What its gate gave them.
    held: Option<Held>,
}

/// Asks the gates for what a batch is about to send.
pub(crate) async fn turns<L: Outbox, D: Draw>(
    ledger: &L,
    throttles: &Throttles,
    draw: &D,
    wanted: Vec<Wanted>,
    now: Timestamp,
) -> BTreeMap<String, Turn> {
    let reserved = by_chat(wanted).into_iter().map(|mut to| async {
        to.held = at_chat(ledger, throttles, &to, now).await;
        to
    });
    let mut by_bot: BTreeMap<BotId, Vec<ToChat>> = BTreeMap::new();
    for to in join_all(reserved).await {
        by_bot.entry(to.bot).or_default().push(to);
    }
    let mut turns = BTreeMap::new();
    for (bot, chats) in by_bot {
        let cells: u32 = chats.iter().map(ToChat::cells).sum();
        let debit = match cells {
            0 => Ok(Debit::Reserved {
                ahead: Duration::ZERO,
            }),
            cells => ledger.debit_bot(bot, cells, now).await,
        };
        let debit = debit
            .inspect_err(|error| tracing::warn!(bot.id = bot.0, error = %error, "the bot's gate is away"))
            .ok();
        let mut behind = 0;
        for to in chats {
            if matches!(debit, Some(Debit::Full { .. }))
                && let Some(held) = &to.held
            {
                chat_gate::give_back(ledger, throttles, bot, &to.chat, held, now).await;
            }
            for (place, send) in to.sends.iter().enumerate() {
                if let Some(turn) = to.turn(place, send, debit, behind, draw, now) {
                    turns.insert(send.id.clone(), turn);
                }
                if to.goes(place) {
                    behind += send.cells;
                }
            }
        }
    }
    turns
}

fn by_chat(wanted: Vec<Wanted>) -> Vec<ToChat> {
    let mut chats: BTreeMap<(BotId, String), Vec<Wanted>> = BTreeMap::new();
    for send in wanted {
        chats.entry((send.bot, send.chat.clone())).or_default().push(send);
    }
    chats
        .into_iter()
        .map(|((bot, chat), sends)| ToChat {
            bot,
            chat,
            sends,
            held: None,
        })
        .collect()
}

/// What the chat's own gate says; `None` if it is not asked. A single send to a private chat is not worth a write: what
/// comes so seldom is let through by Telegram, or driven by its 429 (design section 5).
async fn at_chat<L: Outbox>(ledger: &L, throttles: &Throttles, to: &ToChat, now: Timestamp) -> Option<Held> {
    let pace = Pace::of(&to.chat)?;
    let is_worth_it = pace == Pace::Group || to.sends.len() > 1 || throttles.is_ahead(to.bot, &to.chat, now);
    if !is_worth_it {
        return None;
    }
    let cells: Vec<u32> = to.sends.iter().map(|send| send.cells).collect();
    let first = to.sends.first()?;
    let token = format!("{}:{}:{now}", first.id, first.receive_count);
    chat_gate::reserve(ledger, throttles, to.bot, &to.chat, pace, &cells, &token, now).await
}

impl ToChat {
    /// Whether the chat's gate lets that one go.
    fn goes(&self, place: usize) -> bool {
        self.held.as_ref().is_none_or(|held| place < held.due.len())
    }

    /// Messages that its gate lets go.
    fn cells(&self) -> u32 {
        let going = self
            .sends
            .iter()
            .enumerate()
            .filter(|(place, _)| self.goes(*place));
        going.map(|(_, send)| send.cells).sum()
    }

    /// The turn of its send at that place, with so many of the batch's messages before it.
    fn turn<D: Draw>(
        &self,
        place: usize,
        send: &Wanted,
        debit: Option<Debit>,
        behind: u32,
        draw: &D,
        now: Timestamp,
    ) -> Option<Turn> {
        let due = match &self.held {
            Some(held) => match held.due.get(place) {
                Some(due) => Some(*due),
                // Its group is alone with it: there is nobody to be spread among.
                None => return Some(Turn::Later(held.wait)),
            },
            None => None,
        };
        Some(match debit {
            Some(Debit::Reserved { ahead }) => {
                let at = now + ahead + CELL * behind;
                Turn::At(due.map_or(at, |due| due.max(at)))
            }
            Some(Debit::Full { ahead }) => Turn::Later(ahead + spread(send.receive_count, draw)),
            None => Turn::At(due?),
        })
    }
}

/// The longer something has waited, the wider its waits are spread: what a long queue asks for in vain stays small.
fn spread<D: Draw>(receive_count: u32, draw: &D) -> Duration {
    let widest = Duration::from_secs(u64::from((1 + receive_count / 4).min(WIDEST_SPREAD)));
    widest.mul_f64(draw.draw().get())
}
