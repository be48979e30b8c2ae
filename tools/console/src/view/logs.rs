//! Log lines. Times are rendered in UTC and made local by the script.

use maud::{Markup, html};

use super::clock;
use crate::model::{LogLevel, LogLine};

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
