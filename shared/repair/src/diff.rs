//! What an edit changes, member by member. Pure.

use serde_json::Value;

/// One place that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Where, as a JSON pointer (RFC 6901).
    pub place: String,
    /// What is there now; none where something is added.
    pub before: Option<Value>,
    /// What will be there; none where something goes.
    pub after: Option<Value>,
}

/// The differences of two JSON texts. A text that is no JSON differs as a whole.
#[must_use]
pub fn changes(before: &str, after: &str) -> Vec<Change> {
    let read = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    let mut found = Vec::new();
    compare("", Some(&read(before)), Some(&read(after)), &mut found);
    found
}

fn compare(place: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Change>) {
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let added = after.keys().filter(|name| !before.contains_key(*name));
            for name in before.keys().chain(added) {
                let name_in_place = name.replace('~', "~0").replace('/', "~1");
                compare(
                    &format!("{place}/{name_in_place}"),
                    before.get(name),
                    after.get(name),
                    found,
                );
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for index in 0..before.len().max(after.len()) {
                compare(
                    &format!("{place}/{index}"),
                    before.get(index),
                    after.get(index),
                    found,
                );
            }
        }
        (before, after) if before == after => {}
        (before, after) => found.push(Change {
            place: place.to_owned(),
            before: before.cloned(),
            after: after.cloned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_name_their_places() {
        let before = r#"{"update_id":1,"message":{"text":"x","a/b":[1,2]},"gone":true}"#;
        let after = r#"{"update_id":1,"message":{"text":"y","a/b":[1,3,4]},"new":null}"#;
        let told: Vec<_> = changes(before, after)
            .into_iter()
            .map(|change| {
                format!(
                    "{} {:?} {:?}",
                    change.place,
                    change.before.is_some(),
                    change.after.is_some()
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                "/gone true false",
                "/message/a~1b/1 true true",
                "/message/a~1b/2 false true",
                "/message/text true true",
                "/new false true"
            ]
        );
        assert!(changes(before, before).is_empty());
        assert_eq!(changes("nonsense", before).len(), 1);
    }
}
