//! The state directory: what a local stack keeps between starts.
//!
//! One stack per directory at a time, and never a format this version does not know. Nothing of a
//! real bot's token is written here.

mod files;
mod identity;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use identity::BotIdentity;

use crate::clock::{StackClock, wall_ms};

/// Format of the directory. Raised when an older version of the tool could not read it.
const STATE_VERSION: u32 = 1;
/// The file that says what the directory is.
const MARKER: &str = "state.json";
/// Held locked while a stack runs; holds its process id.
const LOCK: &str = "lock";

/// What can be wrong with a state directory; every message names the cure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// A file operation failed.
    #[error("{} cannot be used: {source}; check its permissions or choose another directory with --state-dir", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Everybody writes there.
    #[error("{} is shared with others: choose a directory of its own with --state-dir, for example {}", path.display(), path.join("penstock").display())]
    Shared {
        /// The directory.
        path: PathBuf,
    },
    /// Another stack runs on it.
    #[error("{} is in use by process {pid}: stop that one, or choose another directory with --state-dir", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The other process, as far as it has said so.
        pid: String,
    },
    /// Another version of the tool made it.
    #[error("{} has state version {found}, this tool reads version {STATE_VERSION}: move it away (mv {} {}.old) or use the version that made it", path.display(), path.display(), path.display())]
    Version {
        /// The directory.
        path: PathBuf,
        /// The version found.
        found: u32,
    },
    /// Its times were made at another time scale.
    #[error("{} was made with --time-scale {found}: times in it would be wrong at {wanted}; use that scale, or another --state-dir", path.display())]
    TimeScale {
        /// The directory.
        path: PathBuf,
        /// The scale it was made with.
        found: f64,
        /// The scale asked for.
        wanted: f64,
    },
    /// A file in it is damaged.
    #[error("{} is damaged: {source}; move it away, and it is made anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    version: u32,
    time_origin_ms: i64,
    time_scale: f64,
}

/// Only what every version of the marker has.
#[derive(Debug, Deserialize)]
struct MarkerVersion {
    version: u32,
}

/// An open state directory; closed when dropped.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    clock: StackClock,
    is_new: bool,
    // Order matters: the lock goes before a temporary directory is removed.
    _lock: File,
    _temporary: Option<tempfile::TempDir>,
}

impl StateDir {
    /// Opens a directory, making it when it is not there.
    ///
    /// # Errors
    /// When it is in use, of another version or scale, or not usable.
    pub fn open(path: &Path, time_scale: f64) -> Result<Self, StateError> {
        Self::open_in(path.to_owned(), time_scale, None)
    }

    /// A fresh directory that is removed at the end.
    ///
    /// # Errors
    /// When there is no place for it.
    pub fn temporary(time_scale: f64) -> Result<Self, StateError> {
        let directory = tempfile::Builder::new()
            .prefix("penstock-")
            .tempdir()
            .map_err(|source| StateError::Io {
                path: std::env::temp_dir(),
                source,
            })?;
        Self::open_in(directory.path().to_owned(), time_scale, Some(directory))
    }

    fn open_in(
        path: PathBuf,
        time_scale: f64,
        temporary: Option<tempfile::TempDir>,
    ) -> Result<Self, StateError> {
        files::make_private_dir(&path)?;
        let lock = lock(&path)?;
        let is_new = !path.join(MARKER).exists();
        let clock = clock(&path, time_scale)?;
        Ok(Self {
            path,
            clock,
            is_new,
            _lock: lock,
            _temporary: temporary,
        })
    }

    /// The stack's clock: its origin is when the directory was made, so that time goes on where it
    /// was, at any scale.
    #[must_use]
    pub fn clock(&self) -> StackClock {
        self.clock
    }

    /// Whether no stack has run on it before.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The queues' file.
    #[must_use]
    pub fn queues_file(&self) -> PathBuf {
        self.path.join("queues.db")
    }

    /// The tables' file.
    #[must_use]
    pub fn tables_file(&self) -> PathBuf {
        self.path.join("tables.db")
    }

    /// The secrets of a bot's webhook, generated at its first start.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn identity(&self, bot_id: u64) -> Result<BotIdentity, StateError> {
        identity::load_or_make(&self.path.join("secrets.json"), bot_id)
    }
}

fn lock(directory: &Path) -> Result<File, StateError> {
    let path = directory.join(LOCK);
    let failed = |source| StateError::Io {
        path: path.clone(),
        source,
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            // Only for the message: an unreadable id is an unknown one.
            file.read_to_string(&mut pid).ok();
            let pid = if pid.trim().is_empty() {
                "unknown".to_owned()
            } else {
                pid.trim().to_owned()
            };
            return Err(StateError::InUse {
                path: directory.to_owned(),
                pid,
            });
        }
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    file.set_len(0).map_err(failed)?;
    file.rewind().map_err(failed)?;
    writeln!(file, "{}", std::process::id()).map_err(failed)?;
    Ok(file)
}

