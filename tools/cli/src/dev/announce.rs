//! What a start says: where the stack is, what to do next, how long the first reply took, and what was given up.

use std::time::{Duration, Instant};

use penstock_local::logs::{LogLine, Logs};
use penstock_local::{SIMULATED_TOKEN, Stack};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::error::RecvError;

use super::args::DevArgs;
use crate::called;
use crate::figures;
use crate::print;

/// A stack that is ready.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Ready {
    ready: bool,
    url: String,
    bot_id: u64,
    username: String,
    is_simulated: bool,
    state_dir: String,
    is_temporary: bool,
    /// Where Updates are handed to, if not to a bot inside the processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    forward: Option<String>,
    /// The root of the Bot API that the stack calls.
    api_root: String,
    pid: u32,
    ready_ms: u64,
}

impl Ready {
    pub(super) fn of(stack: &Stack, args: &DevArgs, started: Instant) -> Self {
        Self {
            ready: true,
            url: stack.console_url(),
            bot_id: stack.bot_id(),
            username: stack.username().to_owned(),
            is_simulated: stack.sim().is_some(),
            state_dir: stack.state_dir().display().to_string(),
            is_temporary: args.kept_state().is_none(),
            forward: args.forward.clone(),
            api_root: stack.api_root().to_owned(),
            pid: std::process::id(),
            ready_ms: millis(started.elapsed()),
        }
    }

    pub(super) fn tell(&self, args: &DevArgs) {
        if args.json {
            return print::json(self);
        }
        let say = |line: &str| {
            if args.headless {
                print::note(line)
            } else {
                print::data(line)
            }
        };
        self.lines(args.headless).iter().for_each(|line| say(line));
    }

    fn lines(&self, is_headless: bool) -> Vec<String> {
        let time = figures::duration(Duration::from_millis(self.ready_ms));
        let mut told = vec![format!("penstock is ready after {time}: {}", self.url)];
        if !is_headless {
            told.push(if self.is_simulated {
                format!("  next   open {} and write /start", self.url)
            } else {
                format!(
                    "  next   write /start to https://t.me/{}, and watch it at {}",
                    self.username, self.url
                )
            });
        }
        let kind = if self.is_simulated {
            "simulated"
        } else {
            "real, by long polling"
        };
        told.push(format!("  bot    @{} ({kind})", self.username));
        if let Some(url) = &self.forward {
            told.push(format!("  to     {url}"));
            if self.is_simulated {
                told.push(format!(
                    "  env    your bot reaches simulated Telegram with BOT_API_ROOT={} BOT_TOKEN={SIMULATED_TOKEN}",
                    self.api_root
                ));
            }
        }
        let life = if self.is_temporary {
            "removed at the end"
        } else {
            "kept; remove it to begin afresh"
        };
        told.push(format!("  state  {} ({life})", self.state_dir));
        if !is_headless {
            told.push("  stop   with Ctrl-C; what waits is finished at the next start".to_owned());
        }
        told
    }
}

/// What the sender's log says of a send.
#[derive(Debug, Deserialize)]
struct SentLine {
    message: String,
    total_ms: serde_json::Value,
}

/// What the log of a function says of an Update that was given up.
#[derive(Debug, Deserialize)]
struct DeadLine {
    message: String,
    code: String,
    key: String,
}

