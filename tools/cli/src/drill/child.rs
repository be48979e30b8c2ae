//! A stack in a process of its own, so that it can be killed. Never reaches into it but through its webhook and its
//! services.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::processes;
use crate::running::Running;

/// Time for a start: a debug build on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Time for the functions of a killed stack to see that it is gone, and looks at them in that time.
const ORPHAN_LIMIT: Duration = Duration::from_secs(10);
const ORPHAN_LOOKS: u32 = 100;

/// A running stack.
pub(super) struct StackProcess {
    child: Child,
    pid: u32,
    pub(super) running: Running,
}

impl StackProcess {
    /// Starts a stack on a state directory and waits until it is ready.
    pub(super) async fn start(
        state_dir: &Path,
        time_scale: f64,
        more: &[&str],
    ) -> Result<Self, anyhow::Error> {
        let exe = std::env::current_exe().context("this program's own file is not found")?;
        let mut child = Command::new(exe)
            .args(["dev", "--headless", "--json", "--example-bot", "--port", "0"])
            .arg(format!("--time-scale={time_scale}"))
            .arg("--state-dir")
            .arg(state_dir)
            .args(more)
            // A stack of its own, whatever the environment leads to.
            .env_remove("AWS_ENDPOINT_URL")
            .env_remove("PENSTOCK_BOT_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .context("the stack's process cannot be started")?;
        let pid = child
            .id()
            .ok_or_else(|| anyhow!("the stack's process ended at once"))?;
        let output = child
            .stdout
            .take()
            .ok_or_else(|| anyhow!("the stack's process has no output"))?;
        let mut lines = BufReader::new(output).lines();
        let first = timeout(START_LIMIT, lines.next_line()).await;
        let first =
            first.map_err(|_| anyhow!("the stack was not ready within {} s", START_LIMIT.as_secs()))??;
        if first.is_none() {
            return Err(anyhow!("the stack did not start: its own message is above"));
        }
        // Read on, or its next line would find nobody.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let running = Running::read(state_dir)?;
        Ok(Self { child, pid, running })
    }

    /// Kills it at once, as a power switch would, and gives back the functions that are still there after a while:
    /// none, if all is well.
    pub(super) async fn kill(mut self) -> Result<Vec<u32>, anyhow::Error> {
        let functions: Vec<u32> = processes::family(self.pid)
            .into_iter()
            .map(|process| process.pid)
            .collect();
        // SIGKILL: nothing of the stack gets to run once more.
        self.child
            .kill()
            .await
            .context("the stack's process cannot be killed")?;
        for _ in 0..ORPHAN_LOOKS {
            if !functions.iter().any(|pid| processes::is_running(*pid)) {
                return Ok(Vec::new());
            }
            tokio::time::sleep(ORPHAN_LIMIT / ORPHAN_LOOKS).await;
        }
        Ok(functions
            .into_iter()
            .filter(|pid| processes::is_running(*pid))
            .collect())
    }
}
