//! Small files that nobody else may read, written whole or not at all.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use super::StateError;

/// The mode bits of everybody but the owner.
#[cfg(unix)]
const OTHERS: u32 = 0o077;
/// The mode bit of a directory that several people write to, as the system's temporary one.
#[cfg(unix)]
const STICKY: u32 = 0o1000;

/// Makes a directory for its owner only; takes the others' access from one that is there, whatever lies in it.
pub(super) fn make_private_dir(path: &Path) -> Result<(), StateError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let failed = |source| StateError::Io {
        path: path.to_owned(),
        source,
    };
    builder.create(path).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).map_err(failed)?.permissions().mode();
        if mode & STICKY != 0 {
            return Err(StateError::Shared {
                path: path.to_owned(),
            });
        }
        if mode & OTHERS != 0 {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
        }
    }
    Ok(())
}

/// The text of a file; `None` when it is not there.
pub(super) fn read_if_there(path: &Path) -> Result<Option<String>, StateError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StateError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Writes a file for its owner only: beside it first, then moved over it.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), StateError> {
    let failed = |source| StateError::Io {
        path: path.to_owned(),
        source,
    };
    let beside = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    drop(file);
    std::fs::rename(&beside, path).map_err(failed)
}
