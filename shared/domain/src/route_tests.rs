//! Routing, case by case.

use super::*;

fn group(body: &str) -> String {
    route(body.as_bytes()).unwrap().group(BotId(1)).0
}

#[test]
fn each_kind_goes_to_its_own_group() {
    for (body, expected) in [
        (
            r#"{"update_id":1,"message":{"from":{"id":9},"chat":{"id":-100,"type":"group"}}}"#,
            "1:c:-100",
        ),
        (
            r#"{"update_id":1,"callback_query":{"id":"77","from":{"id":9},"message":{"chat":{"id":5}}}}"#,
            "1:c:5",
        ),
        (
            r#"{"update_id":1,"callback_query":{"id":"77","from":{"id":9},"inline_message_id":"x"}}"#,
            "1:u:9",
        ),
        (
            r#"{"update_id":1,"callback_query":{"from":{"id":9},"message":{"business_connection_id":"B","chat":{"id":5}}}}"#,
            "1:b:B:5",
        ),
        (
            r#"{"update_id":1,"business_message":{"business_connection_id":"B","chat":{"id":5}}}"#,
            "1:b:B:5",
        ),
        (r#"{"update_id":1,"guest_message":{"chat":{"id":5}}}"#, "1:g:5"),
        (
            r#"{"update_id":1,"inline_query":{"id":"3","from":{"id":9}}}"#,
            "1:u:9",
        ),
        (r#"{"update_id":1,"poll":{"id":"p1"}}"#, "1:p:p1"),
        (
            r#"{"update_id":1,"poll_answer":{"poll_id":"p1","user":{"id":9}}}"#,
            "1:p:p1",
        ),
        (
            r#"{"update_id":1,"poll_answer":{"voter_chat":{"id":-4}}}"#,
            "1:c:-4",
        ),
        (
            r#"{"update_id":1,"business_connection":{"id":"B","user":{"id":9},"user_chat_id":5}}"#,
            "1:c:5",
        ),
        (r#"{"update_id":1,"managed_bot":{"bot":{"id":8}}}"#, "1:u:8"),
        (r#"{"update_id":1,"hologram":{"chat":{"id":5}}}"#, "1:c:5"),
        (r#"{"update_id":1,"hologram":{"id":"z"}}"#, "1:x:z"),
        (r#"{"update_id":1,"hologram":{}}"#, "1:x:unknown"),
        (r#"{"update_id":1}"#, "1:x:unknown"),
    ] {
        assert_eq!(group(body), expected, "{body}");
    }
}

#[test]
fn a_chat_id_that_is_a_fraction_does_not_fall_through_to_the_sender() {
    assert_eq!(
        group(r#"{"update_id":1,"callback_query":{"from":{"id":9},"message":{"chat":{"id":5.0}}}}"#),
        "1:x:unknown"
    );
    assert_eq!(
        group(r#"{"update_id":1,"hologram":{"chat":{"id":1e3},"from":{"id":9}}}"#),
        "1:x:unknown"
    );
}

#[test]
fn a_member_that_stands_twice_counts_as_its_last_value_and_escaped_names_are_names() {
    assert_eq!(
        group(r#"{"update_id":1,"message":{"chat":{"id":5},"chat":{"id":6}}}"#),
        "1:c:6"
    );
    assert_eq!(
        group(r#"{"update_id":1,"message":{"\u0063hat":{"id":6}}}"#),
        "1:c:6"
    );
    assert_eq!(
        route(br#"{"update_id":1,"update_id":2}"#).unwrap().update_id,
        UpdateId(2)
    );
}

#[test]
fn the_first_known_kind_decides_even_behind_an_unknown_one() {
    let found = route(
        br#"{"update_id":1,"hologram":{"chat":{"id":7}},"message":{"chat":{"id":5}},"poll":{"id":"p"}}"#,
    );
    assert_eq!(found.unwrap().group(BotId(1)).0, "1:c:5");
}

#[test]
fn a_lone_surrogate_and_deep_nesting_pass() {
    let deep = format!(
        r#"{{"update_id":1,"message":{{"chat":{{"id":5}},"text":"\ud83d","x":{}{}}}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    assert_eq!(group(&deep), "1:c:5");
}

#[test]
fn noncharacters_are_found_wherever_they_stand() {
    let body = "{\"update_id\":1,\"message\":{\"chat\":{\"id\":5},\"text\":\"a\u{ffff}\u{fffe}\u{fffd}\"}}";
    let found = route(body.as_bytes()).unwrap();
    let places: Vec<_> = found.noncharacters.iter().map(|at| &body[*at..*at + 3]).collect();
    assert_eq!(places, ["\u{ffff}", "\u{fffe}"]);
}

#[test]
fn an_update_id_that_is_no_safe_integer_is_told_from_bytes_that_are_no_update() {
    for bad in [
        r#"{"update_id":"1"}"#,
        r#"{"update_id":1.5}"#,
        r#"{"update_id":-1}"#,
        "{}",
        r#"{"update_id":9007199254740992}"#,
    ] {
        assert_eq!(route(bad.as_bytes()), Err(RouteError::BadUpdateId), "{bad}");
    }
    for bad in [
        &b"[1]"[..],
        b"",
        b"nonsense",
        b"{\"update_id\":1",
        b"\xff",
        b"{\"update_id\":1} x",
        b"5",
    ] {
        assert!(matches!(route(bad), Err(RouteError::Unparseable(_))), "{bad:?}");
    }
}

#[test]
fn the_digest_is_that_of_the_kinds_raw_value_alone() {
    let one = route(br#"{"update_id":1,"message":{"chat":{"id":5}}}"#).unwrap();
    let two = route(br#"{ "update_id" : 2, "message":{"chat":{"id":5}} }"#).unwrap();
    let three = route(br#"{"update_id":1,"message":{"chat":{"id":6}}}"#).unwrap();
    assert_eq!(one.digest, two.digest);
    assert_ne!(one.digest, three.digest);
}

#[test]
fn the_name_of_an_unknown_kind_reaches_the_logs_only_if_it_is_a_plain_word() {
    assert_eq!(
        route(br#"{"update_id":1,"hologram":{}}"#).unwrap().kind_name,
        "hologram"
    );
    assert_eq!(
        route(br#"{"update_id":1,"Ada Example":{}}"#).unwrap().kind_name,
        "unknown"
    );
}
