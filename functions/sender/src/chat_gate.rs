//! The gate of one chat: a reservation by one write under the token of the gate's last change, which this instance
//! remembers, since a chat's sends mostly come to the same one. Whoever was slower is told what is there.

use std::time::Duration;

use penstock_domain::ids::BotId;
use penstock_domain::pace::{ChatGate, Pace};
use penstock_domain::time::Timestamp;
use penstock_ports::{Outbox, StoredChatGate, Swapped};

use crate::throttles::Throttles;

/// Changes tried after lost races. A chat's sends are in one message group, so that hardly anybody is there to lose to.
const TRIES: usize = 3;
/// Wait of whoever lost them all.
const LOST_WAIT: Duration = Duration::from_secs(1);

/// What a chat's gate gave to the sends of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    /// When each of the first ones goes.
    pub(crate) due: Vec<Timestamp>,
    /// How long the others wait.
    pub(crate) wait: Duration,
    /// The gate before it.
    before: ChatGate,
    /// Under which it is stored; none if nothing was reserved.
    token: Option<String>,
}

impl Held {
    fn nothing(wait: Duration) -> Self {
        Self {
            due: Vec::new(),
            wait,
            before: ChatGate::default(),
            token: None,
        }
    }
}

/// Reserves for sends to one chat. `None`: the gate cannot be reached.
#[expect(clippy::too_many_arguments, reason = "what a reservation consists of")]
pub(crate) async fn reserve<L: Outbox>(
    ledger: &L,
    throttles: &Throttles,
    bot: BotId,
    chat: &str,
    pace: Pace,
    cells: &[u32],
    token: &str,
    now: Timestamp,
) -> Option<Held> {
    let mut seen = throttles.gate(bot, chat);
    for _ in 0..TRIES {
        let reserved = seen.gate.reserve(pace, cells, token, now);
        let wait = reserved.wait.unwrap_or_default();
        if reserved.due.is_empty() {
            return Some(Held::nothing(wait));
        }
        let swapped = ledger
            .swap_chat_gate(bot, chat, seen.last.as_deref(), &reserved.next, token, now)
            .await;
        match swapped {
            Ok(Swapped::Done { hold_until }) => {
                let held = Held {
                    due: reserved.due,
                    wait,
                    before: seen.gate,
                    token: Some(token.to_owned()),
                };
                let stored = StoredChatGate {
                    gate: reserved.next,
                    last: Some(token.to_owned()),
                    hold_until,
                };
                throttles.keep_gate(bot, chat, stored);
                // No send to a held chat before its time, whoever was told of the hold.
                if let Some(until) = hold_until.filter(|until| *until > now) {
                    give_back(ledger, throttles, bot, chat, &held, now).await;
                    return Some(Held::nothing(until.since(now)));
                }
                return Some(held);
            }
            Ok(Swapped::Lost(stored)) => {
                throttles.keep_gate(bot, chat, (*stored).clone());
                seen = *stored;
            }
            Err(error) => {
                tracing::warn!(bot.id = bot.0, error = %error, "a chat's gate is away");
                return None;
            }
        }
    }
    Some(Held::nothing(LOST_WAIT))
}

/// Gives a reservation back that will not be used. One that cannot be is a place that nobody takes.
pub(crate) async fn give_back<L: Outbox>(
    ledger: &L,
    throttles: &Throttles,
    bot: BotId,
    chat: &str,
    held: &Held,
    now: Timestamp,
) {
    let Some(token) = &held.token else { return };
    let back = format!("{token}:back");
    let seen = throttles.gate(bot, chat);
    if seen.last.as_deref() != Some(token) {
        return;
    }
    let next = seen.gate.given_back(&held.before, token);
    match ledger
        .swap_chat_gate(bot, chat, Some(token), &next, &back, now)
        .await
    {
        Ok(Swapped::Done { hold_until }) => {
            let stored = StoredChatGate {
                gate: next,
                last: Some(back),
                hold_until,
            };
            throttles.keep_gate(bot, chat, stored);
        }
        Ok(Swapped::Lost(stored)) => throttles.keep_gate(bot, chat, *stored),
        Err(error) => tracing::warn!(bot.id = bot.0, error = %error, "a place in a chat was not given back"),
    }
}
