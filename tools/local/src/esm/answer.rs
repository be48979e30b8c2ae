//! How Lambda reads a function's answer to a batch of queue messages.
//!
//! Never lenient: what AWS reads as a failure of the whole batch is one here, and what it reads as
//! success, `{}` for example, is success. A function that answers wrongly must fail on a laptop too.

use std::collections::BTreeSet;

use serde_json::Value;

/// What happens to the messages of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every message is deleted.
    AllDone,
    /// These messages stay, untouched; the others are deleted.
    Failed(BTreeSet<String>),
    /// Nothing is deleted: the answer is not one that Lambda accepts.
    Rejected(&'static str),
}

/// Reads the answer of a function that has `ReportBatchItemFailures`.
///
/// Complete success: `null`, no `batchItemFailures`, `null` or an empty list there.
/// Complete failure: no JSON, no object, an entry without a usable `itemIdentifier`, an identifier
/// that is not of this batch. (Lambda Developer Guide, "Implementing partial batch responses".)
#[must_use]
pub fn read_answer(answer: &[u8], batch: &BTreeSet<String>) -> Verdict {
    let Ok(value) = serde_json::from_slice::<Value>(answer) else {
        return Verdict::Rejected("the answer is not JSON");
    };
    let failures = match &value {
        Value::Null => return Verdict::AllDone,
        Value::Object(fields) => match fields.get("batchItemFailures") {
            None | Some(Value::Null) => return Verdict::AllDone,
            Some(Value::Array(failures)) => failures,
            Some(_) => return Verdict::Rejected("batchItemFailures is not a list"),
        },
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Verdict::Rejected("the answer is not an object");
        }
    };
    let mut failed = BTreeSet::new();
    for failure in failures {
        let id = match failure.get("itemIdentifier") {
            Some(Value::String(id)) if !id.is_empty() => id,
            Some(Value::String(_)) => return Verdict::Rejected("an itemIdentifier is empty"),
            Some(Value::Null) => return Verdict::Rejected("an itemIdentifier is null"),
            Some(_) => return Verdict::Rejected("an itemIdentifier is not text"),
            None => return Verdict::Rejected("an entry has no itemIdentifier"),
        };
        if !batch.contains(id) {
            return Verdict::Rejected("an itemIdentifier is not of this batch");
        }
        failed.insert(id.clone());
    }
    if failed.is_empty() {
        Verdict::AllDone
    } else {
        Verdict::Failed(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[track_caller]
    fn check(answer: &str, expected: &Verdict) {
        assert_eq!(
            &read_answer(answer.as_bytes(), &ids(&["a", "b", "c"])),
            expected,
            "for {answer}"
        );
    }

    #[test]
    fn answers_that_mean_complete_success() {
        for answer in [
            "null",
            "{}",
            r#"{"batchItemFailures":[]}"#,
            r#"{"batchItemFailures":null}"#,
            // The wrong key is no key: AWS deletes the whole batch.
            r#"{"BatchItemFailures":[{"ItemIdentifier":"a"}]}"#,
            r#"{"other":1}"#,
        ] {
            check(answer, &Verdict::AllDone);
        }
    }

    #[test]
    fn answers_that_mean_partial_success() {
        check(
            r#"{"batchItemFailures":[{"itemIdentifier":"a"}]}"#,
            &Verdict::Failed(ids(&["a"])),
        );
        check(
            r#"{"batchItemFailures":[{"itemIdentifier":"c"},{"itemIdentifier":"a"},{"itemIdentifier":"c"}]}"#,
            &Verdict::Failed(ids(&["a", "c"])),
        );
        check(
            r#"{"batchItemFailures":[{"itemIdentifier":"b","more":true}],"more":1}"#,
            &Verdict::Failed(ids(&["b"])),
        );
    }

    #[test]
    fn answers_that_mean_complete_failure() {
        for (answer, why) in [
            ("", "the answer is not JSON"),
            ("{", "the answer is not JSON"),
            (r#"{"batchItemFailures":[]} x"#, "the answer is not JSON"),
            (r#""done""#, "the answer is not an object"),
            ("[]", "the answer is not an object"),
            ("true", "the answer is not an object"),
            ("0", "the answer is not an object"),
            (r#"{"batchItemFailures":{}}"#, "batchItemFailures is not a list"),
            (r#"{"batchItemFailures":"a"}"#, "batchItemFailures is not a list"),
            (
                r#"{"batchItemFailures":[{"itemIdentifier":""}]}"#,
                "an itemIdentifier is empty",
            ),
            (
                r#"{"batchItemFailures":[{"itemIdentifier":null}]}"#,
                "an itemIdentifier is null",
            ),
            (
                r#"{"batchItemFailures":[{"itemIdentifier":7}]}"#,
                "an itemIdentifier is not text",
            ),
            (
                r#"{"batchItemFailures":[{"ItemIdentifier":"a"}]}"#,
                "an entry has no itemIdentifier",
            ),
            (r#"{"batchItemFailures":["a"]}"#, "an entry has no itemIdentifier"),
            (
                r#"{"batchItemFailures":[null]}"#,
                "an entry has no itemIdentifier",
            ),
            (
                r#"{"batchItemFailures":[{"itemIdentifier":"z"}]}"#,
                "an itemIdentifier is not of this batch",
            ),
            (
                r#"{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":""}]}"#,
                "an itemIdentifier is empty",
            ),
        ] {
            check(answer, &Verdict::Rejected(why));
        }
    }
}
