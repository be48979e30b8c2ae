//! A send that an outcome asks for, durable before it is done: its states, and what a refused claim on it means.
//! Never calls the Bot API.

use std::time::Duration;

use crate::failure::{Disposition, Failure};
use crate::ids::{BotId, MessageGroupId, Scope};
use crate::ledger::{Owner, Record, is_suspect_at};
use crate::method::answers_query;
use crate::scan::{Scalar, Scanner};
use crate::time::Timestamp;

/// Most intents of one Update, and so of one chat and Update (design section 5).
pub const MAX_INTENTS: usize = 10;

/// Furthest that a send may be put off. Its message waits in the queue, which drops it after 14 days without a word; two
/// of them are left for the sending itself.
pub const LONGEST_DELAY: Duration = Duration::from_secs(12 * 86_400);

/// State of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntentState {
    /// Written, not begun.
    Intended,
    /// A sender holds a lease on it: the call may be on its way.
    Sending,
    /// Telegram confirmed it.
    Sent,
    /// It failed and is tried again at `next_at`.
    Retrying,
    /// It will not be sent.
    Failed,
    /// Nobody knows: the request left and no answer came. A person settles it, or a rule.
    Unknown,
    /// Withdrawn before it began.
    Cancelled,
}

impl IntentState {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Intended,
        Self::Sending,
        Self::Sent,
        Self::Retrying,
        Self::Failed,
        Self::Unknown,
        Self::Cancelled,
    ];

    /// As stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Intended => "intended",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Retrying => "retrying",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads it back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether a later intent of the same chat has to wait for one in this state, see
    /// [`IntentRecord::holds_successors`].
    #[must_use]
    pub fn holds_successors(self) -> bool {
        match self {
            Self::Intended | Self::Sending | Self::Retrying => true,
            Self::Sent | Self::Failed | Self::Unknown | Self::Cancelled => false,
        }
    }
}

/// What may happen to an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntentEvent {
    /// A sender takes it.
    Claim,
    /// Telegram confirmed it, at once or late.
    Confirm,
    /// It failed and may work later.
    Retry,
    /// It will never work.
    Fail,
    /// The request left and no answer came.
    LoseTrack,
    /// A person has it sent again.
    Resend,
    /// It is withdrawn.
    Cancel,
}

impl IntentEvent {
    /// Every event.
    pub const ALL: [Self; 7] = [
        Self::Claim,
        Self::Confirm,
        Self::Retry,
        Self::Fail,
        Self::LoseTrack,
        Self::Resend,
        Self::Cancel,
    ];
}

/// An event that cannot happen in that state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an intent that is {state:?} cannot {event:?}")]
pub struct IllegalIntentTransition {
    /// The state.
    pub state: IntentState,
    /// The event.
    pub event: IntentEvent,
}

/// The state after an event.
///
/// # Errors
/// [`IllegalIntentTransition`] for every pair that design section 5 does not have.
pub fn transition(state: IntentState, event: IntentEvent) -> Result<IntentState, IllegalIntentTransition> {
    use IntentEvent as E;
    use IntentState as S;
    match (state, event) {
        (S::Intended | S::Retrying, E::Claim) => Ok(S::Sending),
        (S::Sending | S::Unknown, E::Confirm) => Ok(S::Sent),
        (S::Sending, E::Retry) => Ok(S::Retrying),
        (S::Intended | S::Sending | S::Retrying, E::Fail) => Ok(S::Failed),
        // Not only of a call on its way: what waits for another try after one of which nobody knows is given up as unknown.
        (S::Intended | S::Sending | S::Retrying, E::LoseTrack) => Ok(S::Unknown),
        (S::Unknown | S::Failed, E::Resend) => Ok(S::Intended),
        (S::Intended | S::Retrying, E::Cancel) => Ok(S::Cancelled),
        (S::Intended | S::Retrying, E::Confirm | E::Retry | E::Resend)
        | (S::Sending, E::Claim | E::Resend | E::Cancel)
        | (S::Sent | S::Cancelled, _)
        | (S::Failed, E::Claim | E::Confirm | E::Retry | E::Fail | E::LoseTrack | E::Cancel)
        | (S::Unknown, E::Claim | E::Retry | E::Fail | E::LoseTrack | E::Cancel) => {
            Err(IllegalIntentTransition { state, event })
        }
    }
}

/// What to do when nobody knows whether a visible send arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnUnknown {
    /// It stays `unknown` until a person settles it.
    #[default]
    Hold,
    /// Once more, at the risk of a double.
    ResendOnce,
}

