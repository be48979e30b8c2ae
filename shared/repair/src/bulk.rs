//! Redriving many: oldest first in each chat, and never one past an earlier one that may still go through.

use std::collections::HashSet;

use penstock_domain::ids::MessageGroupId;
use penstock_domain::repair::Act;
use penstock_ports::{Letter, QueueSender, Repairs};

use crate::error::RepairError;
use crate::redrive::{Redriven, carry_out, plan};

/// What became of one of many.
#[derive(Debug)]
pub enum Bulk {
    /// It was redriven.
    Redriven(Redriven),
    /// It was not.
    Failed(RepairError),
    /// An earlier one of its chat may still go through: it was left as it is.
    Held,
}

/// Puts letters in the order in which they are redriven: as they were received, so that each chat's order is kept.
#[must_use]
pub fn oldest_first(mut letters: Vec<Letter>) -> Vec<Letter> {
    letters.sort_by_key(|letter| (letter.subject.received_at, letter.subject.update_id));
    letters
}

/// Redrives them one after another, in their order; `tell` hears of each.
pub async fn redrive_all<L: Repairs, Q: QueueSender>(
    ledger: &L,
    updates: &Q,
    letters: Vec<Letter>,
    act: &Act,
    mut tell: impl FnMut(&Letter, &Bulk),
) {
    let mut held: HashSet<MessageGroupId> = HashSet::new();
    for letter in oldest_first(letters) {
        if held.contains(&letter.subject.group) {
            tell(&letter, &Bulk::Held);
            continue;
        }
        let redriven = match plan(ledger, &letter.record.key, act.at()).await {
            Ok(planned) => carry_out(ledger, updates, planned, act).await,
            Err(error) => Err(error),
        };
        let outcome = match redriven {
            Ok(redriven) => Bulk::Redriven(redriven),
            Err(error) => {
                if error.holds_chat() {
                    held.insert(letter.subject.group.clone());
                }
                Bulk::Failed(error)
            }
        };
        tell(&letter, &outcome);
    }
}
