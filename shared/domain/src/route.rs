//! Finds in a raw Update what routing needs: its id, its kind, its ordering key, and what SQS would refuse.
//! One pass; nothing is kept, nothing is interpreted beyond that. Never rejects a kind that it does not know.

use crate::ids::{BotId, MAX_SAFE_INTEGER, MessageGroupId, Scope, UpdateDigest, UpdateId};
use crate::kind::{Ordering, UpdateKind};
use crate::scan::{NotJson, Scalar, Scanner};

/// What was found in a raw Update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Its `update_id`.
    pub update_id: UpdateId,
    /// Its kind: the first known one; `Unknown` if none is.
    pub kind: UpdateKind,
    /// The name of the kind as the Update has it (an unknown one's own name, if it is a plain word).
    pub kind_name: String,
    /// What orders it.
    pub scope: Scope,
    /// 64 bits of the kind's raw value.
    pub digest: UpdateDigest,
    /// The kind's own `id`, where it has one: a query is answered by it.
    pub own_id: Option<String>,
    /// Byte offsets of U+FFFE and U+FFFF, which have to be escaped for SQS.
    pub noncharacters: Vec<usize>,
}

impl Route {
    /// The message group on the updates queue.
    #[must_use]
    pub fn group(&self, bot: BotId) -> MessageGroupId {
        self.scope.group(bot)
    }
}

/// Why a body cannot be routed. Both are quarantined, never lost; they differ in what Telegram is answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// Not UTF-8, not JSON, or no object.
    #[error("the body is no JSON object")]
    Unparseable(#[source] Option<NotJson>),
    /// A JSON object whose `update_id` is absent or no safe integer.
    #[error("update_id is no integer between 0 and 2^53-1")]
    BadUpdateId,
}

/// An identifier as it stands in the Update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Id {
    #[default]
    Absent,
    /// Present, but no id: a fraction, an object. It must not fall through to another key: that would be a wrong route.
    Wrong,
    Is(String),
}

/// Every member that some kind is ordered by.
#[derive(Debug, Default)]
struct Found {
    chat: Id,
    from: Id,
    user: Id,
    bot: Id,
    voter_chat: Id,
    user_chat: Id,
    poll: Id,
    own: Id,
    connection: Id,
    message_chat: Id,
    message_connection: Id,
}

/// Reads what routing needs from the body of a webhook request.
///
/// A member that stands twice counts as its last value, as most JSON readers have it; escaped names are names.
///
/// # Errors
/// [`RouteError`] if the body is no JSON object or has no usable `update_id`.
pub fn route(body: &[u8]) -> Result<Route, RouteError> {
    let text = std::str::from_utf8(body).map_err(|_| RouteError::Unparseable(None))?;
    let unparseable = |error| RouteError::Unparseable(Some(error));
    let mut scanner = Scanner::new(text);
    let mut update_id = Scalar::Other;
    let mut known: Option<(UpdateKind, Found, UpdateDigest)> = None;
    let mut other: Option<(String, Found, UpdateDigest)> = None;
    scanner.whitespace();
    let is_object = scanner
        .object(|scanner, name| {
            if name == "update_id" {
                update_id = scanner.scalar()?;
                return Ok(());
            }
            let kind = UpdateKind::from_name(name);
            let wanted = match kind {
                Some(kind) => known.as_ref().is_none_or(|(first, ..)| *first == kind),
                None => known.is_none() && other.is_none() && scanner.peek() == Some(b'{'),
            };
            if !wanted {
                return scanner.skip();
            }
            let from = scanner.position();
            let found = members(scanner)?;
            let digest = UpdateDigest::of(scanner.slice(from));
            match kind {
                Some(kind) => known = Some((kind, found, digest)),
                None => other = Some((name.to_owned(), found, digest)),
            }
            Ok(())
        })
        .map_err(unparseable)?;
    scanner.end().map_err(unparseable)?;
    if !is_object {
        return Err(RouteError::Unparseable(None));
    }
    let update_id = match update_id {
        Scalar::Integer(id) if (0..=MAX_SAFE_INTEGER).contains(&id) => UpdateId(id),
        Scalar::Integer(_) | Scalar::Text(_) | Scalar::Other => return Err(RouteError::BadUpdateId),
    };
    let (kind, kind_name, found, digest) = match (known, other) {
        (Some((kind, found, digest)), _) => (kind, kind.name().to_owned(), found, digest),
        (None, Some((name, found, digest))) => (UpdateKind::Unknown, plain_word(name), found, digest),
        (None, None) => {
            let none = UpdateKind::Unknown;
            (
                none,
                none.name().to_owned(),
                Found::default(),
                UpdateDigest::of(body),
            )
        }
    };
    let own_id = match &found.own {
        Id::Is(id) => Some(id.clone()),
        Id::Absent | Id::Wrong => None,
    };
    let scope = scope(kind.ordering(), found);
    Ok(Route {
        update_id,
        kind,
        kind_name,
        scope,
        digest,
        own_id,
        noncharacters: scanner.noncharacters,
    })
}

