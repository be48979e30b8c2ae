//! What the engine refuses and what can go wrong underneath it. A refusal is the caller's mistake and has
//! a code of the SQS protocol; everything else is a fault of the machine or of the file.

use std::path::PathBuf;

/// SQS error codes that this engine answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// No queue of that name.
    QueueDoesNotExist,
    /// The name is taken by a queue with other attributes.
    QueueNameExists,
    /// An attribute that does not exist or cannot be used here.
    InvalidAttributeName,
    /// An attribute whose value is out of range.
    InvalidAttributeValue,
    /// A parameter with a value that is not allowed.
    InvalidParameterValue,
    /// A parameter that is required and absent.
    MissingParameter,
    /// Characters that SQS does not carry.
    InvalidMessageContents,
    /// Not a handle of this queue.
    ReceiptHandleIsInvalid,
    /// The message is not in flight, so its visibility cannot be changed.
    MessageNotInflight,
    /// Two entries of a batch with one id.
    BatchEntryIdsNotDistinct,
    /// A batch entry id with characters that are not allowed.
    InvalidBatchEntryId,
    /// More than ten entries.
    TooManyEntriesInBatchRequest,
    /// No entries.
    EmptyBatchRequest,
    /// The entries together are larger than a request may be.
    BatchRequestTooLong,
    /// A second purge within 60 seconds.
    PurgeQueueInProgress,
    /// Not possible in the present state.
    UnsupportedOperation,
    /// No such task or queue (message move tasks).
    ResourceNotFound,
    /// The operation is not part of the protocol.
    InvalidAction,
    /// The request body is not what the operation takes.
    MalformedInput,
}

/// A request that was understood and refused; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The protocol's code.
    pub code: Code,
    /// What was wrong, with the value.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub(crate) fn parameter(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidParameterValue, message)
    }

    pub(crate) fn missing(parameter: &str) -> Self {
        Self::new(
            Code::MissingParameter,
            format!("the request must contain the parameter {parameter}"),
        )
    }

    pub(crate) fn no_queue(name: &str) -> Self {
        Self::new(
            Code::QueueDoesNotExist,
            format!("the queue `{name}` does not exist; create it first"),
        )
    }
}

/// Everything a call of the engine can fail with.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The caller asked for something that is not allowed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The file was written by another version of this engine.
    #[error(
        "queue file {path} has schema version {found}, this program knows {known}; \
         use the program that wrote it, or move the file away to start empty"
    )]
    UnknownSchema {
        /// The file.
        path: PathBuf,
        /// Version found in it.
        found: i64,
        /// Version this program writes.
        known: i64,
    },
    /// The file is an SQLite database that this engine did not write, or not a database at all.
    #[error("{path} is not a queue file; name another path, or move the file away to start empty")]
    NotAQueueFile {
        /// The file.
        path: PathBuf,
    },
    /// Another process, or another engine in this one, has the file open.
    #[error("queue file {path} is open elsewhere; stop the other program or name another path")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The database failed: disk full, file removed, I/O error.
    #[error("queue storage failed; check the disk and the permissions of the queue file")]
    Storage(#[from] rusqlite::Error),
    /// What is stored cannot be read back.
    #[error("stored {what} is unreadable; the queue file is damaged, move it away to start empty")]
    Damaged {
        /// Which stored value.
        what: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The thread that carries a message move task could not be started.
    #[error("message move task could not get a thread; try again when the machine is less busy")]
    NoThread(#[source] std::io::Error),
    /// The Tokio runtime is shutting down, so the call was not made.
    #[error("the runtime is shutting down; the queue was not asked")]
    ShuttingDown,
}

impl EngineError {
    /// The refusal, when it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }
}
