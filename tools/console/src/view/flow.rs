//! The way of an update as a row of boxes: functions and queues in order, and beside it what should stay
//! empty. Which box shows what is decided here, from plain values.

use maud::{Markup, html};

use super::{age, count};
use crate::model::{BackendState, FunctionView, QueueView, Snapshot};
use crate::rates::PerSecond;

/// One box.
#[derive(Debug, PartialEq)]
struct Stop {
    key: &'static str,
    kind: &'static str,
    headline: String,
    lines: Vec<String>,
    trouble: Option<String>,
    /// `idle`, `busy` or `trouble`.
    state: &'static str,
    /// Grows with what passed: the script shows it as a pulse.
    passed: u64,
}

/// `penstock-updates.fifo` without the name of the stack, with one kind of dash.
fn short<'a>(stack: &str, name: &'a str) -> &'a str {
    name.strip_prefix(stack)
        .and_then(|rest| rest.strip_prefix('-'))
        .unwrap_or(name)
}

fn queue<'a>(snapshot: &'a Snapshot, name: &str) -> Option<&'a QueueView> {
    snapshot
        .queues
        .iter()
        .find(|queue| short(&snapshot.stack, &queue.name) == name)
}

fn function<'a>(snapshot: &'a Snapshot, name: &str) -> Option<&'a FunctionView> {
    let matches = |other: &str| short(&snapshot.stack, other).replace('-', "_") == name;
    snapshot.functions.iter().find(|function| matches(&function.name))
}

fn per_second(rate: f64) -> String {
    if rate >= 10.0 {
        format!("{rate:.0}/s")
    } else {
        format!("{rate:.1}/s").replace(".0/", "/")
    }
}

fn function_stop(snapshot: &Snapshot, rates: &PerSecond, key: &'static str) -> Stop {
    let mut stop = Stop {
        key,
        kind: "function",
        headline: per_second(0.0),
        lines: Vec::new(),
        trouble: None,
        state: "idle",
        passed: 0,
    };
    let Some(view) = function(snapshot, key) else {
        stop.lines.push("not there".to_owned());
        return stop;
    };
    let rate = rates.invocations.get(&view.name).copied().unwrap_or(0.0);
    stop.headline = per_second(rate);
    stop.lines.push(match (view.busy, view.instances) {
        (0, 0) => "not started".to_owned(),
        (0, n) => format!("{n} idle"),
        (busy, n) => format!("{busy} of {n} busy"),
    });
    stop.lines.push(count(view.invocations, "run", "runs"));
    stop.passed = view.invocations;
    stop.state = if view.busy > 0 || rate > 0.0 {
        "busy"
    } else {
        "idle"
    };
    if view.errors > 0 {
        stop.trouble = Some(count(view.errors, "error", "errors"));
        stop.state = "trouble";
    }
    stop
}

fn queue_stop(snapshot: &Snapshot, key: &'static str, passed: u64) -> Stop {
    let none = QueueView::default();
    let view = queue(snapshot, key).unwrap_or(&none);
    let mut lines = vec![format!("{} in flight", view.in_flight)];
    if let Some(oldest) = view.oldest_age_ms.filter(|oldest| *oldest >= 1_000) {
        lines.push(format!("oldest {}", age(oldest)));
    }
    let busy = view.visible + view.in_flight > 0;
    Stop {
        key,
        kind: "queue",
        headline: format!("{} waiting", view.visible),
        lines,
        trouble: None,
        state: if busy { "busy" } else { "idle" },
        passed,
    }
}

fn stops(snapshot: &Snapshot, rates: &PerSecond) -> Vec<Stop> {
    let totals = &snapshot.totals;
    let sender_runs = function(snapshot, "sender").map_or(0, |view| view.invocations);
    vec![
        function_stop(snapshot, rates, "ingress"),
        queue_stop(snapshot, "updates.fifo", totals.received),
        function_stop(snapshot, rates, "processor"),
        queue_stop(snapshot, "outbound.fifo", sender_runs),
        function_stop(snapshot, rates, "sender"),
        Stop {
            key: "Bot API",
            kind: "outside",
            headline: per_second(rates.sent),
            lines: vec![format!("{} sent", totals.sent)],
            trouble: (totals.unknown > 0).then(|| format!("{} unknown", totals.unknown)),
            state: if totals.unknown > 0 { "trouble" } else { "idle" },
            passed: totals.sent,
        },
    ]
}