/// A kind's name goes into logs and metrics, so only what looks like one passes.
fn plain_word(name: String) -> String {
    let plain = name.len() <= 64
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if plain && !name.is_empty() {
        name
    } else {
        UpdateKind::Unknown.name().to_owned()
    }
}

fn members(scanner: &mut Scanner<'_>) -> Result<Found, NotJson> {
    let mut found = Found::default();
    scanner.object(|scanner, name| {
        match name {
            "chat" => found.chat = id_inside(scanner)?,
            "from" => found.from = id_inside(scanner)?,
            "user" => found.user = id_inside(scanner)?,
            "bot" => found.bot = id_inside(scanner)?,
            "voter_chat" => found.voter_chat = id_inside(scanner)?,
            "user_chat_id" => found.user_chat = id(scanner)?,
            "poll_id" => found.poll = id(scanner)?,
            "id" => found.own = id(scanner)?,
            "business_connection_id" => found.connection = id(scanner)?,
            "message" => {
                scanner.object(|scanner, name| {
                    match name {
                        "chat" => found.message_chat = id_inside(scanner)?,
                        "business_connection_id" => found.message_connection = id(scanner)?,
                        _ => scanner.skip()?,
                    }
                    Ok(())
                })?;
            }
            _ => scanner.skip()?,
        }
        Ok(())
    })?;
    Ok(found)
}

fn id(scanner: &mut Scanner<'_>) -> Result<Id, NotJson> {
    Ok(match scanner.scalar()? {
        Scalar::Integer(number) => Id::Is(number.to_string()),
        Scalar::Text(text) if !text.is_empty() => Id::Is(text.to_owned()),
        Scalar::Text(_) | Scalar::Other => Id::Wrong,
    })
}

fn id_inside(scanner: &mut Scanner<'_>) -> Result<Id, NotJson> {
    let mut inside = Id::Absent;
    scanner.object(|scanner, name| {
        if name == "id" {
            inside = id(scanner)?;
            return Ok(());
        }
        scanner.skip()
    })?;
    Ok(inside)
}

fn scope(ordering: Ordering, found: Found) -> Scope {
    let unknown = || Scope::Unknown("unknown".to_owned());
    let one = |id: Id, make: fn(String) -> Scope| match id {
        Id::Is(id) => make(id),
        Id::Absent | Id::Wrong => unknown(),
    };
    let business = |connection: Id, chat: Id| match (connection, chat) {
        (Id::Is(connection), Id::Is(chat)) => Scope::Business { connection, chat },
        (Id::Absent, chat) => one(chat, Scope::Chat),
        _ => unknown(),
    };
    match ordering {
        Ordering::Chat => one(found.chat, Scope::Chat),
        Ordering::Business => business(found.connection, found.chat),
        Ordering::Guest => one(found.chat, Scope::Guest),
        Ordering::From => one(found.from, Scope::User),
        Ordering::Callback if found.message_chat == Id::Absent => one(found.from, Scope::User),
        Ordering::Callback => business(found.message_connection, found.message_chat),
        Ordering::UserChat => {
            first([(found.user_chat, Scope::Chat), (found.user, Scope::User)]).unwrap_or_else(unknown)
        }
        Ordering::Poll => one(found.own, Scope::Poll),
        Ordering::PollAnswer => first([
            (found.poll, Scope::Poll),
            (found.user, Scope::User),
            (found.voter_chat, Scope::Chat),
        ])
        .unwrap_or_else(unknown),
        Ordering::User => {
            first([(found.user, Scope::User), (found.bot, Scope::User)]).unwrap_or_else(unknown)
        }
        Ordering::Probe => first([
            (found.chat, Scope::Chat as fn(String) -> Scope),
            (found.message_chat, Scope::Chat),
            (found.user_chat, Scope::Chat),
            (found.from, Scope::User),
            (found.user, Scope::User),
            (found.poll, Scope::Poll),
            (found.own, Scope::Unknown),
        ])
        .unwrap_or_else(unknown),
    }
}

/// An id that may order an Update, and the scope that it would be.
type Candidate = (Id, fn(String) -> Scope);

/// The first id that is there; one that is there and wrong ends the search.
fn first<const N: usize>(candidates: [Candidate; N]) -> Option<Scope> {
    for (id, make) in candidates {
        match id {
            Id::Absent => {}
            Id::Wrong => return None,
            Id::Is(id) => return Some(make(id)),
        }
    }
    None
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
