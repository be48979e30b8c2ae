//! Whether a load came through a crash: a pure check of the ledger. Simulated Telegram forgets all at the kill, so the
//! ledger and the chats' own counters are what is left to ask.

use std::collections::{BTreeMap, HashMap};

use penstock_local::ledger::Story;
use serde::Serialize;

use crate::load::Load;

/// What became of a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Audit {
    pub(super) done: usize,
    /// Without a record.
    pub(super) lost: usize,
    /// Dead, or not ended.
    pub(super) not_done: usize,
    pub(super) sent: usize,
    /// Sends that were on their way at the kill: nobody knows whether they arrived.
    pub(super) unknown: usize,
    /// Failed, or not ended.
    pub(super) not_sent: usize,
    /// Updates whose number of sends is not one.
    pub(super) odd: usize,
    /// Chats whose counter is not the number of their messages.
    pub(super) miscounted_chats: usize,
}

impl Audit {
    pub(super) fn of(load: &Load, stories: &HashMap<i64, Story>, counters: &BTreeMap<i64, u64>) -> Self {
        let mut audit = Self::default();
        for id in load.update_ids() {
            let Some(story) = stories.get(&id) else {
                audit.lost += 1;
                continue;
            };
            if story.state == "done" {
                audit.done += 1;
            } else {
                audit.not_done += 1;
            }
            audit.odd += usize::from(story.sends.len() != 1);
            for send in &story.sends {
                match send.state.as_str() {
                    "sent" => audit.sent += 1,
                    "unknown" => audit.unknown += 1,
                    _ => audit.not_sent += 1,
                }
            }
        }
        let is_off = |(chat, count): &(i64, u32)| counters.get(chat) != Some(&u64::from(*count));
        audit.miscounted_chats = load.messages_by_chat().filter(is_off).count();
        audit
    }

    /// Whether everything is done once, and each send has ended.
    pub(super) fn is_clean(self) -> bool {
        self.lost + self.not_done + self.not_sent + self.odd + self.miscounted_chats == 0
    }
}

#[cfg(test)]
mod tests {
    use penstock_local::ledger::SendStory;

    use super::*;

    fn story(state: &str, sends: &[&str]) -> Story {
        let send = |state: &&str| SendStory {
            state: (*state).to_owned(),
            ..SendStory::default()
        };
        Story {
            state: state.to_owned(),
            sends: sends.iter().map(send).collect(),
            ..Story::default()
        }
    }

    fn audit(load: &Load, told: Vec<Option<Story>>, counters: &[u64]) -> Audit {
        let stories = load
            .update_ids()
            .zip(told)
            .filter_map(|(id, story)| Some((id, story?)))
            .collect();
        let counters = load
            .messages_by_chat()
            .map(|(chat, _)| chat)
            .zip(counters.iter().copied())
            .collect();
        Audit::of(load, &stories, &counters)
    }

    #[test]
    fn sent_and_unknown_are_both_ends() {
        let load = Load::new(3, 2);
        let told = vec![
            Some(story("done", &["sent"])),
            Some(story("done", &["unknown"])),
            Some(story("done", &["sent"])),
        ];
        let found = audit(&load, told, &[2, 1]);
        assert_eq!(
            found,
            Audit {
                done: 3,
                sent: 2,
                unknown: 1,
                ..Audit::default()
            }
        );
        assert!(found.is_clean());
    }

    #[test]
    fn what_did_not_come_through_is_counted() {
        let load = Load::new(4, 2);
        let told = vec![
            None,
            Some(story("dead", &[])),
            Some(story("done", &["sending"])),
            Some(story("done", &["sent", "sent"])),
        ];
        let found = audit(&load, told, &[2, 3]);
        let wanted = Audit {
            done: 2,
            lost: 1,
            not_done: 1,
            sent: 2,
            not_sent: 1,
            odd: 2,
            miscounted_chats: 1,
            ..Audit::default()
        };
        assert_eq!(found, wanted);
        assert!(!found.is_clean());
    }
}
