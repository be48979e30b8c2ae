//! What the page shows, as values, and the trait that delivers them. The console knows nothing else of the
//! stack it is a window to, and changes nothing in it but through the simulated chat.

use std::future::Future;

use serde::{Deserialize, Serialize};
use telegram_sim::Sim;
use tokio::sync::broadcast;

/// Where the page gets its data from.
pub trait Source: Send + Sync + 'static {
    /// The state of the stack now. Asked for about four times a second per open page.
    fn snapshot(&self) -> impl Future<Output = Snapshot> + Send;

    /// Log lines from now on.
    fn logs(&self) -> broadcast::Receiver<LogLine>;

    /// The last log lines, oldest first.
    fn recent_logs(&self) -> Vec<LogLine>;

    /// The simulated Telegram; `None` when the stack serves a real bot.
    fn chat(&self) -> Option<Sim>;
}

/// The stack at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Name of the stack; queue and function names begin with it.
    pub stack: String,
    /// The bot that is served.
    pub bot: BotView,
    /// Address that Telegram posts to, its secret part replaced.
    pub webhook_url_masked: String,
    /// Since the stack started, milliseconds.
    pub uptime_ms: u64,
    /// When it started, milliseconds since the epoch.
    pub started_at_ms: i64,
    /// Whether it goes on with what an earlier start left.
    pub is_resumed: bool,
    /// How a person calls the program, for commands to type: `penstock` or `cargo run --`.
    pub program: String,
    /// The bot's own backend, where Updates are handed to one.
    pub backend: Option<BackendView>,
    /// All queues, dead-letter queues too.
    pub queues: Vec<QueueView>,
    /// All functions.
    pub functions: Vec<FunctionView>,
    /// The last updates, newest first.
    pub updates: Vec<UpdateView>,
    /// Sums since the start.
    pub totals: Totals,
}

/// The bot that a stack serves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BotView {
    /// Name without the at sign.
    pub username: String,
    /// Simulated or real.
    pub mode: BotMode,
}

/// Which Telegram the stack talks to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BotMode {
    /// The one in this process.
    #[default]
    Simulated,
    /// The real one.
    Real,
}

/// A bot's own backend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackendView {
    /// Where it is.
    pub url: String,
    /// Whether it is tried.
    pub state: BackendState,
    /// What that means, and what to do.
    pub words: String,
}

/// Whether a backend is tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendState {
    /// With every update.
    #[default]
    Up,
    /// With none.
    Away,
    /// With more and more.
    Returning,
}

/// A queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueView {
    /// Full name.
    pub name: String,
    /// Messages that can be received now.
    pub visible: u64,
    /// Messages that somebody works on, or that wait for their next try.
    pub in_flight: u64,
    /// Age of the oldest message, milliseconds.
    pub oldest_age_ms: Option<u64>,
}

/// A function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionView {
    /// Name, with or without the stack's in front.
    pub name: String,
    /// Processes that run.
    pub instances: u32,
    /// Of these, busy ones.
    pub busy: u32,
    /// Processes started for an invocation.
    pub cold_starts: u64,
    /// Invocations since the start.
    pub invocations: u64,
    /// Of these, failed ones.
    pub errors: u64,
    /// Text of the last failure.
    pub last_error: Option<String>,
}

/// An update on its way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateView {
    /// Telegram's id; 0 for a body that has none.
    pub update_id: i64,
    /// What `trace` takes: the id, or the ledger key of what was quarantined.
    pub name: String,
    /// `message`, `callback_query` and so on.
    pub kind: String,
    /// Where it is.
    pub stage: Stage,
    /// Tries of its handler so far.
    pub attempts: u32,
    /// Since it was received, milliseconds.
    pub age_ms: u64,
    /// From receipt to its last send, or to its end if it sent nothing; milliseconds.
    pub latency_ms: Option<u64>,
    /// What it makes the bot send, in order.
    pub sends: Vec<SendView>,
    /// Its last failure.
    pub error: Option<ErrorView>,
}

/// Where an update is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// In the queue, not yet looked at.
    #[default]
    Queued,
    /// A processor works on it.
    Processing,
    /// It failed and has its next try before it.
    Retrying,
    /// Put off because the backend is down or the bot is paused.
    Deferred,
    /// Handled; its sends are durable, and at least one is open.
    Sending,
    /// Handled, and its sends have ended.
    Done,
    /// Given up, and kept for a person.
    Dead,
}

/// One call that an update causes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendView {
    /// Number within the update.
    pub n: u32,
    /// Method of the Bot API.
    pub method: String,
    /// Where it is.
    pub state: SendState,
    /// Id of the message, once it is sent.
    pub message_id: Option<i64>,
}

/// Where a send is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendState {
    /// Decided, not yet tried.
    #[default]
    Intended,
    /// A sender is calling.
    Sending,
    /// It failed and has its next try before it.
    Retrying,
    /// Telegram has it.
    Sent,
    /// Telegram refused it for good.
    Failed,
    /// Nobody knows: the call left, no answer came.
    Unknown,
    /// A person called it off.
    Cancelled,
}

/// A failure, for a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorView {
    /// Stable code.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do.
    pub cure: String,
}

/// Sums since the start of the stack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Updates accepted.
    pub received: u64,
    /// Updates done.
    pub done: u64,
    /// Updates dead.
    pub dead: u64,
    /// Calls that Telegram took.
    pub sent: u64,
    /// Calls nobody knows the result of.
    pub unknown: u64,
}

/// A line of a function or of the stack itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// When, milliseconds since the epoch.
    pub at_ms: i64,
    /// Who: a function's name, or `stack`.
    pub source: String,
    /// How bad.
    pub level: LogLevel,
    /// What. Never a token or the text of a message.
    pub text: String,
}

/// How bad a log line is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// For those who look for something.
    Debug,
    /// Usual.
    #[default]
    Info,
    /// Unusual.
    Warn,
    /// A person must act.
    Error,
}

impl Stage {
    /// The word on its chip.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Processing => "processing",
            Self::Retrying => "retrying",
            Self::Deferred => "deferred",
            Self::Sending => "sending",
            Self::Done => "done",
            Self::Dead => "dead",
        }
    }

    /// Nothing more happens to the update by itself.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Dead)
    }
}

impl SendState {
    /// The word on its chip.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Intended => "waiting",
            Self::Sending => "sending",
            Self::Retrying => "retrying",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
        }
    }

    /// Nothing more happens to the send by itself.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Sent | Self::Failed | Self::Unknown | Self::Cancelled)
    }
}
