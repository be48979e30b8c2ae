//! A log line as the console shows it: its level, and its text for a person.

use penstock_console::LogLevel;
use serde_json::Value;

/// What a person looks for first.
const FIRST: &str = "update.id";
/// What is told in another place, or by `penstock trace`.
const LEFT_OUT: [&str; 6] = ["message", "level", "timestamp", "target", "trace_id", FIRST];

/// The level and the text of a line. A JSON line of a function is told as `message name=value ...`;
/// anything else is shown as it is.
pub(super) fn readable(text: &str) -> (LogLevel, String) {
    let Ok(Value::Object(line)) = serde_json::from_str::<Value>(text) else {
        return (LogLevel::Info, text.to_owned());
    };
    let level = match line.get("level").and_then(Value::as_str) {
        Some("ERROR") => LogLevel::Error,
        Some("WARN") => LogLevel::Warn,
        Some("DEBUG" | "TRACE") => LogLevel::Debug,
        _ => LogLevel::Info,
    };
    let fields = line.get("fields").and_then(Value::as_object).unwrap_or(&line);
    let Some(message) = fields.get("message").and_then(Value::as_str) else {
        return (level, text.to_owned());
    };
    let mut told = message.to_owned();
    let first = fields.get_key_value(FIRST);
    let others = fields
        .iter()
        .filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
    for (name, value) in first.into_iter().chain(others) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        told.push_str(&format!(" {name}={value}"));
    }
    (level, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_line_is_told_with_its_fields() {
        let line = r#"{"timestamp":"t","level":"WARN","fields":{"message":"gave up","attempt":8,"kind":"poll"},"target":"x"}"#;
        let (level, text) = readable(line);
        assert_eq!(level, LogLevel::Warn);
        assert!(
            text.starts_with("gave up ") && text.contains("attempt=8") && text.contains("kind=poll"),
            "{text}"
        );
    }

    #[test]
    fn the_update_comes_first_and_the_trace_id_is_left_out() {
        let line = r#"{"level":"INFO","message":"sent","bot.id":7,"trace_id":"ab","update.id":5}"#;
        assert_eq!(readable(line).1, "sent update.id=5 bot.id=7");
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        assert_eq!(
            readable("panicked at x"),
            (LogLevel::Info, "panicked at x".to_owned())
        );
        assert_eq!(
            readable("{\"level\":\"ERROR\"}"),
            (LogLevel::Error, "{\"level\":\"ERROR\"}".to_owned())
        );
    }
}
