//! A bot in processes of its own, so that it can be killed. Signals only what it has started, by process id.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use penstock_local::SIMULATED_TOKEN;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use super::framework::Framework;
use crate::processes;

/// Time to listen: a framework on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Time for killed processes to be gone.
const DEATH_LIMIT: Duration = Duration::from_secs(10);
/// Between two looks at either.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Last lines of what a bot has printed that are shown when it does not start.
const LINES_SHOWN: usize = 10;

/// Where a bot listens and what it is told.
pub(super) struct Place {
    pub(super) framework: Framework,
    pub(super) examples: PathBuf,
    pub(super) port: u16,
    pub(super) secret: String,
    /// What all its starts print.
    pub(super) log: PathBuf,
}

/// A free port of the loopback. It is free a moment later too, as a rule.
pub(super) async fn free_port() -> Result<u16, anyhow::Error> {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .context("no port is free")?;
    Ok(listener.local_addr()?.port())
}

/// A running bot.
pub(super) struct Backend {
    child: Child,
    pid: u32,
    port: u16,
}

impl Backend {
    /// Starts it and waits until it listens.
    pub(super) async fn start(place: &Place, api_root: &str) -> Result<Self, anyhow::Error> {
        let name = place.framework.name();
        let mut log = File::options();
        let log = log.create(true).append(true).open(&place.log);
        let log = log.context("the bot's log cannot be written")?;
        let mut command = place.framework.command(&place.examples)?;
        command
            .env("BOT_TOKEN", SIMULATED_TOKEN)
            .env("BOT_API_ROOT", api_root)
            .env("PORT", place.port.to_string())
            .env("WEBHOOK_SECRET", &place.secret)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true);
        let child = command
            .spawn()
            .with_context(|| format!("{name} cannot be started"))?;
        let pid = child.id().ok_or_else(|| anyhow!("{name} ended at once"))?;
        let mut backend = Self {
            child,
            pid,
            port: place.port,
        };
        let begun = Instant::now();
        while !backend.listens().await {
            let ended = backend.child.try_wait()?;
            if ended.is_some() || begun.elapsed() > START_LIMIT {
                return Err(anyhow!("{name} does not listen\n{}", last_lines(&place.log)));
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(backend)
    }

    async fn listens(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).await.is_ok()
    }

    /// Whether it still runs.
    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills it and all that it has started, at once, as a power switch would; comes back when nothing is left and
    /// nothing listens.
    pub(super) async fn kill(mut self) -> Result<(), anyhow::Error> {
        let mut pids = processes::descendants(self.pid);
        pids.push(self.pid);
        // The shell's own, as `kill` is no program everywhere.
        let mut kill = Command::new("sh");
        kill.args(["-c", r#"kill -KILL "$@""#, "sh"]);
        kill.args(pids.iter().map(u32::to_string));
        kill.status().await.context("the bot cannot be killed")?;
        self.child.wait().await?;
        let begun = Instant::now();
        while pids.iter().any(|pid| processes::is_running(*pid)) || self.listens().await {
            if begun.elapsed() > DEATH_LIMIT {
                return Err(anyhow!("the bot, or what it has started, outlives its kill"));
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }
}

fn last_lines(log: &Path) -> String {
    let printed = std::fs::read(log).unwrap_or_default();
    let printed = String::from_utf8_lossy(&printed);
    let lines: Vec<&str> = printed.lines().collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
}
