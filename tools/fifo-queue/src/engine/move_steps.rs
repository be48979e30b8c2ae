//! The steps of a message move task, each within one transaction.

use rusqlite::{OptionalExtension as _, params};

use super::Call;
use super::move_task::{COLUMNS, MAX_RATE, MoveTask, MoveTaskStatus, STEP_MS, read};
use crate::error::{Code, EngineError, Refusal};

/// How many more messages the task may move by now: its rate times its age, with one step in hand.
fn budget(task: &MoveTask, now_ms: i64) -> i64 {
    let rate = task.rate.unwrap_or(MAX_RATE);
    let age_ms = (now_ms - task.started_ms).max(0) + STEP_MS;
    (rate.saturating_mul(age_ms) / 1000)
        .max(1)
        .saturating_sub(task.moved)
        .clamp(0, MAX_RATE)
}

impl Call<'_> {
    pub(super) fn move_source(&mut self, source: &str) -> Result<(), EngineError> {
        match self.find_queue(source)? {
            Some(_) => Ok(()),
            None => Err(Refusal::new(
                Code::ResourceNotFound,
                format!("the queue `{source}` does not exist"),
            )
            .into()),
        }
    }

    pub(super) fn check_move(
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

    pub(super) fn move_task(&self, handle: &str) -> rusqlite::Result<Option<MoveTask>> {
        self.conn
            .prepare_cached(&format!("SELECT {COLUMNS} FROM move_tasks WHERE handle = ?1"))?
            .query_row([handle], read)
            .optional()
    }

    pub(super) fn end_move(
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

    pub(super) fn advance_move(&mut self, task: &MoveTask) -> Result<bool, EngineError> {
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
