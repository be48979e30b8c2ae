//! The bot's own backend as the console shows it. Its breaker is read once a second, whatever number of pages is open.

use std::time::{Duration, Instant};

use penstock_console::{BackendState, BackendView};
use tokio::sync::Mutex;

use crate::backend::{self, BackendStatus};
use crate::stack::View;

/// How long a breaker is shown as it was read.
const FRESH: Duration = Duration::from_secs(1);

/// What was read last, and when.
#[derive(Debug, Default)]
pub(super) struct Backend(Mutex<Option<(BackendStatus, Instant)>>);

impl Backend {
    /// `None` where there is none, or where its breaker cannot be read.
    pub(super) async fn tell(&self, view: &View) -> Option<BackendView> {
        let reader = view.breaker()?;
        let mut read = self.0.lock().await;
        if read.as_ref().is_none_or(|(_, at)| at.elapsed() >= FRESH) {
            match reader.read().await {
                Ok(status) => *read = Some((status, Instant::now())),
                Err(error) => tracing::warn!(%error, "the console cannot read the breaker"),
            }
        }
        let (status, _) = read.as_ref()?;
        Some(BackendView {
            url: view.facts().backend_url.clone()?,
            state: match status.state {
                backend::BackendState::Up => BackendState::Up,
                backend::BackendState::Away => BackendState::Away,
                backend::BackendState::Returning => BackendState::Returning,
            },
            words: status.words(view.clock().now_ms()),
        })
    }
}
