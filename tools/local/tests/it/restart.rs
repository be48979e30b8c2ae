//! What a stack keeps, and what keeps it from starting.

use penstock_local::{Stack, StackError};
use serde_json::json;

use crate::harness::{Drill, LIMIT, WORK, send_work, work_depth};

#[tokio::test]
async fn messages_identity_and_secret_survive_a_restart() {
    let mut drill = Drill::new();
    drill.options.state_dir = Some(drill.directory.path().join("state"));
    let stack = drill.start().await;
    stack.set_mapping_enabled(WORK, false).unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    send_work(&stack, &[("a", 1, json!({"do": "ok"})), ("a", 2, json!({"do": "ok"}))]).await;
    let secret = stack.webhook_secret().to_owned();
    stack.shutdown().await;
    assert!(drill.trace().is_empty());

    let stack = drill.start().await;
    assert_eq!(stack.webhook_secret(), secret);
    let stored = stack.clients().secrets.get_secret_value().secret_id("drill/bot/424242").send().await.unwrap();
    assert!(stored.secret_string().unwrap_or_default().contains(&secret));
    assert!(stack.idle(LIMIT).await);
    let order: Vec<String> =
        drill.trace().iter().filter_map(|line| line.rsplit(' ').next().map(str::to_owned)).collect();
    assert_eq!(order, ["1", "2"]);
    stack.shutdown().await;
}

#[tokio::test]
async fn a_second_stack_on_the_same_directory_is_refused() {
    let mut drill = Drill::new();
    drill.options.state_dir = Some(drill.directory.path().join("state"));
    let stack = drill.start().await;
    let error = Stack::start(drill.options.clone()).await.err().map(|error| error.to_string());
    let error = error.unwrap_or_default();
    assert!(error.contains("is in use by process") && error.contains("--state-dir"), "{error}");
    assert!(work_depth(&stack).await.is_empty());
    stack.shutdown().await;
}

#[tokio::test]
async fn a_taken_port_is_named_with_the_cure() {
    let mut drill = Drill::new();
    drill.write_template();
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    drill.options.listen = taken.local_addr().unwrap();
    let error = Stack::start(drill.options.clone()).await.err().unwrap();
    assert!(matches!(error, StackError::PortTaken { .. }));
    assert!(error.to_string().contains("--port"), "{error}");
}

#[tokio::test]
async fn an_address_that_others_can_reach_is_refused() {
    let mut drill = Drill::new();
    drill.write_template();
    drill.options.listen = "0.0.0.0:0".parse().unwrap();
    let error = Stack::start(drill.options.clone()).await.err().unwrap();
    assert!(matches!(error, StackError::NotLoopback { .. }));
}
