//! The console over HTTP, with a source made for the test.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic, as tests do")]

use std::sync::Arc;

use penstock_console::{GROUP_ID, LogLine, Snapshot, Source, Totals, router};
use serde_json::{Value, json};
use telegram_sim::{Sim, SimOptions};
use tokio::sync::broadcast;

struct Fixed {
    sim: Option<Sim>,
    logs: broadcast::Sender<LogLine>,
}

impl Source for Fixed {
    async fn snapshot(&self) -> Snapshot {
        let totals = Totals {
            received: 41,
            ..Totals::default()
        };
        Snapshot {
            stack: "weir".to_owned(),
            totals,
            ..Snapshot::default()
        }
    }

    fn logs(&self) -> broadcast::Receiver<LogLine> {
        self.logs.subscribe()
    }

    fn recent_logs(&self) -> Vec<LogLine> {
        vec![LogLine {
            text: "an earlier line".to_owned(),
            ..LogLine::default()
        }]
    }

    fn chat(&self) -> Option<Sim> {
        self.sim.clone()
    }
}

struct Console {
    root: String,
    source: Arc<Fixed>,
    client: reqwest::Client,
}

async fn console(simulated: bool) -> Console {
    let sim = Sim::new(SimOptions::default());
    sim.add_bot("424242:letters", "weir_bot").unwrap();
    let source = Arc::new(Fixed {
        sim: simulated.then_some(sim),
        logs: broadcast::channel(64).0,
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let root = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, router(source.clone())).into_future());
    Console {
        root,
        source,
        client: reqwest::Client::new(),
    }
}

