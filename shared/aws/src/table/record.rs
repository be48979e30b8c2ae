//! Reading a ledger item.

use aws_sdk_dynamodb::types::AttributeValue;
use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::{LedgerKey, MessageGroupId, UpdateDigest};
use penstock_domain::intent::{Call, Intent, IntentRecord, IntentState, OnUnknown};
use penstock_domain::ledger::{Fence, Owner, Record, State};
use penstock_domain::time::Timestamp;
use penstock_ports::PortError;

use super::{Item, item, raw};

/// Reads a ledger item.
///
/// # Errors
/// [`PortError::Unreadable`], naming the attribute.
pub fn read_record(operation: &'static str, stored: &Item) -> Result<Record, PortError> {
    let need = |what: &'static str| PortError::Unreadable { operation, what };
    let mut intents = item::map(stored, "intents")
        .into_iter()
        .flatten()
        .map(|(n, value)| read_intent(n, value).ok_or_else(|| need("intents")))
        .collect::<Result<Vec<_>, _>>()?;
    intents.sort_by_key(|record| record.intent.n);
    Ok(Record {
        key: LedgerKey::from_stored(item::text(stored, "key").ok_or_else(|| need("key"))?.to_owned()),
        state: item::text(stored, "state")
            .and_then(State::from_name)
            .ok_or_else(|| need("state"))?,
        redrive: item::number(stored, "redrive").unwrap_or(0),
        attempts: item::number(stored, "attempts").unwrap_or(0),
        fence: Fence(item::number(stored, "fence").ok_or_else(|| need("fence"))?),
        owner: item::text(stored, "owner").map(|owner| Owner(owner.to_owned())),
        lease_until: time(stored, "lease_until"),
        next_at: time(stored, "next_at"),
        digest: item::text(stored, "digest").and_then(UpdateDigest::parse),
        open: item::number(stored, "open").unwrap_or(0),
        tries: item::list(stored, "tries")
            .iter()
            .filter_map(|entry| entry.as_m().ok())
            .filter_map(read_failure)
            .collect(),
        intents,
        result: item::text(stored, "result").map(str::to_owned),
        expires_at: item::number(stored, "expires_at").ok_or_else(|| need("expires_at"))?,
    })
}

fn time(stored: &Item, name: &str) -> Option<Timestamp> {
    item::number(stored, name).map(Timestamp::from_millis)
}

pub(crate) fn write_failure(failure: &Failure) -> AttributeValue {
    let mut entry = item::m([
        ("code", item::s(&failure.code)),
        ("message", item::s(&failure.message)),
        ("disposition", item::s(failure.disposition.name())),
        ("attempt", item::n(failure.attempt)),
        ("at", item::n(failure.at)),
    ]);
    if let Disposition::Throttled { retry_after } = failure.disposition {
        entry.insert("retry_after_ms".to_owned(), item::n(retry_after.as_millis()));
    }
    AttributeValue::M(entry)
}

fn read_failure(entry: &Item) -> Option<Failure> {
    let disposition = match item::text(entry, "disposition")? {
        "transient" => Disposition::Transient,
        "throttled" => Disposition::Throttled {
            retry_after: std::time::Duration::from_millis(item::number(entry, "retry_after_ms").unwrap_or(0)),
        },
        "ambiguous" => Disposition::Ambiguous,
        _ => Disposition::Permanent,
    };
    Some(Failure {
        code: item::text(entry, "code")?.to_owned(),
        message: item::text(entry, "message")?.to_owned(),
        disposition,
        attempt: item::number(entry, "attempt")?,
        at: time(entry, "at")?,
    })
}

/// An intent as it is first stored; without parameters if they stand in a row.
pub(crate) fn write_intent(intent: &Intent, params: Option<AttributeValue>) -> AttributeValue {
    let mut entry = item::m([
        ("state", item::s(IntentState::Intended.name())),
        ("method", item::s(&intent.call.method)),
        ("group", item::s(&intent.group.0)),
        ("on_unknown", item::s(on_unknown(intent.call.on_unknown))),
        ("resend", item::n(0)),
        ("attempts", item::n(0)),
    ]);
    let mut optional = |name: &str, value: Option<AttributeValue>| {
        if let Some(value) = value {
            entry.insert(name.to_owned(), value);
        }
    };
    optional("params_row", params.is_none().then(|| item::n(1)));
    optional("params", params);
    optional("previous", intent.previous.map(item::n));
    optional("not_before", intent.call.not_before.map(item::n));
    optional("refers_to", intent.call.refers_to.map(item::n));
    AttributeValue::M(entry)
}

fn on_unknown(choice: OnUnknown) -> &'static str {
    match choice {
        OnUnknown::Hold => "hold",
        OnUnknown::ResendOnce => "resend_once",
    }
}

fn read_intent(n: &str, value: &AttributeValue) -> Option<IntentRecord> {
    let entry = value.as_m().ok()?;
    Some(IntentRecord {
        intent: Intent {
            n: n.parse().ok()?,
            call: Call {
                method: item::text(entry, "method")?.to_owned(),
                // Empty is no JSON object, so that it stands for "in a row".
                params: match entry.get("params") {
                    Some(params) => raw::unpack(params)?,
                    None if entry.contains_key("params_row") => String::new(),
                    None => return None,
                },
                on_unknown: match item::text(entry, "on_unknown") {
                    Some("resend_once") => OnUnknown::ResendOnce,
                    Some(_) | None => OnUnknown::Hold,
                },
                not_before: time(entry, "not_before"),
                refers_to: item::number(entry, "refers_to"),
            },
            group: MessageGroupId(item::text(entry, "group")?.to_owned()),
            previous: item::number(entry, "previous"),
        },
        state: item::text(entry, "state").and_then(IntentState::from_name)?,
        resend: item::number(entry, "resend").unwrap_or(0),
        attempts: item::number(entry, "attempts").unwrap_or(0),
        owner: item::text(entry, "owner").map(|owner| Owner(owner.to_owned())),
        lease_until: time(entry, "lease_until"),
        next_at: time(entry, "next_at"),
        message_id: item::number(entry, "message_id"),
        failure: item::map(entry, "failure").and_then(read_failure),
    })
}
