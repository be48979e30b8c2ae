//! Queue attributes: which exist, which values they take, and the settings they come to.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::batch::MAX_BYTES;
use super::names;
use super::redrive::{AllowPolicy, RedrivePolicy, same_json};
use crate::error::{Code, Refusal};

/// Attributes as names and texts, the way they travel.
pub(crate) type Attributes = BTreeMap<String, String>;

/// Numbers: name, allowed values, default (SQS API, SetQueueAttributes).
const NUMBERS: [(&str, RangeInclusive<i64>, i64); 6] = [
    ("DelaySeconds", 0..=900, 0),
    ("KmsDataKeyReusePeriodSeconds", 60..=86_400, 300),
    ("MaximumMessageSize", 1_024..=1_048_576, 1_048_576),
    ("MessageRetentionPeriod", 60..=1_209_600, 345_600),
    ("ReceiveMessageWaitTimeSeconds", 0..=20, 0),
    ("VisibilityTimeout", 0..=43_200, 30),
];

/// Texts that are kept and given back and have no effect here.
const KEPT: [&str; 2] = ["KmsMasterKeyId", "Policy"];

/// Attributes that are only answered.
const ANSWERED: [&str; 6] = [
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesDelayed",
    "ApproximateNumberOfMessagesNotVisible",
    "CreatedTimestamp",
    "LastModifiedTimestamp",
    "QueueArn",
];

/// What a queue does, read from its attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueueConfig {
    pub(crate) fifo: bool,
    pub(crate) visibility_s: i64,
    pub(crate) delay_s: i64,
    pub(crate) retention_s: i64,
    pub(crate) wait_s: i64,
    pub(crate) max_bytes: usize,
    pub(crate) content_dedup: bool,
    /// Deduplication looks only at messages of the same group.
    pub(crate) dedup_per_group: bool,
    pub(crate) redrive: Option<RedrivePolicy>,
    pub(crate) allow: AllowPolicy,
}

fn invalid(name: &str, value: &str, expected: impl std::fmt::Display) -> Refusal {
    Refusal::new(
        Code::InvalidAttributeValue,
        format!("invalid value {value:?} for the attribute {name}: {expected}"),
    )
}

fn number(attributes: &Attributes, name: &str) -> Result<i64, Refusal> {
    let Some((_, range, default)) = NUMBERS.iter().find(|(known, ..)| *known == name) else {
        return Err(Refusal::new(
            Code::InvalidAttributeName,
            format!("unknown attribute {name}"),
        ));
    };
    let Some(text) = attributes.get(name) else {
        return Ok(*default);
    };
    match text.parse::<i64>() {
        Ok(value) if range.contains(&value) => Ok(value),
        _ => Err(invalid(
            name,
            text,
            format!("a number from {} to {} is needed", range.start(), range.end()),
        )),
    }
}

/// `first` is the value when the attribute is absent; the answer is whether it is `second`.
fn choice(attributes: &Attributes, name: &str, first: &str, second: &str) -> Result<bool, Refusal> {
    match attributes.get(name) {
        None => Ok(false),
        Some(text) if text == first => Ok(false),
        Some(text) if text == second => Ok(true),
        Some(text) => Err(invalid(name, text, format!("{first} or {second} is needed"))),
    }
}

/// Names that may be set at all.
fn is_settable(name: &str) -> bool {
    let switches = [
        "ContentBasedDeduplication",
        "DeduplicationScope",
        "FifoQueue",
        "FifoThroughputLimit",
        "RedriveAllowPolicy",
        "RedrivePolicy",
        "SqsManagedSseEnabled",
    ];
    switches.contains(&name) || KEPT.contains(&name) || NUMBERS.iter().any(|(known, ..)| *known == name)
}

/// Names that may be asked for.
pub(crate) fn is_known(name: &str) -> bool {
    is_settable(name) || ANSWERED.contains(&name)
}

impl QueueConfig {
    /// Reads and checks the attributes of the queue called `name`.
    pub(crate) fn read(name: &str, attributes: &Attributes) -> Result<Self, Refusal> {
        if let Some(unknown) = attributes.keys().find(|key| !is_settable(key)) {
            return Err(Refusal::new(
                Code::InvalidAttributeName,
                format!("unknown attribute {unknown}"),
            ));
        }
        let fifo = choice(attributes, "FifoQueue", "false", "true")?;
        names::check_queue(name, fifo)?;
        let fifo_only = [
            "ContentBasedDeduplication",
            "DeduplicationScope",
            "FifoThroughputLimit",
        ];
        if let Some(wrong) = fifo_only
            .iter()
            .find(|key| !fifo && attributes.contains_key(**key))
        {
            return Err(Refusal::new(
                Code::InvalidAttributeName,
                format!("{wrong} is only for FIFO queues"),
            ));
        }
        let dedup_per_group = choice(attributes, "DeduplicationScope", "queue", "messageGroup")?;
        let limit_per_group = choice(attributes, "FifoThroughputLimit", "perQueue", "perMessageGroupId")?;
        if limit_per_group && !dedup_per_group {
            let needed = "it needs DeduplicationScope=messageGroup";
            return Err(invalid("FifoThroughputLimit", "perMessageGroupId", needed));
        }
        choice(attributes, "SqsManagedSseEnabled", "true", "false")?;
        number(attributes, "KmsDataKeyReusePeriodSeconds")?;
        Ok(Self {
            fifo,
            visibility_s: number(attributes, "VisibilityTimeout")?,
            delay_s: number(attributes, "DelaySeconds")?,
            retention_s: number(attributes, "MessageRetentionPeriod")?,
            wait_s: number(attributes, "ReceiveMessageWaitTimeSeconds")?,
            max_bytes: usize::try_from(number(attributes, "MaximumMessageSize")?).unwrap_or(MAX_BYTES),
            content_dedup: choice(attributes, "ContentBasedDeduplication", "false", "true")?,
            dedup_per_group,
            redrive: attributes
                .get("RedrivePolicy")
                .map(|text| RedrivePolicy::read(text))
                .transpose()?,
            allow: attributes
                .get("RedriveAllowPolicy")
                .map(|text| AllowPolicy::read(text))
                .transpose()?
                .unwrap_or(AllowPolicy::All),
        })
    }
}

