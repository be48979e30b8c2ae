//! Whether a load came through the death of its backend: a pure function over what was collected.
//!
//! A run of the bot is one answer of it to one Update. It may run twice for one that it had worked on when it died: only
//! the backend knows that it ran, and it is dead. That is at least once, and the ledger tells of it.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::facts::{Facts, Fate, Posted, What};
use super::rates::{Rates, Times};

/// The code of a try that was handed over and never answered.
const NO_ANSWER: &str = "backend_no_answer";
/// How the codes of tries begin that the backend itself asked to have again.
const SERVER_ERRORS: &str = "backend_5";
/// Most that the backend may get in the first minute after its return, as a multiple of what it got before (R093).
const MOST_AT_RETURN: f64 = 2.0;

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Verdict {
    /// Updates accepted with 200.
    pub(super) posted: usize,
    /// Of them while the backend was away.
    pub(super) posted_while_away: usize,
    pub(super) done: usize,
    /// Without a record.
    pub(super) lost: usize,
    /// Dead, or not ended.
    pub(super) not_done: usize,
    /// Done, but simulated Telegram has not seen all that the bot says then.
    pub(super) unanswered: usize,
    pub(super) doubled: Doubled,
    /// Answers that came after a later one of their chat.
    pub(super) out_of_order: usize,
    pub(super) presses: Presses,
    pub(super) notices: Notices,
    /// Tries of done Updates beyond the first.
    pub(super) attempts_burned: u32,
    /// Tries that failed, burned or given back, by their code.
    pub(super) failed_tries: BTreeMap<String, usize>,
    pub(super) rates: Rates,
    /// From the backend's return to the end of the last Update; `None` if not all have ended.
    pub(super) drained_in_ms: Option<i64>,
}

/// Runs beyond the first of an Update, by their cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Doubled {
    /// The backend died after its work and before its answer.
    pub(super) died_before_answering: usize,
    /// The backend answered with a failure of its own, and so asked for another try.
    pub(super) asked_for_again: usize,
    pub(super) unexplained: usize,
}

/// Pressed buttons.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Presses {
    pub(super) posted: usize,
    /// While the backend was away.
    pub(super) while_away: usize,
    /// Answered in its place before it was back.
    pub(super) answered_while_away: usize,
    /// Answered in time for Telegram to take it, by whomever.
    pub(super) answered: usize,
}

/// Chats that were told that they have to wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Notices {
    pub(super) chats: usize,
    /// In the chat that was told most often.
    pub(super) most_in_a_chat: usize,
}

pub(super) fn judge(facts: &Facts) -> Verdict {
    let runs = Runs::of(facts);
    let is_away = |at: i64| (facts.killed_at..facts.back_at).contains(&at);
    let mut verdict = Verdict {
        posted: facts.posted.len(),
        posted_while_away: facts.posted.iter().filter(|update| is_away(update.at_ms)).count(),
        out_of_order: runs.out_of_order(),
        notices: notices(facts),
        presses: presses(facts, is_away),
        ..Verdict::default()
    };
    for update in &facts.posted {
        let Some(fate) = facts.fates.get(&update.update) else {
            verdict.lost += 1;
            continue;
        };
        let ran = runs.count(update);
        if fate.is_done {
            verdict.done += 1;
            verdict.unanswered += usize::from(ran == 0);
            verdict.attempts_burned += fate.attempts.saturating_sub(1);
        } else {
            verdict.not_done += 1;
        }
        verdict.doubled.add(ran.saturating_sub(1), fate);
        for code in &fate.failures {
            *verdict.failed_tries.entry(code.clone()).or_default() += 1;
        }
    }
    verdict.unanswered += untold_presses(facts, &runs);
    let times = Times {
        begun_at: facts.begun_at,
        killed_at: facts.killed_at,
        back_at: facts.back_at,
    };
    let at: Vec<i64> = runs.all.iter().map(|run| run.at_ms).collect();
    verdict.rates = Rates::of(&at, times);
    if verdict.lost + verdict.not_done == 0 {
        let last = facts.fates.values().filter_map(|fate| fate.ended_at).max();
        verdict.drained_in_ms = last.map(|last| (last - facts.back_at).max(0));
    }
    verdict
}

impl Verdict {
    /// What keeps it from being clean; nothing, if all is well.
    pub(super) fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        let mut none = |count: usize, what: &str| {
            if count > 0 {
                troubles.push(format!("{count} {what}"));
            }
        };
        none(self.lost, "updates lost");
        none(self.not_done, "updates not done");
        none(self.unanswered, "updates done without all of their answers");
        none(self.doubled.unexplained, "runs doubled without a cause");
        none(self.out_of_order, "answers out of order");
        if self.notices.most_in_a_chat > 1 {
            troubles.push(format!("{} notices in one chat", self.notices.most_in_a_chat));
        }
        // Not judged: `presses.answered_while_away`, as an outage of less than 10 s answers no press.
        match self.rates.peak_ratio {
            None => troubles.push("no rate was measured before the kill, or none after".to_owned()),
            Some(ratio) if ratio > MOST_AT_RETURN => {
                troubles.push(format!("{ratio:.1} times the former rate at the return"));
            }
            Some(_) => {}
        }
        troubles
    }
}

