//! The list of the last updates. A row opens to its story. A row of an update that has ended never changes,
//! so that an idle stack sends nothing.

use maud::{Markup, html};

use super::{age, clock, count, duration};
use crate::model::{ErrorView, SendState, SendView, Snapshot, Stage, UpdateView};

/// Rows shown.
const MAX_ROWS: usize = 50;

/// What the names of quarantined bodies have in them (`BOT:q:HASH`).
const QUARANTINED: &str = ":q:";

/// The names of the columns.
pub(crate) fn head() -> Markup {
    html! {
        div.head aria-hidden="true" {
            span { "update" } span { "kind" } span { "stage" } span { "tries" } span { "took" } span { "sends" }
        }
    }
}

/// The rows, newest first.
pub(crate) fn updates(snapshot: &Snapshot) -> Markup {
    html! {
        @if snapshot.updates.is_empty() { (nothing(snapshot)) }
        @for update in snapshot.updates.iter().take(MAX_ROWS) { (row(update, &snapshot.program)) }
    }
}

fn nothing(snapshot: &Snapshot) -> Markup {
    let at_ms = snapshot.started_at_ms;
    html! {
        p.empty data-key="empty" {
            @if snapshot.is_resumed {
                "Nothing since this start (" time data-ms=(at_ms) data-short="" { (&clock(at_ms)[..5]) }
                "). Earlier updates are kept: trace them with " code { (snapshot.program) " trace ID" } "."
            } @else {
                "No update yet. Write to the bot, for example " code { "/start" }
                ", and watch it pass from ingress to the Bot API."
            }
        }
    }
}

fn row(update: &UpdateView, program: &str) -> Markup {
    html! {
        details.row data-key=(update.name) {
            summary {
                span.id title=(update.name) { (update.name) }
                span.kind { (update.kind) }
                span.stage { span class={ "chip " (update.stage.word()) } { (update.stage.word()) } }
                span.tries { (count(update.attempts.into(), "try", "tries")) }
                span.took { (took(update)) }
                span.sends { @for (state, n) in tally(&update.sends) { (send_chip(state, n)) } }
            }
            ol.story { @for step in story(update) { li { (step) } } }
            @if let Some(error) = &update.error { (error_box(error)) }
            p.hint { "The whole record: " code { (program) " trace " (update.name) } }
        }
    }
}

fn took(update: &UpdateView) -> String {
    match update.latency_ms {
        Some(latency) => duration(latency),
        None if update.stage.is_final() => String::new(),
        None => format!("for {}", age(update.age_ms)).replace("for now", "now"),
    }
}

/// How many sends there are of each state, in the order of their first.
fn tally(sends: &[SendView]) -> Vec<(SendState, usize)> {
    let mut tally: Vec<(SendState, usize)> = Vec::new();
    for send in sends {
        match tally.iter_mut().find(|(state, _)| *state == send.state) {
            Some((_, n)) => *n += 1,
            None => tally.push((send.state, 1)),
        }
    }
    tally
}

fn send_chip(state: SendState, n: usize) -> Markup {
    html! { span class={ "chip " (state.word()) } { (n) " " (state.word()) } }
}

fn error_box(error: &ErrorView) -> Markup {
    html! {
        div.failure {
            p { strong { (error.code) } ": " (error.message) }
            p { strong { "What to do" } ": " (error.cure) }
        }
    }
}

/// What happened to the update, a sentence a step.
fn story(update: &UpdateView) -> Vec<String> {
    let tries = count(update.attempts.into(), "try", "tries");
    let is_quarantined = update.name.contains(QUARANTINED);
    let queue = if is_quarantined {
        "updates-dlq.fifo"
    } else {
        "updates.fifo"
    };
    let mut steps = vec![format!("ingress put it into {queue} and answered 200.")];
    steps.push(match update.stage {
        Stage::Queued => format!("It has waited for a processor since {} ago.", age(update.age_ms))
            .replace("now ago", "just now"),
        Stage::Processing => format!("A processor works on it, {tries} so far."),
        Stage::Retrying => format!("It failed, {tries} so far; the next one is scheduled."),
        Stage::Deferred => "It is put off: the backend is down or the bot is paused.".to_owned(),
        Stage::Sending | Stage::Done => format!("A processor committed its outcome after {tries}."),
        Stage::Dead => format!("It was given up after {tries} and is kept with its raw body."),
    });
    let all = update.sends.len();
    steps.extend(
        (1..)
            .zip(&update.sends)
            .map(|(nth, send)| send_step(nth, all, send)),
    );
    if update.stage == Stage::Done && update.sends.is_empty() {
        steps.push("The bot sent nothing for it.".to_owned());
    }
    if let Some(latency) = update.latency_ms {
        steps.push(format!("From receipt to the end: {}.", duration(latency)));
    }
    steps
}