/// The attributes with every default filled in.
pub(crate) fn effective(attributes: &Attributes) -> Attributes {
    let mut all: Attributes = NUMBERS
        .iter()
        .filter(|(name, ..)| !name.starts_with("Kms"))
        .map(|(name, _, default)| ((*name).to_owned(), default.to_string()))
        .collect();
    all.insert("SqsManagedSseEnabled".to_owned(), "true".to_owned());
    if attributes.get("FifoQueue").is_some_and(|value| value == "true") {
        for (name, value) in [
            ("ContentBasedDeduplication", "false"),
            ("DeduplicationScope", "queue"),
            ("FifoThroughputLimit", "perQueue"),
        ] {
            all.insert(name.to_owned(), value.to_owned());
        }
    }
    all.extend(
        attributes
            .iter()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    all
}

/// Name of the first of `asked` that differs from what the queue has; creating a queue again is fine when
/// there is none.
pub(crate) fn first_difference<'a>(stored: &Attributes, asked: &'a Attributes) -> Option<&'a str> {
    let have = effective(stored);
    let differs = |(name, value): &(&String, &String)| {
        let empty_and_absent = value.is_empty() && !have.contains_key(*name);
        !empty_and_absent
            && !have
                .get(*name)
                .is_some_and(|old| old == *value || same_json(old, value))
    };
    asked.iter().find(differs).map(|(name, _)| name.as_str())
}

/// `stored` with `changes` on top. An empty policy removes it; a queue cannot change its kind.
pub(crate) fn merge(stored: &Attributes, changes: &Attributes) -> Result<Attributes, Refusal> {
    let mut merged = stored.clone();
    for (name, value) in changes {
        let removable =
            KEPT.contains(&name.as_str()) || name == "RedrivePolicy" || name == "RedriveAllowPolicy";
        if name == "FifoQueue" && stored.get(name) != Some(value) {
            return Err(invalid(
                name,
                value,
                "it cannot be changed after the queue was created",
            ));
        }
        if removable && value.is_empty() {
            merged.remove(name);
        } else {
            merged.insert(name.clone(), value.clone());
        }
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Attributes {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn code(name: &str, pairs: &[(&str, &str)]) -> Option<Code> {
        QueueConfig::read(name, &of(pairs))
            .err()
            .map(|refusal| refusal.code)
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (name, value) in [
            ("VisibilityTimeout", "43201"),
            ("VisibilityTimeout", "-1"),
            ("VisibilityTimeout", "soon"),
            ("DelaySeconds", "901"),
            ("MessageRetentionPeriod", "59"),
            ("MaximumMessageSize", "1048577"),
            ("ReceiveMessageWaitTimeSeconds", "21"),
            ("FifoThroughputLimit", "perMessageGroupId"),
            ("RedrivePolicy", "{}"),
        ] {
            let refused = code("q.fifo", &[("FifoQueue", "true"), (name, value)]);
            assert_eq!(refused, Some(Code::InvalidAttributeValue), "{name}={value}");
        }
    }

    #[test]
    fn unknown_and_answered_attributes_cannot_be_set() {
        for name in ["Colour", "QueueArn", "ApproximateNumberOfMessages"] {
            assert_eq!(
                code("q", &[(name, "1")]),
                Some(Code::InvalidAttributeName),
                "{name}"
            );
        }
        assert_eq!(
            code("q", &[("DeduplicationScope", "queue")]),
            Some(Code::InvalidAttributeName)
        );
    }

    #[test]
    fn repeated_creation_compares_only_what_is_given() {
        let stored = of(&[("FifoQueue", "true"), ("VisibilityTimeout", "5")]);
        assert_eq!(
            first_difference(&stored, &of(&[("VisibilityTimeout", "5"), ("DelaySeconds", "0")])),
            None
        );
        let asked = of(&[("VisibilityTimeout", "6")]);
        assert_eq!(first_difference(&stored, &asked), Some("VisibilityTimeout"));
    }

    #[test]
    fn empty_policy_removes_it() {
        let stored = of(&[("RedrivePolicy", "{}"), ("DelaySeconds", "1")]);
        let merged = merge(&stored, &of(&[("RedrivePolicy", "")]));
        assert_eq!(merged, Ok(of(&[("DelaySeconds", "1")])));
    }
}
