//! Calls that fail on purpose. Never random: a test names the call and what becomes of it.

use std::collections::BTreeMap;

use penstock_ports::PortError;

/// What becomes of a call that is made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Refused for now; not applied.
    Unavailable,
    /// No answer came, and it was not applied.
    NeverArrived,
    /// No answer came, but it was applied.
    AnswerLost,
    /// The request is wrong; not applied.
    Rejected,
}

impl Fault {
    /// Whether the call takes effect all the same.
    #[must_use]
    pub fn applies(self) -> bool {
        match self {
            Self::AnswerLost => true,
            Self::Unavailable | Self::NeverArrived | Self::Rejected => false,
        }
    }

    /// The error that the caller sees.
    #[must_use]
    pub fn error(self, operation: &'static str) -> PortError {
        match self {
            Self::Unavailable => PortError::Unavailable {
                operation,
                code: "ThrottlingException".to_owned(),
            },
            Self::NeverArrived => PortError::NoAnswer {
                operation,
                source: "the request was lost".into(),
            },
            Self::AnswerLost => PortError::NoAnswer {
                operation,
                source: "the answer was lost".into(),
            },
            Self::Rejected => PortError::Rejected {
                operation,
                code: "ValidationException".to_owned(),
                source: "the request is malformed".into(),
            },
        }
    }
}

/// Counts calls, and says which of them fail.
#[derive(Debug, Default)]
pub struct Faults {
    calls: u64,
    planned: BTreeMap<u64, Fault>,
}

impl Faults {
    /// How many calls were made so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Makes the `nth` call fail, counted from 1 over all calls ever made.
    pub fn fail_call(&mut self, nth: u64, fault: Fault) {
        self.planned.insert(nth, fault);
    }

    /// Makes the next `count` calls fail.
    pub fn fail_next(&mut self, count: u64, fault: Fault) {
        self.planned
            .extend((1..=count).map(|ahead| (self.calls + ahead, fault)));
    }

    /// Counts a call; the fault that is planned for it.
    pub fn count(&mut self) -> Option<Fault> {
        self.calls += 1;
        self.planned.remove(&self.calls)
    }

    /// Counts a call and lets it happen, or fail as planned.
    ///
    /// # Errors
    /// The fault that is planned for this call.
    pub fn call<T>(&mut self, operation: &'static str, apply: impl FnOnce() -> T) -> Result<T, PortError> {
        match self.count() {
            None => Ok(apply()),
            Some(fault) => {
                if fault.applies() {
                    apply();
                }
                Err(fault.error(operation))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_calls_fail_and_only_a_lost_answer_applies() {
        let mut faults = Faults::default();
        faults.fail_call(2, Fault::AnswerLost);
        faults.fail_call(3, Fault::NeverArrived);
        let mut applied = Vec::new();
        let failed: Vec<_> = (1..=4)
            .map(|n| faults.call("test.call", || applied.push(n)).is_err())
            .collect();
        assert_eq!(failed, [false, true, true, false]);
        assert_eq!(applied, [1, 2, 4]);
        assert_eq!(faults.calls(), 4);
    }

    #[test]
    fn the_next_calls_fail_and_then_no_more() {
        let mut faults = Faults::default();
        assert_eq!(faults.count(), None);
        faults.fail_next(2, Fault::Unavailable);
        let planned: Vec<_> = (0..3).map(|_| faults.count()).collect();
        assert_eq!(
            planned,
            [Some(Fault::Unavailable), Some(Fault::Unavailable), None]
        );
    }
}
