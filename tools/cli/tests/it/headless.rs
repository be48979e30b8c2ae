//! Every sample through the whole pipeline, by one command.

use serde_json::Value;

use crate::program::{run, text, told};

#[test]
fn every_sample_of_the_repository_ends_as_expected() {
    let events = concat!(env!("CARGO_MANIFEST_DIR"), "/../../events");
    let output = run(&["dev", "--headless", "--exit-when-idle", "--events", events]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let table = text(&output.stdout);
    assert!(table.starts_with("sample "), "{table}");
    assert!(table.contains("50 of 50 samples ended as expected"), "{table}");
    assert!(
        text(&output.stderr).contains("first reply after"),
        "{}",
        told(&output)
    );
}

#[test]
fn a_sample_that_ends_otherwise_fails_the_run_and_a_kept_state_takes_the_samples_again() {
    let base = tempfile::tempdir().unwrap();
    let events = base.path().join("events");
    std::fs::create_dir(&events).unwrap();
    // Under the name of a text, to which the bot replies, something that it ignores.
    std::fs::write(events.join("text.json"), r#"{"update_id":5,"poll":{"id":"1"}}"#).unwrap();
    std::fs::write(events.join("mine.json"), r#"{"update_id":6,"poll":{"id":"2"}}"#).unwrap();
    let (events, state) = (events.to_str().unwrap(), base.path().join("state"));
    let arguments = [
        "dev",
        "--headless",
        "--exit-when-idle",
        "--json",
        "--events",
        events,
        "--state-dir",
        state.to_str().unwrap(),
    ];
    for _ in 0..2 {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(1), "{}", told(&output));
        let last = text(&output.stdout).lines().last().unwrap_or_default().to_owned();
        let report: Value = serde_json::from_str(&last).unwrap();
        let row = |name: &str| {
            report["samples"]
                .as_array()
                .unwrap()
                .iter()
                .find(|row| row["sample"] == name)
                .cloned()
        };
        assert_eq!(row("text").unwrap()["differences"][0], "0 sends, expected 1");
        assert_eq!(row("mine").unwrap()["as_expected"], true);
    }
}
