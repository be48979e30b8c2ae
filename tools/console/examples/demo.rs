//! The page with a made-up stack behind it: a bot that answers through the simulated Telegram, and updates
//! that pass through made-up queues. For looking at the page; nothing here is real but the page and the chat.
//!
//! `cargo run -p penstock-console --example demo -- [port] [real]`

#![expect(
    clippy::unwrap_used,
    reason = "a demonstration may stop at what cannot happen"
)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use penstock_console::{
    BotMode, BotView, ErrorView, FunctionView, LogLevel, LogLine, QueueView, SendState, SendView, Snapshot,
    Source, Stage, Totals, UpdateView,
};
use serde_json::{Value, json};
use telegram_sim::{Sim, SimClock, SimOptions, SystemClock};
use tokio::sync::broadcast;

const TOKEN: &str = "424242:PENSTOCK-local-simulated-token-000";

struct Demo {
    sim: Option<Sim>,
    begun: Instant,
    state: Mutex<State>,
    logs: broadcast::Sender<LogLine>,
}

#[derive(Default)]
struct State {
    updates: VecDeque<UpdateView>,
    lines: Vec<LogLine>,
    totals: Totals,
    runs: u64,
}

impl Demo {
    fn log(&self, source: &str, level: LogLevel, text: String) {
        let line = LogLine {
            at_ms: SystemClock.now_ms(),
            source: source.to_owned(),
            level,
            text,
        };
        self.state.lock().unwrap().lines.push(line.clone());
        self.logs.send(line).ok();
    }

    fn change(&self, id: i64, change: impl FnOnce(&mut UpdateView)) {
        let mut state = self.state.lock().unwrap();
        if let Some(update) = state.updates.iter_mut().find(|update| update.update_id == id) {
            change(update);
        }
    }
}

impl Source for Demo {
    async fn snapshot(&self) -> Snapshot {
        let state = self.state.lock().unwrap();
        let staged = |stage: Stage| {
            state
                .updates
                .iter()
                .filter(|update| update.stage == stage)
                .count() as u64
        };
        let queue = |name: &str, visible: u64, in_flight: u64| QueueView {
            name: format!("penstock-{name}"),
            visible,
            in_flight,
            oldest_age_ms: (visible > 2).then_some(4_200),
        };
        let function = |name: &str, busy: u32, errors: u64| FunctionView {
            name: name.to_owned(),
            instances: 1,
            busy,
            cold_starts: 1,
            invocations: state.runs,
            errors,
            last_error: None,
        };
        let busy = u32::from(staged(Stage::Processing) > 0);
        let mode = if self.sim.is_some() {
            BotMode::Simulated
        } else {
            BotMode::Real
        };
        Snapshot {
            backend: None,
            stack: "penstock".to_owned(),
            bot: BotView {
                username: "penstock_demo_bot".to_owned(),
                mode,
            },
            webhook_url_masked: "http://127.0.0.1:8080/telegram/424242/***".to_owned(),
            uptime_ms: u64::try_from(self.begun.elapsed().as_millis()).unwrap(),
            started_at_ms: 0,
            is_resumed: false,
            program: "penstock".to_owned(),
            queues: vec![
                queue(
                    "updates.fifo",
                    staged(Stage::Queued),
                    staged(Stage::Processing) + staged(Stage::Retrying),
                ),
                queue("outbound.fifo", 0, u64::from(busy)),
                queue("bulk.fifo", 0, 0),
                queue("updates-dlq.fifo", 0, 0),
                queue("outbound-dlq.fifo", 0, 0),
                queue("bulk-dlq.fifo", 0, 0),
            ],
            functions: vec![
                function("ingress", 0, 0),
                function("processor", busy, state.totals.dead),
                function("sender", busy, 0),
                function("dead_letter", 0, 0),
            ],
            updates: state.updates.iter().cloned().collect(),
            totals: state.totals,
        }
    }

    fn logs(&self) -> broadcast::Receiver<LogLine> {
        self.logs.subscribe()
    }

    fn recent_logs(&self) -> Vec<LogLine> {
        self.state.lock().unwrap().lines.clone()
    }

    fn chat(&self) -> Option<Sim> {
        self.sim.clone()
    }
}

/// The bot: polls, thinks for a while so that there is something to see, answers.
async fn bot(demo: Arc<Demo>, sim: Sim) {
    let mut offset = 0;
    loop {
        let polled = sim
            .call("getUpdates", json!({ "offset": offset, "timeout": 30 }))
            .await;
        let Ok(Value::Array(updates)) = polled else { return };
        for update in updates {
            offset = update["update_id"].as_i64().unwrap() + 1;
            tokio::spawn(handle(demo.clone(), sim.clone(), update));
        }
    }
}

