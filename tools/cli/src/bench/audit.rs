//! Whether replies came once each and in order: a pure check of what simulated Telegram was asked to send.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::load::Load;

/// A reply that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) chat: i64,
    pub(super) text: String,
}

/// What is wrong with them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Audit {
    pub(super) arrived: usize,
    /// Messages that got no reply.
    pub(super) lost: usize,
    /// Replies beyond the first to the same message.
    pub(super) doubled: usize,
    /// Replies that came after the reply to a later message of their chat.
    pub(super) out_of_order: usize,
    /// Replies whose counter is not the number of the message, and replies to nothing of the load.
    pub(super) wrong: usize,
}

impl Audit {
    pub(super) fn of(load: &Load, replies: &[Reply]) -> Self {
        let expected: BTreeMap<i64, u32> = load.messages_by_chat().collect();
        let mut seen: BTreeMap<i64, BTreeSet<u32>> = BTreeMap::new();
        let mut audit = Self {
            arrived: replies.len(),
            ..Self::default()
        };
        for reply in replies {
            let numbers = numbers(&reply.text).filter(|(_, sent)| {
                expected
                    .get(&reply.chat)
                    .is_some_and(|most| (1..=*most).contains(sent))
            });
            let Some((counted, sent)) = numbers else {
                audit.wrong += 1;
                continue;
            };
            let earlier = seen.entry(reply.chat).or_default();
            audit.wrong += usize::from(counted != sent);
            audit.out_of_order += usize::from(earlier.last().is_some_and(|last| *last > sent));
            audit.doubled += usize::from(!earlier.insert(sent));
        }
        let answered = |chat: &i64| seen.get(chat).map_or(0, BTreeSet::len);
        audit.lost = expected
            .iter()
            .map(|(chat, count)| *count as usize - answered(chat))
            .sum();
        audit
    }

    /// Whether everything came once and in order.
    pub(super) fn is_clean(self) -> bool {
        self.lost + self.doubled + self.out_of_order + self.wrong == 0
    }
}

/// What the example bot counted, and the number in the text that it repeats.
fn numbers(text: &str) -> Option<(u32, u32)> {
    let (counted, heard) = text
        .strip_prefix("Message ")?
        .split_once(" of this chat: load ")?;
    Some((counted.parse().ok()?, heard.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies(load: &Load, told: &[(u32, u32, u32)]) -> Vec<Reply> {
        let reply = |(chat, counted, sent): &(u32, u32, u32)| Reply {
            chat: load.chat(*chat),
            text: format!("Message {counted} of this chat: load {sent}"),
        };
        told.iter().map(reply).collect()
    }

    #[test]
    fn one_reply_each_in_order_is_clean() {
        let load = Load::new(4, 2);
        let audit = Audit::of(
            &load,
            &replies(&load, &[(0, 1, 1), (1, 1, 1), (1, 2, 2), (0, 2, 2)]),
        );
        assert_eq!(
            audit,
            Audit {
                arrived: 4,
                ..Audit::default()
            }
        );
        assert!(audit.is_clean());
    }

    #[test]
    fn lost_doubled_late_and_wrong_replies_are_each_counted() {
        let load = Load::new(6, 2);
        let mut told = replies(&load, &[(0, 1, 1), (0, 1, 1), (1, 2, 2), (1, 1, 1), (1, 4, 3)]);
        told.push(Reply {
            chat: load.chat(0),
            text: "Welcome.".to_owned(),
        });
        let audit = Audit::of(&load, &told);
        assert_eq!(
            audit,
            Audit {
                arrived: 6,
                lost: 2,
                doubled: 1,
                out_of_order: 1,
                wrong: 2
            }
        );
        assert!(!audit.is_clean());
    }
}
