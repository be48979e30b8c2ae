//! The MD5 sums that SQS answers with and that SDKs verify, and the content-based deduplication id.
//! MD5 is a checksum here, never a protection.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use md5::{Digest as _, Md5};
use sha2::Sha256;

use crate::message::{AttributeValue, MessageAttribute};

/// Marks a text value in the sum (SQS Developer Guide, "Calculating the MD5 message digest").
const TEXT: u8 = 1;
/// Marks a binary value in the sum.
const BINARY: u8 = 2;

/// MD5 of a message body, in lower-case hexadecimal.
pub fn of_body(body: &str) -> String {
    hex(&Md5::digest(body.as_bytes()))
}

/// MD5 of message attributes, or `None` when there are none.
///
/// Sorted by name; of each: length and bytes of name, length and bytes of type, a byte for the kind of
/// value, length and bytes of the value. Lengths are four bytes, big-endian.
pub fn of_attributes(attributes: &BTreeMap<String, MessageAttribute>) -> Option<String> {
    if attributes.is_empty() {
        return None;
    }
    let mut sum = Md5::new();
    for (name, attribute) in attributes {
        add(&mut sum, name.as_bytes());
        add(&mut sum, attribute.data_type.as_bytes());
        match &attribute.value {
            AttributeValue::Text(text) => {
                sum.update([TEXT]);
                add(&mut sum, text.as_bytes());
            }
            AttributeValue::Binary(bytes) => {
                sum.update([BINARY]);
                add(&mut sum, bytes);
            }
        }
    }
    Some(hex(&sum.finalize()))
}

/// MD5 of the system attributes of a send: at most the trace header.
pub fn of_trace_header(trace_header: Option<&str>) -> Option<String> {
    let header = trace_header?;
    let attribute = MessageAttribute {
        data_type: "String".to_owned(),
        value: AttributeValue::Text(header.to_owned()),
    };
    of_attributes(&BTreeMap::from([("AWSTraceHeader".to_owned(), attribute)]))
}

/// Deduplication id of a message that came without one: SHA-256 of the body, attributes left out.
pub fn dedup_id_of(body: &str) -> String {
    hex(&Sha256::digest(body.as_bytes()))
}

fn add(sum: &mut Md5, part: &[u8]) {
    // A part is at most 1 MiB, so its length always fits.
    sum.update(u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
    sum.update(part);
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a String cannot fail.
            write!(text, "{byte:02x}").ok();
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_sum_is_the_plain_md5() {
        assert_eq!(of_body("hello"), "5d41402abc4b2a76b9719d911017c592");
    }

    #[test]
    fn no_attributes_give_no_sum() {
        assert_eq!(of_attributes(&BTreeMap::new()), None);
        assert_eq!(of_trace_header(None), None);
    }

    #[test]
    fn attribute_sum_covers_name_type_kind_and_value() {
        let one = |name: &str, data_type: &str, value: AttributeValue| {
            of_attributes(&BTreeMap::from([(
                name.to_owned(),
                MessageAttribute {
                    data_type: data_type.to_owned(),
                    value,
                },
            )]))
        };
        let base = one("a", "String", AttributeValue::Text("x".to_owned()));
        assert_ne!(base, one("b", "String", AttributeValue::Text("x".to_owned())));
        assert_ne!(base, one("a", "Number", AttributeValue::Text("x".to_owned())));
        assert_ne!(base, one("a", "String", AttributeValue::Text("y".to_owned())));
        assert_ne!(base, one("a", "String", AttributeValue::Binary(b"x".to_vec())));
    }
}
