//! Bodies that were written by every version so far are read, and what is written today is what was written then.
//! A golden file is never edited: a changed format is a new version with files of its own.

use penstock_domain::ids::{BotId, LedgerKey, UpdateDigest, UpdateId, trace_id};
use penstock_domain::intent::{Call, OnUnknown};
use penstock_domain::kind::UpdateKind;
use penstock_domain::route::route;
use penstock_domain::time::Timestamp;
use penstock_formats::envelope::{Envelope, enclose};
use penstock_formats::outbound::Outbound;
use penstock_formats::quarantine::{Quarantined, Reason};

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!("../../../tests/golden/", $name, ".json")).trim_end()
    };
}

const BOT: BotId = BotId(424_242);
const RECEIVED_AT: Timestamp = Timestamp::from_millis(1_790_000_000_123);
const UPDATE: &str = r#"{"update_id":1001,"message":{"message_id":7,"date":1790000000,"chat":{"id":1001,"type":"private","first_name":"Ada"},"from":{"id":1001,"is_bot":false,"first_name":"Ada"},"text":"a lone \ud83d surrogate"}}"#;

fn enclosed() -> String {
    let trace_id = trace_id(BOT, UpdateId(1001));
    enclose(
        BOT,
        &route(UPDATE.as_bytes()).expect("the sample is an Update"),
        &trace_id,
        UPDATE,
        RECEIVED_AT,
    )
}

#[test]
fn an_envelope_is_written_as_it_always_was() {
    assert_eq!(enclosed(), golden!("v1/envelope"));
}

#[test]
fn an_envelope_of_the_first_version_is_read() {
    let read = Envelope::read(golden!("v1/envelope")).unwrap();
    assert_eq!(
        (read.bot_id, read.update_id, read.key, read.redrive),
        (BOT, UpdateId(1001), "424242:1001", 0)
    );
    assert_eq!(
        (read.kind, read.kind_name, read.received_at),
        (UpdateKind::Message, "message", RECEIVED_AT)
    );
    assert_eq!(read.trace_id, "000000000006793200000000000003e9");
    assert_eq!(read.digest, route(UPDATE.as_bytes()).unwrap().digest);
    assert_eq!(read.update, UPDATE);
}

#[test]
fn a_redriven_envelope_of_a_reused_id_is_read_and_written_as_it_was() {
    let body = golden!("v1/envelope_redriven");
    let read = Envelope::read(body).unwrap();
    let digest = UpdateDigest(0x0123_4567_89ab_cdef);
    assert_eq!(read.ledger_key(), LedgerKey::reused(BOT, UpdateId(1001), digest));
    assert_eq!((read.redrive, read.digest), (2, digest));
    // A kind that did not exist when this was written keeps its name.
    assert_eq!((read.kind, read.kind_name), (UpdateKind::Unknown, "hologram"));
    assert_eq!(read.write(), body);
}

#[test]
fn a_quarantined_body_is_read_and_written_as_it_was() {
    let quarantined = Quarantined::new(BOT, Reason::Unparseable, RECEIVED_AT, b"\xff\x00{");
    assert_eq!(Quarantined::read(golden!("v1/quarantined")).unwrap(), quarantined);
    assert_eq!(quarantined.write().unwrap(), golden!("v1/quarantined"));
    for (reason, code) in [
        (Reason::Unparseable, "unparseable"),
        (Reason::BadUpdateId, "bad_update_id"),
        (Reason::TooLarge, "too_large"),
    ] {
        let body = golden!("v1/quarantined").replace("unparseable", code);
        assert_eq!(Quarantined::read(&body).unwrap().reason, reason);
    }
}

fn outbound() -> Outbound {
    Outbound {
        bot_id: BOT,
        update_id: UpdateId(1001),
        key: LedgerKey::new(BOT, UpdateId(1001)),
        redrive: 0,
        resend: 0,
        of: 1,
        received_at: RECEIVED_AT,
        trace_id: trace_id(BOT, UpdateId(1001)),
        n: 0,
        previous: None,
        call: Call::new(
            "sendMessage",
            r#"{"chat_id":1001,"text":"a lone \ud83d surrogate"}"#.to_owned(),
        ),
    }
}

#[test]
fn an_outbound_body_is_read_and_written_as_it_was() {
    assert_eq!(Outbound::read(golden!("v1/outbound")).unwrap(), outbound());
    assert_eq!(outbound().write().unwrap(), golden!("v1/outbound"));
}

#[test]
fn an_outbound_body_with_every_member_is_read_and_written_as_it_was() {
    let mut full = outbound();
    (full.redrive, full.resend, full.n, full.of) = (1, 2, 1, 3);
    (full.previous, full.call.refers_to) = (Some(0), Some(0));
    full.call.not_before = Some(Timestamp::from_millis(1_790_000_060_000));
    full.call.on_unknown = OnUnknown::ResendOnce;
    assert_eq!(Outbound::read(golden!("v1/outbound_resent")).unwrap(), full);
    assert_eq!(full.write().unwrap(), golden!("v1/outbound_resent"));
}
