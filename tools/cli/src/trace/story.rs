//! A ledger record told in order: pure. Texts and parameters only where they were asked for.

use penstock_domain::failure::Failure;
use penstock_domain::intent::IntentRecord;
use serde::Serialize;

use crate::ledger::Entry;

/// An Update's story.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Story {
    key: String,
    kind: String,
    state: &'static str,
    /// The word that the bot gave the outcome.
    result: Option<String>,
    attempts: u32,
    redrive: u32,
    /// ms since 1970, in the stack's time.
    received_at: Option<i64>,
    /// After receipt, ms.
    ended_after_ms: Option<i64>,
    next_try_after_ms: Option<i64>,
    tries: Vec<Try>,
    sends: Vec<OneSend>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

/// A failed try.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Try {
    attempt: u32,
    code: String,
    message: String,
    disposition: &'static str,
    after_ms: Option<i64>,
}

/// One send.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct OneSend {
    n: u8,
    method: String,
    state: &'static str,
    attempts: u32,
    message_id: Option<i64>,
    sent_after_ms: Option<i64>,
    next_try_after_ms: Option<i64>,
    failure: Option<Try>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<String>,
}

impl Story {
    pub(super) fn of(entry: &Entry, with_params: bool, body: Option<String>) -> Self {
        let record = &entry.record;
        let after = |at: i64| entry.received_at.map(|received| at - received);
        let told = |failure: &Failure| Try {
            attempt: failure.attempt,
            code: failure.code.clone(),
            message: failure.message.clone(),
            disposition: failure.disposition.name(),
            after_ms: after(failure.at.as_millis()),
        };
        let send = |stored: &IntentRecord| OneSend {
            n: stored.intent.n,
            method: stored.intent.call.method.clone(),
            state: stored.state.name(),
            attempts: stored.attempts,
            message_id: stored.message_id,
            sent_after_ms: entry.sent_at.get(&stored.intent.n).copied().and_then(after),
            next_try_after_ms: stored.next_at.and_then(|at| after(at.as_millis())),
            failure: stored.failure.as_ref().map(told),
            params: with_params.then(|| stored.intent.call.params.clone()),
        };
        Self {
            key: record.key.as_str().to_owned(),
            kind: entry.kind.clone(),
            state: record.state.name(),
            result: record.result.clone().filter(|word| !word.is_empty()),
            attempts: record.attempts,
            redrive: record.redrive,
            received_at: entry.received_at,
            ended_after_ms: entry.ended_at.and_then(after),
            next_try_after_ms: record.next_at.and_then(|at| after(at.as_millis())),
            tries: record.tries.iter().map(told).collect(),
            sends: record.intents.iter().map(send).collect(),
            body,
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut told = vec![format!("update {}  {}  {}", self.key, self.kind, self.state)];
        let mut add = |after: Option<i64>, what: String| {
            let after = after.map_or_else(String::new, |ms| format!("+{ms} ms"));
            told.push(format!("{after:>12}  {what}"));
        };
        if let Some(at) = self.received_at {
            add(Some(0), format!("received at {}", utc(at)));
        }
        for failed in &self.tries {
            add(failed.after_ms, format!("try {}", failed.told()));
        }
        if let Some(ended) = self.ended_after_ms {
            let result = self
                .result
                .as_ref()
                .map_or_else(String::new, |word| format!(" ({word})"));
            let generation = match self.redrive {
                0 => String::new(),
                1 => ", redriven once".to_owned(),
                times => format!(", redriven {times} times"),
            };
            add(
                Some(ended),
                format!("{}{result}, {}{generation}", self.state, attempts(self.attempts)),
            );
        }
        if let Some(next) = self.next_try_after_ms {
            add(Some(next), "next try".to_owned());
        }
        for send in &self.sends {
            add(send.sent_after_ms, send.told());
            if let Some(params) = &send.params {
                add(None, format!("  {params}"));
            }
        }
        if let Some(body) = &self.body {
            add(None, format!("raw {body}"));
        }
        told
    }
}

impl Try {
    fn told(&self) -> String {
        format!(
            "{} failed: {} ({}): {}",
            self.attempt, self.code, self.disposition, self.message
        )
    }
}

impl OneSend {
    fn told(&self) -> String {
        let mut told = format!("send {} {} {}", self.n, self.method, self.state);
        if let Some(id) = self.message_id {
            told += &format!(", message {id}");
        }
        if self.attempts != 1 {
            told += &format!(", {}", attempts(self.attempts));
        }
        if let Some(next) = self.next_try_after_ms {
            told += &format!(", next try at +{next} ms");
        }
        if let Some(failure) = &self.failure {
            told += &format!("; try {}", failure.told());
        }
        told
    }
}

/// `1 attempt`, `2 attempts`.
fn attempts(count: u32) -> String {
    if count == 1 {
        "1 attempt".to_owned()
    } else {
        format!("{count} attempts")
    }
}

/// `2026-09-21 14:13:20.143 UTC`, by the civil calendar counted in eras of 400 years from 1 March of year 0.
pub(crate) fn utc(ms: i64) -> String {
    const DAY_MS: i64 = 86_400_000;
    // Days from 1 March of year 0 to 1 January 1970.
    const EPOCH_DAY: i64 = 719_468;
    const ERA_DAYS: i64 = 146_097;
    let day = ms.div_euclid(DAY_MS) + EPOCH_DAY;
    let (era, of_era) = (day.div_euclid(ERA_DAYS), day.rem_euclid(ERA_DAYS));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month_day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let time = ms.rem_euclid(DAY_MS);
    let (hour, minute, second) = (time / 3_600_000, time / 60_000 % 60, time / 1_000 % 60);
    format!(
        "{year:04}-{month:02}-{month_day:02} {hour:02}:{minute:02}:{second:02}.{:03} UTC",
        time % 1_000
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::samples::entry;

    #[test]
    fn a_done_update_is_told_from_receipt_to_its_sends() {
        let told = Story::of(&entry("done", &["sent", "failed"]), false, None).lines();
        assert_eq!(
            told,
            [
                "update 424242:500000001  message  done",
                "       +0 ms  received at 2026-09-21 14:13:20.000 UTC",
                "      +60 ms  done, 1 attempt",
                "     +143 ms  send 0 sendMessage sent, message 71",
                "              send 1 sendMessage failed; try 1 failed: bot_api_400 (permanent): bad request: message to edit not found",
            ]
        );
    }

    #[test]
    fn a_dead_update_tells_its_tries() {
        let told = Story::of(&entry("dead", &[]), false, None).lines().join("\n");
        assert!(told.contains("+200 ms  try 1 failed: bot_api_400"), "{told}");
        assert!(told.contains("+60 ms  dead, 1 attempt"), "{told}");
    }

    #[test]
    fn the_bots_word_for_the_outcome_and_how_often_it_was_redriven_are_told() {
        let mut redriven = entry("done", &[]);
        redriven.record.result = Some("paid_before".to_owned());
        for (times, words) in [(1, "redriven once"), (2, "redriven 2 times")] {
            redriven.record.redrive = times;
            let told = Story::of(&redriven, false, None).lines().join("\n");
            assert!(
                told.contains(&format!("done (paid_before), 1 attempt, {words}")),
                "{told}"
            );
        }
    }

    #[test]
    fn texts_are_shown_only_when_asked_for() {
        let sent = entry("done", &["sent"]);
        let without = Story::of(&sent, false, None);
        let with = Story::of(&sent, true, Some("{\"update_id\":1}".to_owned()));
        for (story, is_shown) in [(&without, false), (&with, true)] {
            let json = serde_json::to_string(story).unwrap();
            let text = story.lines().join("\n");
            assert_eq!(
                [json.contains("a private text"), text.contains("a private text")],
                [is_shown; 2]
            );
        }
        assert!(with.lines().join("\n").contains("raw {\"update_id\":1}"));
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00:00.000 UTC");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00.000 UTC");
        assert_eq!(utc(1_789_000_001_007), "2026-09-10 00:26:41.007 UTC");
        assert_eq!(utc(-1), "1969-12-31 23:59:59.999 UTC");
    }
}
