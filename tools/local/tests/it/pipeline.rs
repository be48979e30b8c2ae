//! The real functions and the real template: a message in, an answer out.

use penstock_local::Stack;
use serde_json::json;

use crate::harness::{Drill, LIMIT};

#[tokio::test]
async fn a_message_to_the_simulated_bot_goes_through_the_pipeline_and_is_answered() {
    let mut drill = Drill::new();
    drill.options.template = None;
    let stack = Stack::start(drill.options.clone()).await.unwrap();
    let sim = stack.sim().unwrap();
    let update_id = sim.user_text(1, 1, "/start").unwrap();
    assert!(stack.idle(LIMIT).await);
    let logs = || {
        stack
            .view()
            .logs()
            .recent()
            .into_iter()
            .map(|line| line.text)
            .collect::<Vec<_>>()
    };
    let sent: Vec<String> = sim
        .calls()
        .into_iter()
        .filter(|call| call.method.starts_with("send"))
        .map(|call| call.method)
        .collect();
    assert_eq!(sent, ["sendMessage"], "{:#?}", logs());
    let key = (stack.bot_id().to_string(), update_id);
    let stories = stack
        .view()
        .ledger()
        .unwrap()
        .stories(std::slice::from_ref(&key))
        .await
        .unwrap();
    let story = &stories[&key];
    assert!(story.is_final() && story.state == "done", "{story:?}");
    assert!(
        story.latency_ms().is_some() && story.sends[0].message_id.is_some(),
        "{story:?}"
    );

    let snapshot: serde_json::Value = reqwest::get(format!("{}/snapshot", stack.front_url()))
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(snapshot["updates"][0]["stage"], "done");
    assert_eq!(snapshot["updates"][0]["sends"][0]["state"], "sent");
    assert_eq!(
        snapshot["totals"],
        json!({"received": 1, "done": 1, "dead": 0, "sent": 1, "unknown": 0})
    );
    stack.shutdown().await;
}
