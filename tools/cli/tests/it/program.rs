//! Starts the program: to its end, or as a stack that is killed when it is dropped.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;

/// The program, without what the environment of a developer would add to it.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_penstock"));
    command
        .args(arguments)
        .env_remove("AWS_ENDPOINT_URL")
        .env_remove("PENSTOCK_BOT_TOKEN")
        .env_remove("CARGO")
        .stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    program(arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Both outputs, for the message of a failed assertion.
pub(crate) fn told(output: &Output) -> String {
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

/// A running stack.
pub(crate) struct Dev {
    child: Child,
    output: BufReader<ChildStdout>,
    /// What it said when it was ready.
    pub(crate) ready: Value,
}

impl Dev {
    /// A stack on a free port.
    pub(crate) fn start(state_dir: &Path) -> Self {
        Self::start_scaled(state_dir, "1")
    }

    /// A stack on a free port whose time runs so many times as fast.
    pub(crate) fn start_scaled(state_dir: &Path, scale: &str) -> Self {
        Self::start_with(state_dir, &["--time-scale", scale])
    }

    /// A stack on a free port with these options.
    pub(crate) fn start_with(state_dir: &Path, options: &[&str]) -> Self {
        let mut command = program(&["dev", "--headless", "--json", "--port", "0", "--state-dir"]);
        let command = command.arg(state_dir).args(options);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line).unwrap();
        Self { child, output, ready }
    }

    /// The next line of its output.
    pub(crate) fn next_line(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Asks it to stop, as a service manager does, and gives back its exit code.
    #[cfg(unix)]
    pub(crate) fn stop(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .unwrap()
                .success()
        );
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // It may have ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
