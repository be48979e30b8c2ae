//! A bot's own records beside the chat's state: orders, charges, members. Written together with the outcome, each under
//! a condition, so that two Updates cannot both make the same order. Never reads or writes one.

use std::fmt;

use crate::ids::LedgerKey;
use crate::time::Timestamp;

/// Most records that one outcome reads or writes: DynamoDB takes 100 items in a transaction, and the ledger record, the
/// chat's state and ten intents need room of their own.
pub const MAX_RECORDS: usize = 25;
/// Longest name of a collection, and longest id in it, in bytes (DynamoDB allows 2,048 for the whole key).
pub const MAX_NAME: usize = 256;
/// Longest value, in bytes of JSON (DynamoDB: 400 KB an item; far less is sane).
pub const MAX_VALUE: usize = 64 * 1024;

/// Names a record: a collection (`charge`) and an id in it (an order's number).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataKey {
    /// The collection.
    pub collection: String,
    /// The id.
    pub id: String,
}

impl DataKey {
    /// The record of that collection and id.
    #[must_use]
    pub fn new(collection: &str, id: impl fmt::Display) -> Self {
        Self {
            collection: collection.to_owned(),
            id: id.to_string(),
        }
    }
}

impl fmt::Display for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.collection, self.id)
    }
}

/// A record as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataItem {
    /// Its value, JSON.
    pub value: String,
    /// Grows with every write, and never comes back after the record was removed.
    pub version: u64,
    /// The Update whose outcome wrote it last: who finds a record that it wanted to make learns whose it is.
    pub by: LedgerKey,
}

/// What a write needs to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expect {
    /// No record: only the first makes it.
    Absent,
    /// The record in this version: nobody has changed it since it was read.
    Version(u64),
    /// A record, whichever.
    Present,
    /// Anything.
    Any,
}

/// One conditional write of an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataWrite {
    /// Which record.
    pub key: DataKey,
    /// What it must find; if it does not, nothing of the outcome is written.
    pub expect: Expect,
    /// What it does.
    pub change: Change,
}

/// What a write does to its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Gives it this value, JSON.
    Put(String),
    /// The same for a record that is of no use after an instant: from then on it may be gone at any time, or not for days
    /// (the table cleans up when it has time). What depends on the instant stands in the value.
    PutUntil(String, Timestamp),
    /// Removes it.
    Remove,
    /// Nothing: the record is only to be found as expected.
    Check,
}

/// Why writes cannot be part of an outcome. Permanent: they are refused before the commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWrites {
    /// More than [`MAX_RECORDS`].
    #[error("{0} records written in one outcome; at most {MAX_RECORDS} are allowed")]
    TooMany(usize),
    /// The same record twice: a transaction cannot hold it.
    #[error("record {0} of the writes stands twice")]
    Twice(usize),
    /// An empty or overlong collection or id.
    #[error("the key of write {0} must have a collection and an id of 1 to {MAX_NAME} bytes, without #")]
    Key(usize),
    /// A value over [`MAX_VALUE`].
    #[error("the value of write {0} is over {MAX_VALUE} bytes")]
    Value(usize),
}

/// Whether a key can be stored: `#` divides the parts of the stored one.
#[must_use]
pub fn is_valid_key(key: &DataKey) -> bool {
    let is_name = |name: &str| (1..=MAX_NAME).contains(&name.len());
    is_name(&key.collection) && is_name(&key.id) && !key.collection.contains('#')
}

/// Checks the writes of an outcome.
///
/// # Errors
/// [`InvalidWrites`], which no retry would cure.
pub fn check(writes: &[DataWrite]) -> Result<(), InvalidWrites> {
    if writes.len() > MAX_RECORDS {
        return Err(InvalidWrites::TooMany(writes.len()));
    }
    for (n, write) in writes.iter().enumerate() {
        if !is_valid_key(&write.key) {
            return Err(InvalidWrites::Key(n));
        }
        if writes[..n].iter().any(|earlier| earlier.key == write.key) {
            return Err(InvalidWrites::Twice(n));
        }
        if matches!(&write.change, Change::Put(value) | Change::PutUntil(value, _) if value.len() > MAX_VALUE)
        {
            return Err(InvalidWrites::Value(n));
        }
    }
    Ok(())
}

/// The version of a record that a write makes: the time, so that one that was removed and made anew never has a version
/// that somebody read before.
#[must_use]
pub fn first_version(now: Timestamp) -> u64 {
    u64::try_from(now.as_millis()).unwrap_or(1)
}

/// The version that a write leaves, with the one that it finds: it grows even within a millisecond and where clocks run
/// behind, so that who read before the write is refused after it.
#[must_use]
pub fn next_version(found: Option<u64>, now: Timestamp) -> u64 {
    found.map_or(first_version(now), |found| found + 1)
}

/// Whether a record, or its absence, is as expected.
#[must_use]
pub fn is_as_expected(found: Option<&DataItem>, expect: Expect) -> bool {
    match expect {
        Expect::Absent => found.is_none(),
        Expect::Version(version) => found.is_some_and(|item| item.version == version),
        Expect::Present => found.is_some(),
        Expect::Any => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(collection: &str, id: &str, value: &str) -> DataWrite {
        DataWrite {
            key: DataKey::new(collection, id),
            expect: Expect::Absent,
            change: Change::Put(value.to_owned()),
        }
    }

    #[test]
    fn writes_that_the_table_could_never_take_are_named() {
        assert_eq!(check(&[put("order", "1", "{}"), put("order", "2", "{}")]), Ok(()));
        let twice = [put("order", "1", "{}"), put("order", "1", "[]")];
        assert_eq!(check(&twice), Err(InvalidWrites::Twice(1)));
        for (collection, id) in [
            ("", "1"),
            ("order", ""),
            ("or#der", "1"),
            ("order", &"x".repeat(257)),
        ] {
            assert_eq!(check(&[put(collection, id, "{}")]), Err(InvalidWrites::Key(0)));
        }
        let long = "x".repeat(MAX_VALUE + 1);
        assert_eq!(check(&[put("order", "1", &long)]), Err(InvalidWrites::Value(0)));
        let many: Vec<_> = (0..26).map(|id| put("order", &id.to_string(), "{}")).collect();
        assert_eq!(check(&many), Err(InvalidWrites::TooMany(26)));
    }

    #[test]
    fn a_version_grows_even_where_clocks_run_behind() {
        let now = Timestamp::from_millis(50);
        assert_eq!(next_version(None, now), 50);
        assert_eq!(next_version(Some(7), now), 8);
        assert_eq!(next_version(Some(50), now), 51);
    }

    #[test]
    fn what_is_expected_is_absence_a_version_a_record_or_anything() {
        let item = DataItem {
            value: "{}".to_owned(),
            version: 3,
            by: LedgerKey::from_stored("1:2".to_owned()),
        };
        let found = Some(&item);
        let table = [
            (Expect::Absent, true, false),
            (Expect::Version(3), false, true),
            (Expect::Version(2), false, false),
            (Expect::Present, false, true),
            (Expect::Any, true, true),
        ];
        for (expect, if_absent, if_found) in table {
            assert_eq!(is_as_expected(None, expect), if_absent, "{expect:?}");
            assert_eq!(is_as_expected(found, expect), if_found, "{expect:?}");
        }
    }
}
