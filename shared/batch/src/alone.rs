//! The right to be the only one: what may have killed its last worker is run while nothing else runs, so that another
//! crash burns nobody else's attempt.

use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
struct State {
    running: usize,
    exclusive: bool,
}

/// Counts what runs in this batch.
#[derive(Debug, Default)]
pub struct Alone {
    state: Mutex<State>,
}

/// Others run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAlone;

impl Alone {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while it was held leaves two plain numbers, which are right at every step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the running record the only one: from now on nothing begins in this batch.
    ///
    /// # Errors
    /// [`NotAlone`] if others run.
    pub fn claim(&self) -> Result<(), NotAlone> {
        let mut state = self.state();
        if state.running > 1 || state.exclusive {
            return Err(NotAlone);
        }
        state.exclusive = true;
        Ok(())
    }

    /// Begins a record, unless one has been made the only one.
    pub(crate) fn begin(&self) -> bool {
        let mut state = self.state();
        if state.exclusive {
            return false;
        }
        state.running += 1;
        true
    }

    pub(crate) fn end(&self) {
        self.state().running -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_only_one_may_be_alone_and_then_nothing_begins() {
        let alone = Alone::default();
        assert!(alone.begin() && alone.begin());
        assert_eq!(alone.claim(), Err(NotAlone));
        alone.end();
        assert_eq!(alone.claim(), Ok(()));
        assert!(!alone.begin());
    }
}
