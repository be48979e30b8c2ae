//! One process of a function: started, watched, given work one piece at a time, stopped.
//!
//! A process never outlives its host: it is killed when the host drops it, and it ends by itself
//! when its standard input closes, which the system does even when the host was killed.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::outcome::FunctionError;
use super::runtime_api::{Exchange, Init, Work, router};
use super::spec::{FunctionSpec, HostOptions};
use crate::aws::guard::programs_only;
use crate::logs::Logs;

/// The first argument that makes a program serve a function; the name follows it.
pub const FUNCTION_ARGUMENT: &str = "__function";
/// Lambda allows 10 s for the init phase; a debug build on a busy laptop is given three times that,
/// on the wall clock whatever the time scale.
const INIT_LIMIT: Duration = Duration::from_secs(30);

/// A running process.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) number: u64,
    work: mpsc::Sender<Work>,
    exited: watch::Receiver<Option<String>>,
    stop: mpsc::Sender<()>,
    server: JoinHandle<()>,
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// How one piece of work ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// The process answered and can be used again.
    Answered(Result<Bytes, FunctionError>),
    /// The process is gone, or was stopped for its timeout.
    Lost(FunctionError),
    /// The process was gone before it fetched the work: nothing has happened.
    NeverStarted,
}

impl Instance {
    /// Starts a process and waits until it asks for work.
    pub(super) async fn start(
        options: &HostOptions,
        spec: &FunctionSpec,
        number: u64,
    ) -> Result<Self, FunctionError> {
        let failed = |what: &str, error: std::io::Error| {
            FunctionError::new("Runtime.InvalidEntrypoint", format!("{what}: {error}"))
        };
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .map_err(|error| failed("no port for the runtime api", error))?;
        let address = listener
            .local_addr()
            .map_err(|error| failed("no port for the runtime api", error))?;
        let (work, work_queue) = mpsc::channel(1);
        let (init, mut init_seen) = watch::channel(Init::Starting);
        let exchange = Arc::new(Exchange::new(work_queue, init));
        let router = router(exchange).layer(axum::middleware::from_fn(programs_only));
        let server = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "runtime api ended");
            }
        });
        let mut command = Command::new(&options.function_exe);
        // A Ctrl-C in the terminal is for the host, which lets functions finish.
        #[cfg(unix)]
        command.process_group(0);
        let spawned = command
            .args([FUNCTION_ARGUMENT, &spec.binary])
            .env_clear()
            .envs(options.environment(spec, &address.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => {
                server.abort();
                return Err(failed(
                    &format!("{} cannot be started", options.function_exe.display()),
                    error,
                ));
            }
        };
        let readers =
            [
                child.stdout.take().map(|out| {
                    tokio::spawn(copy_lines(out, options.logs.clone(), spec.name.clone(), number))
                }),
                child.stderr.take().map(|err| {
                    tokio::spawn(copy_lines(err, options.logs.clone(), spec.name.clone(), number))
                }),
            ];
        let (stop, stop_asked) = mpsc::channel(1);
        let (exit, exited) = watch::channel(None);
        tokio::spawn(watch_process(child, readers, stop_asked, exit));
        let mut instance = Self {
            number,
            work,
            exited,
            stop,
            server,
        };
        instance.wait_for_init(&mut init_seen).await?;
        Ok(instance)
    }

    async fn wait_for_init(&mut self, init: &mut watch::Receiver<Init>) -> Result<(), FunctionError> {
        let outcome = tokio::select! {
            state = init.wait_for(|state| *state != Init::Starting) => match state.map(|state| state.clone()) {
                Ok(Init::Failed(error)) => Err(error),
                Ok(Init::Ready | Init::Starting) => Ok(()),
                Err(_) => Err(FunctionError::new("Runtime.InitError", "the runtime api ended".to_owned())),
            },
            status = exit_status(&mut self.exited) => {
                Err(FunctionError::new("Runtime.ExitError", format!("the process ended before it was ready: {status}")))
            }
            () = tokio::time::sleep(INIT_LIMIT) => {
                let message = format!("the process was not ready within {} seconds", INIT_LIMIT.as_secs());
                Err(FunctionError::new("Sandbox.Timedout", message))
            }
        };
        if outcome.is_err() {
            self.stop().await;
        }
        outcome
    }

    /// Gives the process one piece of work and waits for its end.
    pub(super) async fn run(&self, task: Task, timeout: Duration, real_timeout: Duration) -> Ended {
        let (answer, mut answered) = oneshot::channel();
        let (fetched, mut was_fetched) = oneshot::channel();
        let request_id = task.request_id.clone();
        let work = Work {
            request_id: task.request_id,
            payload: task.payload,
            deadline_ms: task.deadline_ms,
            arn: task.arn,
            trace_id: task.trace_id,
            answer,
            fetched,
        };
        if self.work.send(work).await.is_err() {
            return Ended::NeverStarted;
        }
        let mut exited = self.exited.clone();
        tokio::select! {
            biased;
            Ok(result) = &mut answered => Ended::Answered(result),
            status = exit_status(&mut exited) => match answered.try_recv() {
                // It answered and ended at once, as a process may after its last answer.
                Ok(Ok(body)) => Ended::Answered(Ok(body)),
                _ if was_fetched.try_recv().is_err() => Ended::NeverStarted,
                _ => Ended::Lost(FunctionError::exited(&request_id, &status)),
            },
            () = tokio::time::sleep(real_timeout) => {
                self.stop().await;
                Ended::Lost(FunctionError::timed_out(&request_id, timeout))
            }
        }
    }

    /// Whether the process has ended.
    pub(super) fn is_gone(&self) -> bool {
        self.exited.borrow().is_some()
    }

    /// Kills the process and waits until it is gone.
    pub(super) async fn stop(&self) {
        // A full channel means that somebody has asked already.
        self.stop.try_send(()).ok();
        exit_status(&mut self.exited.clone()).await;
    }
}

