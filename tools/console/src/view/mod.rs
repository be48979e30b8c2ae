//! The page as HTML. Every value is escaped by the template; parts that change carry keys so that the script
//! replaces only what differs.

pub(crate) mod chat;
pub(crate) mod flow;
pub(crate) mod logs;
pub(crate) mod updates;

use maud::{DOCTYPE, Markup, html};
use telegram_sim::Sim;

use crate::model::{BotMode, LogLine, Snapshot, Totals};
use crate::rates::PerSecond;

const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath \
                    fill='%230e7c86' d='M2 2h12v3H2zM4 6h2v8H4zM7 6h2v6H7zM10 6h2v8h-2z'/%3E%3C/svg%3E";

/// Milliseconds in words of one unit: what a person wants to know, and nothing that flickers.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..10_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        10_000..120_000 => format!("{} s", ms / 1_000),
        120_000..7_200_000 => format!("{} min", ms / 60_000),
        _ => format!("{} h", ms / 3_600_000),
    }
}

/// An age, in whole seconds at the finest.
pub(crate) fn age(ms: u64) -> String {
    if ms < 1_000 {
        "now".to_owned()
    } else {
        duration(ms / 1_000 * 1_000).replace(".0", "")
    }
}

/// `12:03:11.250` of a time in milliseconds, UTC.
pub(crate) fn clock(at_ms: i64) -> String {
    let day = at_ms.rem_euclid(86_400_000);
    let (h, m, s, ms) = (day / 3_600_000, day / 60_000 % 60, day / 1_000 % 60, day % 1_000);
    format!("{h:02}:{m:02}:{s:02}.{ms:03}")
}

/// "1 try", "2 tries".
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// The sums in the header.
pub(crate) fn totals(totals: &Totals) -> Markup {
    let sums = [
        ("received", totals.received, ""),
        ("done", totals.done, ""),
        ("sent", totals.sent, ""),
        ("dead", totals.dead, "bad"),
        ("unknown", totals.unknown, "odd"),
    ];
    html! {
        @for (name, value, mark) in sums {
            div data-key=(name) class=[(value > 0 && !mark.is_empty()).then_some(mark)] {
                dt { (name) }
                dd { (value) }
            }
        }
    }
}

/// The whole page with what is known now.
pub(crate) fn page(snapshot: &Snapshot, sim: Option<&Sim>, recent: &[LogLine]) -> Markup {
    let real = snapshot.bot.mode == BotMode::Real;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Penstock: " (snapshot.stack) }
                link rel="icon" href=(ICON);
                link rel="stylesheet" href="/console.css";
                script src="/console.js" defer {}
            }
            body data-start=(crate::start_id()) {
                a.skip href="#updates" { "Skip to the updates" }
                header.top {
                    h1 { "Penstock" }
                    p.what {
                        span { (snapshot.stack) }
                        span.chip.mode title=(snapshot.webhook_url_masked) {
                            @if real { "real bot @" (snapshot.bot.username) } @else { "simulated Telegram" }
                        }
                        span #link.chip.live role="status" { "live" }
                    }
                    dl #totals.totals { (totals(&snapshot.totals)) }
                }
                p #lost.lost role="alert" hidden {
                    strong { "The stack does not answer." }
                    " What you see is from " span #lost-since {} ". If you stopped it, start it again with "
                    code { (snapshot.program.trim_end_matches(" --")) } "; this page comes back by itself."
                }
                nav.tabs aria-label="Parts of this page" {
                    a href="#chat" { "Chat" }
                    a href="#pipeline" { "Pipeline" }
                    a href="#updates" { "Updates" }
                    a href="#log" { "Log" }
                }
                main {
                    (chat::panel(snapshot, sim))
                    section #pipeline.panel aria-labelledby="pipeline-title" {
                        h2 #pipeline-title { "Pipeline" }
                        div #flow.flow { (flow::flow(snapshot, &PerSecond::default())) }
                    }
                    section #updates.panel aria-labelledby="updates-title" {
                        h2 #updates-title { "Last updates" }
                        (updates::head())
                        div #update-rows.rows { (updates::updates(snapshot)) }
                    }
                    section #log.panel aria-labelledby="log-title" {
                        h2 #log-title { "Log" }
                        ol #log-lines.lines tabindex="0" aria-label="Log lines" { (logs::lines(recent)) }
                    }
                }
                div #toasts.toasts role="status" aria-live="polite" {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::BotView;

    #[test]
    fn durations_read_as_people_say_them() {
        let said = [0, 48, 999, 1_250, 9_999, 10_500, 119_999, 120_000, 7_200_000].map(duration);
        assert_eq!(
            said,
            [
                "0 ms", "48 ms", "999 ms", "1.2 s", "9.9 s", "10 s", "119 s", "2 min", "2 h"
            ]
        );
        assert_eq!([0, 999, 1_000, 3_999].map(age), ["now", "now", "1 s", "3 s"]);
    }

    #[test]
    fn a_real_bot_has_a_hint_instead_of_a_chat() {
        let bot = BotView {
            username: "weir_bot".to_owned(),
            mode: BotMode::Real,
        };
        let page = page(
            &Snapshot {
                bot,
                ..Snapshot::default()
            },
            None,
            &[],
        )
        .into_string();
        assert!(page.contains("https://t.me/weir_bot"));
        assert!(!page.contains("<textarea"));
    }

    #[test]
    fn nothing_a_stack_says_becomes_markup() {
        let evil = "<script>alert(1)</script>";
        let snapshot = Snapshot {
            stack: evil.to_owned(),
            webhook_url_masked: evil.to_owned(),
            functions: vec![crate::FunctionView {
                last_error: Some(evil.to_owned()),
                ..Default::default()
            }],
            updates: vec![crate::UpdateView {
                kind: evil.to_owned(),
                ..Default::default()
            }],
            ..Snapshot::default()
        };
        let line = LogLine {
            text: evil.to_owned(),
            source: evil.to_owned(),
            ..LogLine::default()
        };
        assert!(!page(&snapshot, None, &[line]).into_string().contains(evil));
    }
}