/// Checks the marker, or writes it into a new directory.
fn clock(directory: &Path, time_scale: f64) -> Result<StackClock, StateError> {
    let path = directory.join(MARKER);
    let damaged = |source| StateError::Damaged {
        path: path.clone(),
        source,
    };
    let Some(text) = files::read_if_there(&path)? else {
        let marker = Marker {
            version: STATE_VERSION,
            time_origin_ms: wall_ms(),
            time_scale,
        };
        let text = serde_json::to_string(&marker).map_err(damaged)?;
        files::write_private(&path, &text)?;
        return Ok(StackClock::new(marker.time_origin_ms, time_scale));
    };
    let found: MarkerVersion = serde_json::from_str(&text).map_err(damaged)?;
    if found.version != STATE_VERSION {
        return Err(StateError::Version {
            path: directory.to_owned(),
            found: found.version,
        });
    }
    let marker: Marker = serde_json::from_str(&text).map_err(damaged)?;
    if marker.time_scale != time_scale {
        return Err(StateError::TimeScale {
            path: directory.to_owned(),
            found: marker.time_scale,
            wanted: time_scale,
        });
    }
    Ok(StackClock::new(marker.time_origin_ms, time_scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_stack_on_the_same_directory_is_refused_by_name() {
        let base = tempfile::tempdir().unwrap();
        let first = StateDir::open(base.path(), 1.0).unwrap();
        let message = StateDir::open(base.path(), 1.0).unwrap_err().to_string();
        assert!(
            message.contains(&format!("in use by process {}", std::process::id())),
            "{message}"
        );
        assert!(message.contains("--state-dir"), "{message}");
        drop(first);
        StateDir::open(base.path(), 1.0).unwrap();
    }

    #[test]
    fn identities_and_time_survive_a_restart() {
        let base = tempfile::tempdir().unwrap();
        let first = StateDir::open(base.path(), 20.0).unwrap();
        let (identity, clock) = (first.identity(424_242).unwrap(), first.clock());
        drop(first);
        let second = StateDir::open(base.path(), 20.0).unwrap();
        assert_eq!(second.identity(424_242).unwrap(), identity);
        assert_eq!(second.clock().origin_ms(), clock.origin_ms());
        assert_ne!(second.identity(7).unwrap(), identity);
    }

    #[test]
    fn a_directory_of_another_version_names_the_cure() {
        let base = tempfile::tempdir().unwrap();
        std::fs::write(base.path().join(MARKER), r#"{"version": 9, "unheard_of": true}"#).unwrap();
        let message = StateDir::open(base.path(), 1.0).unwrap_err().to_string();
        assert!(
            message.contains("state version 9") && message.contains("move it away"),
            "{message}"
        );
    }

    #[test]
    fn a_directory_of_another_time_scale_is_refused() {
        let base = tempfile::tempdir().unwrap();
        drop(StateDir::open(base.path(), 20.0).unwrap());
        let message = StateDir::open(base.path(), 1.0).unwrap_err().to_string();
        assert!(message.contains("--time-scale 20"), "{message}");
    }

    #[test]
    fn a_damaged_marker_is_named() {
        let base = tempfile::tempdir().unwrap();
        std::fs::write(base.path().join(MARKER), "{").unwrap();
        let message = StateDir::open(base.path(), 1.0).unwrap_err().to_string();
        assert!(message.contains("state.json is damaged"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_is_its_owners_alone_also_when_it_was_there() {
        use std::fs::{Permissions, metadata, set_permissions};
        use std::os::unix::fs::PermissionsExt as _;
        let base = tempfile::tempdir().unwrap();
        let mode = |path: &Path| metadata(path).unwrap().permissions().mode() & 0o7777;
        for (path, before) in [("new", None), ("old", Some(0o755)), ("narrow", Some(0o700))] {
            let path = base.path().join(path);
            if let Some(before) = before {
                std::fs::create_dir(&path).unwrap();
                set_permissions(&path, Permissions::from_mode(before)).unwrap();
            }
            let state = StateDir::open(&path, 1.0).unwrap();
            assert_eq!(mode(state.path()), 0o700, "{}", path.display());
            assert_eq!(mode(&path.join(LOCK)), 0o600);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_that_everybody_writes_to_is_refused_and_left_as_it_is() {
        use std::fs::{Permissions, metadata, set_permissions};
        use std::os::unix::fs::PermissionsExt as _;
        let base = tempfile::tempdir().unwrap();
        set_permissions(base.path(), Permissions::from_mode(0o1777)).unwrap();
        let message = StateDir::open(base.path(), 1.0).unwrap_err().to_string();
        assert!(message.contains("--state-dir"), "{message}");
        assert_eq!(
            metadata(base.path()).unwrap().permissions().mode() & 0o7777,
            0o1777
        );
        assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_temporary_directory_is_removed_at_the_end() {
        let state = StateDir::temporary(1.0).unwrap();
        let path = state.path().to_owned();
        assert!(path.join(MARKER).exists());
        drop(state);
        assert!(!path.exists());
    }
}
