//! Dead letters by the command line, on a running stack.

use std::io::Write as _;
use std::process::{Output, Stdio};

use penstock_domain::ids::{BotId, UpdateId, trace_id};
use penstock_domain::route::route;
use penstock_domain::time::Timestamp;
use penstock_formats::envelope::enclose;
use penstock_local::aws::{Clients, Endpoints};
use serde_json::Value;

use crate::program::{Dev, program, run, text, told};

const BOT: u64 = 424_242;
const CHAT: i64 = 700_000_001;

fn update(id: i64, said: &str) -> String {
    serde_json::json!({
        "update_id": id,
        "message": {
            "message_id": id, "date": 1_790_000_000, "text": said,
            "chat": {"id": CHAT, "type": "private", "first_name": "Ada"},
            "from": {"id": CHAT, "is_bot": false, "first_name": "Ada"},
        }
    })
    .to_string()
}

/// The queue gives these Updates up, as after too many receives.
fn die(state: &str, updates: &[String]) {
    let file = std::fs::read_to_string(format!("{state}/running.json")).unwrap();
    let running: Value = serde_json::from_str(&file).unwrap();
    let endpoint = running["aws_endpoint"].as_str().unwrap();
    let sqs = Clients::new(&Endpoints::one(endpoint), "us-east-1").sqs;
    let send = async {
        let queue = sqs
            .get_queue_url()
            .queue_name("penstock-updates-dlq.fifo")
            .send()
            .await;
        let url = queue.unwrap().queue_url.unwrap();
        for raw in updates {
            let route = route(raw.as_bytes()).unwrap();
            let trace = trace_id(BotId(BOT), UpdateId(route.update_id.0));
            let sent = sqs
                .send_message()
                .queue_url(&url)
                .message_group_id(route.group(BotId(BOT)).0)
                .message_deduplication_id(route.update_id.to_string())
                .message_body(enclose(
                    BotId(BOT),
                    &route,
                    &trace,
                    raw,
                    Timestamp::from_millis(1_790_000_000_000),
                ))
                .send()
                .await;
            sent.unwrap();
        }
    };
    tokio::runtime::Runtime::new().unwrap().block_on(send);
}

fn dead(state: &str, arguments: &[&str]) -> Output {
    run(&[&["dead"], arguments, &["--state-dir", state]].concat())
}

