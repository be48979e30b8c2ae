//! Long polling: looking, and waiting until something may have changed. Woken by sends, deletes, changed
//! visibility and moves; a timer covers the next visibility or delay to end. The connection is free meanwhile.

use std::future::{Future, pending};
use std::panic::resume_unwind;

use tokio::task::spawn_blocking;

use super::Engine;
use super::calls::Operation;
use super::receive::Look;
use crate::error::EngineError;
use crate::message::{ReceiveRequest, Received};

impl Engine {
    /// Receives up to ten messages without waiting. Empty when there are none to be had now.
    ///
    /// # Errors
    /// A refusal, or a failure of the storage.
    pub fn try_receive(&self, queue: &str, request: &ReceiveRequest) -> Result<Vec<Received>, EngineError> {
        self.counted(Operation::ReceiveMessage, |call| call.look(queue, request))
            .map(|look| look.messages)
    }

    /// Receives up to ten messages, waiting for the first one as long as the request, or else the queue, says.
    ///
    /// Needs a Tokio runtime with time. Dropping the future is what a broken connection is to SQS: messages
    /// that were just being taken stay hidden for their visibility timeout.
    ///
    /// # Errors
    /// A refusal, or a failure of the storage; also when the queue is deleted meanwhile.
    pub async fn receive(&self, queue: &str, request: &ReceiveRequest) -> Result<Vec<Received>, EngineError> {
        self.receive_until(queue, request, pending()).await
    }

    /// [`Engine::receive`] that waits no longer once `stop` is ready. Nothing is taken and then dropped.
    ///
    /// # Errors
    /// Those of [`Engine::receive`].
    pub async fn receive_until(
        &self,
        queue: &str,
        request: &ReceiveRequest,
        stop: impl Future<Output = ()>,
    ) -> Result<Vec<Received>, EngineError> {
        self.0.calls.count(Operation::ReceiveMessage);
        tokio::pin!(stop);
        let started_ms = self.now_ms();
        let mut look = self.look(queue, request).await?;
        let deadline_ms = started_ms + look.wait_s * 1000;
        while look.messages.is_empty() && look.wait_s > 0 {
            let waker = self.waker(look.queue_id);
            let woken = waker.notified();
            tokio::pin!(woken);
            // Registered before looking: what happens between the look and the wait is not missed.
            woken.as_mut().enable();
            look = self.look(queue, request).await?;
            let now_ms = self.now_ms();
            if !look.messages.is_empty() || now_ms >= deadline_ms {
                break;
            }
            let until_ms = look
                .next_change_ms
                .map_or(deadline_ms, |next| next.min(deadline_ms));
            // At least one: a clock that rounds down must not make this a busy loop.
            let pause = self.0.clock.real_duration((until_ms - now_ms).max(1));
            tokio::select! {
                () = woken => {}
                () = tokio::time::sleep(pause) => {}
                () = &mut stop => break,
            }
        }
        Ok(look.messages)
    }

    /// Off the runtime's own threads: the disk, or a long call of somebody else, may hold it up.
    async fn look(&self, queue: &str, request: &ReceiveRequest) -> Result<Look, EngineError> {
        let (engine, queue, request) = (self.clone(), queue.to_owned(), request.clone());
        match spawn_blocking(move || engine.call(|call| call.look(&queue, &request))).await {
            Ok(look) => look,
            Err(stopped) if stopped.is_panic() => resume_unwind(stopped.into_panic()),
            Err(_) => Err(EngineError::ShuttingDown),
        }
    }
}