impl Doubled {
    /// As many as there are tries of a cause are explained by it.
    fn add(&mut self, more: usize, fate: &Fate) {
        let tries = |is_cause: fn(&str) -> bool| fate.failures.iter().filter(|code| is_cause(code)).count();
        let died = more.min(tries(|code| code == NO_ANSWER));
        let again = (more - died).min(tries(|code| code.starts_with(SERVER_ERRORS)));
        self.died_before_answering += died;
        self.asked_for_again += again;
        self.unexplained += more - died - again;
    }
}

/// One answer of the bot to one Update.
#[derive(Debug, Clone, Copy)]
struct Run {
    update: i64,
    chat: i64,
    number: u32,
    at_ms: i64,
}

/// All of them, in order.
struct Runs {
    all: Vec<Run>,
    counts: HashMap<i64, usize>,
}

impl Runs {
    fn of(facts: &Facts) -> Self {
        let by_number: HashMap<(i64, u32), &Posted> = facts
            .posted
            .iter()
            .map(|update| ((update.chat, update.number), update))
            .collect();
        let by_id: HashMap<i64, &Posted> = facts
            .posted
            .iter()
            .map(|update| (update.update, update))
            .collect();
        let runs = facts.seen.iter().filter_map(|seen| {
            let update = match seen.what {
                What::Echoed { chat, number } => by_number.get(&(chat, number)),
                What::Thanked { update, .. } => by_id.get(&update),
                What::Told { .. } | What::Acknowledged { .. } | What::Noticed { .. } => None,
            }?;
            Some(Run {
                update: update.update,
                chat: update.chat,
                number: update.number,
                at_ms: seen.at_ms,
            })
        });
        let all: Vec<Run> = runs.collect();
        let mut counts = HashMap::new();
        for run in &all {
            *counts.entry(run.update).or_default() += 1;
        }
        Self { all, counts }
    }

    fn count(&self, update: &Posted) -> usize {
        self.counts.get(&update.update).copied().unwrap_or(0)
    }

    /// A chat's Updates wait for the one that is tried again, so that a doubled run follows the first at once: as in
    /// 5 5 6, which is no disorder. 5 6 5 is one.
    fn out_of_order(&self) -> usize {
        let mut last: HashMap<i64, u32> = HashMap::new();
        let mut count = 0;
        for run in &self.all {
            let last = last.entry(run.chat).or_default();
            count += usize::from(run.number < *last);
            *last = run.number.max(*last);
        }
        count
    }
}

/// Presses for which the bot ran and is done, but whose chat it did not tell.
fn untold_presses(facts: &Facts, runs: &Runs) -> usize {
    let mut told: HashMap<i64, usize> = HashMap::new();
    for seen in &facts.seen {
        if let What::Told { chat } = seen.what {
            *told.entry(chat).or_default() += 1;
        }
    }
    let is_done = |update: &&Posted| facts.fates.get(&update.update).is_some_and(|fate| fate.is_done);
    let mut untold = 0;
    for update in facts
        .posted
        .iter()
        .filter(|update| update.is_press)
        .filter(is_done)
    {
        match told.get_mut(&update.chat).filter(|left| **left > 0) {
            Some(left) => *left -= 1,
            // Those that never ran are counted already.
            None => untold += usize::from(runs.count(update) > 0),
        }
    }
    untold
}

fn presses(facts: &Facts, is_away: impl Fn(i64) -> bool) -> Presses {
    let (mut in_its_place, mut answered) = (HashSet::new(), HashSet::new());
    for seen in &facts.seen {
        match seen.what {
            What::Acknowledged { update } => {
                answered.insert(update);
                if seen.at_ms < facts.back_at {
                    in_its_place.insert(update);
                }
            }
            What::Thanked {
                update,
                is_taken: true,
            } => {
                answered.insert(update);
            }
            What::Thanked { is_taken: false, .. }
            | What::Echoed { .. }
            | What::Told { .. }
            | What::Noticed { .. } => {}
        }
    }
    let mut presses = Presses::default();
    for update in facts.posted.iter().filter(|update| update.is_press) {
        presses.posted += 1;
        presses.while_away += usize::from(is_away(update.at_ms));
        presses.answered_while_away += usize::from(in_its_place.contains(&update.update));
        presses.answered += usize::from(answered.contains(&update.update));
    }
    presses
}

fn notices(facts: &Facts) -> Notices {
    let mut chats: HashMap<i64, usize> = HashMap::new();
    for seen in &facts.seen {
        if let What::Noticed { chat } = seen.what {
            *chats.entry(chat).or_default() += 1;
        }
    }
    Notices {
        chats: chats.len(),
        most_in_a_chat: chats.values().copied().max().unwrap_or(0),
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