fn change(state: &str, arguments: &[&str]) -> Output {
    dead(
        state,
        &[arguments, &["--actor", "ada", "--reason", "mended"]].concat(),
    )
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

fn json(output: &Output) -> Value {
    assert_eq!(code(output), 0, "{}", told(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Asks until it is so: a bounded number of times, as the pipeline needs a moment.
fn until(ask: impl Fn() -> Output, is_so: impl Fn(&Value) -> bool) -> Value {
    const LOOKS: usize = 600;
    for _ in 0..LOOKS {
        let output = ask();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if is_so(&answer) {
            return answer;
        }
    }
    panic!("it did not become so: {}", told(&ask()));
}

#[test]
fn letters_are_listed_shown_edited_redriven_and_discarded() {
    let base = tempfile::tempdir().unwrap();
    let state_dir = base.path().join("state");
    let _dev = Dev::start(&state_dir);
    let state = state_dir.to_str().unwrap();
    assert_eq!(json(&dead(state, &["list", "--json"]))["total"], 0);
    die(
        state,
        &[
            update(2, "a private text"),
            update(1, "another one"),
            update(3, "to be closed"),
        ],
    );
    let list = until(|| dead(state, &["list", "--json"]), |list| list["total"] == 3);
    assert_eq!(list["by_kind"]["dead"], 3);
    assert_eq!(list["letters"][0]["code"], "too_many_receives");
    let told_list = text(&dead(state, &["list"]).stdout);
    assert!(
        told_list.contains("3 letters: 3 dead") && !told_list.contains("private"),
        "{told_list}"
    );

    // A story without texts; the body only when asked for, and then alone.
    let shown = dead(state, &["show", "2"]);
    assert_eq!(code(&shown), 0, "{}", told(&shown));
    let story = text(&shown.stdout);
    assert!(story.contains("cure: ") && !story.contains("private"), "{story}");
    // The next command names the place that this one was given.
    let next = text(&shown.stderr);
    assert!(
        next.contains("dead redrive 424242:2 --reason TEXT")
            && next.contains(&format!("--state-dir {state}")),
        "{next}"
    );
    assert_eq!(
        text(&dead(state, &["show", "2", "--raw"]).stdout),
        update(2, "a private text")
    );
    assert_eq!(code(&dead(state, &["show", "99"])), 3);

    // A change in bulk names what it means.
    let refused = change(state, &["redrive"]);
    assert_eq!(code(&refused), 2, "{}", told(&refused));
    assert!(
        text(&refused.stderr).contains("--older-than"),
        "{}",
        told(&refused)
    );
    assert_eq!(code(&change(state, &["redrive", "2", "--code", "x"])), 2);
    // A key that is nobody's holds up no other.
    let partly = change(state, &["redrive", "99", "2", "--dry-run"]);
    assert_eq!(code(&partly), 1, "{}", told(&partly));
    let partly = text(&partly.stdout);
    assert!(
        partly.contains("424242:99  failed") && partly.contains("424242:2  would redrive"),
        "{partly}"
    );
    // A misspelt filter is no success.
    assert_eq!(code(&change(state, &["redrive", "--code", "x"])), 3);
    let unaccounted = dead(state, &["redrive", "2", "--actor", " ", "--reason", "x"]);
    assert_eq!(code(&unaccounted), 2, "{}", told(&unaccounted));

    // An edit keeps the id, shows what it changes, and a dry run writes nothing.
    let file = base.path().join("new.json");
    let file_name = file.to_str().unwrap();
    std::fs::write(&file, update(5, "mended")).unwrap();
    let wrong = change(state, &["edit", "2", "--file", file_name]);
    assert_eq!(code(&wrong), 2, "{}", told(&wrong));
    assert!(text(&wrong.stderr).contains("must stay 2"), "{}", told(&wrong));
    std::fs::write(&file, update(2, "mended")).unwrap();
    let tried = json(&change(
        state,
        &["edit", "2", "--file", file_name, "--dry-run", "--json"],
    ));
    assert_eq!(
        (tried["written"].as_bool(), tried["changes"][0]["place"].as_str()),
        (Some(false), Some("/message/text"))
    );
    assert_eq!(
        text(&dead(state, &["show", "2", "--raw"]).stdout),
        update(2, "a private text")
    );
    let mut piped = program(&[
        "dead",
        "edit",
        "2",
        "--actor",
        "ada",
        "--reason",
        "mended",
        "--state-dir",
        state,
    ]);
    let mut child = piped
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(update(2, "mended").as_bytes())
        .unwrap();
    let edited = child.wait_with_output().unwrap();
    assert_eq!(code(&edited), 0, "{}", told(&edited));
    assert_eq!(
        text(&dead(state, &["show", "2", "--raw"]).stdout),
        update(2, "mended")
    );

    // What cannot be a new body is refused with the reason; the newline that an editor leaves makes no other body.
    std::fs::write(&file, update(2, "mended") + "\n").unwrap();
    let same = change(state, &["edit", "2", "--file", file_name]);
    assert_eq!(code(&same), 2, "{}", told(&same));
    assert!(
        text(&same.stderr).contains("the same as the old one"),
        "{}",
        told(&same)
    );
    std::fs::write(&file, "{\"update_id\":2,").unwrap();
    let broken = change(state, &["edit", "2", "--file", file_name]);
    assert_eq!(code(&broken), 2, "{}", told(&broken));
    assert!(
        text(&broken.stderr).contains("not JSON at byte 15"),
        "{}",
        told(&broken)
    );
    std::fs::write(&file, "\n").unwrap();
    let empty = change(state, &["edit", "2", "--file", file_name]);
    assert_eq!(code(&empty), 2, "{}", told(&empty));
    assert!(
        text(&empty.stderr).contains("the new body is empty"),
        "{}",
        told(&empty)
    );

    // Closed: listed no more.
    let tried = json(&change(state, &["discard", "3", "--dry-run", "--json"]));
    assert_eq!(tried["outcome"], "would_discard");
    assert_eq!(
        json(&change(state, &["discard", "3", "--json"]))["outcome"],
        "discarded"
    );
    assert_eq!(code(&change(state, &["discard", "3"])), 1);

    // In bulk, in the order of the chat.
    let chat = CHAT.to_string();
    let tried = change(state, &["redrive", "--chat", &chat, "--dry-run", "--json"]);
    assert_eq!(text(&tried.stdout).lines().count(), 2, "{}", told(&tried));
    let redriven = change(state, &["redrive", "--chat", &chat, "--json"]);
    assert_eq!(code(&redriven), 0, "{}", told(&redriven));
    let keys: Vec<_> = text(&redriven.stdout)
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["key"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(keys, ["424242:1", "424242:2"]);
    for update in ["1", "2"] {
        let is_sent = |story: &Value| story["sends"][0]["state"] == "sent";
        let story = until(
            || run(&["trace", update, "--json", "--show-body", "--state-dir", state]),
            is_sent,
        );
        let said = if update == "1" {
            "Message 1 of this chat: another one"
        } else {
            "Message 2 of this chat: mended"
        };
        assert!(
            story["sends"][0]["params"].as_str().unwrap().contains(said),
            "{story}"
        );
    }
    assert_eq!(json(&dead(state, &["list", "--json"]))["total"], 0);
    let story = json(&dead(state, &["show", "2", "--json"]));
    assert_eq!(
        (story["state"].as_str(), story["redrive"].as_u64()),
        (Some("done"), Some(1))
    );
    let acts: Vec<_> = story["audit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|act| act["action"].as_str().unwrap())
        .collect();
    assert_eq!(acts, ["edit", "redrive"]);
    assert_eq!(story["audit"][1]["who"], "ada");
}

#[test]
fn a_redrive_that_dies_between_its_write_and_its_copy_is_refused_for_a_minute_and_not_lost() {
    let base = tempfile::tempdir().unwrap();
    let state_dir = base.path().join("state");
    let _dev = Dev::start_scaled(&state_dir, "30");
    let state = state_dir.to_str().unwrap();
    die(state, &[update(1, "hello")]);
    until(|| dead(state, &["list", "--json"]), |list| list["total"] == 1);
    let mut dying = program(&[
        "dead",
        "redrive",
        "1",
        "--actor",
        "ada",
        "--reason",
        "mended",
        "--state-dir",
        state,
    ]);
    let crashed = dying
        .env("PENSTOCK_FAILPOINTS", "ledger.redrive.after=crash@1")
        .output()
        .unwrap();
    assert_eq!(crashed.status.code(), None, "killed: {}", told(&crashed));
    // A minute of the stack's is two seconds.
    let stuck = until(
        || dead(state, &["list", "--json"]),
        |list| list["by_kind"]["stuck redrive"] == 1,
    );
    assert_eq!(stuck["letters"][0]["state"], "pending");
    let again = json(&change(state, &["redrive", "1", "--json"]));
    assert_eq!(
        (again["outcome"].as_str(), again["generation"].as_u64()),
        (Some("repeated"), Some(1))
    );
    let is_sent = |story: &Value| story["sends"][0]["state"] == "sent";
    until(|| run(&["trace", "1", "--json", "--state-dir", state]), is_sent);
    let story = json(&dead(state, &["show", "1", "--json"]));
    assert_eq!(story["audit"].as_array().unwrap().len(), 1, "{story}");
}

#[test]
fn a_body_that_is_no_update_is_refused_with_the_cure_and_shown_as_it_came() {
    let base = tempfile::tempdir().unwrap();
    let state_dir = base.path().join("state");
    let _dev = Dev::start(&state_dir);
    let state = state_dir.to_str().unwrap();
    let triggered = json(&run(&["trigger", "unparseable", "--json", "--state-dir", state]));
    let key = triggered["update"].as_str().unwrap();
    let list = until(
        || dead(state, &["list", "--kind", "quarantine", "--json"]),
        |list| list["total"] == 1,
    );
    assert_eq!(list["letters"][0]["key"], key);
    let refused = change(state, &["redrive", key]);
    assert_eq!(code(&refused), 1, "{}", told(&refused));
    assert!(text(&refused.stderr).contains("--raw"), "{}", told(&refused));
    let shown = dead(state, &["show", key, "--raw"]);
    assert!(
        !shown.stdout.is_empty() && !shown.stdout.starts_with(b"{\"schema_version\""),
        "{}",
        told(&shown)
    );
    let closed = change(state, &["discard", "--kind", "quarantine", "--json"]);
    assert_eq!(json(&closed)["outcome"], "discarded");
    assert_eq!(json(&dead(state, &["list", "--json"]))["total"], 0);
}
