//! Dead-letter policies: where a message goes after how many receives, and who may send there.

use serde_json::Value;

use crate::error::{Code, Refusal};

/// Allowed receives before a message is moved (SQS Developer Guide, dead-letter queues).
const RECEIVES: std::ops::RangeInclusive<i64> = 1..=1_000;

/// The attribute `RedrivePolicy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RedrivePolicy {
    /// Name of the dead-letter queue.
    pub(crate) target: String,
    /// A message that was received this often is moved instead of being received again.
    pub(crate) max_receives: i64,
}

/// The attribute `RedriveAllowPolicy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AllowPolicy {
    All,
    None,
    /// Names of the queues that may.
    Only(Vec<String>),
}

/// Name of the queue in `arn:aws:sqs:region:account:name`.
pub(crate) fn name_in_arn(arn: &str) -> Option<&str> {
    let mut parts = arn.split(':');
    let known = parts.next() == Some("arn") && parts.nth(1) == Some("sqs");
    let name = parts.nth(2)?;
    (known && !name.is_empty() && parts.next().is_none()).then_some(name)
}

/// Whether both texts are JSON and say the same.
pub(crate) fn same_json(a: &str, b: &str) -> bool {
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
    parse(a).is_some_and(|a| Some(a) == parse(b))
}

fn invalid(name: &str, value: &str, expected: &str) -> Refusal {
    Refusal::new(
        Code::InvalidAttributeValue,
        format!("invalid value {value:?} for the attribute {name}: {expected}"),
    )
}

impl RedrivePolicy {
    pub(crate) fn read(text: &str) -> Result<Self, Refusal> {
        let bad = |expected| invalid("RedrivePolicy", text, expected);
        let policy: Value = serde_json::from_str(text).map_err(|_| bad("JSON is needed"))?;
        let target = policy["deadLetterTargetArn"].as_str().and_then(name_in_arn);
        let count = &policy["maxReceiveCount"];
        let max_receives = count.as_i64().or_else(|| count.as_str()?.parse().ok());
        Ok(Self {
            target: target
                .ok_or_else(|| bad("deadLetterTargetArn must be the ARN of a queue"))?
                .to_owned(),
            max_receives: max_receives
                .filter(|count| RECEIVES.contains(count))
                .ok_or_else(|| bad("maxReceiveCount must be a number from 1 to 1000"))?,
        })
    }
}

impl AllowPolicy {
    pub(crate) fn read(text: &str) -> Result<Self, Refusal> {
        let bad = |expected| invalid("RedriveAllowPolicy", text, expected);
        let policy: Value = serde_json::from_str(text).map_err(|_| bad("JSON is needed"))?;
        match policy["redrivePermission"].as_str() {
            Some("allowAll") => Ok(Self::All),
            Some("denyAll") => Ok(Self::None),
            Some("byQueue") => {
                let arns = policy["sourceQueueArns"].as_array().into_iter().flatten();
                let names: Option<Vec<_>> = arns
                    .map(|arn| arn.as_str().and_then(name_in_arn).map(str::to_owned))
                    .collect();
                match names {
                    Some(names) if (1..=10).contains(&names.len()) => Ok(Self::Only(names)),
                    _ => Err(bad("sourceQueueArns must hold 1 to 10 ARNs of queues")),
                }
            }
            _ => Err(bad("redrivePermission must be allowAll, denyAll or byQueue")),
        }
    }

    /// Whether the queue `source` may use the owner of this policy as its dead-letter queue.
    pub(crate) fn permits(&self, source: &str) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Only(names) => names.iter().any(|name| name == source),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receive_count_may_be_a_number_or_a_text() {
        let policy = |count: &str| {
            RedrivePolicy::read(&format!(
                r#"{{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:d.fifo","maxReceiveCount":{count}}}"#
            ))
        };
        let expected = RedrivePolicy {
            target: "d.fifo".to_owned(),
            max_receives: 2,
        };
        assert_eq!(policy("2"), Ok(expected.clone()));
        assert_eq!(policy("\"2\""), Ok(expected));
        assert!(policy("0").is_err());
        assert!(policy("1001").is_err());
    }

    #[test]
    fn only_whole_sqs_arns_name_a_queue() {
        assert_eq!(name_in_arn("arn:aws:sqs:eu-west-1:1:q"), Some("q"));
        for bad in [
            "q",
            "arn:aws:sns:eu-west-1:1:q",
            "arn:aws:sqs:eu-west-1:1",
            "arn:aws:sqs:eu-west-1:1:q:x",
        ] {
            assert_eq!(name_in_arn(bad), None, "{bad}");
        }
    }

    #[test]
    fn allow_policy_by_queue_permits_only_its_queues() {
        let text = r#"{"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:r:1:a"]}"#;
        let policy = AllowPolicy::read(text).unwrap();
        assert!(policy.permits("a"));
        assert!(!policy.permits("b"));
    }
}
