//! The right to be the only one: what may have killed its last worker is run while nothing else runs, so that another
//! crash burns nobody else's attempt.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

#[derive(Debug, Default)]
struct State {
    running: usize,
    exclusive: bool,
}

/// Counts what runs in this batch.
#[derive(Debug, Default)]
pub struct Alone {
    state: Mutex<State>,
    ended: Notify,
}

/// Another record of the batch has taken the right already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAlone;

impl Alone {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while it was held leaves two plain numbers, which are right at every step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the running record the only one: from now on nothing begins in this batch, and this returns when what
    /// runs already has ended. Going back instead would starve it: under load others run in every batch.
    ///
    /// # Errors
    /// [`NotAlone`] if another record was first.
    pub async fn claim(&self) -> Result<(), NotAlone> {
        {
            let mut state = self.state();
            if state.exclusive {
                return Err(NotAlone);
            }
            state.exclusive = true;
        }
        loop {
            let ended = self.ended.notified();
            if self.state().running <= 1 {
                return Ok(());
            }
            ended.await;
        }
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
        self.ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_is_to_be_alone_waits_until_the_others_have_ended_and_then_nothing_begins() {
        let alone = Alone::default();
        assert!(alone.begin() && alone.begin());
        let mut claim = Box::pin(alone.claim());
        assert!(futures::poll!(&mut claim).is_pending(), "another still runs");
        assert!(!alone.begin(), "nothing begins any more");
        alone.end();
        assert_eq!(claim.await, Ok(()));
        assert!(!alone.begin());
    }

    #[tokio::test]
    async fn only_one_can_be_the_only_one() {
        let alone = Alone::default();
        assert!(alone.begin() && alone.begin());
        let mut first = Box::pin(alone.claim());
        assert!(futures::poll!(&mut first).is_pending());
        assert_eq!(alone.claim().await, Err(NotAlone));
    }
}
