//! Where the calls of the functions wait for the schedule. A call says what it is, and goes on when it was told how it
//! ends: so the order of all effects, and what becomes of each, is one choice after the other. Never chooses itself.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use penstock_testkit::Fault;

/// The name of one life of an instance; a new one after each crash.
pub(crate) type WorkerId = u32;

/// What a call goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Table,
    Queue,
    Secret,
    Api,
    /// The bot's own code.
    Bot,
    /// The bot's own code, which takes its process with it.
    Poison,
}

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    /// The client lost the first answer and repeated the call by itself.
    Twice,
    Fault(Fault),
    /// No answer; it is applied some time later.
    Late,
    Api(ApiFate),
}

/// How a call of the Bot API ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApiFate {
    Sent,
    /// 429 with that many seconds.
    Throttled(u32),
    BadRequest,
    Forbidden,
    TokenRefused,
    NotSent,
    /// No answer, and Telegram has done it.
    LostAnswer,
    /// No answer, and Telegram never saw it.
    LostRequest,
}

#[derive(Debug)]
struct Waiting {
    worker: WorkerId,
    sort: Sort,
    /// Applied; its answer is on the way.
    is_applied: bool,
    fate: Option<Fate>,
    holds_answer: bool,
    waker: Option<Waker>,
}

/// A call that waits, as the schedule sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) id: u64,
    pub(crate) worker: WorkerId,
    pub(crate) sort: Sort,
    pub(crate) is_applied: bool,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    waiting: BTreeMap<u64, Waiting>,
}

#[derive(Debug, Default)]
pub(crate) struct Hub(Mutex<Inner>);

impl Hub {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits, in the order in which it came.
    pub(crate) fn asks(&self) -> Vec<Ask> {
        let inner = self.inner();
        let ask = |(id, waiting): (&u64, &Waiting)| Ask {
            id: *id,
            worker: waiting.worker,
            sort: waiting.sort,
            is_applied: waiting.is_applied,
        };
        inner.waiting.iter().map(ask).collect()
    }

    /// Lets a call end so. With `holds_answer` it takes effect, and waits once more before its caller sees that.
    pub(crate) fn decide(&self, id: u64, fate: Fate, holds_answer: bool) {
        let mut inner = self.inner();
        if let Some(waiting) = inner.waiting.get_mut(&id) {
            waiting.fate = Some(fate);
            waiting.holds_answer = holds_answer;
            waiting.waker.take().iter().for_each(Waker::wake_by_ref);
        }
    }

    pub(crate) fn ask(&self, worker: WorkerId, sort: Sort) -> Call<'_> {
        let mut inner = self.inner();
        inner.next += 1;
        let id = inner.next;
        let waiting = Waiting {
            worker,
            sort,
            is_applied: false,
            fate: None,
            holds_answer: false,
            waker: None,
        };
        inner.waiting.insert(id, waiting);
        Call { hub: self, id }
    }
}

/// A call that waits; it is forgotten with its caller.
pub(crate) struct Call<'a> {
    hub: &'a Hub,
    id: u64,
}

impl Call<'_> {
    async fn decided(&self) -> (Fate, bool) {
        poll_fn(|context| {
            let mut inner = self.hub.inner();
            let Some(waiting) = inner.waiting.get_mut(&self.id) else {
                return Poll::Pending;
            };
            match waiting.fate.take() {
                Some(fate) => Poll::Ready((fate, waiting.holds_answer)),
                None => {
                    waiting.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Waits until it is decided, takes effect by `apply`, and waits for its answer if that is held.
    pub(crate) async fn end<T>(self, apply: impl FnOnce(Fate) -> T) -> T {
        let (fate, holds_answer) = self.decided().await;
        let answer = apply(fate);
        if holds_answer {
            if let Some(waiting) = self.hub.inner().waiting.get_mut(&self.id) {
                waiting.is_applied = true;
            }
            self.decided().await;
        }
        answer
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.hub.inner().waiting.remove(&self.id);
    }
}