/// One invocation, before it is given to a process.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) request_id: String,
    pub(super) payload: Bytes,
    pub(super) deadline_ms: i64,
    pub(super) arn: String,
    pub(super) trace_id: String,
}

async fn exit_status(exited: &mut watch::Receiver<Option<String>>) -> String {
    match exited.wait_for(Option::is_some).await {
        Ok(status) => status.clone().unwrap_or_default(),
        // The watcher ends only with the runtime.
        Err(_) => "the host ended".to_owned(),
    }
}

/// Owns the process until its end, and tells everybody how it ended.
async fn watch_process(
    mut child: Child,
    readers: [Option<JoinHandle<()>>; 2],
    mut stop_asked: mpsc::Receiver<()>,
    exit: watch::Sender<Option<String>>,
) {
    // Held open: its end is how the process learns that the host is gone. Taken out of the child,
    // as waiting for a child closes its standard input first.
    let stdin = child.stdin.take();
    let status = tokio::select! {
        status = child.wait() => status,
        // `None`: every handle to the instance is gone.
        _ = stop_asked.recv() => {
            if let Err(error) = child.start_kill() {
                tracing::warn!(%error, "a function process could not be killed");
            }
            child.wait().await
        }
    };
    drop(stdin);
    // The last lines are what explains a crash.
    for reader in readers.into_iter().flatten() {
        if let Err(error) = reader.await {
            tracing::warn!(%error, "the lines of a function process were lost");
        }
    }
    let text = match status {
        Ok(status) => status.to_string(),
        Err(error) => format!("its end is unknown: {error}"),
    };
    exit.send_replace(Some(text));
}

async fn copy_lines(stream: impl AsyncRead + Unpin, logs: Logs, function: String, number: u64) {
    let mut lines = BufReader::new(stream).split(b'\n');
    loop {
        match lines.next_segment().await {
            Ok(Some(line)) => {
                let text = String::from_utf8_lossy(&line);
                logs.push(&function, number, text.trim_end_matches('\r'));
            }
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, function, "the lines of a function process cannot be read");
                return;
            }
        }
    }
}
