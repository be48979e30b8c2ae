//! What a message may contain, and what a queue makes of it.

use super::attributes::QueueConfig;
use super::names;
use crate::digest;
use crate::error::{Code, Refusal};
use crate::message::{AttributeValue, MessageAttribute, SendEntry};

/// User attributes of a message (SQS Developer Guide, message metadata).
const MAX_ATTRIBUTES: usize = 10;
/// Longest delay, in seconds (SQS API, SendMessage).
const MAX_DELAY_S: i64 = 900;

/// A message that may be stored: what the queue decided about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// `None` on a standard queue.
    pub(crate) dedup_id: Option<String>,
    /// Seconds until it becomes visible.
    pub(crate) delay_s: i64,
}

/// Characters that SQS carries: tab, line feed, carriage return, and everything from the space up except
/// U+FFFE and U+FFFF (SQS API, SendMessage; surrogates cannot be in a `str`).
pub(crate) fn is_carried(c: char) -> bool {
    matches!(c, '\u{9}' | '\u{A}' | '\u{D}' | '\u{20}'..='\u{FFFD}' | '\u{10000}'..='\u{10FFFF}')
}

fn check_text(what: &str, text: &str) -> Result<(), Refusal> {
    match text.chars().find(|c| !is_carried(*c)) {
        None => Ok(()),
        Some(c) => Err(Refusal::new(
            Code::InvalidMessageContents,
            format!(
                "{what} has the character U+{:04X}, which SQS does not carry",
                u32::from(c)
            ),
        )),
    }
}

/// Everything that can be said about one message without looking into the queue.
pub(crate) fn check(entry: &SendEntry, config: &QueueConfig) -> Result<Accepted, Refusal> {
    if entry.body.is_empty() {
        return Err(Refusal::missing("MessageBody"));
    }
    check_text("the message body", &entry.body)?;
    check_attributes(entry)?;
    let (size, limit) = (entry.size(), config.max_bytes);
    if size > limit {
        return Err(Refusal::parameter(format!(
            "one or more parameters are invalid: the message has {size} bytes, this queue takes {limit}"
        )));
    }
    if config.fifo {
        check_fifo(entry, config)
    } else {
        check_standard(entry, config)
    }
}

fn check_fifo(entry: &SendEntry, config: &QueueConfig) -> Result<Accepted, Refusal> {
    let group = entry
        .group
        .as_deref()
        .ok_or_else(|| Refusal::missing("MessageGroupId"))?;
    names::check_fifo_id("MessageGroupId", group)?;
    if let Some(delay_s) = entry.delay_s.filter(|delay_s| *delay_s != 0) {
        return Err(Refusal::parameter(format!(
            "value {delay_s} for parameter DelaySeconds is invalid: a FIFO queue has only the delay of the queue"
        )));
    }
    let dedup_id = match &entry.dedup_id {
        Some(id) => {
            names::check_fifo_id("MessageDeduplicationId", id)?;
            id.clone()
        }
        None if config.content_dedup => digest::dedup_id_of(&entry.body),
        None => {
            return Err(Refusal::parameter(
                "the queue should either have ContentBasedDeduplication enabled \
                 or MessageDeduplicationId provided explicitly",
            ));
        }
    };
    Ok(Accepted {
        dedup_id: Some(dedup_id),
        delay_s: config.delay_s,
    })
}

fn check_standard(entry: &SendEntry, config: &QueueConfig) -> Result<Accepted, Refusal> {
    if entry.dedup_id.is_some() {
        return Err(Refusal::parameter(
            "MessageDeduplicationId is only for FIFO queues",
        ));
    }
    if let Some(group) = &entry.group {
        names::check_fifo_id("MessageGroupId", group)?;
    }
    let delay_s = entry.delay_s.unwrap_or(config.delay_s);
    if !(0..=MAX_DELAY_S).contains(&delay_s) {
        return Err(Refusal::parameter(format!(
            "value {delay_s} for parameter DelaySeconds is invalid: 0 to {MAX_DELAY_S} are allowed"
        )));
    }
    Ok(Accepted {
        dedup_id: None,
        delay_s,
    })
}

fn check_attributes(entry: &SendEntry) -> Result<(), Refusal> {
    let count = entry.attributes.len();
    if count > MAX_ATTRIBUTES {
        return Err(Refusal::parameter(format!(
            "the message has {count} attributes, at most {MAX_ATTRIBUTES} are allowed"
        )));
    }
    if let Some(header) = &entry.trace_header {
        check_text("the attribute AWSTraceHeader", header)?;
    }
    entry
        .attributes
        .iter()
        .try_for_each(|(name, attribute)| check_attribute(name, attribute))
}

fn check_attribute(name: &str, attribute: &MessageAttribute) -> Result<(), Refusal> {
    names::check_attribute(name)?;
    if attribute.value.is_empty() {
        return Err(Refusal::parameter(format!(
            "the message attribute `{name}` must have a non-empty value"
        )));
    }
    let kind = attribute.data_type.split('.').next().unwrap_or_default();
    match (kind, &attribute.value) {
        ("String", AttributeValue::Text(text)) => {
            check_text(&format!("the message attribute `{name}`"), text)
        }
        ("Number", AttributeValue::Text(text)) if text.parse::<f64>().is_ok_and(f64::is_finite) => Ok(()),
        ("Binary", AttributeValue::Binary(_)) => Ok(()),
        ("String" | "Number" | "Binary", _) => Err(Refusal::parameter(format!(
            "the message attribute `{name}` has a value that does not fit its type {}",
            attribute.data_type
        ))),
        _ => Err(Refusal::parameter(format!(
            "the message attribute `{name}` has the type {:?}, only String, Number and Binary are allowed",
            attribute.data_type
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_noncharacters_are_not_carried() {
        for c in [
            '\t',
            '\n',
            '\r',
            ' ',
            'é',
            '\u{D7FF}',
            '\u{E000}',
            '\u{FFFD}',
            '\u{10000}',
            '\u{10FFFF}',
        ] {
            assert!(is_carried(c), "{c:?}");
        }
        for c in ['\0', '\u{1}', '\u{B}', '\u{C}', '\u{1F}', '\u{FFFE}', '\u{FFFF}'] {
            assert!(!is_carried(c), "{c:?}");
        }
    }

    #[test]
    fn number_attribute_must_be_a_number() {
        let number = |text: &str| MessageAttribute {
            data_type: "Number".to_owned(),
            value: AttributeValue::Text(text.to_owned()),
        };
        assert!(check_attribute("n", &number("-1.5e3")).is_ok());
        assert!(check_attribute("n", &number("twelve")).is_err());
        assert!(check_attribute("n", &number("inf")).is_err());
        assert!(check_attribute("n", &number("")).is_err());
    }
}