/// Says how long the first reply took, and each dead letter; ends with the log.
pub(super) async fn watch(logs: Logs, scale: f64, started: Instant, json: bool) {
    let mut lines = logs.subscribe();
    let mut is_first_told = false;
    loop {
        match lines.recv().await {
            Ok(line) => {
                if line.is_stack_error() {
                    print::note(&line.text);
                }
                if let Some(told) = dead_letter(&line) {
                    print::note(&told);
                }
                let since = millis(started.elapsed());
                let reply = sent_after(&line).map(|stack_ms| figures::on_the_wall(stack_ms, scale));
                if let Some(after) = reply.filter(|after| !is_first_told && *after <= since) {
                    is_first_told = true;
                    first_reply(after, since, json);
                }
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// The first reply to an Update that was received since this start: how long after its receipt, and after the start.
fn first_reply(after: u64, since: u64, json: bool) {
    if json {
        print::json(&serde_json::json!({ "first_reply_ms": after, "since_start_ms": since }));
    } else {
        let since = figures::duration(Duration::from_millis(since));
        print::note(&format!("first reply after {after} ms ({since} after the start)"));
    }
}

/// What is told of a dead letter, if that is what the line says.
fn dead_letter(line: &LogLine) -> Option<String> {
    let DeadLine { message, code, key } = serde_json::from_str(&line.text).ok()?;
    let show = called::command(&format!("dead show {key}"));
    (message == "dead letter").then(|| format!("dead letter: {code}; `{show}` tells why and what to do"))
}

/// How long after its receipt something was sent, ms, if that is what the line says.
fn sent_after(line: &LogLine) -> Option<u64> {
    if !line.source.ends_with("-sender") {
        return None;
    }
    let said: SentLine = serde_json::from_str(&line.text).ok()?;
    // A 128-bit number may be written as text.
    let number = said
        .total_ms
        .as_u64()
        .or_else(|| said.total_ms.as_str()?.parse().ok());
    number.filter(|_| said.message == "sent")
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(source: &str, text: &str) -> LogLine {
        LogLine {
            at_ms: 0,
            source: source.to_owned(),
            instance: 1,
            text: text.to_owned(),
        }
    }

    #[test]
    fn the_first_reply_is_read_from_the_senders_log() {
        let sent = r#"{"level":"INFO","message":"sent","trace_id":"x","total_ms":143}"#;
        assert_eq!(sent_after(&line("penstock-sender", sent)), Some(143));
        assert_eq!(
            sent_after(&line("penstock-sender", &sent.replace("143", "\"143\""))),
            Some(143)
        );
        assert_eq!(sent_after(&line("penstock-processor", sent)), None);
        for other in [
            r#"{"message":"not sent: given up","total_ms":5}"#,
            r#"{"message":"sent"}"#,
            "START RequestId",
        ] {
            assert_eq!(sent_after(&line("penstock-sender", other)), None);
        }
    }

    #[test]
    fn a_dead_letter_is_told_with_how_to_look_at_it() {
        let dead =
            r#"{"level":"ERROR","message":"dead letter","code":"handler_panicked","attempt":3,"key":"7:5"}"#;
        let told = dead_letter(&line("penstock-processor", dead)).unwrap();
        assert!(
            told.contains("handler_panicked") && told.contains(" dead show 7:5`"),
            "{told}"
        );
        let other = dead.replace("dead letter", "tried");
        assert_eq!(dead_letter(&line("penstock-processor", &other)), None);
    }

    #[test]
    fn a_newcomer_is_told_where_to_go_and_what_to_write() {
        let ready = Ready {
            ready: true,
            url: "http://127.0.0.1:8080/".to_owned(),
            bot_id: 424_242,
            username: "penstock_demo_bot".to_owned(),
            is_simulated: true,
            state_dir: ".penstock".to_owned(),
            is_temporary: false,
            forward: None,
            api_root: "http://127.0.0.1:8081".to_owned(),
            pid: 7,
            ready_ms: 850,
        };
        let told = ready.lines(false).join("\n");
        assert!(
            told.starts_with("penstock is ready after 850 ms: http://127.0.0.1:8080/"),
            "{told}"
        );
        assert!(
            told.contains("open http://127.0.0.1:8080/ and write /start") && told.contains(".penstock"),
            "{told}"
        );
        let real = Ready {
            is_simulated: false,
            ..ready.clone()
        }
        .lines(false)
        .join("\n");
        assert!(real.contains("https://t.me/penstock_demo_bot"), "{real}");
        assert!(!ready.lines(true).join("\n").contains("/start"));
    }
}
