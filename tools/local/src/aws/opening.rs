//! What a person can do about a state file that cannot be opened: a pure rule.
//!
//! Moving a file away loses what waits in it, so that is said only of a file that nobody can read.

use dynoxide::DynoxideError;
use fifo_queue::EngineError;
use rusqlite::ErrorCode;

/// What the tables' library says of a file that is no database.
const NO_DATABASE: &str = "not a valid SQLite database";
const MOVE_AWAY: &str = "move that file away to start without its content";
const STOP_THE_OTHER: &str = "stop the other program that has that file open";
const PERMISSIONS: &str = "fix the permissions of that file and of its directory";
const DISK: &str = "check the disk";

/// What is wrong with the queues' file, and what to do. The engine names the cures of what it knows itself.
pub(super) fn engine_told(error: &EngineError) -> String {
    match error {
        EngineError::Storage(error) => format!("{error}; {}", database_cure(error)),
        other => other.to_string(),
    }
}

/// What to do about the tables' file.
pub(super) fn table_cure(error: &DynoxideError) -> &'static str {
    match error {
        DynoxideError::SqliteError(error) => database_cure(error),
        // The library has no code for this one.
        DynoxideError::InternalServerError(told) if told.contains(NO_DATABASE) => MOVE_AWAY,
        _ => DISK,
    }
}

fn database_cure(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => MOVE_AWAY,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => STOP_THE_OTHER,
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => PERMISSIONS,
        _ => DISK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)
    }

    #[test]
    fn a_file_is_moved_away_only_if_it_cannot_be_read() {
        // SQLite's result codes: NOTADB, CORRUPT, BUSY, LOCKED, CANTOPEN, PERM, READONLY, FULL, IOERR.
        let cures = [
            (26, MOVE_AWAY),
            (11, MOVE_AWAY),
            (5, STOP_THE_OTHER),
            (6, STOP_THE_OTHER),
            (14, PERMISSIONS),
            (3, PERMISSIONS),
            (8, PERMISSIONS),
            (13, DISK),
            (10, DISK),
        ];
        for (code, cure) in cures {
            let told = engine_told(&EngineError::Storage(failed(code)));
            assert!(told.ends_with(cure), "{code}: {told}");
            assert_eq!(
                table_cure(&DynoxideError::SqliteError(failed(code))),
                cure,
                "{code}"
            );
        }
        let in_use = engine_told(&EngineError::InUse {
            path: "queues.db".into(),
        });
        assert!(
            in_use.contains("stop the other program") && !in_use.contains("away"),
            "{in_use}"
        );
    }

    #[test]
    fn a_file_that_is_no_table_is_moved_away() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("tables.db");
        std::fs::write(
            &path,
            "no database, but long enough to be looked at as one".repeat(9),
        )
        .unwrap();
        let error = dynoxide::Database::new(path.to_str().unwrap()).err().unwrap();
        assert_eq!(table_cure(&error), MOVE_AWAY, "{error}");
    }
}
