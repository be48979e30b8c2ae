//! How fast one chat may be written to: a private chat by rate and burst, a group or channel by a sliding log of its last
//! sends. Pure; whoever stores the gate does so under the token of its last change.
//!
//! A reservation exists only within [`HORIZON`]: whoever would wait longer takes nothing and asks again.

use std::time::Duration;

use crate::gcra::Gcra;
use crate::time::Timestamp;

/// How far ahead a send may be reserved (design section 5: 1 s, waited out in the function).
pub const HORIZON: Duration = Duration::from_secs(1);
/// A private chat: one message a second (Bot API FAQ), with a twentieth to spare for jitter on the way.
const PRIVATE_INTERVAL: Duration = Duration::from_millis(1_050);
/// So many at once in a private chat (design section 5; the FAQ tolerates short bursts).
const PRIVATE_BURST: u32 = 3;
/// A group or channel: so many messages (Bot API FAQ: 20 a minute)
pub const GROUP_SENDS: u32 = 20;
/// in any time of this length. Half a second more than a minute, for jitter on the way (design section 5).
pub const GROUP_WINDOW: Duration = Duration::from_millis(60_500);

/// By which rule a chat is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// A private chat.
    Private,
    /// A group, a supergroup or a channel.
    Group,
}

impl Pace {
    /// The rule for a chat as gates are kept by it ([`crate::ids::chat_of_group`]); `None` for what is no chat.
    #[must_use]
    pub fn of(chat: &str) -> Option<Self> {
        // A business connection's chat is private; its id stands behind the connection's.
        if let Some(business) = chat.strip_prefix("b:") {
            return business
                .rsplit_once(':')
                .and_then(|(_, id)| id.parse::<i64>().ok())
                .map(|_| Self::Private);
        }
        match chat.parse::<i64>() {
            Ok(id) if id > 0 => Some(Self::Private),
            Ok(_) => Some(Self::Group),
            // Only what is public has a name: a group or a channel.
            Err(_) => chat.starts_with('@').then_some(Self::Group),
        }
    }
}

/// One send of a group's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// When it goes.
    pub at: Timestamp,
    /// Whose reservation it was.
    pub token: String,
    /// Messages that it comes to: an album is several.
    pub cells: u32,
}

/// What is known of the sends to one chat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChatGate {
    /// Theoretical arrival time of a private chat's rate.
    pub tat: Option<Timestamp>,
    /// A group's last sends, oldest first.
    pub log: Vec<Logged>,
}

/// What became of sends that want to go, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserved {
    /// The gate with them in it.
    pub next: ChatGate,
    /// When each of the first ones goes: not before now, at most [`HORIZON`] later.
    pub due: Vec<Timestamp>,
    /// How long the first of the others waits; none if all go.
    pub wait: Option<Duration>,
}

impl ChatGate {
    /// Reserves as many of the sends as may go within the horizon. `cells` is what each comes to.
    #[must_use]
    pub fn reserve(&self, pace: Pace, cells: &[u32], token: &str, now: Timestamp) -> Reserved {
        let mut next = self.clone();
        next.log.retain(|sent| sent.at + GROUP_WINDOW > now);
        let mut due = Vec::new();
        let mut wait = None;
        let mut earliest = now;
        for cells in cells {
            let at = match pace {
                Pace::Private => next.private_at(earliest),
                Pace::Group => next.group_at((*cells).min(GROUP_SENDS), earliest),
            };
            if at.since(now) > HORIZON {
                wait = Some(at.since(now));
                break;
            }
            match pace {
                Pace::Private => {
                    next.tat = Some(next.tat.map_or(at, |tat| tat.max(at)) + PRIVATE_INTERVAL * *cells)
                }
                Pace::Group => next.log.push(Logged {
                    at,
                    token: token.to_owned(),
                    cells: (*cells).min(GROUP_SENDS),
                }),
            }
            earliest = at;
            due.push(at);
        }
        Reserved { next, due, wait }
    }

    fn private_at(&self, earliest: Timestamp) -> Timestamp {
        let tolerance = Gcra {
            interval: PRIVATE_INTERVAL,
            tolerance: PRIVATE_INTERVAL * (PRIVATE_BURST - 1),
        }
        .tolerance;
        self.tat.map_or(earliest, |tat| (tat - tolerance).max(earliest))
    }

    /// The first instant at which the window that ends there has room for so many.
    fn group_at(&self, cells: u32, earliest: Timestamp) -> Timestamp {
        let mut at = earliest;
        loop {
            let within = self.log.iter().filter(|sent| sent.at + GROUP_WINDOW > at);
            let used: u32 = within.clone().map(|sent| sent.cells).sum();
            let frees = within.map(|sent| sent.at + GROUP_WINDOW).min();
            match frees {
                Some(frees) if used + cells > GROUP_SENDS => at = frees,
                Some(_) | None => return at,
            }
        }
    }

    /// Whether a private chat has sends ahead that a single one would have to wait for.
    #[must_use]
    pub fn is_ahead(&self, now: Timestamp) -> bool {
        self.tat.is_some_and(|tat| tat > now)
    }

    /// Without the reservations of that token: they were given up. `before` is the gate as it was before them, whose time
    /// is taken back; only for whoever finds its own token to be the last.
    #[must_use]
    pub fn given_back(&self, before: &Self, token: &str) -> Self {
        Self {
            tat: before.tat,
            log: self
                .log
                .iter()
                .filter(|sent| sent.token != token)
                .cloned()
                .collect(),
        }
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
