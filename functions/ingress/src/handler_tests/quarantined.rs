//! Bodies with the right secret that are no Update: kept byte for byte, and answered so that Telegram does not repeat
//! them for a day.

use penstock_domain::ids::{LedgerKey, quarantine_group};
use penstock_formats::quarantine::{Quarantined, Reason};

use super::*;

/// Sends a body, and gives back its status and what was quarantined of it.
async fn quarantine(body: &[u8]) -> (u16, Quarantined) {
    let world = world();
    let response = send(&world, &right(), body).await;
    assert!(matches!(response.body(), Body::Empty));
    assert_eq!(world.updates.messages(), []);
    let [message] = world.quarantine.messages().try_into().unwrap();
    assert_eq!(message.group, quarantine_group(BOT, body));
    assert_eq!(
        message.deduplication.0,
        LedgerKey::quarantined(BOT, body).as_str()
    );
    assert!(message.body.len() <= 1024 * 1024);
    (
        response.status().as_u16(),
        Quarantined::read(&message.body).unwrap(),
    )
}

fn quarantined(reason: Reason, body: &[u8]) -> Quarantined {
    Quarantined::new(BOT, reason, NOW, body)
}

#[tokio::test]
async fn an_object_whose_update_id_is_no_safe_integer_is_quarantined_and_told() {
    for body in [
        r#"{"update_id":"abc","message":{"chat":{"id":5}}}"#,
        r#"{"update_id":"810000001"}"#,
        r#"{"update_id":1.5}"#,
        r#"{"update_id":-1}"#,
        r#"{"update_id":9007199254740992}"#,
        r#"{"update_id":null}"#,
        r#"{"update_id":{}}"#,
        r#"{"message":{"chat":{"id":5}}}"#,
        "{}",
    ] {
        let expected = (400, quarantined(Reason::BadUpdateId, body.as_bytes()));
        assert_eq!(quarantine(body.as_bytes()).await, expected, "{body}");
    }
}

#[tokio::test]
async fn bytes_that_are_no_json_object_are_quarantined_and_accepted() {
    let bodies: [&[u8]; 9] = [
        b"nonsense",
        b"",
        b"[1]",
        b"5",
        b"null",
        br#"{"update_id":1,"#,
        br#"{"update_id":1} trailing"#,
        b"{\"update_id\":1,\"message\":{\"text\":\"a\x07\"}}",
        b"update_id=1",
    ];
    for body in bodies {
        assert_eq!(
            quarantine(body).await,
            (200, quarantined(Reason::Unparseable, body)),
            "{body:?}"
        );
    }
}

#[tokio::test]
async fn invalid_utf_8_is_kept_byte_for_byte() {
    let bodies: [&[u8]; 3] = [
        b"\xff\xfe\x00{",
        b"{\"update_id\":1,\"message\":{\"chat\":{\"id\":5},\"text\":\"\xc3\x28\"}}",
        b"{\"update_id\":1,\"message\":{\"chat\":{\"id\":5},\"text\":\"\xed\xa0\x80\"}}",
    ];
    for body in bodies {
        assert_eq!(
            quarantine(body).await,
            (200, quarantined(Reason::Unparseable, body)),
            "{body:?}"
        );
    }
}

/// Each of its characters takes twice the room once it is escaped for SQS.
#[tokio::test]
async fn an_update_of_512_kib_that_is_full_of_noncharacters_is_quarantined_and_not_lost() {
    let head = r#"{"update_id":810000001,"message":{"chat":{"id":5},"text":""#;
    let text = "\u{ffff}".repeat((512 * 1024 - head.len() - 3) / 3);
    let body = format!("{head}{text}\"}}}}").into_bytes();
    assert!(body.len() > 512 * 1024 - 3 && body.len() <= 512 * 1024);
    assert_eq!(
        quarantine(&body).await,
        (200, quarantined(Reason::TooLarge, &body))
    );
}

#[tokio::test]
async fn the_largest_body_that_is_taken_fits_into_the_quarantine() {
    let body = vec![0xff; 700 * 1024];
    assert_eq!(
        quarantine(&body).await,
        (200, quarantined(Reason::Unparseable, &body))
    );
}

#[tokio::test]
async fn what_the_quarantine_refuses_is_kept_by_telegram() {
    for (body, then) in [
        (&b"nonsense"[..], StatusCode::OK),
        (br#"{"update_id":"abc"}"#, StatusCode::BAD_REQUEST),
    ] {
        for fault in [Fault::Unavailable, Fault::NeverArrived, Fault::AnswerLost] {
            let world = world();
            world.quarantine.fail_next(1, fault);
            let response = send(&world, &right(), body).await;
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert!(response.headers().contains_key("retry-after"));
            assert_eq!(send(&world, &right(), body).await.status(), then);
            assert_eq!(world.quarantine.messages().len(), 1, "{fault:?}");
        }
    }
}