/// What lies beside the way: name, and how much is in it.
fn beside(snapshot: &Snapshot) -> Vec<(&'static str, u64, bool)> {
    let depth = |name| queue(snapshot, name).map_or(0, |queue| queue.visible + queue.in_flight);
    let runs = function(snapshot, "dead_letter").map_or(0, |view| view.invocations);
    vec![
        ("bulk.fifo", depth("bulk.fifo"), false),
        ("updates-dlq.fifo", depth("updates-dlq.fifo"), true),
        ("outbound-dlq.fifo", depth("outbound-dlq.fifo"), true),
        ("bulk-dlq.fifo", depth("bulk-dlq.fifo"), true),
        ("dead_letter runs", runs, true),
    ]
}

/// The boxes and what is beside them.
pub(crate) fn flow(snapshot: &Snapshot, rates: &PerSecond) -> Markup {
    html! {
        ol.stops data-key="stops" {
            @for stop in stops(snapshot, rates) {
                li data-key=(stop.key) data-passed=(stop.passed) class={ "stop " (stop.kind) " " (stop.state) } {
                    h3 { (stop.key) }
                    p.headline { (stop.headline) }
                    @for line in &stop.lines { p { (line) } }
                    @if let Some(trouble) = &stop.trouble { p.trouble { (trouble) } }
                }
            }
        }
        @if let Some(backend) = &snapshot.backend {
            p.backend data-key="backend" {
                "backend " code { (backend.url) } " "
                @match backend.state {
                    BackendState::Up => { span.chip.live { "up" } }
                    BackendState::Away => { span.chip.gone { "away" } }
                    BackendState::Returning => { span.chip.waking { "returning" } }
                }
                " " (backend.words)
            }
        }
        dl.beside data-key="beside" aria-label="Beside the main way" {
            @for (name, value, alarming) in beside(snapshot) {
                div data-key=(name) class=[(alarming && value > 0).then_some("odd")] {
                    dt { (name) }
                    dd { (value) }
                }
            }
        }
        @for function in snapshot.functions.iter().filter(|function| function.last_error.is_some()) {
            p.last-error data-key={ "error " (function.name) } {
                strong { (short(&snapshot.stack, &function.name)) }
                " failed last with: " (function.last_error.as_deref().unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        Snapshot {
            stack: "penstock".to_owned(),
            queues: vec![QueueView {
                name: "penstock-updates.fifo".to_owned(),
                visible: 3,
                in_flight: 1,
                oldest_age_ms: Some(2_500),
            }],
            functions: vec![FunctionView {
                name: "penstock-dead-letter".to_owned(),
                invocations: 2,
                ..FunctionView::default()
            }],
            ..Snapshot::default()
        }
    }

    #[test]
    fn the_way_has_its_six_stops_in_order() {
        let keys: Vec<_> = stops(&snapshot(), &PerSecond::default())
            .iter()
            .map(|stop| stop.key)
            .collect();
        assert_eq!(
            keys,
            [
                "ingress",
                "updates.fifo",
                "processor",
                "outbound.fifo",
                "sender",
                "Bot API"
            ]
        );
    }

    #[test]
    fn a_queue_is_found_under_the_name_of_its_stack() {
        let stop = &stops(&snapshot(), &PerSecond::default())[1];
        assert_eq!((stop.headline.as_str(), stop.state), ("3 waiting", "busy"));
        assert_eq!(stop.lines, ["1 in flight", "oldest 2 s"]);
    }

    #[test]
    fn a_function_is_found_with_either_dash() {
        assert_eq!(beside(&snapshot())[4], ("dead_letter runs", 2, true));
    }

    #[test]
    fn rates_have_a_digit_only_where_it_says_something() {
        assert_eq!(
            [0.0, 0.5, 2.0, 31.4].map(per_second),
            ["0/s", "0.5/s", "2/s", "31/s"]
        );
    }

    #[test]
    fn a_failed_function_is_in_trouble() {
        let mut snapshot = snapshot();
        snapshot.functions.push(FunctionView {
            name: "sender".to_owned(),
            errors: 1,
            ..FunctionView::default()
        });
        let stop = &stops(&snapshot, &PerSecond::default())[4];
        assert_eq!(
            (stop.trouble.as_deref(), stop.state),
            (Some("1 error"), "trouble")
        );
    }
}
