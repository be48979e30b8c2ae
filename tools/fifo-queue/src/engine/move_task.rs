//! Message move tasks: carrying a dead-letter queue's visible messages back, oldest group first.
//!
//! A task is a row, moved on in small steps by a thread of its own, so that other calls get in between and a
//! task that was running when the process ended goes on when the file is opened again.

use std::thread;

use rusqlite::{Row, params};
use uuid::Uuid;

use super::Engine;
use super::calls::Operation;
use crate::error::{Code, EngineError, Refusal};

/// Fastest rate in messages per second, and the rate without a wish (SQS API, StartMessageMoveTask).
pub(super) const MAX_RATE: i64 = 500;
/// Pause between steps, in milliseconds.
pub(super) const STEP_MS: i64 = 100;
/// Tasks in a list (SQS API, ListMessageMoveTasks).
const MAX_LISTED: i64 = 10;

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveTaskStatus {
    /// Moving.
    Running,
    /// Everything was moved.
    Completed,
    /// Stopped on request.
    Cancelled,
    /// Stopped at a message that has nowhere to go.
    Failed,
}

impl MoveTaskStatus {
    /// The protocol's word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Cancelled => "CANCELLED",
            Self::Failed => "FAILED",
        }
    }

    fn read(name: &str) -> Self {
        let all = [Self::Running, Self::Completed, Self::Cancelled];
        all.into_iter()
            .find(|status| status.name() == name)
            .unwrap_or(Self::Failed)
    }
}

/// A message move task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveTask {
    /// Names it, for cancelling.
    pub handle: String,
    /// Queue that messages are taken from.
    pub source: String,
    /// Queue that they go to; each to where it came from when absent.
    pub destination: Option<String>,
    /// Messages per second.
    pub rate: Option<i64>,
    /// Where it stands.
    pub status: MoveTaskStatus,
    /// Messages moved so far.
    pub moved: i64,
    /// Messages in the source when it began.
    pub total: i64,
    /// Why it failed.
    pub failure: Option<String>,
    /// When it began.
    pub started_ms: i64,
}

pub(super) const COLUMNS: &str =
    "handle, source, destination, rate, status, moved, total, failure, started_ms";

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<MoveTask> {
    Ok(MoveTask {
        handle: row.get(0)?,
        source: row.get(1)?,
        destination: row.get(2)?,
        rate: row.get(3)?,
        status: MoveTaskStatus::read(&row.get::<_, String>(4)?),
        moved: row.get(5)?,
        total: row.get(6)?,
        failure: row.get(7)?,
        started_ms: row.get(8)?,
    })
}

impl Engine {
    /// Starts moving the messages of the dead-letter queue `source` to `destination`, or each back to where
    /// it came from.
    ///
    /// # Errors
    /// A refusal (no such queue, not a dead-letter queue, other kind of queue, a task is running already),
    /// or a failure of the storage.
    pub fn start_move_task(
        &self,
        source: &str,
        destination: Option<&str>,
        rate: Option<i64>,
    ) -> Result<String, EngineError> {
        let handle = self.counted(Operation::StartMessageMoveTask, |call| {
            call.check_move(source, destination, rate)?;
            let queue = call.settled_queue(source)?;
            let handle = Uuid::new_v4().to_string();
            call.conn
                .prepare_cached(
                    "INSERT INTO move_tasks (handle, source, destination, rate, status, total, started_ms)
                     SELECT ?1, ?2, ?3, ?4, 'RUNNING', visible + in_flight + delayed, ?5
                     FROM queues WHERE id = ?6",
                )?
                .execute(params![handle, source, destination, rate, call.now, queue.id])?;
            Ok(handle)
        })?;
        if self.step_move_task(&handle)? {
            self.carry(handle.clone())?;
        }
        Ok(handle)
    }

    /// The latest tasks of the queue, newest first; `limit` is 1 to 10.
    ///
    /// # Errors
    /// A refusal, or a failure of the storage.
    pub fn list_move_tasks(&self, source: &str, limit: i64) -> Result<Vec<MoveTask>, EngineError> {
        self.counted(Operation::ListMessageMoveTasks, |call| {
            call.move_source(source)?;
            if !(1..=MAX_LISTED).contains(&limit) {
                let message =
                    format!("value {limit} for parameter MaxResults is invalid: 1 to 10 are allowed");
                return Err(Refusal::parameter(message).into());
            }
            let mut statement = call.conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM move_tasks WHERE source = ?1 ORDER BY id DESC LIMIT ?2"
            ))?;
            let tasks = statement
                .query_map(params![source, limit], read)?
                .collect::<Result<_, _>>()?;
            Ok(tasks)
        })
    }

    /// Stops a running task and answers how many messages it had moved. Moved messages stay moved.
    ///
    /// # Errors
    /// A refusal (no such task, not running), or a failure of the storage.
    pub fn cancel_move_task(&self, handle: &str) -> Result<i64, EngineError> {
        self.counted(Operation::CancelMessageMoveTask, |call| {
            let task = call.move_task(handle)?.ok_or_else(|| {
                Refusal::new(
                    Code::ResourceNotFound,
                    format!("there is no message move task `{handle}`"),
                )
            })?;
            if task.status != MoveTaskStatus::Running {
                let message = format!(
                    "the message move task is {}, only a running one can be cancelled",
                    task.status.name()
                );
                return Err(Refusal::new(Code::UnsupportedOperation, message).into());
            }
            call.end_move(&task, task.moved, MoveTaskStatus::Cancelled, None)?;
            Ok(task.moved)
        })
    }

    /// Moves what the task may move by now; answers whether it is still running.
    fn step_move_task(&self, handle: &str) -> Result<bool, EngineError> {
        self.call(|call| match call.move_task(handle)? {
            Some(task) if task.status == MoveTaskStatus::Running => call.advance_move(&task),
            _ => Ok(false),
        })
    }

    pub(super) fn resume_move_tasks(&self) -> Result<(), EngineError> {
        let running: Vec<String> = self.call(|call| {
            let mut statement = call
                .conn
                .prepare_cached("SELECT handle FROM move_tasks WHERE status = 'RUNNING'")?;
            let handles = statement
                .query_map([], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            Ok(handles)
        })?;
        running.into_iter().try_for_each(|handle| self.carry(handle))
    }

    /// Lets a thread carry the task on until it ends or the engine is gone.
    fn carry(&self, handle: String) -> Result<(), EngineError> {
        let inner = self.downgrade();
        let work = move || {
            while let Some(engine) = Engine::upgrade(&inner) {
                match engine.step_move_task(&handle) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        tracing::error!(task = %handle, %error, "message move task stopped until the file is opened again");
                        break;
                    }
                }
                let pause = engine.0.clock.real_duration(STEP_MS);
                drop(engine);
                thread::sleep(pause);
            }
        };
        thread::Builder::new()
            .name("fifo-queue-move".to_owned())
            .spawn(work)
            .map_err(EngineError::NoThread)?;
        Ok(())
    }
}