fn send_step(nth: usize, all: usize, send: &SendView) -> String {
    let method = &send.method;
    let what = match (send.state, send.message_id) {
        (SendState::Intended, _) => {
            "waits in outbound.fifo: Telegram takes about one message a second into a chat".to_owned()
        }
        (SendState::Sending, _) => "is being sent".to_owned(),
        (SendState::Retrying, _) => "failed and will be tried again".to_owned(),
        (SendState::Sent, Some(id)) => format!("is sent as message {id}"),
        (SendState::Sent, None) => "is sent".to_owned(),
        (SendState::Failed, _) => "was refused by Telegram for good".to_owned(),
        (SendState::Unknown, _) => "left, but no answer came: nobody knows whether it arrived".to_owned(),
        (SendState::Cancelled, _) => "was called off".to_owned(),
    };
    format!("Send {nth} of {all}, {method}, {what}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done() -> UpdateView {
        UpdateView {
            update_id: 7,
            name: "7".to_owned(),
            kind: "message".to_owned(),
            stage: Stage::Done,
            attempts: 1,
            latency_ms: Some(48),
            sends: vec![
                SendView {
                    n: 1,
                    method: "sendMessage".to_owned(),
                    state: SendState::Sent,
                    message_id: Some(12),
                },
                SendView {
                    n: 2,
                    method: "sendPhoto".to_owned(),
                    state: SendState::Unknown,
                    message_id: None,
                },
            ],
            ..UpdateView::default()
        }
    }

    #[test]
    fn a_finished_row_does_not_change_with_time() {
        let later = UpdateView {
            age_ms: 90_000,
            ..done()
        };
        let html = |update| row(update, "penstock").into_string();
        assert_eq!(html(&done()), html(&later));
    }

    #[test]
    fn the_story_names_every_send_and_what_became_of_it() {
        let story = story(&done()).join(" ");
        assert!(
            story.contains("Send 1 of 2, sendMessage, is sent as message 12."),
            "{story}"
        );
        assert!(story.contains("nobody knows whether it arrived"), "{story}");
    }

    #[test]
    fn sends_are_counted_by_state() {
        let mut update = done();
        update.sends.push(update.sends[0].clone());
        assert_eq!(
            tally(&update.sends),
            [(SendState::Sent, 2), (SendState::Unknown, 1)]
        );
    }

    #[test]
    fn an_empty_list_tells_what_to_type() {
        let html = updates(&Snapshot::default()).into_string();
        assert!(html.contains("<code>/start</code>"), "{html}");
    }

    #[test]
    fn an_empty_list_after_an_earlier_start_tells_how_to_see_what_is_kept() {
        let snapshot = Snapshot {
            is_resumed: true,
            started_at_ms: 1_790_000_000_250,
            program: "cargo run --".to_owned(),
            ..Snapshot::default()
        };
        let html = updates(&snapshot).into_string();
        assert!(html.contains(">14:13</time>"), "{html}");
        assert!(html.contains("<code>cargo run -- trace ID</code>"), "{html}");
    }

    #[test]
    fn a_dead_update_shows_its_error_and_the_cure() {
        let error = ErrorView {
            code: "handler_panic".into(),
            message: "m".into(),
            cure: "redrive it".into(),
        };
        let dead = UpdateView {
            stage: Stage::Dead,
            error: Some(error),
            ..UpdateView::default()
        };
        assert!(row(&dead, "penstock").into_string().contains("redrive it"));
    }

    #[test]
    fn a_long_history_is_cut() {
        let many = Snapshot {
            updates: (0..80)
                .map(|id: u32| UpdateView {
                    name: id.to_string(),
                    ..done()
                })
                .collect(),
            ..Snapshot::default()
        };
        assert_eq!(updates(&many).into_string().matches("<details").count(), MAX_ROWS);
    }
}
