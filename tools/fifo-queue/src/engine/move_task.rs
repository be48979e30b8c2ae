//! Message move tasks: carrying a dead-letter queue's visible messages back, oldest group first.
//!
//! A task is a row, moved on in small steps by a thread of its own, so that other calls get in between and a
//! task that was running when the process ended goes on when the file is opened again.

use std::thread;

use rusqlite::{OptionalExtension as _, Row, params};
use uuid::Uuid;

use super::calls::Operation;
use super::{Call, Engine};
use crate::error::{Code, EngineError, Refusal};

/// Fastest rate in messages per second, and the rate without a wish (SQS API, StartMessageMoveTask).
const MAX_RATE: i64 = 500;
/// Pause between steps, in milliseconds.
const STEP_MS: i64 = 100;
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

const COLUMNS: &str = "handle, source, destination, rate, status, moved, total, failure, started_ms";

fn read(row: &Row<'_>) -> rusqlite::Result<MoveTask> {
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

/// How many more messages the task may move by now: its rate times its age, with one step in hand.
fn budget(task: &MoveTask, now_ms: i64) -> i64 {
    let rate = task.rate.unwrap_or(MAX_RATE);
    let age_ms = (now_ms - task.started_ms).max(0) + STEP_MS;
    (rate.saturating_mul(age_ms) / 1000)
        .max(1)
        .saturating_sub(task.moved)
        .clamp(0, MAX_RATE)
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

impl Call<'_> {
    fn move_source(&mut self, source: &str) -> Result<(), EngineError> {
        match self.find_queue(source)? {
            Some(_) => Ok(()),
            None => Err(Refusal::new(
                Code::ResourceNotFound,
                format!("the queue `{source}` does not exist"),
            )
            .into()),
        }
    }

    fn check_move(
        &mut self,
        source: &str,
        destination: Option<&str>,
        rate: Option<i64>,
    ) -> Result<(), EngineError> {
        self.move_source(source)?;
        if let Some(rate) = rate.filter(|rate| !(1..=MAX_RATE).contains(rate)) {
            let message = format!(
                "value {rate} for parameter MaxNumberOfMessagesPerSecond is invalid: 1 to 500 are allowed"
            );
            return Err(Refusal::parameter(message).into());
        }
        if self.sources_of(source)?.is_empty() {
            let message = format!("source queue `{source}` must be configured as a dead-letter queue");
            return Err(Refusal::parameter(message).into());
        }
        if let Some(destination) = destination {
            self.move_source(destination)?;
            let same_kind = self.queue(source)?.config.fifo == self.queue(destination)?.config.fifo;
            if destination == source || !same_kind {
                let message = format!("`{destination}` must be another queue of the same type as `{source}`");
                return Err(Refusal::parameter(message).into());
            }
        }
        let running: bool = self
            .conn
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM move_tasks WHERE source = ?1 AND status = 'RUNNING')",
            )?
            .query_row([source], |row| row.get(0))?;
        if running {
            let message = format!("a message move task of `{source}` is running already");
            return Err(Refusal::new(Code::UnsupportedOperation, message).into());
        }
        Ok(())
    }

    fn move_task(&self, handle: &str) -> rusqlite::Result<Option<MoveTask>> {
        self.conn
            .prepare_cached(&format!("SELECT {COLUMNS} FROM move_tasks WHERE handle = ?1"))?
            .query_row([handle], read)
            .optional()
    }

    fn end_move(
        &self,
        task: &MoveTask,
        moved: i64,
        status: MoveTaskStatus,
        failure: Option<&str>,
    ) -> rusqlite::Result<()> {
        self.conn
            .prepare_cached("UPDATE move_tasks SET moved = ?2, status = ?3, failure = ?4 WHERE handle = ?1")?
            .execute(params![task.handle, moved, status.name(), failure])?;
        Ok(())
    }

    fn advance_move(&mut self, task: &MoveTask) -> Result<bool, EngineError> {
        let Some(source) = self.find_queue(&task.source)? else {
            self.end_move(
                task,
                task.moved,
                MoveTaskStatus::Failed,
                Some("AWS.SimpleQueueService.NonExistentQueue"),
            )?;
            return Ok(false);
        };
        self.settle(&source)?;
        let may_move = budget(task, self.now);
        let mut ledger = self.ledger(&source);
        let (mut moved, mut passed) = (0, 0);
        let status = 'groups: loop {
            let Some(head) = self.next_ready(&source, passed)? else {
                break MoveTaskStatus::Completed;
            };
            passed = head.seq;
            let mut after = 0;
            while let Some(row) = self
                .next_row(head.group_id, after)?
                .filter(|row| row.is_visible())
            {
                if task.moved + moved >= task.total {
                    break 'groups MoveTaskStatus::Completed;
                }
                if moved >= may_move {
                    break 'groups MoveTaskStatus::Running;
                }
                after = row.seq;
                let Some(target) = self.move_target(task, row.seq)? else {
                    break 'groups MoveTaskStatus::Failed;
                };
                let target = self.queue(&target)?;
                self.relocate(
                    &mut ledger,
                    row.place(head.group_id),
                    head.name.as_deref(),
                    &target,
                    None,
                )?;
                moved += 1;
            }
        };
        ledger.flush()?;
        let failure = (status == MoveTaskStatus::Failed).then_some("CouldNotDetermineMessageSource");
        self.end_move(task, task.moved + moved, status, failure)?;
        Ok(status == MoveTaskStatus::Running)
    }

    /// Where the message goes, if there is such a queue.
    fn move_target(&mut self, task: &MoveTask, seq: i64) -> Result<Option<String>, EngineError> {
        let target = match &task.destination {
            Some(destination) => Some(destination.clone()),
            None => self
                .conn
                .prepare_cached("SELECT source FROM payloads WHERE seq = ?1")?
                .query_row([seq], |row| row.get(0))?,
        };
        match target {
            Some(name) => Ok(self.find_queue(&name)?.map(|queue| queue.name.clone())),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(rate: Option<i64>, moved: i64) -> MoveTask {
        MoveTask {
            handle: String::new(),
            source: String::new(),
            destination: None,
            rate,
            status: MoveTaskStatus::Running,
            moved,
            total: 10_000,
            failure: None,
            started_ms: 0,
        }
    }

    #[test]
    fn move_task_keeps_to_its_rate() {
        assert_eq!(budget(&task(Some(1), 0), 0), 1);
        assert_eq!(budget(&task(Some(1), 1), 500), 0);
        assert_eq!(budget(&task(Some(1), 1), 1_900), 1);
        assert_eq!(budget(&task(None, 0), 0), 50);
        assert_eq!(budget(&task(None, 50), 100), 50);
        assert_eq!(budget(&task(None, 0), 3_600_000), 500);
    }
}