/// A call that an outcome asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Bot API method.
    pub method: String,
    /// Its parameters, a JSON object.
    pub params: String,
    /// What to do when nobody knows whether it arrived.
    pub on_unknown: OnUnknown,
    /// Not before this instant. Later sends of the same chat wait with it.
    pub not_before: Option<Timestamp>,
    /// Number of an earlier call of the same outcome: this call's `message_id` is the one that Telegram gave to it.
    pub refers_to: Option<u8>,
}

impl Call {
    /// A call of that method; `params` is a JSON object.
    #[must_use]
    pub fn new(method: &str, params: String) -> Self {
        Self {
            method: method.to_owned(),
            params,
            on_unknown: OnUnknown::Hold,
            not_before: None,
            refers_to: None,
        }
    }
}

/// An intent before it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Its number in the Update, from 0.
    pub n: u8,
    /// The call.
    pub call: Call,
    /// The message group on the outbound queue.
    pub group: MessageGroupId,
    /// The number of the previous intent of the same group: this one waits for it.
    pub previous: Option<u8>,
}

/// Calls that cannot become intents. Permanent: they are refused before the commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCalls {
    /// More than [`MAX_INTENTS`].
    #[error("{0} calls in one outcome; at most {MAX_INTENTS} are allowed")]
    TooMany(usize),
    /// The parameters are no JSON object.
    #[error("the parameters of call {n} ({method}) are no JSON object")]
    Params {
        /// Which call.
        n: usize,
        /// Its method.
        method: String,
    },
    /// It refers to a call that does not come before it, or that is for another chat: its message id would not be
    /// known when this one is sent.
    #[error("call {n} ({method}) refers to call {to}, which is not an earlier one of the same chat")]
    Reference {
        /// Which call.
        n: usize,
        /// Its method.
        method: String,
        /// The call that it refers to.
        to: u8,
    },
}

/// Whom a call addresses, as far as its order depends on it.
#[derive(Default)]
struct Addressee {
    chat: Option<String>,
    user: Option<String>,
    inline_message: Option<String>,
    connection: Option<String>,
    query: Option<String>,
}

/// Reads the addressee from the parameters; `None` if they are no JSON object.
fn addressee(method: &str, params: &str) -> Option<Addressee> {
    let query_field = answers_query(method);
    let mut to = Addressee::default();
    let mut scanner = Scanner::new(params);
    scanner.whitespace();
    let is_object = scanner
        .object(|scanner, name| {
            let field = match name {
                "chat_id" => &mut to.chat,
                "user_id" => &mut to.user,
                "inline_message_id" => &mut to.inline_message,
                "business_connection_id" => &mut to.connection,
                name if Some(name) == query_field => &mut to.query,
                _ => return scanner.skip(),
            };
            *field = match scanner.scalar()? {
                Scalar::Integer(id) => Some(id.to_string()),
                Scalar::Text(text) => Some(text.to_owned()),
                Scalar::Other => None,
            };
            Ok(())
        })
        .ok()?;
    scanner.end().ok()?;
    is_object.then_some(to)
}

/// Makes the intents of an outcome: numbers them, finds the group of each, and links each to the previous one of its
/// group.
///
/// # Errors
/// [`InvalidCalls`], which no retry would cure.
pub fn plan(bot: BotId, calls: Vec<Call>) -> Result<Vec<Intent>, InvalidCalls> {
    if calls.len() > MAX_INTENTS {
        return Err(InvalidCalls::TooMany(calls.len()));
    }
    let mut intents: Vec<Intent> = Vec::with_capacity(calls.len());
    for (n, call) in calls.into_iter().enumerate() {
        let Some(to) = addressee(&call.method, &call.params) else {
            return Err(InvalidCalls::Params {
                n,
                method: call.method,
            });
        };
        let group = outbound_scope(&call.method, to).group(bot);
        let previous = intents
            .iter()
            .rev()
            .find(|earlier| earlier.group == group)
            .map(|earlier| earlier.n);
        if let Some(to) = call.refers_to
            && intents
                .get(usize::from(to))
                .is_none_or(|earlier| earlier.group != group)
        {
            return Err(InvalidCalls::Reference {
                n,
                method: call.method,
                to,
            });
        }
        let n = u8::try_from(n).unwrap_or(u8::MAX);
        intents.push(Intent {
            n,
            call,
            group,
            previous,
        });
    }
    Ok(intents)
}

/// What orders a call: its chat, else the message or the user that it is about. Calls without any of these share the
/// group of their method.
fn outbound_scope(method: &str, to: Addressee) -> Scope {
    if answers_query(method).is_some() {
        return Scope::Query(to.query.unwrap_or_else(|| "unknown".to_owned()));
    }
    match (to.chat, to.connection) {
        (Some(chat), Some(connection)) => Scope::Business { connection, chat },
        (Some(chat), None) => Scope::Chat(chat),
        (None, _) => match (to.inline_message, to.user) {
            (Some(message), _) => Scope::Unknown(message),
            (None, Some(user)) => Scope::User(user),
            (None, None) => Scope::Unknown(method.to_owned()),
        },
    }
}

