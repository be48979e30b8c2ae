//! What a newcomer gets wrong: one line, the cure in it, exit code 2.

use std::io::Write as _;
use std::process::Stdio;

use crate::program::{program, run, text, told};

/// The program refuses with a line that has all of this in it, and nothing on standard output.
fn refuses(arguments: &[&str], parts: &[&str]) {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", told(&output));
    let message = text(&output.stderr);
    for part in parts {
        assert!(
            message.contains(part),
            "{arguments:?} does not say {part:?}: {message}"
        );
    }
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    assert!(output.stdout.is_empty(), "{}", told(&output));
}

#[test]
fn a_taken_port_is_refused_with_the_cure() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let state = state.to_str().unwrap();
    refuses(
        &["dev", "--port", &port, "--state-dir", state],
        &["is taken", "--port"],
    );
    // Without a command it is the same.
    refuses(&["--port", &port, "--state-dir", state], &["is taken", "--port"]);
}

#[test]
fn a_state_directory_of_another_version_is_refused_with_the_cure() {
    let base = tempfile::tempdir().unwrap();
    std::fs::write(base.path().join("state.json"), r#"{"version":999}"#).unwrap();
    let state = base.path().to_str().unwrap();
    refuses(
        &["dev", "--port", "0", "--state-dir", state],
        &["state version 999", "move it away"],
    );
}

#[test]
fn a_token_in_the_command_line_is_refused_and_not_repeated() {
    let secret = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let output = run(&["dev", "--bot-token", secret]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(
        message.contains("--bot-token-file") && !message.contains(secret),
        "{message}"
    );
}

#[test]
fn what_is_no_token_is_refused_before_anybody_is_asked() {
    let mut command = program(&["dev", "--port", "0", "--bot-token"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("@BotFather"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_question_to_a_stack_that_does_not_run_names_the_cure() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().to_str().unwrap();
    refuses(
        &["trace", "5", "--state-dir", state],
        &["no stack runs on", "penstock dev"],
    );
    refuses(
        &["trigger", "text", "--state-dir", state],
        &["no stack runs on", "penstock dev"],
    );
    refuses(
        &["trigger", "pigeon", "--state-dir", state],
        &["`pigeon`", "--list"],
    );
}

#[test]
fn the_list_of_samples_needs_no_stack() {
    let output = run(&["trigger", "--list"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(
        text(&output.stdout).contains("pre_checkout_query"),
        "{}",
        told(&output)
    );
}
