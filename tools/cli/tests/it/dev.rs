//! A running stack, and the commands that ask it.

use serde_json::Value;

use crate::program::{Dev, run, text, told};

/// Traces until the update has ended: a bounded number of times, as the pipeline needs a moment.
fn trace(update: &str, state: &str) -> Value {
    const LOOKS: usize = 600;
    for _ in 0..LOOKS {
        let output = run(&["trace", update, "--json", "--state-dir", state]);
        // 3: not begun yet.
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", told(&output));
        let story: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let is_sent = |send: &Value| send["state"] == "sent";
        if story["state"] == "dead"
            || story["sends"]
                .as_array()
                .is_some_and(|sends| sends.iter().any(is_sent))
        {
            return story;
        }
    }
    panic!("update {update} did not end");
}

#[test]
fn an_update_that_is_triggered_can_be_traced_to_its_reply() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let mut dev = Dev::start(&state);
    assert_eq!(dev.ready["is_simulated"], true);
    let state = state.to_str().unwrap().to_owned();

    let output = run(&["trigger", "text", "--json", "--state-dir", &state]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let triggered: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(triggered["http_status"], 200);
    let update = triggered["update"].as_str().unwrap();
    let story = trace(update, &state);
    assert_eq!(
        (story["state"].as_str(), story["attempts"].as_u64()),
        (Some("done"), Some(1))
    );
    assert!(story["sends"][0]["message_id"].as_i64().is_some(), "{story}");
    assert!(dev.next_line()["first_reply_ms"].as_u64().is_some());

    // The texts of people are shown only when asked for.
    let shown = |more: &[&str]| {
        let output = run(&[&["trace", update, "--state-dir", &state], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        text(&output.stdout)
    };
    assert!(!shown(&[]).contains("my order"), "{}", shown(&[]));
    assert!(
        shown(&["--show-body"]).contains("my order"),
        "{}",
        shown(&["--show-body"])
    );

    let output = run(&["trace", "1", "--state-dir", &state]);
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(text(&output.stderr).contains("--bot"), "{}", told(&output));
}

#[test]
fn what_is_no_update_is_traced_by_its_key() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let _dev = Dev::start(&state);
    let state = state.to_str().unwrap();
    let output = run(&["trigger", "unparseable", "--json", "--state-dir", state]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let triggered: Value = serde_json::from_slice(&output.stdout).unwrap();
    let story = trace(triggered["update"].as_str().unwrap(), state);
    assert_eq!(
        (story["state"].as_str(), story["tries"][0]["code"].as_str()),
        (Some("dead"), Some("unparseable"))
    );
}

#[cfg(unix)]
#[test]
fn a_stack_that_is_asked_to_stop_ends_well_and_takes_its_file_away() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let dev = Dev::start(&state);
    assert!(state.join("running.json").exists());
    assert_eq!(dev.stop(), Some(0));
    assert!(!state.join("running.json").exists());
    let output = run(&["trigger", "text", "--state-dir", state.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
}

#[test]
fn a_second_stack_on_the_same_state_is_refused_with_the_cure() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let _dev = Dev::start(&state);
    let output = run(&["dev", "--port", "0", "--state-dir", state.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(
        text(&output.stderr).contains("in use by process"),
        "{}",
        told(&output)
    );
}
