//! Whether what went in came through the crashes: a pure check of the ledger, the chats' counters and what simulated
//! Telegram did.

use std::collections::{BTreeMap, BTreeSet};

use penstock_domain::intent::IntentState;
use penstock_domain::ledger::State;
use serde_json::Value;

/// Something that was put in, and what became of it.
#[derive(Debug, Clone)]
pub(super) struct Fate {
    /// For people.
    pub(super) name: String,
    /// What is ordered: its message group.
    pub(super) group: String,
    /// Which counter of its chat it counts, if it is done.
    pub(super) counts: Option<&'static str>,
    /// Its record; `None` if it has none.
    pub(super) seen: Option<Seen>,
}

/// A record.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) state: State,
    /// Of a dead one: whether its raw body is what was put in.
    pub(super) is_raw_kept: bool,
    pub(super) sends: Vec<Send>,
}

/// An intent.
#[derive(Debug, Clone)]
pub(super) struct Send {
    pub(super) what: Called,
    pub(super) state: IntentState,
    /// Code of its failure.
    pub(super) code: Option<String>,
    /// Whether people would see it twice.
    pub(super) is_visible: bool,
}

/// A call of the Bot API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Called {
    pub(super) method: String,
    pub(super) params: Value,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) updates: usize,
    /// Updates that are neither done nor dead with their body; sends that have not ended, or ended as sent and were
    /// never delivered; messages that their chat's counter lacks.
    pub(super) lost: usize,
    /// Visible sends that were delivered more than once; messages that their chat's counter has twice.
    pub(super) doubled: usize,
    /// Sends that were delivered after one of a later Update of their group.
    pub(super) out_of_order: usize,
    /// Tries that handed an Update over again: no violation where the one before died with its process.
    pub(super) handed_again: usize,
    /// Sends of which nobody knows whether they were delivered: an end, and no violation.
    pub(super) unknown: usize,
    /// What is wrong, for people.
    pub(super) troubles: Vec<String>,
}

impl Found {
    fn lose(&mut self, why: String) {
        self.lost += 1;
        self.troubles.push(why);
    }

    fn double(&mut self, count: usize, why: String) {
        self.doubled += count;
        self.troubles.push(why);
    }
}

/// Judges one run. `fates` in the order in which they were put in, `calls` as simulated Telegram carried them out,
/// `counters` by group and name.
pub(super) fn judge(fates: &[Fate], calls: &[Called], counters: &BTreeMap<(String, &str), usize>) -> Found {
    let mut found = Found {
        updates: fates.len(),
        ..Found::default()
    };
    for fate in fates {
        end(fate, &mut found);
    }
    deliveries(fates, calls, &mut found);
    order(fates, calls, &mut found);
    let mut counted: BTreeMap<(String, &str), usize> = counters.keys().map(|key| (key.clone(), 0)).collect();
    for fate in fates {
        let is_done = fate.seen.as_ref().is_some_and(|seen| seen.state == State::Done);
        if let Some(name) = fate.counts.filter(|_| is_done) {
            *counted.entry((fate.group.clone(), name)).or_default() += 1;
        }
    }
    for (key, done) in counted {
        let counter = counters.get(&key).copied().unwrap_or(0);
        let told = format!(
            "{} of {}: {done} are done, the chat counts {counter}",
            key.1, key.0
        );
        match counter.checked_sub(done) {
            Some(0) => {}
            Some(more) => found.double(more, told),
            None => found.lose(told),
        }
    }
    found
}

/// Whether it ended.
fn end(fate: &Fate, found: &mut Found) {
    let name = &fate.name;
    let Some(seen) = &fate.seen else {
        return found.lose(format!("{name}: no record"));
    };
    match seen.state {
        State::Done => {}
        State::Dead if seen.is_raw_kept => {}
        State::Dead => found.lose(format!("{name}: dead, and its body is not what was sent")),
        state @ (State::Pending | State::Processing | State::Retrying | State::Deferred) => {
            found.lose(format!("{name}: still {}", state.name()));
        }
    }
    for (n, send) in seen.sends.iter().enumerate() {
        let code = send.code.as_deref().unwrap_or_default();
        match send.state {
            IntentState::Sent | IntentState::Cancelled => {}
            IntentState::Unknown => found.unknown += 1,
            // Nobody waits for an answer to a query any more.
            // A query that nobody waits for; a send that the queue gave up before it began.
            IntentState::Failed if ["expired", "too_many_receives"].contains(&code) => {}
            state @ (IntentState::Failed
            | IntentState::Intended
            | IntentState::Sending
            | IntentState::Retrying) => {
                found.lose(format!("{name}: send {n} is {} {code}", state.name()));
            }
        }
    }
}

/// Whether each visible send was delivered as often as the ledger says.
fn deliveries(fates: &[Fate], calls: &[Called], found: &mut Found) {
    let sends: Vec<&Send> = fates
        .iter()
        .filter_map(|fate| fate.seen.as_ref())
        .flat_map(|seen| &seen.sends)
        .collect();
    let mut judged: Vec<&Called> = Vec::new();
    for send in &sends {
        if judged.contains(&&send.what) {
            continue;
        }
        judged.push(&send.what);
        let same = |other: &&&Send| other.what == send.what;
        let delivered = calls.iter().filter(|call| **call == send.what).count();
        let of_state = |state| {
            sends
                .iter()
                .filter(same)
                .filter(|other| other.state == state)
                .count()
        };
        let (sent, unknown) = (of_state(IntentState::Sent), of_state(IntentState::Unknown));
        let told = format!(
            "{} {}: {sent} sent, {unknown} unknown, delivered {delivered} times",
            send.what.method, send.what.params
        );
        if delivered < sent {
            found.lose(told);
        } else if send.is_visible && delivered > sent + unknown {
            found.double(delivered - sent - unknown, told);
        }
    }
}

/// Whether the sends of each group were first delivered in the order of its Updates, and of each Update's own sends.
fn order(fates: &[Fate], calls: &[Called], found: &mut Found) {
    let groups: BTreeSet<&str> = fates.iter().map(|fate| fate.group.as_str()).collect();
    for group in groups {
        let sends: Vec<&Called> = fates
            .iter()
            .filter(|fate| fate.group == group)
            .filter_map(|fate| fate.seen.as_ref())
            .flat_map(|seen| seen.sends.iter().map(|send| &send.what))
            .collect();
        let mut last = None;
        let mut met = BTreeSet::new();
        for call in calls {
            let Some(place) = sends.iter().position(|send| *send == call) else {
                continue;
            };
            if !met.insert(place) {
                continue;
            }
            if last.is_some_and(|last| last > place) {
                found.out_of_order += 1;
                found
                    .troubles
                    .push(format!("{group}: {} {} came too late", call.method, call.params));
            }
            last = last.max(Some(place));
        }
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
