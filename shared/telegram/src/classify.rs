//! What a refusal of the Bot API means: parameters first, then known texts of its code, then the code alone.
//! Pure. Never guesses that a visible send was not applied.

use std::time::Duration;

use penstock_domain::failure::Disposition;
use penstock_domain::method::{Repeat, repeat};
use penstock_ports::Meaning;

use crate::errors::{self, Class};

/// The wait of a 429 that names none. The Bot API counts waits in whole seconds, so this is its shortest.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// Longest text that is compared; known texts are far shorter.
const MAX_COMPARED_CHARS: usize = 1_000;

/// The words that Telegram puts before a text, one for each code.
const CODE_WORDS: &[&str] = &[
    "bad request: ",
    "forbidden: ",
    "unauthorized: ",
    "not found: ",
    "conflict: ",
    "internal server error: ",
    "misdirected request: ",
    "too many requests: ",
];

/// A refusal as it came.
#[derive(Debug, Clone, Copy)]
pub struct Refusal<'a> {
    /// The method that was called.
    pub method: &'a str,
    /// Whether the call named a `message_id`: without one, unpinning is not safe to repeat.
    pub has_message_id: bool,
    /// The HTTP code.
    pub code: u16,
    /// Telegram's description; `None` where the answer was not the Bot API's JSON, as from a proxy.
    pub description: Option<&'a str>,
    /// `parameters.retry_after` or the `Retry-After` header, the longer one, in seconds.
    pub retry_after: Option<u64>,
    /// `parameters.migrate_to_chat_id`.
    pub migrate_to_chat_id: Option<i64>,
}

/// What a refusal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classed {
    /// What was asked for had been done before: a success.
    AlreadyDone,
    /// It failed so, and this is what it says beyond that.
    Failed(Disposition, Meaning),
}

/// Classes a refusal.
///
/// A partly sent album comes before all else: its wait is known, but never resending it whole weighs more.
#[must_use]
pub fn classify(refusal: &Refusal<'_>) -> Classed {
    let text = comparable(refusal.description.unwrap_or_default());
    let known = errors::find(refusal.method, refusal.code, &text);
    if known == Some(Class::Partial) {
        return plain(Disposition::Ambiguous);
    }
    if let Some(id) = refusal.migrate_to_chat_id {
        return Classed::Failed(Disposition::Permanent, Meaning::MigratedTo(id));
    }
    if refusal.code == 429 || refusal.retry_after.is_some() {
        return plain(Disposition::Throttled {
            retry_after: wait(refusal.retry_after, &text),
        });
    }
    known.map_or_else(|| by_code(refusal, &text), by_text)
}

fn by_text(class: Class) -> Classed {
    match class {
        Class::Transient => plain(Disposition::Transient),
        Class::Partial => plain(Disposition::Ambiguous),
        Class::Done => Classed::AlreadyDone,
        Class::BotRefused => permanent(Meaning::BotRefused),
        Class::ChatUnreachable => permanent(Meaning::ChatUnreachable),
        Class::Expired => permanent(Meaning::Expired),
        Class::TargetGone => permanent(Meaning::TargetGone),
        Class::Permanent => permanent(Meaning::Plain),
    }
}

fn by_code(refusal: &Refusal<'_>, text: &str) -> Classed {
    match refusal.code {
        401 | 421 => permanent(Meaning::BotRefused),
        // The path is `/bot{token}/...`: Telegram doesn't find a token that is not one.
        404 if matches!(text, "" | "not found") => permanent(Meaning::BotRefused),
        403 if refusal.description.is_some() => permanent(Meaning::ChatUnreachable),
        // Something on the way refused, and it knows nothing of chats.
        403 => plain(Disposition::Transient),
        // Not the Bot API, which never redirects: nothing was done there.
        300..=399 => plain(Disposition::Transient),
        408 => plain(unclear(refusal)),
        400..=499 => permanent(Meaning::Plain),
        _ => plain(unclear(refusal)),
    }
}

/// The server failed, and whether before or after the effect is not known.
fn unclear(refusal: &Refusal<'_>) -> Disposition {
    match repeat(refusal.method, refusal.has_message_id) {
        Repeat::Read | Repeat::Safe | Repeat::SafeBenign | Repeat::Hidden => Disposition::Transient,
        Repeat::Visible | Repeat::Money | Repeat::Rotates | Repeat::Never => Disposition::Ambiguous,
    }
}

fn wait(named: Option<u64>, text: &str) -> Duration {
    let seconds = named.or_else(|| seconds_in(text)).unwrap_or_default();
    Duration::from_secs(seconds).max(SHORTEST_WAIT)
}

/// The number in "retry after 35".
fn seconds_in(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("retry after ")?;
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .map_or(rest, |end| &rest[..end]);
    // Nothing but "no digits" or "more than a u64" can fail here; both leave the wait unnamed.
    digits.parse().ok()
}

fn comparable(description: &str) -> String {
    let text: String = description
        .trim()
        .chars()
        .take(MAX_COMPARED_CHARS)
        .collect::<String>()
        .to_ascii_lowercase();
    let bare = CODE_WORDS
        .iter()
        .find_map(|words| text.strip_prefix(words))
        .unwrap_or(&text);
    bare.trim().to_owned()
}

fn plain(disposition: Disposition) -> Classed {
    Classed::Failed(disposition, Meaning::Plain)
}

fn permanent(meaning: Meaning) -> Classed {
    Classed::Failed(Disposition::Permanent, meaning)
}

#[cfg(test)]
mod tests;
