//! The processes of one function: idle, busy, limits, figures.
//!
//! Never starts more than the function's limit, and never gives one process two invocations.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::instance::Instance;
use super::outcome::FunctionError;
use super::spec::{FunctionSpec, HostOptions};

/// Figures of one function since the host started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionStats {
    /// Function name.
    pub name: String,
    /// Processes running now.
    pub instances: usize,
    /// Processes with an invocation now.
    pub busy: usize,
    /// Most processes that had an invocation at the same time.
    pub peak_busy: usize,
    /// Processes started.
    pub cold_starts: u64,
    /// Invocations ended.
    pub invocations: u64,
    /// Invocations that failed, crashed or timed out.
    pub errors: u64,
    /// The last failure.
    pub last_error: Option<String>,
}

#[derive(Debug)]
pub(super) struct Pool {
    spec: FunctionSpec,
    slots: Semaphore,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Arc<Instance>>,
    all: BTreeMap<u64, Arc<Instance>>,
    started: u64,
    busy: usize,
    peak_busy: usize,
    invocations: u64,
    errors: u64,
    last_error: Option<String>,
    closed: bool,
}

/// The right to one process of the pool; given back when dropped.
#[derive(Debug)]
pub(super) struct Slot<'a> {
    pool: &'a Pool,
    _permit: SemaphorePermit<'a>,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.pool.state().busy -= 1;
    }
}

impl Pool {
    pub(super) fn new(spec: FunctionSpec) -> Self {
        let slots = Semaphore::new(spec.concurrency);
        Self {
            spec,
            slots,
            state: Mutex::new(State::default()),
        }
    }

    pub(super) fn spec(&self) -> &FunctionSpec {
        &self.spec
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the right to a process; `None` when there was none in time or the pool is closed.
    pub(super) async fn slot(&self, wait: Duration) -> Option<Slot<'_>> {
        let permit = tokio::time::timeout(wait, self.slots.acquire())
            .await
            .ok()?
            .ok()?;
        let mut state = self.state();
        state.busy += 1;
        state.peak_busy = state.peak_busy.max(state.busy);
        drop(state);
        Some(Slot {
            pool: self,
            _permit: permit,
        })
    }

    /// An idle process, or a new one; and whether it is new. Only with a slot in hand.
    pub(super) async fn checkout(
        &self,
        options: &HostOptions,
    ) -> Result<(Arc<Instance>, bool), FunctionError> {
        loop {
            // The guard ends here, before anything is awaited.
            let popped = self.state().idle.pop();
            match popped {
                Some(instance) if instance.is_gone() => self.lose(&instance),
                Some(instance) => return Ok((instance, false)),
                None => break,
            }
        }
        let number = {
            let mut state = self.state();
            state.started += 1;
            state.started
        };
        let instance = Arc::new(Instance::start(options, &self.spec, number).await?);
        let closed = {
            let mut state = self.state();
            if !state.closed {
                state.all.insert(number, Arc::clone(&instance));
            }
            state.closed
        };
        if closed {
            instance.stop().await;
            return Err(FunctionError::new(
                "Runtime.ExitError",
                "the host is closing".to_owned(),
            ));
        }
        Ok((instance, true))
    }

    pub(super) fn give_back(&self, instance: Arc<Instance>) {
        self.state().idle.push(instance);
    }

    pub(super) fn lose(&self, instance: &Instance) {
        self.state().all.remove(&instance.number);
    }

    pub(super) fn record_success(&self) {
        self.state().invocations += 1;
    }

    pub(super) fn record_failure(&self, error: &FunctionError) {
        let mut state = self.state();
        state.invocations += 1;
        state.errors += 1;
        state.last_error = Some(error.to_string());
    }

    pub(super) fn stats(&self) -> FunctionStats {
        let state = self.state();
        FunctionStats {
            name: self.spec.name.clone(),
            instances: state.all.len(),
            busy: state.busy,
            peak_busy: state.peak_busy,
            cold_starts: state.started,
            invocations: state.invocations,
            errors: state.errors,
            last_error: state.last_error.clone(),
        }
    }

    /// Gives out no more slots.
    pub(super) fn close(&self) {
        self.slots.close();
        self.state().closed = true;
    }

    /// Stops every process, also one that was still starting when the pool closed.
    pub(super) async fn stop_all(&self) {
        let instances: Vec<Arc<Instance>> = {
            let mut state = self.state();
            state.idle.clear();
            std::mem::take(&mut state.all).into_values().collect()
        };
        for instance in instances {
            instance.stop().await;
        }
    }
}