/// What is stored of an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentRecord {
    /// The intent.
    pub intent: Intent,
    /// Its state.
    pub state: IntentState,
    /// How often a person has had it sent again.
    pub resend: u32,
    /// Tries burned.
    pub attempts: u32,
    /// Who claimed it last.
    pub owner: Option<Owner>,
    /// Until when that claim holds.
    pub lease_until: Option<Timestamp>,
    /// Not to be claimed before.
    pub next_at: Option<Timestamp>,
    /// Telegram's message id, once it is known.
    pub message_id: Option<i64>,
    /// The last failure.
    pub failure: Option<Failure>,
}

impl IntentRecord {
    /// Whether a later intent of the same chat has to wait for it. One that a person has sent again holds nobody: its
    /// successors had been let past, and its copy stands behind theirs in the queue, so that each would wait for the
    /// other.
    #[must_use]
    pub fn holds_successors(&self) -> bool {
        self.resend == 0 && self.state.holds_successors()
    }

    /// Whether nobody knows if its last try arrived, though it waits for another: given up now, it is not `failed`.
    #[must_use]
    pub fn may_have_arrived(&self) -> bool {
        self.failure
            .as_ref()
            .is_some_and(|failure| failure.disposition == Disposition::Ambiguous)
    }

    /// Whether a person had it sent again and no sender has claimed it since.
    #[must_use]
    pub fn is_resent_and_waits(&self) -> bool {
        self.state == IntentState::Intended && self.resend > 0
    }

    /// Whether it keeps its Update in the index of what needs a person. One that was sent again does until it is
    /// claimed: its copy may have been lost on the way to the queue.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        self.state == IntentState::Unknown || self.is_resent_and_waits()
    }
}

/// What a sender's claim asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentClaim {
    /// Who.
    pub owner: Owner,
    /// Which intent.
    pub n: u8,
    /// The generation of the copy in hand.
    pub redrive: u32,
    /// The resending number of the copy in hand.
    pub resend: u32,
    /// The previous intent of the same group.
    pub previous: Option<u8>,
    /// The earlier intent whose message this one is about.
    pub refers_to: Option<u8>,
    /// Now.
    pub now: Timestamp,
    /// Until when the lease shall hold.
    pub lease_until: Timestamp,
}

/// What a refused claim on an intent means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntentRefusal {
    /// It is mine after all: the write had landed and was repeated.
    Mine {
        /// Attempts, this one included.
        attempts: u32,
        /// Telegram's id of the message that it refers to.
        message_id: Option<i64>,
    },
    /// It has ended, or the copy is an old one: acknowledge it.
    Settled,
    /// An earlier intent of the chat has not ended: come back.
    BehindPrevious,
    /// Not before then.
    HeldUntil(Timestamp),
    /// A sender died with the call on its way: ambiguous.
    Lost,
    /// There is no such intent: nothing can vouch for the message.
    Absent,
}

/// Reads a refused claim on an intent.
#[must_use]
pub fn judge_refusal(existing: Option<&Record>, mine: &IntentClaim) -> IntentRefusal {
    let Some(record) = existing else {
        return IntentRefusal::Absent;
    };
    if mine.redrive < record.redrive {
        return IntentRefusal::Settled;
    }
    let find = |n: u8| record.intents.iter().find(|stored| stored.intent.n == n);
    let Some(stored) = find(mine.n) else {
        return IntentRefusal::Absent;
    };
    if mine.resend < stored.resend {
        return IntentRefusal::Settled;
    }
    match stored.state {
        IntentState::Sending if stored.owner.as_ref() == Some(&mine.owner) => IntentRefusal::Mine {
            attempts: stored.attempts,
            message_id: mine.refers_to.and_then(find).and_then(|target| target.message_id),
        },
        IntentState::Sending => match stored.lease_until {
            Some(until) if is_suspect_at(until, mine.now) => IntentRefusal::Lost,
            until => IntentRefusal::HeldUntil(until.unwrap_or(mine.now) + crate::ledger::LEASE_MARGIN),
        },
        IntentState::Sent | IntentState::Failed | IntentState::Unknown | IntentState::Cancelled => {
            IntentRefusal::Settled
        }
        IntentState::Intended | IntentState::Retrying => {
            if mine
                .previous
                .and_then(find)
                .is_some_and(IntentRecord::holds_successors)
            {
                return IntentRefusal::BehindPrevious;
            }
            IntentRefusal::HeldUntil(stored.next_at.unwrap_or(mine.now))
        }
    }
}

#[cfg(test)]
#[path = "intent_tests.rs"]
mod tests;