impl Console {
    fn sim(&self) -> &Sim {
        self.source.sim.as_ref().unwrap()
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let request = self.client.post(format!("{}{path}", self.root)).json(&body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    async fn get(&self, path: &str) -> reqwest::Response {
        self.client
            .get(format!("{}{path}", self.root))
            .send()
            .await
            .unwrap()
    }
}

/// Reads the stream until an event of this name with this text in it has come.
async fn await_event(stream: &mut reqwest::Response, name: &str, text: &str) -> String {
    let mut seen = String::new();
    loop {
        let chunk = stream.chunk().await.unwrap().expect("the stream ended");
        seen.push_str(&String::from_utf8_lossy(&chunk));
        let hit = seen
            .split("\n\n")
            .find(|event| event.contains(&format!("event: {name}\n")) && event.contains(text));
        if let Some(event) = hit {
            return event.to_owned();
        }
    }
}

#[tokio::test]
async fn the_page_is_there_at_once_and_loads_nothing_from_elsewhere() {
    let console = console(true).await;
    let response = console.get("/").await;
    let policy = response.headers()["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(
        policy.contains("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    let page = response.text().await.unwrap();
    for part in ["weir", "41", "an earlier line", "Ada", "Lock keepers", "/start"] {
        assert!(page.contains(part), "no {part} in the page");
    }
    for (path, kind) in [("/console.css", "text/css"), ("/console.js", "text/javascript")] {
        let response = console.get(path).await;
        assert!(
            response.headers()["content-type"]
                .to_str()
                .unwrap()
                .starts_with(kind),
            "{path}"
        );
        assert!(
            !response.text().await.unwrap().contains("https://"),
            "{path} names another server"
        );
    }
    assert_eq!(console.get("/healthz").await.status(), 200);
}

#[tokio::test]
async fn another_host_name_and_another_origin_are_refused() {
    let console = console(true).await;
    let foreign = console
        .client
        .get(&console.root)
        .header("host", "weir.example")
        .send()
        .await
        .unwrap();
    assert_eq!(foreign.status(), 403);
    let post = console
        .client
        .post(format!("{}/chat/send", console.root))
        .header("origin", "https://weir.example");
    assert_eq!(
        post.json(&json!({ "text": "x" })).send().await.unwrap().status(),
        403
    );
    assert_eq!(console.sim().pending_updates(), 0);
}

#[tokio::test]
async fn a_post_that_is_no_json_is_refused() {
    let console = console(true).await;
    let post = console
        .client
        .post(format!("{}/chat/send", console.root))
        .header("content-type", "text/plain");
    assert_eq!(post.body(r#"{"text":"x"}"#).send().await.unwrap().status(), 415);
    assert_eq!(console.sim().pending_updates(), 0);
}

#[tokio::test]
async fn what_a_person_writes_becomes_an_update() {
    let console = console(true).await;
    let (status, answer) = console.post("/chat/send", json!({ "text": "/start" })).await;
    assert_eq!((status, &answer["chat"]), (200, &json!(1)));
    console
        .post(
            "/chat/send",
            json!({ "text": "hello", "user": 3, "chat": GROUP_ID }),
        )
        .await;
    let updates = console.sim().call("getUpdates", json!({})).await.unwrap();
    assert_eq!(updates[0]["update_id"], answer["update_id"]);
    assert_eq!(updates[0]["message"]["entities"][0]["type"], "bot_command");
    let group = &updates[1]["message"];
    assert_eq!(
        (&group["chat"]["title"], &group["from"]["id"]),
        (&json!("Lock keepers"), &json!(3))
    );
}

#[tokio::test]
async fn an_empty_text_and_a_stranger_are_refused_with_the_reason() {
    let console = console(true).await;
    let (status, answer) = console.post("/chat/send", json!({ "text": "  " })).await;
    assert_eq!(
        (status, answer["error"].as_str()),
        (400, Some("a text has 1 to 4096 characters, this one 0"))
    );
    let (status, answer) = console
        .post("/chat/send", json!({ "text": "x", "user": 9 }))
        .await;
    assert_eq!(
        (status, answer["error"].as_str()),
        (400, Some("there is no user 9 here; speak as 1, 2 or 3"))
    );
}

#[tokio::test]
async fn a_button_can_be_pressed_and_a_missing_one_not() {
    let console = console(true).await;
    let keyboard = json!({ "inline_keyboard": [[{ "text": "Open", "callback_data": "open" }]] });
    let params = json!({ "chat_id": 1, "text": "?", "reply_markup": keyboard });
    let message = console.sim().call("sendMessage", params).await.unwrap();
    let press = |data: &str| json!({ "message_id": message["message_id"], "data": data });
    assert_eq!(console.post("/chat/press", press("open")).await.0, 200);
    let (status, answer) = console.post("/chat/press", press("shut")).await;
    assert_eq!(status, 409);
    assert!(
        answer["error"]
            .as_str()
            .unwrap()
            .contains("no button with the data \"shut\""),
        "{answer}"
    );
}

#[tokio::test]
async fn the_history_has_the_messages_raw_and_as_shown() {
    let console = console(true).await;
    console
        .post("/chat/send", json!({ "text": "<i>hello</i>", "user": 2 }))
        .await;
    let history: Value = console.get("/chat?chat=2").await.json().await.unwrap();
    assert_eq!(history["messages"][0]["text"], "<i>hello</i>");
    assert!(history["html"].as_str().unwrap().contains("&lt;i&gt;hello"));
    assert_eq!(history["chats"].as_array().unwrap().len(), 4);
    assert_eq!(console.get("/chat?chat=99").await.status(), 404);
}

#[tokio::test]
async fn the_stream_begins_with_the_state_and_follows_chat_and_log() {
    let console = console(true).await;
    let mut stream = console.get("/events").await;
    assert!(
        await_event(&mut stream, "log", "an earlier line")
            .await
            .contains(r#""all":true"#)
    );
    assert!(
        await_event(&mut stream, "snapshot", "41")
            .await
            .contains(r#""flow":"#)
    );
    console.post("/chat/send", json!({ "text": "hello there" })).await;
    await_event(&mut stream, "chat", "hello there").await;
    console
        .sim()
        .call("sendChatAction", json!({ "chat_id": 1, "action": "typing" }))
        .await
        .unwrap();
    await_event(&mut stream, "chat", r#""action":"typing""#).await;
    let line = LogLine {
        text: "a fresh line".to_owned(),
        ..LogLine::default()
    };
    console.source.logs.send(line).unwrap();
    await_event(&mut stream, "log", "a fresh line").await;
}

#[tokio::test]
async fn a_real_bot_has_no_chat_here() {
    let console = console(false).await;
    assert!(
        console
            .get("/")
            .await
            .text()
            .await
            .unwrap()
            .contains("Talk to it in Telegram")
    );
    let (status, answer) = console.post("/chat/send", json!({ "text": "x" })).await;
    assert_eq!(
        (status, answer["error"].as_str()),
        (409, Some("this stack serves a real bot; talk to it in Telegram"))
    );
}
