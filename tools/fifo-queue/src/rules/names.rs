//! Names: queues, groups, deduplication ids, batch entries, attributes of messages.

use crate::error::{Code, Refusal};

/// Longest queue name (SQS API, CreateQueue).
const QUEUE_NAME: usize = 80;
/// Longest group or deduplication id (SQS API, SendMessage).
const FIFO_ID: usize = 128;
/// Longest batch entry id (SQS API, SendMessageBatchRequestEntry).
const ENTRY_ID: usize = 80;
/// Longest name of a message attribute (SQS Developer Guide, message metadata).
const ATTRIBUTE_NAME: usize = 256;

fn is_plain(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// Letters, digits, `-` and `_`, at most 80, with `.fifo` at the end exactly when the queue is FIFO.
pub(crate) fn check_queue(name: &str, fifo: bool) -> Result<(), Refusal> {
    let stem = match (name.strip_suffix(".fifo"), fifo) {
        (Some(stem), true) => stem,
        (None, false) => name,
        (Some(_), false) => {
            return Err(Refusal::parameter(format!(
                "queue name `{name}` ends in .fifo, which needs the attribute FifoQueue=true"
            )));
        }
        (None, true) => {
            return Err(Refusal::parameter(format!(
                "the name of a FIFO queue must end in .fifo: `{name}`"
            )));
        }
    };
    if is_plain(stem, QUEUE_NAME) && name.len() <= QUEUE_NAME {
        return Ok(());
    }
    Err(Refusal::parameter(format!(
        "queue name `{name}` can only have 1 to 80 letters, digits, hyphens and underscores"
    )))
}

/// 1 to 128 printable ASCII characters other than the space.
pub(crate) fn check_fifo_id(parameter: &str, id: &str) -> Result<(), Refusal> {
    if (1..=FIFO_ID).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Refusal::parameter(format!(
        "value {id:?} for parameter {parameter} is invalid: \
         1 to 128 letters, digits and punctuation characters are allowed"
    )))
}

/// Letters, digits, `-` and `_`, at most 80.
pub(crate) fn check_entry_id(id: &str) -> Result<(), Refusal> {
    if is_plain(id, ENTRY_ID) {
        return Ok(());
    }
    Err(Refusal::new(
        Code::InvalidBatchEntryId,
        format!("batch entry id {id:?} can only have 1 to 80 letters, digits, hyphens and underscores"),
    ))
}

/// Letters, digits, `-`, `_` and `.`; no reserved prefix, no dot at an end or next to another.
pub(crate) fn check_attribute(name: &str) -> Result<(), Refusal> {
    let lower = name.to_ascii_lowercase();
    let good = (1..=ATTRIBUTE_NAME).contains(&name.len())
        && name.split('.').all(|part| is_plain(part, ATTRIBUTE_NAME))
        && !lower.starts_with("aws.")
        && !lower.starts_with("amazon.");
    if good {
        return Ok(());
    }
    Err(Refusal::parameter(format!(
        "message attribute name {name:?} is invalid or reserved"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifo_suffix_and_attribute_go_together() {
        assert!(check_queue("a.fifo", true).is_ok());
        assert!(check_queue("a", false).is_ok());
        for (name, fifo) in [
            ("a", true),
            ("a.fifo", false),
            (".fifo", true),
            ("a.b", false),
            ("", false),
        ] {
            assert!(check_queue(name, fifo).is_err(), "{name} {fifo}");
        }
        assert!(check_queue(&format!("{}.fifo", "x".repeat(75)), true).is_ok());
        assert!(check_queue(&format!("{}.fifo", "x".repeat(76)), true).is_err());
    }

    #[test]
    fn group_and_dedup_ids_are_printable_ascii() {
        assert!(check_fifo_id("MessageGroupId", "bot:1/-100!~").is_ok());
        for bad in ["", "a b", "é", "a\n", &"x".repeat(129)] {
            assert!(check_fifo_id("MessageGroupId", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn attribute_names_are_dotted_words() {
        assert!(check_attribute("trace.id").is_ok());
        for bad in ["", ".a", "a.", "a..b", "AWS.x", "amazon.x", "a b"] {
            assert!(check_attribute(bad).is_err(), "{bad:?}");
        }
    }
}
