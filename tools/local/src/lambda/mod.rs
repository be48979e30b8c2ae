//! The Lambda host: functions as separate processes behind the Lambda Runtime API.
//!
//! One invocation at a time per process, more processes up to a function's limit, idle ones used
//! again. Never runs a function inside this process: what is tested is the program that deploys.

mod instance;
mod outcome;
mod pool;
mod runtime_api;
mod spec;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

pub use instance::FUNCTION_ARGUMENT;
pub use outcome::{FunctionError, Invocation, Outcome};
pub use pool::FunctionStats;
pub use spec::{FunctionSpec, HostOptions};

use instance::{Ended, Task};
use pool::Pool;

/// Times that an invocation is moved to a fresh process because an idle one was found dead.
const FRESH_PROCESS_TRIES: usize = 3;

/// Runs functions. Clones are the same host.
#[derive(Debug, Clone)]
pub struct LambdaHost {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: HostOptions,
    pools: BTreeMap<String, Pool>,
}

/// A function name that the host does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the host has no function {name:?}")]
pub struct NoSuchFunction {
    /// The name asked for.
    pub name: String,
}

impl LambdaHost {
    /// A host for these functions. No process starts before the first invocation.
    #[must_use]
    pub fn new(options: HostOptions, functions: Vec<FunctionSpec>) -> Self {
        let pools = functions
            .into_iter()
            .map(|spec| (spec.name.clone(), Pool::new(spec)))
            .collect();
        Self {
            inner: Arc::new(Inner { options, pools }),
        }
    }

    /// Invokes a function and waits for its end. `slot_wait` is how long to wait, on the wall clock,
    /// for a free instance. The invocation goes on when the caller stops waiting.
    ///
    /// # Errors
    /// Only when there is no such function; how the invocation ended is in its outcome.
    pub async fn invoke(
        &self,
        function: &str,
        payload: Bytes,
        trace_id: Option<String>,
        slot_wait: Duration,
    ) -> Result<Invocation, NoSuchFunction> {
        let host = self.clone();
        let name = function.to_owned();
        if !self.inner.pools.contains_key(function) {
            return Err(NoSuchFunction { name });
        }
        // A task of its own: a caller that goes away must not take a process down with it.
        let task = tokio::spawn(async move { host.invoke_here(&name, payload, trace_id, slot_wait).await });
        match task.await {
            Ok(Some(invocation)) => Ok(invocation),
            Ok(None) | Err(_) => Ok(Invocation {
                request_id: String::new(),
                cold_start: false,
                outcome: Outcome::Throttled,
            }),
        }
    }

    async fn invoke_here(
        &self,
        function: &str,
        payload: Bytes,
        trace_id: Option<String>,
        slot_wait: Duration,
    ) -> Option<Invocation> {
        let options = &self.inner.options;
        let pool = self.inner.pools.get(function)?;
        let request_id = Uuid::new_v4().to_string();
        let end = |cold_start, outcome| {
            Some(Invocation {
                request_id: request_id.clone(),
                cold_start,
                outcome,
            })
        };
        let Some(_slot) = pool.slot(slot_wait).await else {
            return end(false, Outcome::Throttled);
        };
        let trace_id = trace_id.unwrap_or_else(|| new_trace_id(options.clock.now_ms()));
        for _ in 0..FRESH_PROCESS_TRIES {
            let (instance, cold_start) = match pool.checkout(options).await {
                Ok(found) => found,
                Err(error) => {
                    options.logs.push(function, 0, &format!("init failed: {error}"));
                    pool.record_failure(&error);
                    return end(true, Outcome::Failed(error));
                }
            };
            let timeout = pool.spec().timeout;
            let timeout_ms = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX);
            let task = Task {
                request_id: request_id.clone(),
                payload: payload.clone(),
                deadline_ms: options.clock.now_ms().saturating_add(timeout_ms),
                arn: options.arn(function),
                trace_id: trace_id.clone(),
            };
            match instance
                .run(task, timeout, options.clock.real_duration(timeout_ms))
                .await
            {
                Ended::Answered(Ok(body)) => {
                    pool.give_back(instance);
                    pool.record_success();
                    return end(cold_start, Outcome::Answered(body));
                }
                Ended::Answered(Err(error)) => {
                    pool.give_back(instance);
                    pool.record_failure(&error);
                    return end(cold_start, Outcome::Failed(error));
                }
                Ended::Lost(error) => {
                    options.logs.push(function, instance.number, &error.message);
                    options.logs.error(&lost(function, &error));
                    pool.lose(&instance);
                    pool.record_failure(&error);
                    return end(cold_start, Outcome::Failed(error));
                }
                Ended::NeverStarted => pool.lose(&instance),
            }
        }
        let message = "every process ended before it took the invocation".to_owned();
        let error = FunctionError::new("Runtime.ExitError", message);
        pool.record_failure(&error);
        end(true, Outcome::Failed(error))
    }

    /// Figures of every function, by name.
    #[must_use]
    pub fn stats(&self) -> Vec<FunctionStats> {
        self.inner.pools.values().map(Pool::stats).collect()
    }

    /// Whether any function is working.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.stats().iter().any(|stats| stats.busy > 0)
    }

    /// Stops every process. What still runs fails; invocations from now on are throttled.
    pub async fn shutdown(&self) {
        for pool in self.inner.pools.values() {
            pool.close();
        }
        for pool in self.inner.pools.values() {
            pool.stop_all().await;
        }
    }
}

/// What is told of a process that ended with work in hand.
fn lost(function: &str, error: &FunctionError) -> String {
    format!(
        "a process of {function} was lost in the middle of its work ({}). Another one takes its place; what it held from \
         a queue comes back when its visibility timeout has passed",
        error.error_type
    )
}

/// An X-Ray trace header value for an invocation that brings none.
fn new_trace_id(now_ms: i64) -> String {
    let random = Uuid::new_v4().simple().to_string();
    let parent = Uuid::new_v4().simple().to_string();
    format!(
        "Root=1-{:08x}-{};Parent={};Sampled=0",
        now_ms / 1000,
        &random[..24],
        &parent[..16]
    )
}
