//! Whether a request ended as it should: a pure comparison.

use penstock_domain::ids::LedgerKey;
use penstock_domain::ledger::State;
use penstock_events::Outcome;

use super::case::Expected;
use crate::ledger::{Entry, SendCounts};

/// What was seen of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Observed {
    /// Of the webhook's answer.
    pub(super) status: u16,
    pub(super) end: End,
    pub(super) sends: SendCounts,
    pub(super) latency_ms: Option<u64>,
    /// Code of the last failure of the Update or of one of its sends.
    pub(super) trouble: Option<String>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Done,
    Dead,
    Quarantined,
    /// Turned away; nothing is in the ledger.
    Refused,
    /// Accepted, and nothing is in the ledger.
    Lost,
    /// It has not ended.
    Open(State),
}

impl End {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Done => Outcome::Done.name(),
            Self::Dead => Outcome::Dead.name(),
            Self::Quarantined => Outcome::Quarantined.name(),
            Self::Refused => Outcome::Refused.name(),
            Self::Lost => "lost",
            Self::Open(state) => state.name(),
        }
    }
}

impl Observed {
    pub(super) fn of(status: u16, key: &LedgerKey, entry: Option<&Entry>) -> Self {
        let is_update = key.as_str().split(':').nth(1) != Some("q");
        let end = match entry.map(|entry| entry.record.state) {
            None if status == 200 => End::Lost,
            None => End::Refused,
            Some(State::Done) => End::Done,
            Some(State::Dead) if is_update => End::Dead,
            Some(State::Dead) => End::Quarantined,
            Some(state @ (State::Pending | State::Processing | State::Retrying | State::Deferred)) => {
                End::Open(state)
            }
        };
        let failures = entry.into_iter().flat_map(|entry| {
            let sends = entry
                .record
                .intents
                .iter()
                .filter_map(|intent| intent.failure.as_ref());
            entry.record.tries.iter().chain(sends)
        });
        Self {
            status,
            end,
            sends: entry.map(Entry::sends).unwrap_or_default(),
            latency_ms: entry.and_then(Entry::latency_ms),
            trouble: failures.last().map(|failure| failure.code.clone()),
        }
    }
}

/// What is not as expected, each in a few words; nothing when all is.
pub(super) fn judge(expected: &Expected, observed: &Observed) -> Vec<String> {
    let mut differences = Vec::new();
    let mut check = |is_fine: bool, difference: &dyn Fn() -> String| {
        if !is_fine {
            differences.push(difference());
        }
    };
    let SendCounts {
        failed,
        unknown,
        open,
        ..
    } = observed.sends;
    check(open == 0, &|| format!("{open} sends have not ended"));
    check(unknown == 0, &|| format!("{unknown} sends are unknown"));
    match expected {
        Expected::AnyEnd => {
            let has_ended = matches!(observed.end, End::Done | End::Dead | End::Quarantined);
            check(has_ended, &|| {
                format!("{}, expected done or dead", observed.end.name())
            });
        }
        Expected::Sample(expect) => {
            let (status, total) = (observed.status, observed.sends.total());
            check(status == expect.http_status, &|| {
                format!("http {status}, expected {}", expect.http_status)
            });
            let outcome = expect.outcome.name();
            check(observed.end.name() == outcome, &|| {
                format!("{}, expected {outcome}", observed.end.name())
            });
            let sends = expect.sends;
            check(sends.holds(total), &|| {
                format!("{total} sends, expected {}", range(sends.min, sends.max))
            });
            let refused = usize::from(expect.refused);
            check(failed == refused, &|| {
                format!("{failed} sends failed, expected {refused}")
            });
        }
    }
    differences
}

fn range(min: u8, max: u8) -> String {
    if min == max {
        min.to_string()
    } else {
        format!("{min} to {max}")
    }
}

#[cfg(test)]
mod tests {
    use penstock_domain::ids::{BotId, UpdateId};
    use penstock_events::{Expect, find};

    use super::*;
    use crate::ledger::samples::entry;

    fn update() -> LedgerKey {
        LedgerKey::new(BotId(424_242), UpdateId(500_000_001))
    }

    fn expect(name: &str) -> Expected {
        Expected::Sample(find(name).map(|sample| sample.expect).unwrap())
    }

    #[test]
    fn a_text_that_is_done_with_one_reply_is_as_expected() {
        let observed = Observed::of(200, &update(), Some(&entry("done", &["sent"])));
        assert_eq!(judge(&expect("text"), &observed), Vec::<String>::new());
    }

    #[test]
    fn every_difference_is_told() {
        let observed = Observed::of(
            503,
            &update(),
            Some(&entry("dead", &["failed", "unknown", "sending"])),
        );
        let told = judge(&expect("text"), &observed);
        assert_eq!(
            told,
            [
                "1 sends have not ended",
                "1 sends are unknown",
                "http 503, expected 200",
                "dead, expected done",
                "3 sends, expected 1",
                "1 sends failed, expected 0",
            ]
        );
    }

    #[test]
    fn an_accepted_update_without_a_record_is_lost() {
        let observed = Observed::of(200, &update(), None);
        assert_eq!(observed.end, End::Lost);
        assert_eq!(
            judge(&Expected::AnyEnd, &observed),
            ["lost, expected done or dead"]
        );
    }

    #[test]
    fn what_was_turned_away_must_not_be_in_the_ledger() {
        assert_eq!(
            judge(&expect("wrong_secret"), &Observed::of(403, &update(), None)),
            Vec::<String>::new()
        );
        let kept = Observed::of(403, &update(), Some(&entry("done", &[])));
        assert_eq!(judge(&expect("wrong_secret"), &kept), ["done, expected refused"]);
    }

    #[test]
    fn a_dead_record_under_a_bodys_hash_is_a_quarantined_one() {
        let key = LedgerKey::quarantined(BotId(424_242), b"nonsense");
        let observed = Observed::of(200, &key, Some(&entry("dead", &[])));
        assert_eq!(observed.end, End::Quarantined);
        assert_eq!(judge(&expect("unparseable"), &observed), Vec::<String>::new());
    }

    #[test]
    fn an_expected_refusal_is_no_difference_and_a_missing_one_is() {
        let expected = Expected::Sample(Expect {
            refused: 1,
            ..find("text").unwrap().expect
        });
        let refused = Observed::of(200, &update(), Some(&entry("done", &["failed"])));
        assert_eq!(refused.trouble.as_deref(), Some("bot_api_400"));
        assert_eq!(judge(&expected, &refused), Vec::<String>::new());
        let sent = Observed::of(200, &update(), Some(&entry("done", &["sent"])));
        assert_eq!(judge(&expected, &sent), ["0 sends failed, expected 1"]);
    }
}
