//! `GET /events`: what changed, as server-sent events. Snapshots are looked at four times a second and sent
//! only where they differ; log lines come in bunches; the chat comes at once. One task per open page, which
//! ends with the page.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::Event;
use futures::Stream;
use serde_json::{Map, Value, json};
use telegram_sim::SimEvent;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

use crate::model::{LogLine, Snapshot, Source};
use crate::rates::Rates;
use crate::view;

/// Between two looks at the stack.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Looks between two signs of life: one every five seconds.
const LOOKS_PER_PING: u32 = 20;
/// Log lines per bunch; what a flood has beyond that is left out.
const MAX_LINES: usize = 200;
/// Events waiting for a slow page.
const BACKLOG: usize = 64;

type Sink = mpsc::Sender<Result<Event, Infallible>>;

/// The parts of the page as they were last sent.
#[derive(Default)]
struct Sent {
    parts: Map<String, Value>,
    rates: Rates,
}

impl Sent {
    /// The parts that differ from what was sent, and remembers them.
    fn difference(&mut self, snapshot: &Snapshot) -> Option<Value> {
        let rates = self.rates.look(snapshot);
        let now = [
            ("totals", view::totals(&snapshot.totals)),
            ("flow", view::flow::flow(snapshot, &rates)),
            ("updates", view::updates::updates(snapshot)),
        ];
        let mut changed = Map::new();
        for (name, html) in now {
            let html = Value::String(html.into_string());
            if self.parts.get(name) != Some(&html) {
                self.parts.insert(name.to_owned(), html.clone());
                changed.insert(name.to_owned(), html);
            }
        }
        (!changed.is_empty()).then_some(Value::Object(changed))
    }
}

/// The stream of one page.
pub(crate) async fn events<S: Source>(
    State(source): State<Arc<S>>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (sink, events) = mpsc::channel(BACKLOG);
    // Subscribed before the recent lines are read, so that none is missed between.
    let logs = source.logs();
    let chat = source.chat().map(|sim| sim.subscribe());
    tokio::spawn(async move {
        // The page is gone: nothing more to do.
        watch(&*source, logs, chat, &sink).await.ok();
    });
    Sse::new(futures::stream::unfold(events, async |mut events| {
        Some((events.recv().await?, events))
    }))
}

async fn put(sink: &Sink, name: &str, data: &Value) -> Result<(), ()> {
    sink.send(Ok(Event::default().event(name).data(data.to_string())))
        .await
        .map_err(|_| ())
}

/// Ends with `Err` when the page is gone, with `Ok` when the stack ends.
async fn watch<S: Source>(
    source: &S,
    mut logs: Receiver<LogLine>,
    mut chat: Option<Receiver<SimEvent>>,
    sink: &Sink,
) -> Result<(), ()> {
    let mut sent = Sent::default();
    let mut lines: Vec<LogLine> = Vec::new();
    let mut tick = tokio::time::interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut looks: u32 = 0;
    let recent = view::logs::lines(&source.recent_logs()).into_string();
    put(sink, "hello", &json!({ "start": crate::start_id().to_string() })).await?;
    put(sink, "log", &json!({ "html": recent, "all": true })).await?;
    loop {
        tokio::select! {
            () = sink.closed() => return Err(()),
            _ = tick.tick() => {
                if let Some(changed) = sent.difference(&source.snapshot().await) {
                    put(sink, "snapshot", &changed).await?;
                }
                if !lines.is_empty() {
                    let html = view::logs::lines(&lines).into_string();
                    lines.clear();
                    put(sink, "log", &json!({ "html": html })).await?;
                }
                looks += 1;
                if looks.is_multiple_of(LOOKS_PER_PING) {
                    put(sink, "ping", &json!({})).await?;
                }
            }
            line = logs.recv() => match line {
                Ok(line) if lines.len() < MAX_LINES => lines.push(line),
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Ok(()),
            },
            event = next(&mut chat) => match event {
                Ok(event) => {
                    if let Some(data) = chat_event(event) {
                        put(sink, "chat", &data).await?;
                    }
                }
                Err(RecvError::Lagged(_)) => put(sink, "chat", &json!({ "kind": "resync" })).await?,
                Err(RecvError::Closed) => chat = None,
            },
        }
    }
}

async fn next(chat: &mut Option<Receiver<SimEvent>>) -> Result<SimEvent, RecvError> {
    match chat {
        Some(chat) => chat.recv().await,
        None => std::future::pending().await,
    }
}

/// What the script needs of an event, if it is about a chat.
fn chat_event(event: SimEvent) -> Option<Value> {
    Some(match event {
        SimEvent::MessageSent { chat_id, message } => json!({
            "kind": "message", "chat": chat_id, "message_id": message.get("message_id"),
            "title": message.pointer("/chat/title").or_else(|| message.pointer("/chat/first_name")),
            "from_bot": message.pointer("/from/is_bot"), "html": view::chat::message(&message).into_string(),
        }),
        SimEvent::MessageEdited { chat_id, message } => json!({
            "kind": "edit", "chat": chat_id, "message_id": message.get("message_id"),
            "html": view::chat::message(&message).into_string(),
        }),
        SimEvent::MessageDeleted { chat_id, message_id } => {
            json!({ "kind": "delete", "chat": chat_id, "message_id": message_id })
        }
        SimEvent::ChatAction {
            chat_id,
            action,
            text,
        } => {
            json!({ "kind": "action", "chat": chat_id, "action": action, "text": text })
        }
        SimEvent::Reaction {
            chat_id,
            message_id,
            emoji,
        } => {
            json!({ "kind": "reaction", "chat": chat_id, "message_id": message_id, "emoji": emoji.concat() })
        }
        SimEvent::CallbackAnswered {
            chat_id,
            text,
            show_alert,
            ..
        } => {
            json!({ "kind": "answer", "chat": chat_id, "text": text, "alert": show_alert })
        }
        SimEvent::WebhookDelivered { .. } | SimEvent::WebhookFailed { .. } | SimEvent::CallRefused { .. } => {
            return None;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_sent() {
        let mut sent = Sent::default();
        let mut snapshot = Snapshot::default();
        let first = sent.difference(&snapshot).unwrap();
        assert_eq!(first.as_object().unwrap().len(), 3);
        snapshot.uptime_ms += 250;
        assert_eq!(sent.difference(&snapshot), None);
        snapshot.totals.dead = 1;
        let second = sent.difference(&snapshot).unwrap();
        assert_eq!(second.as_object().unwrap().keys().collect::<Vec<_>>(), ["totals"]);
    }
}