async fn handle(demo: Arc<Demo>, sim: Sim, update: Value) {
    let id = update["update_id"].as_i64().unwrap();
    let kind = update
        .as_object()
        .unwrap()
        .keys()
        .find(|key| *key != "update_id")
        .unwrap()
        .clone();
    let started = Instant::now();
    {
        let mut state = demo.state.lock().unwrap();
        state.totals.received += 1;
        state.updates.push_front(UpdateView {
            update_id: id,
            name: id.to_string(),
            kind: kind.clone(),
            ..UpdateView::default()
        });
    }
    demo.log(
        "ingress",
        LogLevel::Info,
        format!("update {id} accepted as {kind}"),
    );
    tokio::time::sleep(Duration::from_millis(150)).await;
    demo.state.lock().unwrap().runs += 1;
    demo.change(id, |update| {
        (update.stage, update.attempts) = (Stage::Processing, 1)
    });
    let query = &update["callback_query"];
    let chat = update
        .pointer("/message/chat/id")
        .or(query.pointer("/message/chat/id"))
        .cloned()
        .unwrap_or_default();
    let text = update["message"]["text"].as_str().unwrap_or_default();
    sim.call("sendChatAction", json!({ "chat_id": chat, "action": "typing" }))
        .await
        .ok();
    tokio::time::sleep(Duration::from_millis(700)).await;
    if text == "/fail" {
        demo.log(
            "processor",
            LogLevel::Error,
            format!("update {id} is dead after 3 tries: the handler panicked"),
        );
        demo.state.lock().unwrap().totals.dead += 1;
        demo.change(id, |update| {
            (update.stage, update.attempts) = (Stage::Dead, 3);
            update.error = Some(ErrorView {
                code: "handler_panic".to_owned(),
                message: "the handler panicked: the example bot was asked to fail".to_owned(),
                cure: format!("fix the handler, then penstock dead redrive {id}"),
            });
        });
        return;
    }
    let calls = if query.is_object() {
        let edit = json!({ "chat_id": chat, "message_id": query["message"]["message_id"], "text": "The gate is open." });
        let answer = json!({ "callback_query_id": query["id"], "text": "Gate opened" });
        vec![("answerCallbackQuery", answer), ("editMessageText", edit)]
    } else if text == "/start" {
        let keyboard = json!({ "inline_keyboard": [
            [{ "text": "Open the gate", "callback_data": "open" }, { "text": "Leave it", "callback_data": "leave" }],
            [{ "text": "What is this?", "url": "https://penstock.example" }],
        ] });
        let greeting = "Hello! I am the example bot.\n\nWrite anything and I answer, press a button, or try /fail to \
                        see an update that dies.";
        vec![(
            "sendMessage",
            json!({ "chat_id": chat, "text": greeting, "reply_markup": keyboard }),
        )]
    } else {
        vec![(
            "sendMessage",
            json!({ "chat_id": chat, "text": format!("You said: {text}") }),
        )]
    };
    let mut sends = Vec::new();
    for (n, (method, params)) in (1..).zip(calls) {
        let result = sim.call(method, params).await;
        let message_id = result
            .as_ref()
            .ok()
            .and_then(|message| message["message_id"].as_i64());
        let state = if result.is_ok() {
            SendState::Sent
        } else {
            SendState::Failed
        };
        sends.push(SendView {
            n,
            method: method.to_owned(),
            state,
            message_id,
        });
        demo.log(
            "sender",
            LogLevel::Info,
            format!("update {id} send {n}: {method}"),
        );
    }
    let mut state = demo.state.lock().unwrap();
    state.totals.done += 1;
    state.totals.sent += sends.len() as u64;
    drop(state);
    demo.change(id, |update| {
        (update.stage, update.sends) = (Stage::Done, sends);
        update.latency_ms = Some(u64::try_from(started.elapsed().as_millis()).unwrap());
    });
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let port: u16 = arguments.first().map_or(Ok(8_089), |port| port.parse())?;
    let sim = Sim::new(SimOptions::default());
    sim.add_bot(TOKEN, "penstock_demo_bot")?;
    let simulated = !arguments.iter().any(|argument| argument == "real");
    let demo = Arc::new(Demo {
        sim: simulated.then(|| sim.clone()),
        begun: Instant::now(),
        state: Mutex::default(),
        logs: broadcast::channel(1_024).0,
    });
    demo.log(
        "stack",
        LogLevel::Info,
        "started; this is a demonstration".to_owned(),
    );
    tokio::spawn(bot(demo.clone(), sim));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    axum::serve(listener, penstock_console::router(demo)).await?;
    Ok(())
}
