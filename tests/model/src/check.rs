//! Running the checker: over everything there is, or until a counterexample.

use std::collections::BTreeSet;

use stateright::{Checker as _, HasDiscoveries, Model};

/// Threads of one exploration.
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
}

/// Explores every state, or until one of these promises is broken.
pub fn explore<M>(model: M, until: &[&'static str]) -> Found
where
    M: Model + Send + Sync + 'static,
    M::State: std::hash::Hash + Send + Sync + Clone + PartialEq + std::fmt::Debug + 'static,
    M::Action: Clone + PartialEq + std::fmt::Debug + Send + Sync,
{
    let until: BTreeSet<_> = until.iter().copied().collect();
    let when = if until.is_empty() {
        HasDiscoveries::AnyFailures
    } else {
        HasDiscoveries::AnyOf(until)
    };
    let checker = model.checker().threads(THREADS).finish_when(when).spawn_bfs().join();
    let mut broken: Vec<_> = checker
        .discoveries()
        .into_iter()
        .map(|(name, path)| {
            let steps = path.into_actions();
            (name, steps.iter().map(|action| format!("{action:?}")).collect())
        })
        .collect();
    broken.sort_by_key(|(name, _)| *name);
    Found {
        states: checker.state_count(),
        unique: checker.unique_state_count(),
        broken,
    }
}
