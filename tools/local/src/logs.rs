//! Lines that functions and the stack itself write: kept for the console, passed on live, and
//! optionally appended to a file.
//!
//! Never interprets a line: what a function must not log, it must not log anywhere.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast;

use crate::clock::StackClock;

/// Lines kept for somebody who looks later.
const KEPT_LINES: usize = 1_000;
/// Lines a slow listener may be behind before it loses some.
const LISTENER_LAG: usize = 1_024;

/// The stack's own lines come from here.
const STACK: &str = "stack";
/// What an error of the stack itself begins with.
const ERROR: &str = "error: ";

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// When it was read, ms since 1970 in the stack's time.
    pub at_ms: i64,
    /// Function name, or `stack`.
    pub source: String,
    /// Instance of the function, counted from 1; 0 for the stack.
    pub instance: u64,
    /// The text, without its line end.
    pub text: String,
}

impl LogLine {
    /// Whether the stack itself, and no function, says that something is wrong.
    #[must_use]
    pub fn is_stack_error(&self) -> bool {
        self.source == STACK && self.text.starts_with(ERROR)
    }
}

/// Where lines go. Clones are the same log.
#[derive(Debug, Clone)]
pub struct Logs {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    clock: StackClock,
    kept: Mutex<VecDeque<LogLine>>,
    live: broadcast::Sender<LogLine>,
    file: Option<Mutex<File>>,
}

impl Logs {
    /// A log; lines are also appended to `file` when there is one.
    #[must_use]
    pub fn new(clock: StackClock, file: Option<File>) -> Self {
        let (live, _) = broadcast::channel(LISTENER_LAG);
        let kept = Mutex::new(VecDeque::with_capacity(KEPT_LINES));
        Self {
            inner: Arc::new(Inner {
                clock,
                kept,
                live,
                file: file.map(Mutex::new),
            }),
        }
    }

    /// Adds a line.
    pub fn push(&self, source: &str, instance: u64, text: &str) {
        let line = LogLine {
            at_ms: self.inner.clock.now_ms(),
            source: source.to_owned(),
            instance,
            text: text.to_owned(),
        };
        if let Some(file) = &self.inner.file {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = writeln!(file, "{} {}/{} {}", line.at_ms, source, instance, text) {
                tracing::warn!(%error, "the log file cannot be written");
            }
        }
        let mut kept = self.inner.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT_LINES {
            kept.pop_front();
        }
        kept.push_back(line.clone());
        drop(kept);
        // Nobody listening is fine: the line is kept.
        drop(self.inner.live.send(line));
    }

    /// A line of the stack itself.
    pub fn note(&self, text: &str) {
        self.push(STACK, 0, text);
    }

    /// An error of the stack itself, with its cure: who runs it is told at once.
    pub fn error(&self, text: &str) {
        self.note(&format!("{ERROR}{text}"));
    }

    /// The lines still kept, oldest first.
    #[must_use]
    pub fn recent(&self) -> Vec<LogLine> {
        self.inner
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect()
    }

    /// Lines from now on.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<LogLine> {
        self.inner.live.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_lines_make_room_for_new_ones() {
        let logs = Logs::new(StackClock::new(0, 1.0), None);
        for n in 0..KEPT_LINES + 3 {
            logs.push("f", 1, &n.to_string());
        }
        let recent = logs.recent();
        assert_eq!(recent.len(), KEPT_LINES);
        assert_eq!(recent[0].text, "3");
    }

    #[test]
    fn only_the_stack_itself_tells_an_error() {
        let logs = Logs::new(StackClock::new(0, 1.0), None);
        logs.push("penstock-sender", 1, "error: x");
        logs.note("polling");
        logs.error("x; do y");
        let errors: Vec<bool> = logs.recent().iter().map(LogLine::is_stack_error).collect();
        assert_eq!(errors, [false, false, true]);
    }
}
