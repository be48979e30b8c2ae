//! Log lines. Times are rendered in UTC and made local by the script.

use maud::{Markup, html};

use crate::model::{LogLevel, LogLine};

/// `12:03:11.250` of a time in milliseconds.
fn clock(at_ms: i64) -> String {
    let day = at_ms.rem_euclid(86_400_000);
    let (h, m, s, ms) = (day / 3_600_000, day / 60_000 % 60, day / 1_000 % 60, day % 1_000);
    format!("{h:02}:{m:02}:{s:02}.{ms:03}")
}

fn word(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    }
}

/// Lines, oldest first.
pub(crate) fn lines(lines: &[LogLine]) -> Markup {
    html! {
        @for line in lines {
            li class={ "line level-" (word(line.level)) } {
                time data-ms=(line.at_ms) { (clock(line.at_ms)) }
                span.source { (line.source) }
                span.level { (word(line.level)) }
                span.text { (line.text) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_milliseconds() {
        assert_eq!(clock(1_790_000_000_250), "14:13:20.250");
        assert_eq!(clock(-1), "23:59:59.999");
    }
}
