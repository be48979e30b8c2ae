//! Long polling: looking, and waiting until something may have changed. Woken by sends, deletes, changed
//! visibility and moves; a timer covers the next visibility or delay to end. The connection is free meanwhile.

use crate::error::EngineError;
use crate::message::{ReceiveRequest, Received};

use super::Engine;
use super::calls::Operation;
use super::receive::Look;

impl Engine {
    /// Receives up to ten messages without waiting. Empty when there are none to be had now.
    ///
    /// # Errors
    /// A refusal, or a failure of the storage.
    pub fn try_receive(&self, queue: &str, request: &ReceiveRequest) -> Result<Vec<Received>, EngineError> {
        self.counted(Operation::ReceiveMessage, |call| call.look(queue, request)).map(|look| look.messages)
    }

    /// Receives up to ten messages, waiting for the first one as long as the request, or else the queue, says.
    ///
    /// Needs a Tokio runtime with time. Dropping the future while it waits loses nothing.
    ///
    /// # Errors
    /// A refusal, or a failure of the storage; also when the queue is deleted meanwhile.
    pub async fn receive(&self, queue: &str, request: &ReceiveRequest) -> Result<Vec<Received>, EngineError> {
        self.0.calls.count(Operation::ReceiveMessage);
        let started_ms = self.now_ms();
        let mut look = self.look(queue, request)?;
        let deadline_ms = started_ms + look.wait_s * 1000;
        while look.messages.is_empty() && look.wait_s > 0 {
            let waker = self.waker(look.queue_id);
            let woken = waker.notified();
            tokio::pin!(woken);
            // Registered before looking: what happens between the look and the wait is not missed.
            woken.as_mut().enable();
            look = self.look(queue, request)?;
            let now_ms = self.now_ms();
            if !look.messages.is_empty() || now_ms >= deadline_ms {
                break;
            }
            let until_ms = look.next_change_ms.map_or(deadline_ms, |next| next.min(deadline_ms));
            // At least one: a clock that rounds down must not make this a busy loop.
            let pause = self.0.clock.real_duration((until_ms - now_ms).max(1));
            tokio::select! {
                () = woken => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        Ok(look.messages)
    }

    fn look(&self, queue: &str, request: &ReceiveRequest) -> Result<Look, EngineError> {
        self.call(|call| call.look(queue, request))
    }
}
