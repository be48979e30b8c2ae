//! What one Update costs in calls of AWS: measured on a stack that counts, with Updates one by one and in full batches.
//! Never looks at a price: that is the reader's.

mod report;

use std::path::PathBuf;
use std::time::Duration;

use telegram_sim::{Limits, Profile};

pub use report::{CallRow, Calls, Part};

use crate::stack::{NoSuchMapping, SimulatedTelegram, Stack, StackError, StackOptions, Telegram};

/// Chats of the load; update ids begin behind it. Fixed, so that items have the same size in every run.
const FIRST_CHAT: i64 = 5_100_000_001;
const FIRST_UPDATE: i64 = 900_000_000;
/// Messages in a full batch (SQS: 10).
const FULL: u32 = 10;
/// Longest wait for a stack to come to rest, on the wall.
const REST_LIMIT: Duration = Duration::from_secs(60);
/// Between two looks at a queue.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Longer than what a full batch takes of the bot's gate (10 sends at 30/s), so that the next one finds it idle.
const GATE_IDLE: Duration = Duration::from_millis(1_000);

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Amount {
    /// Updates that come one by one, each at rest before the next.
    pub singles: u32,
    /// Full batches.
    pub batches: u32,
}

/// What `tests/golden/calls.json` is measured with.
impl Default for Amount {
    fn default() -> Self {
        Self {
            singles: 10,
            batches: 2,
        }
    }
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallsError {
    /// The stack.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// The template has no such queue.
    #[error(transparent)]
    Queue(#[from] NoSuchMapping),
    /// The webhook.
    #[error("the webhook does not take an update: {0}")]
    Post(String),
    /// The stack does not come to rest.
    #[error("the stack is not at rest after {} s", REST_LIMIT.as_secs())]
    NotAtRest,
    /// Nothing is counted.
    #[error("this stack does not count calls")]
    NotCounting,
}

/// Starts a stack of its own, and measures. `function_exe` is as in [`StackOptions`].
///
/// # Errors
/// [`CallsError`].
pub async fn measure(function_exe: PathBuf, amount: Amount) -> Result<Calls, CallsError> {
    let mut options = StackOptions::new(function_exe);
    options.count_calls = true;
    options.run_example_bot();
    options.telegram = Telegram::Simulated(SimulatedTelegram {
        profile: Profile::Strict,
        limits: Some(Limits {
            private_burst: i64::from(u32::MAX),
            ..Limits::default()
        }),
        ..SimulatedTelegram::default()
    });
    let stack = Box::pin(Stack::start(options)).await?;
    let measured = Box::pin(on(&stack, amount)).await;
    stack.shutdown().await;
    measured
}

async fn on(stack: &Stack, amount: Amount) -> Result<Calls, CallsError> {
    let meter = stack.meter().ok_or(CallsError::NotCounting)?;
    let mut load = Load {
        stack,
        http: reqwest::Client::new(),
        next: 0,
    };
    // The first ones start processes, which read their secrets: once in five minutes, not once an Update.
    load.batch().await?;
    load.single().await?;
    tokio::time::sleep(GATE_IDLE).await;
    let mut idle_receives = report::idle_receives(&meter.take());

    for _ in 0..amount.singles {
        load.single().await?;
    }
    let counted = meter.take();
    idle_receives += report::idle_receives(&counted);
    let singles = Part::new(1, amount.singles, counted);

    tokio::time::sleep(GATE_IDLE).await;
    for _ in 0..amount.batches {
        load.batch().await?;
        tokio::time::sleep(GATE_IDLE).await;
    }
    let counted = meter.take();
    idle_receives += report::idle_receives(&counted);
    Ok(Calls {
        singles,
        batches: Part::new(FULL, amount.batches * FULL, counted),
        idle_receives,
    })
}

/// Text messages, each in another chat than the one before.
struct Load<'a> {
    stack: &'a Stack,
    http: reqwest::Client,
    next: i64,
}

impl Load<'_> {
    async fn single(&mut self) -> Result<(), CallsError> {
        self.post().await?;
        self.rest().await
    }

    /// Ten Updates of ten chats, which each function gets in one batch.
    async fn batch(&mut self) -> Result<(), CallsError> {
        let name = |suffix: &str| format!("{}-{suffix}", self.stack.view().facts().stack_name);
        let (updates, outbound) = (name("updates.fifo"), name("outbound.fifo"));
        for queue in [&updates, &outbound] {
            self.stack.pause_mapping(queue).await?;
        }
        for _ in 0..FULL {
            self.post().await?;
        }
        self.stack.set_mapping_enabled(&updates, true)?;
        self.drained(&updates).await?;
        self.stack.set_mapping_enabled(&outbound, true)?;
        self.rest().await
    }

    async fn post(&mut self) -> Result<(), CallsError> {
        let number = self.next;
        self.next += 1;
        let chat = FIRST_CHAT + number % i64::from(FULL);
        let update = serde_json::json!({
            "update_id": FIRST_UPDATE + number,
            "message": {
                "message_id": 100 + number, "date": 1_789_000_000,
                "text": "Good morning, is my order on its way?",
                "chat": {"id": chat, "type": "private", "first_name": "Ada", "last_name": "Example"},
                "from": {"id": chat, "is_bot": false, "first_name": "Ada", "last_name": "Example", "language_code": "en"},
            }
        });
        let request = self
            .http
            .post(self.stack.webhook_url())
            .header("x-telegram-bot-api-secret-token", self.stack.webhook_secret())
            .json(&update);
        let answer = request
            .send()
            .await
            .map_err(|error| CallsError::Post(error.without_url().to_string()))?;
        if answer.status().is_success() {
            Ok(())
        } else {
            Err(CallsError::Post(format!("it answers {}", answer.status())))
        }
    }

    async fn rest(&self) -> Result<(), CallsError> {
        if self.stack.idle(REST_LIMIT).await {
            Ok(())
        } else {
            Err(CallsError::NotAtRest)
        }
    }

    async fn drained(&self, queue: &str) -> Result<(), CallsError> {
        let wait = async {
            loop {
                let queues = self.stack.view().queues().await.unwrap_or_default();
                if queues.iter().any(|depth| depth.name == queue && depth.is_empty()) {
                    return;
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(REST_LIMIT, wait)
            .await
            .map_err(|_| CallsError::NotAtRest)
    }
}
