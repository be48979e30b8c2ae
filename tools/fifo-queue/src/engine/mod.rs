//! The engine: one SQLite connection behind a mutex, one transaction per call. Operations are in the files
//! beside this one; here is what they share.
//!
//! A call that fails changes nothing. Nothing in here waits for time while it holds the connection.

mod attempts;
pub(crate) mod calls;
mod dedup;
mod delete;
mod ledger;
mod move_steps;
pub(crate) mod move_task;
mod payload;
mod poll;
mod queues;
mod receive;
mod redrive;
mod schema;
mod send;
mod settle;
pub(crate) mod stats;
mod tags;
mod visibility;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};
use tokio::sync::Notify;

use self::calls::{Calls, Operation};
use self::ledger::Ledger;
use crate::clock::Clock;
use crate::error::{EngineError, Refusal};
use crate::receipt::Receipt;
use crate::rules::attributes::{Attributes, QueueConfig};

/// How to open an [`Engine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Have the disk confirm every call. Without it a call survives the end of the process, but the last
    /// ones may be lost when the machine loses power.
    pub synchronous_full: bool,
}

/// Queues in one file. Cheap to clone; clones are the same engine.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

pub(crate) struct Inner {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
    wakers: Mutex<HashMap<i64, Arc<Notify>>>,
    calls: Calls,
}

struct State {
    conn: Connection,
    /// Settings of queues, by name; emptied whenever they may have changed.
    cache: HashMap<String, Arc<Queue>>,
}

/// A queue's identity and settings.
#[derive(Debug)]
pub(crate) struct Queue {
    id: i64,
    name: String,
    attributes: Attributes,
    config: QueueConfig,
}

/// What an operation works with: the open transaction and the time of the call.
struct Call<'c> {
    conn: &'c Connection,
    cache: &'c mut HashMap<String, Arc<Queue>>,
    now: i64,
    /// Queues whose waiting receivers should look again once this is committed.
    wake: Vec<i64>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens the queue file at `path`, creating it if needed; without a path, queues live in memory.
    /// Message move tasks that were running go on.
    ///
    /// # Errors
    /// [`EngineError::UnknownSchema`], [`EngineError::NotAQueueFile`], [`EngineError::InUse`] or
    /// [`EngineError::Storage`].
    pub fn open(path: Option<&Path>, options: Options, clock: Arc<dyn Clock>) -> Result<Self, EngineError> {
        let conn = schema::open(path, options.synchronous_full)?;
        let engine = Self(Arc::new(Inner {
            state: Mutex::new(State {
                conn,
                cache: HashMap::new(),
            }),
            clock,
            wakers: Mutex::new(HashMap::new()),
            calls: Calls::default(),
        }));
        engine.resume_move_tasks()?;
        Ok(engine)
    }

    /// Makes every waiting receiver look again. For a clock that was set to another time: a wait that had
    /// begun before ends by the old reckoning otherwise.
    pub fn wake_all(&self) {
        let wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        wakers.values().for_each(|waker| waker.notify_waiters());
    }

    fn now_ms(&self) -> i64 {
        self.0.clock.now_ms()
    }

    fn downgrade(&self) -> Weak<Inner> {
        Arc::downgrade(&self.0)
    }

    fn upgrade(inner: &Weak<Inner>) -> Option<Self> {
        inner.upgrade().map(Self)
    }

    /// Runs `work` in a transaction: committed when it answers, rolled back when it fails.
    fn call<T>(&self, work: impl FnOnce(&mut Call<'_>) -> Result<T, EngineError>) -> Result<T, EngineError> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { conn, cache } = &mut *state;
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut call = Call {
            conn: &tx,
            cache,
            now: self.0.clock.now_ms(),
            wake: Vec::new(),
        };
        let outcome = work(&mut call);
        let wake = call.wake;
        let outcome = match outcome {
            Ok(answer) => tx.commit().map(|()| answer).map_err(EngineError::from),
            Err(error) => tx.rollback().map_err(EngineError::from).and(Err(error)),
        };
        if outcome.is_err() {
            cache.clear();
        }
        drop(state);
        if outcome.is_ok() && !wake.is_empty() {
            let wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
            wake.iter()
                .filter_map(|id| wakers.get(id))
                .for_each(|waker| waker.notify_waiters());
        }
        outcome
    }

    /// [`Engine::call`], counted as `operation`.
    fn counted<T>(
        &self,
        operation: Operation,
        work: impl FnOnce(&mut Call<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.0.calls.count(operation);
        self.call(work)
    }

    fn waker(&self, queue_id: i64) -> Arc<Notify> {
        let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(wakers.entry(queue_id).or_default())
    }
}

impl<'c> Call<'c> {
    /// The queue, or the refusal that says there is none.
    fn queue(&mut self, name: &str) -> Result<Arc<Queue>, EngineError> {
        self.find_queue(name)?
            .ok_or_else(|| Refusal::no_queue(name).into())
    }

    fn find_queue(&mut self, name: &str) -> Result<Option<Arc<Queue>>, EngineError> {
        if let Some(queue) = self.cache.get(name) {
            return Ok(Some(Arc::clone(queue)));
        }
        let row: Option<(i64, String)> = self
            .conn
            .prepare_cached("SELECT id, attributes FROM queues WHERE name = ?1")?
            .query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((id, attributes)) = row else {
            return Ok(None);
        };
        let attributes = payload::read_texts("queue attributes", &attributes)?;
        let config = QueueConfig::read(name, &attributes)?;
        let queue = Arc::new(Queue {
            id,
            name: name.to_owned(),
            attributes,
            config,
        });
        self.cache.insert(name.to_owned(), Arc::clone(&queue));
        Ok(Some(queue))
    }

    /// The queue with everything that time has done to it applied.
    fn settled_queue(&mut self, name: &str) -> Result<Arc<Queue>, EngineError> {
        let queue = self.queue(name)?;
        self.settle(&queue)?;
        Ok(queue)
    }

    fn ledger(&self, queue: &Queue) -> Ledger<'c> {
        Ledger::new(self.conn, queue.id)
    }

    fn receipt(queue: &Queue, handle: &str) -> Result<Receipt, Refusal> {
        Receipt::decode(handle)
            .filter(|receipt| receipt.queue_id == queue.id)
            .ok_or_else(|| {
                let message = format!(
                    "the receipt handle {handle:?} is not valid for the queue `{}`",
                    queue.name
                );
                Refusal::new(crate::error::Code::ReceiptHandleIsInvalid, message)
            })
    }
}

/// Separates what was refused (an answer) from what went wrong (an error of the whole call).
fn per_entry<T>(outcome: Result<T, EngineError>) -> Result<Result<T, Refusal>, EngineError> {
    match outcome {
        Ok(answer) => Ok(Ok(answer)),
        Err(EngineError::Refused(refusal)) => Ok(Err(refusal)),
        Err(other) => Err(other),
    }
}
