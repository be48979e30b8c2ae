//! What stands in for a backend that is away: a pressed button is answered, a chat is told once that it will be
//! answered, core commands are answered in the backend's place, and what has waited too long is parked. Decides; never
//! reads, writes or sends.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use penstock_bot::Incoming;
use penstock_bot::calls::answer_callback_query;
use penstock_domain::expiry::answer_life;
use penstock_domain::ids::LedgerKey;
use penstock_domain::intent::Call;
use penstock_domain::kind::UpdateKind;
use penstock_domain::time::Timestamp;

/// How long a backend is away before people are told: a restart is over sooner, and not worth a message. Nor is a button
/// answered before: the backend's own answer to it would then be refused as one too many.
const TOLD_AFTER: Duration = Duration::from_secs(10);
/// An Update that came so long before the door was shut has waited in an earlier outage, and its chat was told then.
const NEWS_FOR: Duration = Duration::from_secs(600);
/// Longest text over a pressed button (Bot API, `answerCallbackQuery`: 200 characters).
const LONGEST_TOAST: usize = 200;
/// Longest id of a query that is answered here.
const LONGEST_ID: usize = 64;
/// Longest text of a message (Bot API, `sendMessage`: 4096 characters after entities).
const LONGEST_TEXT: usize = 4096;
/// How long an Update waits for its backend unless it is set otherwise (design section 1, P8: 24 h). Telegram itself
/// keeps an undelivered Update as long.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(86_400);
/// How long the door is shut before anything is parked: a letter that a person has redriven, or an old backlog in a ramp,
/// must not be parked again by a blip.
const PARKED_AFTER: Duration = Duration::from_secs(600);
/// Most records that an instance remembers to have told; beyond it, it asks the table again.
const MOST_TOLD: usize = 10_000;
const HOUR_MS: i64 = 3_600_000;

/// What is done in the place of a backend that is away.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StandIn {
    /// Nothing: it waits.
    Nothing,
    /// It has waited too long: it is parked, for a person to redrive.
    TooOld,
    /// The pressed button stops to show progress; its Update waits on.
    Acknowledge {
        /// The query's id.
        id: String,
        /// The answer.
        call: Call,
    },
    /// Its chat is told; it waits on. Once in the hour in which the outage began.
    Tell {
        /// That hour, since 1970.
        hour: i64,
        /// The message.
        call: Call,
    },
    /// A core command is answered, and done with.
    Answer(Call),
}

/// The commands that are answered while the backend is away, each with its text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CoreReplies(BTreeMap<String, String>);

/// Core replies that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadReplies {
    /// No JSON object of texts.
    #[error(r#"it is no JSON object of texts, as in {{"help": "Ask me anything."}}: {0}"#)]
    Unreadable(String),
    /// A name that no command has.
    #[error("{0:?} is no command; name it by its letters, digits and underscores, as in \"help\" for /help")]
    NoCommand(String),
    /// A text that Telegram would refuse.
    #[error("the text of /{0} has to have 1 to 4096 characters")]
    Text(String),
}

impl CoreReplies {
    /// Reads a JSON object whose members are commands (with or without the slash) and texts. Empty text: none.
    ///
    /// # Errors
    /// See [`BadReplies`].
    pub fn parse(json: &str) -> Result<Self, BadReplies> {
        if json.trim().is_empty() {
            return Ok(Self::default());
        }
        let read: BTreeMap<String, String> =
            serde_json::from_str(json).map_err(|error| BadReplies::Unreadable(error.to_string()))?;
        let mut replies = BTreeMap::new();
        for (name, text) in read {
            let command = name.strip_prefix('/').unwrap_or(&name).to_lowercase();
            let is_command = !command.is_empty()
                && command
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !is_command {
                return Err(BadReplies::NoCommand(name));
            }
            if text.trim().is_empty() || text.chars().count() > LONGEST_TEXT {
                return Err(BadReplies::Text(command));
            }
            replies.insert(command, text);
        }
        Ok(Self(replies))
    }

    fn of(&self, incoming: &Incoming) -> Option<&str> {
        let command = own_command(incoming)?.to_lowercase();
        // What stands behind it is for the backend: the payload of a deep link, a payment, a question.
        let is_bare = incoming.argument().is_none();
        self.0.get(&command).filter(|_| is_bare).map(String::as_str)
    }
}

