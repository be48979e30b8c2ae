//! Running the checker: over everything there is, or until a counterexample.

use std::collections::BTreeSet;

use stateright::{Checker as _, HasDiscoveries, Model};

/// Threads of an exploration of everything.
const THREADS: usize = 2;

/// What an exploration found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// States that were generated.
    pub states: usize,
    /// Different ones among them.
    pub unique: usize,
    /// Broken promises, each with the steps that lead there.
    pub broken: Vec<(&'static str, Vec<String>)>,
    /// What should be possible, and is.
    pub shown: Vec<&'static str>,
}

/// Explores every state, or as far as it takes to break a promise.
pub fn explore<M>(model: M) -> Found
where
    M: Model + Send + Sync + 'static,
    M::State: std::hash::Hash + Send + Sync + Clone + PartialEq + std::fmt::Debug + 'static,
    M::Action: Clone + PartialEq + std::fmt::Debug + Send + Sync,
{
    run(model, THREADS, HasDiscoveries::AnyFailures)
}

/// Explores as far as it takes to break this promise, on one thread: so the counterexample is a shortest one.
pub fn seek<M>(model: M, promise: &'static str) -> Found
where
    M: Model + Send + Sync + 'static,
    M::State: std::hash::Hash + Send + Sync + Clone + PartialEq + std::fmt::Debug + 'static,
    M::Action: Clone + PartialEq + std::fmt::Debug + Send + Sync,
{
    run(model, 1, HasDiscoveries::AnyOf(BTreeSet::from([promise])))
}

fn run<M>(model: M, threads: usize, when: HasDiscoveries) -> Found
where
    M: Model + Send + Sync + 'static,
    M::State: std::hash::Hash + Send + Sync + Clone + PartialEq + std::fmt::Debug + 'static,
    M::Action: Clone + PartialEq + std::fmt::Debug + Send + Sync,
{
    let promises = model.properties();
    let checker = model
        .checker()
        .threads(threads)
        .finish_when(when)
        .spawn_bfs()
        .join();
    let mut broken = Vec::new();
    let mut shown = Vec::new();
    for (name, path) in checker.discoveries() {
        let is_failure = promises
            .iter()
            .any(|promise| promise.name == name && promise.expectation.discovery_is_failure());
        if is_failure {
            let steps = path.into_actions();
            broken.push((name, steps.iter().map(|action| format!("{action:?}")).collect()));
        } else {
            shown.push(name);
        }
    }
    broken.sort_unstable();
    Found {
        states: checker.state_count(),
        unique: checker.unique_state_count(),
        broken,
        shown,
    }
}

impl Found {
    /// The steps that break a promise, if they were found.
    #[must_use]
    pub fn counterexample(&self, promise: &str) -> Option<&[String]> {
        let found = self.broken.iter().find(|(name, _)| *name == promise);
        found.map(|(_, steps)| steps.as_slice())
    }
}
