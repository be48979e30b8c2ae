//! The body of a redriven Update: the envelope made anew around what the ledger kept. Never changes what it wraps, but
//! for the escapes that SQS needs.

use penstock_domain::ids::{BotId, LedgerKey, UpdateDigest};
use penstock_domain::route::{RouteError, route};
use penstock_domain::time::Timestamp;

use crate::envelope::Envelope;
use crate::text::escape_noncharacters;

/// What the ledger knows of an Update that is sent through again.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    /// The bot that it came for.
    pub bot_id: BotId,
    /// Its ledger key.
    pub key: &'a LedgerKey,
    /// When the ingress received it: it keeps that.
    pub received_at: Timestamp,
    /// The id that runs through every hop.
    pub trace_id: &'a str,
    /// The digest of the Update as it came first; it survives an edit. None where it was filed without one.
    pub digest: Option<UpdateDigest>,
    /// Its raw body.
    pub raw: &'a str,
}

/// The queue body of an Update in its `redrive`-th generation.
///
/// # Errors
/// [`RouteError`] if what was kept is no Update.
pub fn redriven(kept: &Kept<'_>, redrive: u32) -> Result<String, RouteError> {
    let route = route(kept.raw.as_bytes())?;
    let raw = escape_noncharacters(kept.raw.trim());
    Ok(Envelope {
        bot_id: kept.bot_id,
        update_id: route.update_id,
        key: kept.key.as_str(),
        redrive,
        kind: route.kind,
        kind_name: &route.kind_name,
        received_at: kept.received_at,
        trace_id: kept.trace_id,
        digest: kept.digest.unwrap_or(route.digest),
        update: &raw,
    }
    .write())
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_domain::ids::UpdateId;

    fn kept<'a>(key: &'a LedgerKey, raw: &'a str, digest: Option<UpdateDigest>) -> Kept<'a> {
        Kept {
            bot_id: BotId(7),
            key,
            received_at: Timestamp::from_millis(9),
            trace_id: "abc",
            digest,
            raw,
        }
    }

    #[test]
    fn a_redriven_body_keeps_key_digest_and_time_and_has_its_generation() {
        let key = LedgerKey::reused(BotId(7), UpdateId(5), UpdateDigest(3));
        let raw = r#"{"update_id":5,"message":{"chat":{"id":1},"text":"edited"}}"#;
        let body = redriven(&kept(&key, raw, Some(UpdateDigest(3))), 2).unwrap();
        let read = Envelope::read(&body).unwrap();
        assert_eq!(
            (read.key, read.redrive, read.digest, read.received_at.as_millis()),
            (key.as_str(), 2, UpdateDigest(3), 9)
        );
        assert_eq!(
            (read.kind_name, read.update, read.trace_id),
            ("message", raw, "abc")
        );
    }

    #[test]
    fn what_sqs_would_refuse_is_escaped_and_blanks_around_it_are_dropped() {
        let key = LedgerKey::new(BotId(7), UpdateId(5));
        let raw = "\n{\"update_id\":5,\"message\":{\"chat\":{\"id\":1},\"text\":\"a\u{ffff}b\u{fffe}\"}}\n";
        let body = redriven(&kept(&key, raw, None), 1).unwrap();
        assert!(!body.contains(['\u{ffff}', '\u{fffe}']));
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(json(Envelope::read(&body).unwrap().update), json(raw));
    }

    #[test]
    fn what_is_no_update_has_no_such_body() {
        let key = LedgerKey::quarantined(BotId(7), b"nonsense");
        assert!(redriven(&kept(&key, "nonsense", None), 1).is_err());
    }
}
