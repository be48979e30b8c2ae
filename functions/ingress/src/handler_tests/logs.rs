//! What may be read in the logs: never a body, a text, a name, a token, a secret or a path.

use penstock_events::samples;

use super::*;
use penstock_testkit::lines::{heard, listen};

/// Shorter values, such as "en" or a message's number, stand in any line.
const TELLING: usize = 8;

/// Every value of an Update that could be somebody's: all but its own id, which a trace needs.
fn private_values(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() >= TELLING => found.push(text.clone()),
        Value::Number(number) if number.to_string().len() >= TELLING => found.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| private_values(item, found)),
        Value::Object(members) => {
            let private = members.iter().filter(|(name, _)| *name != "update_id");
            private.for_each(|(_, member)| private_values(member, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn no_log_line_holds_a_body_a_text_a_token_a_secret_or_a_path() {
    listen();
    let wraps = [
        right(),
        HttpWrap {
            secret: Some("a-wrong-secret-0001"),
            ..right()
        },
        HttpWrap {
            path_key: "a-wrong-path-key-0001",
            ..right()
        },
        HttpWrap {
            method: "GET",
            ..right()
        },
    ];
    let mut private: Vec<String> = [
        PATH_KEY,
        SECRET,
        "token-of-the-tests",
        "a-wrong-secret-0001",
        "a-wrong-path-key-0001",
        "/telegram/",
    ]
    .map(str::to_owned)
    .to_vec();
    for sample in samples() {
        let raw = sample.raw();
        for wrap in &wraps {
            for fault in [
                None,
                Some(Fault::Unavailable),
                Some(Fault::NeverArrived),
                Some(Fault::Rejected),
            ] {
                let world = world();
                if let Some(fault) = fault {
                    world.updates.fail_next(1, fault);
                    world.quarantine.fail_next(1, fault);
                }
                send(&world, wrap, &raw).await;
            }
        }
        if let Ok(value) = serde_json::from_slice::<Value>(&raw) {
            private_values(&value, &mut private);
        }
    }
    let logged = heard();
    assert!(logged.contains("accepted") && logged.contains("quarantined") && logged.contains("turned away"));
    assert!(private.len() > 50, "{}", private.len());
    for text in private {
        assert!(!logged.contains(&text), "a log line holds {text:?}");
    }
}
