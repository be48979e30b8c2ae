//! How failures are classed and what is kept of them. Never decides what to do: see [`crate::retry`].

use std::time::Duration;

use crate::time::Timestamp;

/// The class of a failure: what is known of the effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// Not applied; it may work later.
    Transient,
    /// Not applied; the other side said when to come again.
    Throttled {
        /// Earliest wait. A floor: never shortened.
        retry_after: Duration,
    },
    /// It will never work as it stands.
    Permanent,
    /// The request left and no answer came: it may have been applied.
    Ambiguous,
}

impl Disposition {
    /// Its name in stored failures.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Throttled { .. } => "throttled",
            Self::Permanent => "permanent",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// Longest message kept of a failure (design: error excerpts of at most 4 KiB).
pub const MAX_MESSAGE_BYTES: usize = 4096;

/// A failed try, as it is kept: what, when, and how it was classed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Stable, short, for machines: `handler_panicked`, `bot_api_403`.
    pub code: String,
    /// For people; at most 4 KiB, without secrets, texts or names.
    pub message: String,
    /// Its class.
    pub disposition: Disposition,
    /// Which try it was, from 1.
    pub attempt: u32,
    /// When.
    pub at: Timestamp,
}

impl Failure {
    /// A failure; its message is cut to what may be kept.
    #[must_use]
    pub fn new(code: &str, message: &str, disposition: Disposition, attempt: u32, at: Timestamp) -> Self {
        Self {
            code: code.to_owned(),
            message: excerpt(message).to_owned(),
            disposition,
            attempt,
            at,
        }
    }
}

/// The longest start of `text` that fits into [`MAX_MESSAGE_BYTES`] and ends between characters.
#[must_use]
pub fn excerpt(text: &str) -> &str {
    let mut end = text.len().min(MAX_MESSAGE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_ends_between_characters() {
        let text = "é".repeat(4000);
        let cut = excerpt(&text);
        assert!(cut.len() <= MAX_MESSAGE_BYTES && text.starts_with(cut));
        assert_eq!(excerpt("short"), "short");
    }
}
