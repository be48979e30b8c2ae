//! A "real" bot by long polling, played by a simulated Telegram that the stack does not know.

use penstock_domain::secret::BotToken;
use penstock_local::bridge::BridgeOptions;
use penstock_local::{Stack, StackError, Telegram};
use serde_json::json;
use telegram_sim::{Sim, SimOptions};

use crate::harness::{Drill, LIMIT, eventually};

const TOKEN: &str = "515151:a-token-of-a-synthetic-bot";

/// Telegram at a port.
async fn telegram() -> (Sim, String) {
    let sim = Sim::new(SimOptions::default());
    sim.add_bot(TOKEN, "somebodys_bot").unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let root = format!("http://{}", listener.local_addr().unwrap());
    let router = sim.router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (sim, root)
}

fn drill(root: &str, token: &str, take_over: bool) -> Drill {
    let mut drill = Drill::new();
    let token = BotToken::new(token.to_owned());
    drill.options.telegram = Telegram::Real(BridgeOptions {
        api_root: root.to_owned(),
        token,
        take_over,
    });
    drill.write_template();
    drill
}

async fn refusal(drill: &Drill) -> StackError {
    Stack::start(drill.options.clone()).await.err().unwrap()
}

#[tokio::test]
async fn updates_are_bridged_and_the_offset_moves_only_after_a_200() {
    let (sim, root) = telegram().await;
    let drill = drill(&root, TOKEN, false);
    let stack = drill.start().await;
    assert_eq!((stack.bot_id(), stack.username()), (515_151, "somebodys_bot"));
    let later = sim.user_text(1, 1, "later").unwrap();
    let next = sim.user_text(1, 1, "next").unwrap();
    eventually("both updates are confirmed", async || sim.pending_updates() == 0).await;
    let updates: Vec<String> = drill
        .trace()
        .into_iter()
        .filter(|line| line.starts_with("update"))
        .collect();
    let expected = [
        format!("update {later} later"),
        format!("update {later} later"),
        format!("update {next} next"),
    ];
    assert_eq!(updates, expected);
    let lines = stack.view().logs().recent();
    assert!(
        lines
            .iter()
            .all(|line| !line.text.contains("a-token-of-a-synthetic-bot"))
    );
    stack.shutdown().await;
}

#[tokio::test]
async fn a_bot_with_a_webhook_is_left_alone_unless_it_may_be_taken_over() {
    let (sim, root) = telegram().await;
    let webhook = json!({"url": "https://bot.example.org/hook/very-secret", "drop_pending_updates": false});
    sim.call("setWebhook", webhook).await.unwrap();
    let error = refusal(&drill(&root, TOKEN, false)).await.to_string();
    assert!(
        error.contains("bot.example.org") && error.contains("--take-over"),
        "{error}"
    );
    assert!(!error.contains("very-secret"), "{error}");
    assert_eq!(sim.webhook().map(|hook| hook.url.is_empty()), Some(false));

    let drill = drill(&root, TOKEN, true);
    let stack = drill.start().await;
    let lines: Vec<String> = stack
        .view()
        .logs()
        .recent()
        .into_iter()
        .map(|line| line.text)
        .collect();
    assert!(
        lines
            .iter()
            .any(|line| line.contains("bot.example.org was removed")),
        "{lines:?}"
    );
    assert!(sim.webhook().is_none_or(|hook| hook.url.is_empty()));
    stack.shutdown().await;
}

#[tokio::test]
async fn a_wrong_token_names_the_cure_and_not_the_token() {
    let (_sim, root) = telegram().await;
    let error = refusal(&drill(&root, "515151:mistyped-by-somebody", false))
        .await
        .to_string();
    assert!(
        error.contains("@BotFather") && !error.contains("mistyped"),
        "{error}"
    );
}

/// A Telegram that knows the bot, and answers every `getUpdates` with an error.
async fn telegram_that_refuses(code: u16) -> String {
    let app = axum::Router::new().fallback(async move |uri: axum::http::Uri| {
        let answer = match uri.path().rsplit('/').next() {
            Some("getMe") => json!({"ok": true, "result": {"id": 515_151, "username": "somebodys_bot"}}),
            Some("getWebhookInfo") => json!({"ok": true, "result": {"url": ""}}),
            _ => json!({"ok": false, "error_code": code, "description": "no"}),
        };
        axum::Json(answer)
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let root = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    root
}

#[tokio::test]
async fn a_token_that_is_revoked_while_the_stack_runs_is_told_with_the_cure() {
    let root = telegram_that_refuses(401).await;
    let stack = drill(&root, TOKEN, false).start().await;
    let told = tokio::time::timeout(LIMIT, stack.bridge_failed()).await.unwrap();
    assert!(told.contains("@BotFather"), "{told}");
    stack.shutdown().await;
}

#[tokio::test]
async fn another_program_that_polls_is_told_and_does_not_end_the_bridge() {
    let root = telegram_that_refuses(409).await;
    let stack = drill(&root, TOKEN, false).start().await;
    let logs = stack.view().logs().clone();
    let told = async || {
        logs.recent()
            .iter()
            .any(penstock_local::logs::LogLine::is_stack_error)
    };
    eventually("the conflict is told", told).await;
    let soon = std::time::Duration::ZERO;
    assert!(tokio::time::timeout(soon, stack.bridge_failed()).await.is_err());
    stack.shutdown().await;
}
