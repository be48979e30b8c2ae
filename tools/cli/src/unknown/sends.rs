//! A send as it is told: by numbers and codes, without its text.

use penstock_domain::intent::IntentRecord;
use serde::Serialize;

/// One send of an update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Send {
    /// Its number within the update, from 0.
    pub(super) n: u8,
    pub(super) method: String,
    pub(super) state: &'static str,
    pub(super) group: String,
    pub(super) attempts: u32,
    /// How often a person has had it sent again.
    pub(super) resend: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
}

impl Send {
    pub(super) fn of(stored: &IntentRecord) -> Self {
        Self {
            n: stored.intent.n,
            method: stored.intent.call.method.clone(),
            state: stored.state.name(),
            group: stored.intent.group.0.clone(),
            attempts: stored.attempts,
            resend: stored.resend,
            message_id: stored.message_id,
            code: stored.failure.as_ref().map(|failure| failure.code.clone()),
            message: stored.failure.as_ref().map(|failure| failure.message.clone()),
        }
    }

    /// What a person can do about it; nothing where it has ended or goes on by itself.
    pub(super) fn cure(&self) -> Option<&'static str> {
        match self.state {
            "unknown" => {
                Some("look into the chat: settle it with --sent if it is there, with --resend if not")
            }
            "failed" => Some("mend what it failed of, then settle it with --resend"),
            _ => None,
        }
    }
}
