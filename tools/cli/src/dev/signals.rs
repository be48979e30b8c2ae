//! The signals that stop a stack: Ctrl-C, and SIGTERM as service managers send it. Listened to before the stack starts:
//! who sees it ready may stop it at once.

use anyhow::Context as _;

/// Signals since they were first listened to; none in between is missed.
pub(super) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    pub(super) fn listen() -> Result<Self, anyhow::Error> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).context("this process cannot listen to signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits for one.
    #[cfg(unix)]
    pub(super) async fn stop(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(super) fn listen() -> Result<Self, anyhow::Error> {
        Ok(Self {})
    }

    /// Waits for one; for ever where there is none to listen to.
    #[cfg(not(unix))]
    pub(super) async fn stop(&mut self) {
        if tokio::signal::ctrl_c().await.context("ctrl-c").is_err() {
            std::future::pending::<()>().await;
        }
    }
}
