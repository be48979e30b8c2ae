//! The file: opening, versions, tables. Nothing here knows what a receive is.
//!
//! * A message is two rows. `messages` is small, is rewritten at each receive and is clustered by group, so
//!   that "the group's messages in order" is one range. `payloads` holds what never changes and may be 1 MiB.
//! * `groups` has a row per group that has messages. `ready` says that its first message is visible, and the
//!   index on it in the order of first messages is what a receive walks. On a standard queue each message is
//!   a group of its own.
//! * Counts are columns of `queues`, kept with every change; nothing counts rows.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use crate::error::EngineError;

/// Version of the tables below; kept in `user_version` of the file.
pub(super) const VERSION: i64 = 1;
/// Marks the file as one of ours; kept in `application_id` of the file ("FIFO").
const APPLICATION: i64 = 0x4649_464F;
/// How long opening waits for a program that is just closing the file.
const OPEN_WAIT: Duration = Duration::from_secs(1);
/// Prepared statements kept; more than there are in this crate.
const STATEMENTS: usize = 128;
/// Page cache, in KiB (negative by SQLite's convention): the hot pages of a million messages.
const CACHE_KIB: i64 = -131_072;

/// Pages of 4 KiB that the write-ahead log holds before they go to the file: 32 MiB. Hot pages are rewritten
/// by nearly every call, so the longer it waits, the fewer are copied.
const CHECKPOINT_PAGES: i64 = 8_192;

const TABLES: &str = "
CREATE TABLE queues (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    attributes TEXT NOT NULL,
    tags TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    modified_ms INTEGER NOT NULL,
    purged_ms INTEGER,
    visible INTEGER NOT NULL DEFAULT 0,
    in_flight INTEGER NOT NULL DEFAULT 0,
    delayed INTEGER NOT NULL DEFAULT 0,
    groups_in_flight INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE groups (
    id INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    key TEXT,
    label TEXT,
    head_seq INTEGER NOT NULL,
    ready INTEGER NOT NULL,
    in_flight INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX groups_by_key ON groups (queue_id, key) WHERE key IS NOT NULL;
CREATE INDEX groups_by_head ON groups (queue_id, ready, head_seq);
CREATE TABLE messages (
    group_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    queue_id INTEGER NOT NULL,
    state INTEGER NOT NULL,
    visible_at INTEGER NOT NULL,
    sent_ms INTEGER NOT NULL,
    receives INTEGER NOT NULL DEFAULT 0,
    received_ms INTEGER NOT NULL DEFAULT 0,
    first_received_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (group_id, seq)
) WITHOUT ROWID;
CREATE INDEX messages_hidden ON messages (queue_id, visible_at) WHERE state <> 0;
CREATE TABLE payloads (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id TEXT NOT NULL,
    body TEXT NOT NULL,
    attributes TEXT,
    trace_header TEXT,
    dedup_id TEXT,
    source TEXT
);
CREATE TABLE dedup (
    seq INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    scope TEXT NOT NULL,
    dedup_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    expires_ms INTEGER NOT NULL,
    UNIQUE (queue_id, scope, dedup_id)
);
CREATE TABLE attempts (
    queue_id INTEGER NOT NULL,
    attempt_id TEXT NOT NULL,
    expires_ms INTEGER NOT NULL,
    handles TEXT NOT NULL,
    PRIMARY KEY (queue_id, attempt_id)
) WITHOUT ROWID;
CREATE INDEX attempts_by_expiry ON attempts (queue_id, expires_ms);
CREATE TABLE move_tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    handle TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    destination TEXT,
    rate INTEGER,
    status TEXT NOT NULL,
    moved INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL,
    failure TEXT,
    started_ms INTEGER NOT NULL
);
CREATE INDEX move_tasks_by_source ON move_tasks (source, id);
";

/// Opens the file, or memory without one, and brings it to the present version.
pub(super) fn open(path: Option<&Path>, synchronous_full: bool) -> Result<Connection, EngineError> {
    let mut conn = match path {
        Some(path) => Connection::open(path)?,
        None => Connection::open_in_memory()?,
    };
    conn.busy_timeout(OPEN_WAIT)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    let path = path.unwrap_or(Path::new("memory"));
    prepare(&mut conn, path, synchronous_full).map_err(|error| named(error, path))?;
    Ok(conn)
}

fn prepare(conn: &mut Connection, path: &Path, synchronous_full: bool) -> Result<(), EngineError> {
    // One owner: counts and settings are cached, and without sharing SQLite keeps the WAL's index in memory.
    conn.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    check(conn, path)?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    conn.pragma_update(
        None,
        "synchronous",
        if synchronous_full { "FULL" } else { "NORMAL" },
    )?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    conn.pragma_update(None, "cache_size", CACHE_KIB)?;
    let tx = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    if pragma(&tx, "user_version")? == 0 {
        tx.execute_batch(TABLES)?;
        tx.pragma_update(None, "application_id", APPLICATION)?;
        tx.pragma_update(None, "user_version", VERSION)?;
    }
    tx.commit()?;
    Ok(())
}

/// Refuses a file of another program or of another version before anything is written to it.
fn check(conn: &Connection, path: &Path) -> Result<(), EngineError> {
    let path = || path.to_path_buf();
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    let (application, version) = (pragma(conn, "application_id")?, pragma(conn, "user_version")?);
    match (tables, application, version) {
        (0, 0, 0) | (_, APPLICATION, VERSION) => Ok(()),
        (_, APPLICATION, found) => Err(EngineError::UnknownSchema {
            path: path(),
            found,
            known: VERSION,
        }),
        _ => Err(EngineError::NotAQueueFile { path: path() }),
    }
}

fn pragma(conn: &Connection, name: &str) -> rusqlite::Result<i64> {
    conn.pragma_query_value(None, name, |row| row.get(0))
}

fn named(error: EngineError, path: &Path) -> EngineError {
    let path = path.to_path_buf();
    match error {
        EngineError::Storage(source) => match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => EngineError::InUse { path },
            Some(ErrorCode::NotADatabase) => EngineError::NotAQueueFile { path },
            _ => EngineError::Storage(source),
        },
        other => other,
    }
}
