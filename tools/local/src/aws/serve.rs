//! Servers on loopback ports that end when they are told to.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::AwsError;

/// How long requests that are under way may take at a shutdown, on the wall clock.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Server {
    /// Runs what `serve` makes of a signal to stop.
    pub(crate) fn start<F, S>(serve: S) -> Self
    where
        S: FnOnce(oneshot::Receiver<()>) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        Self {
            stop,
            task: tokio::spawn(serve(stopped)),
        }
    }

    /// Serves a router on a listener.
    pub(crate) fn router(name: &'static str, listener: TcpListener, router: axum::Router) -> Self {
        Self::start(|stopped| async move {
            let until = async move {
                // A dropped sender is a stop as well.
                stopped.await.ok();
            };
            if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(until).await {
                tracing::error!(%error, "{name} ended");
            }
        })
    }

    /// Stops it; waits for requests under way, but not for ever.
    pub(crate) async fn shutdown(self) {
        // An ended server has nobody to tell.
        self.stop.send(()).ok();
        let abort = self.task.abort_handle();
        if tokio::time::timeout(SHUTDOWN_LIMIT, self.task).await.is_err() {
            abort.abort();
        }
    }
}

/// A loopback listener on a free port, and its address.
pub(crate) async fn loopback(service: &'static str) -> Result<(TcpListener, SocketAddr), AwsError> {
    let failed = |source| AwsError::NoPort { service, source };
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}
