//! Which versions are read and written. Versions N and N-1 are read (there is no version before 1).

use serde::Deserialize;

/// The version that is written today.
pub const SCHEMA_VERSION: u32 = 1;

/// Why a queue body cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It was written by a newer release: release it and wait for the roll-forward; never dead-letter it.
    #[error("schema version {0} is newer than {SCHEMA_VERSION}, which this release reads")]
    Newer(u32),
    /// It is no such body at all.
    #[error("the body is none of ours")]
    Malformed(#[source] serde_json::Error),
}

/// Only the version, whatever else there is.
#[derive(Deserialize)]
struct Versioned {
    schema_version: u32,
}

/// Reads a body; the version is looked at first only when the whole does not fit.
pub(crate) fn read<'a, T: Deserialize<'a>>(
    body: &'a str,
    version: impl Fn(&T) -> u32,
) -> Result<T, ReadError> {
    match serde_json::from_str::<T>(body) {
        Ok(read) if version(&read) > SCHEMA_VERSION => Err(ReadError::Newer(version(&read))),
        Ok(read) => Ok(read),
        Err(error) => match serde_json::from_str::<Versioned>(body) {
            Ok(Versioned { schema_version }) if schema_version > SCHEMA_VERSION => {
                Err(ReadError::Newer(schema_version))
            }
            Ok(_) | Err(_) => Err(ReadError::Malformed(error)),
        },
    }
}
