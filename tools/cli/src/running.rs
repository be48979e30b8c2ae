//! The file by which other commands find a running stack: `running.json` in its state directory, for its owner only,
//! there while the stack runs. It holds the webhook's secret, so nothing of it is ever printed.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use penstock_aws::WallClock;
use penstock_local::Stack;
use penstock_local::aws::{Clients, Endpoints};
use penstock_local::template::LOCAL_REGION;
use serde::{Deserialize, Serialize};

use crate::called;
use crate::failure::Failure;
use crate::post::Webhook;

/// Name of the file.
const FILE: &str = "running.json";
/// Where a stack keeps its state unless told otherwise.
pub(crate) const DEFAULT_STATE_DIR: &str = ".penstock";
/// Time for a connection to a stack on this machine.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// A running stack, as others reach it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Running {
    pub(crate) pid: u32,
    pub(crate) front: String,
    pub(crate) webhook_url: String,
    pub(crate) webhook_secret: String,
    pub(crate) bot_id: u64,
    pub(crate) aws_endpoint: String,
    pub(crate) table: String,
    /// The stack's clock: where its time and the wall's were equal, and how fast it runs.
    #[serde(default)]
    pub(crate) time_origin_ms: i64,
    #[serde(default = "one")]
    pub(crate) time_scale: f64,
}

fn one() -> f64 {
    1.0
}

impl Running {
    /// A stack of this process.
    pub(crate) fn of(stack: &Stack) -> Self {
        Self {
            pid: std::process::id(),
            front: stack.front_url().to_owned(),
            webhook_url: stack.webhook_url(),
            webhook_secret: stack.webhook_secret().to_owned(),
            bot_id: stack.bot_id(),
            aws_endpoint: stack.endpoint_url().to_owned(),
            table: stack
                .resources()
                .tables
                .first()
                .map(|table| table.name.clone())
                .unwrap_or_default(),
            time_origin_ms: stack.view().clock().origin_ms(),
            time_scale: stack.view().clock().scale(),
        }
    }

    /// The stack that runs on a state directory.
    pub(crate) async fn find(state_dir: &Path) -> Result<Self, Failure> {
        let found = Self::read(state_dir).map_err(Failure::Usage)?;
        let address = found.front.trim_start_matches("http://");
        let connected = tokio::time::timeout(CONNECT_LIMIT, tokio::net::TcpStream::connect(address)).await;
        if !matches!(connected, Ok(Ok(_))) {
            return Err(Failure::Usage(anyhow!(
                "the stack of {} (process {}) is gone: start it again with `{}`",
                state_dir.display(),
                found.pid,
                called::command("dev")
            )));
        }
        Ok(found)
    }

    /// Reads the file, whether or not the stack still runs.
    pub(crate) fn read(state_dir: &Path) -> Result<Self, anyhow::Error> {
        let path = state_dir.join(FILE);
        let text = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => anyhow!(
                "no stack runs on {}: start one with `{}` in another terminal, or name its directory with \
                 --state-dir",
                state_dir.display(),
                called::command("dev")
            ),
            _ => anyhow!(
                "{} cannot be read: {error}; it is its owner's alone",
                path.display()
            ),
        })?;
        serde_json::from_str(&text)
            .map_err(|error| anyhow!("{} is damaged: {error}; start the stack again", path.display()))
    }

    /// Its webhook.
    pub(crate) fn webhook(&self) -> Webhook {
        Webhook::new(&self.webhook_url, &self.webhook_secret)
    }

    /// Its clock.
    pub(crate) fn clock(&self) -> WallClock {
        WallClock::scaled(self.time_origin_ms, self.time_scale)
    }

    /// Clients of its services.
    pub(crate) fn clients(&self) -> Clients {
        Clients::new(&Endpoints::one(&self.aws_endpoint), LOCAL_REGION)
    }
}

/// The file, removed when dropped. A process that is killed leaves it; [`Running::find`] then says that it is stale.
pub(crate) struct RunningFile {
    path: PathBuf,
}

impl RunningFile {
    /// Writes it: beside its place first, then moved there.
    pub(crate) fn write(state_dir: &Path, running: &Running) -> Result<Self, anyhow::Error> {
        let path = state_dir.join(FILE);
        let beside = path.with_extension("new");
        let text = serde_json::to_string_pretty(running)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = || -> std::io::Result<()> {
            options.open(&beside)?.write_all(text.as_bytes())?;
            std::fs::rename(&beside, &path)
        };
        written().with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for RunningFile {
    fn drop(&mut self) {
        // The directory may be gone with it.
        std::fs::remove_file(&self.path).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Running {
        Running {
            pid: 7,
            // Port 9 of the loopback: nothing listens there.
            front: "http://127.0.0.1:9".to_owned(),
            webhook_url: "http://127.0.0.1:9/telegram/424242/key".to_owned(),
            webhook_secret: "secret".to_owned(),
            bot_id: 424_242,
            aws_endpoint: "http://127.0.0.1:9".to_owned(),
            table: "penstock".to_owned(),
            time_origin_ms: 0,
            time_scale: 1.0,
        }
    }

    fn message(found: Result<Running, Failure>) -> String {
        found.err().map(|failure| failure.to_string()).unwrap_or_default()
    }

    #[tokio::test]
    async fn a_directory_without_a_stack_names_the_cure() {
        let base = tempfile::tempdir().unwrap();
        let told = message(Running::find(base.path()).await);
        assert!(
            told.contains("no stack runs on") && told.contains(" dev` in another"),
            "{told}"
        );
    }

    #[tokio::test]
    async fn a_file_that_a_killed_stack_left_is_called_stale() {
        let base = tempfile::tempdir().unwrap();
        let file = RunningFile::write(base.path(), &running()).unwrap();
        let told = message(Running::find(base.path()).await);
        assert!(told.contains("(process 7) is gone"), "{told}");
        drop(file);
        assert!(!base.path().join(FILE).exists());
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let base = tempfile::tempdir().unwrap();
        let file = RunningFile::write(base.path(), &running()).unwrap();
        assert_eq!(
            std::fs::metadata(&file.path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