/// A command for this bot. In a group one that names a bot may be another's: its name is not known here. In the direct
/// messages of a channel an answer would need their topic.
fn own_command(incoming: &Incoming) -> Option<&str> {
    let is_channels = incoming.raw.contains("\"direct_messages_topic\"");
    let is_certain = incoming.is_private || (incoming.commanded_bot().is_none() && !is_channels);
    incoming.command().filter(|_| is_certain)
}

/// What stands in for a backend that is away, and what this instance knows to be told already.
#[derive(Debug)]
pub struct Standby {
    notice: Option<String>,
    core: CoreReplies,
    max_age: Duration,
    told: Mutex<HashSet<LedgerKey>>,
}

impl Default for Standby {
    /// Buttons are answered without a text, chats are told nothing, and Updates wait for a day.
    fn default() -> Self {
        Self::new("", CoreReplies::default(), MAX_AGE)
    }
}

impl Standby {
    /// With that notice to chats whose Updates wait (empty: none), those core commands, and that longest wait.
    #[must_use]
    pub fn new(notice: &str, core: CoreReplies, max_age: Duration) -> Self {
        let notice = Some(notice.trim()).filter(|notice| !notice.is_empty());
        Self {
            notice: notice.map(|notice| notice.chars().take(LONGEST_TEXT).collect()),
            core,
            max_age,
            told: Mutex::default(),
        }
    }

    /// What is done for an Update that has waited since then, and waits for a backend that is away since `shut_since`.
    pub(crate) fn stand_in(
        &self,
        incoming: &Incoming,
        received_at: Timestamp,
        shut_since: Timestamp,
        now: Timestamp,
    ) -> StandIn {
        if now.since(received_at) > self.max_age && now.since(shut_since) >= PARKED_AFTER {
            return StandIn::TooOld;
        }
        let is_outage = now.since(shut_since) >= TOLD_AFTER;
        if !is_outage {
            return StandIn::Nothing;
        }
        if let Some(callback) = &incoming.callback {
            return self.acknowledge(&callback.id, received_at, now);
        }
        // Its sender waits for an answer: not for an edit, nor in a channel, nor through somebody's own account.
        if incoming.kind != UpdateKind::Message {
            return StandIn::Nothing;
        }
        if let Some(reply) = self.core.of(incoming).and_then(|text| incoming.reply(text)) {
            return StandIn::Answer(reply.into());
        }
        let is_asked = incoming.is_private || own_command(incoming).is_some();
        let is_news = shut_since.since(received_at) < NEWS_FOR;
        let notice = self.notice.as_deref().filter(|_| is_asked && is_news);
        match notice.and_then(|notice| incoming.reply(notice)) {
            Some(call) => StandIn::Tell {
                hour: shut_since.as_millis().div_euclid(HOUR_MS),
                call: call.into(),
            },
            None => StandIn::Nothing,
        }
    }

    /// Without a text if the chat would not be told either; not at all once Telegram takes no answer any more.
    fn acknowledge(&self, id: &str, received_at: Timestamp, now: Timestamp) -> StandIn {
        let answer = answer_callback_query(id);
        let is_late = answer_life("answerCallbackQuery").is_some_and(|life| now > received_at + life);
        // A key is made of it. Telegram's are up to 20 digits.
        let is_odd =
            id.is_empty() || id.len() > LONGEST_ID || !id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_late || is_odd {
            return StandIn::Nothing;
        }
        let call = match &self.notice {
            Some(notice) => answer
                .notice(notice.chars().take(LONGEST_TOAST).collect::<String>())
                .into(),
            None => answer.into(),
        };
        StandIn::Acknowledge {
            id: id.to_owned(),
            call,
        }
    }

    fn told(&self) -> MutexGuard<'_, HashSet<LedgerKey>> {
        // A panic while it was held leaves a whole set.
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this instance has seen to that record already.
    pub(crate) fn is_told(&self, key: &LedgerKey) -> bool {
        self.told().contains(key)
    }

    /// Remembers that record. One that is forgotten costs a refused write, and nobody is told twice.
    pub(crate) fn remember(&self, key: LedgerKey) {
        let mut told = self.told();
        if told.len() >= MOST_TOLD {
            told.clear();
        }
        told.insert(key);
    }
}

#[cfg(test)]
#[path = "standby_tests.rs"]
mod tests;
