//! The README's commands, run as they stand there; only the port and the state directory are the test's own.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{Dev, program, run, text, told};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every line of the shell blocks of a page.
fn commands(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let blocks = text
        .split("```sh\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap().to_owned());
    blocks
        .flat_map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// What the commands are run by: a test of this crate, CI itself, or a cloud account.
const KNOWN: &[&str] = &[
    "cargo run",
    "PENSTOCK_BOT_TOKEN=... cargo run",
    "cargo run -- dev --headless --exit-when-idle --events events/",
    // Run by the tests of `forward.rs`.
    "cargo run -- dev --forward http://localhost:3000",
    // Run by the test of `unknown.rs`, with these arguments.
    "cargo run -- status",
    "cargo run -- unknown list",
    "cargo run -- unknown settle KEY --sent --reason \"seen in the chat\"",
    "cargo run -- trigger text",
    "cargo run -- trace ID",
    // Run by the tests of `dead.rs`, with these arguments.
    "cargo run -- dead list",
    "cargo run -- dead show KEY",
    "cargo run -- dead edit KEY --file mended.json --reason \"wrong amount\"",
    "cargo run -- dead redrive KEY --reason \"backend mended\"",
    "cargo test --workspace",
    "sam validate --lint",
    "sam build",
    "sam deploy --guided",
];

#[test]
fn every_command_of_the_readmes_is_one_that_is_run() {
    for page in ["README.md", "README.zh-CN.md"] {
        let commands = commands(page);
        for known in KNOWN {
            assert!(
                commands.iter().any(|command| command == known),
                "{page} lacks `{known}`"
            );
        }
        for command in &commands {
            // What needs a cloud account, and the shell around it.
            let cloud = [
                "aws ",
                "curl ",
                "export AWS_REGION",
                "read -rs TOKEN",
                "WEBHOOK_SECRET=",
                "(umask 077;",
                "rm bot-secret.json",
            ];
            let is_cloud = cloud.iter().any(|start| command.starts_with(start));
            assert!(
                is_cloud || KNOWN.contains(&command.as_str()),
                "{page} names `{command}`, which nothing runs"
            );
        }
    }
}

#[test]
fn the_stack_of_the_readme_starts_takes_a_sample_and_traces_it() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    // cargo run
    let dev = Dev::start(&state);
    assert_eq!(dev.ready["is_simulated"], true);
    let state = state.to_str().unwrap();
    // cargo run -- trigger text
    let output = run(&["trigger", "text", "--json", "--state-dir", state]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let triggered: Value = serde_json::from_slice(&output.stdout).unwrap();
    // cargo run -- trace ID
    let id = triggered["update"].as_str().unwrap();
    let trace = || run(&["trace", id, "--state-dir", state]);
    // 3: not begun yet; the pipeline needs a moment.
    let found = (0..600)
        .map(|_| trace())
        .find(|output| output.status.code() != Some(3))
        .unwrap();
    assert_eq!(found.status.code(), Some(0), "{}", told(&found));
}

#[test]
fn the_samples_of_the_readme_end_as_expected() {
    let mut command = program(&["dev", "--headless", "--exit-when-idle", "--events", "events/"]);
    let output = command.current_dir(root()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn the_placeholder_token_of_the_readme_is_refused_with_the_cure() {
    let mut command = program(&["dev", "--headless", "--port", "0"]);
    let base = tempfile::tempdir().unwrap();
    let output = command
        .env("PENSTOCK_BOT_TOKEN", "...")
        .arg("--state-dir")
        .arg(base.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(text(&output.stderr).contains("token"), "{}", told(&output));
}
