//! What a stack keeps, and what keeps it from starting.

use penstock_local::{Stack, StackError};
use serde_json::json;

use crate::harness::{Drill, LIMIT, pause, send, send_work, work_depth};

#[tokio::test]
async fn messages_identity_and_secret_survive_a_restart() {
    let mut drill = Drill::new();
    drill.options.state_dir = Some(drill.directory.path().join("state"));
    let stack = drill.start().await;
    pause(&stack).await;
    send_work(
        &stack,
        &[("a", 1, json!({"do": "ok"})), ("a", 2, json!({"do": "ok"}))],
    )
    .await;
    let secret = stack.webhook_secret().to_owned();
    stack.shutdown().await;
    assert!(drill.trace().is_empty());

    let stack = drill.start().await;
    assert_eq!(stack.webhook_secret(), secret);
    let stored = stack
        .clients()
        .secrets
        .get_secret_value()
        .secret_id("drill/bot/424242")
        .send()
        .await
        .unwrap();
    assert!(stored.secret_string().unwrap_or_default().contains(&secret));
    assert!(stack.idle(LIMIT).await);
    let order: Vec<String> = drill
        .trace()
        .iter()
        .filter_map(|line| line.rsplit(' ').next().map(str::to_owned))
        .collect();
    assert_eq!(order, ["1", "2"]);
    stack.shutdown().await;
}

#[tokio::test]
async fn a_second_stack_on_the_same_directory_is_refused() {
    let mut drill = Drill::new();
    drill.options.state_dir = Some(drill.directory.path().join("state"));
    let stack = drill.start().await;
    let error = Stack::start(drill.options.clone())
        .await
        .err()
        .map(|error| error.to_string());
    let error = error.unwrap_or_default();
    assert!(
        error.contains("is in use by process") && error.contains("--state-dir"),
        "{error}"
    );
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

#[tokio::test]
async fn the_template_of_this_project_is_created_and_found_again() {
    let mut drill = Drill::new();
    drill.options.template = None;
    drill.options.state_dir = Some(drill.directory.path().join("state"));
    for _ in 0..2 {
        let stack = Stack::start(drill.options.clone()).await.unwrap();
        assert_eq!(stack.view().queues().await.unwrap().len(), 6);
        let tables = stack.clients().dynamodb.list_tables().send().await.unwrap();
        assert_eq!(tables.table_names(), ["drill"]);
        assert!(stack.idle(LIMIT).await);
        stack.shutdown().await;
    }
}

#[tokio::test]
async fn a_stack_works_on_the_services_of_another_endpoint() {
    let host = Drill::new();
    let services = host.start().await;
    let mut drill = Drill::new();
    drill.options.stack_name = "guest".to_owned();
    drill.options.external_endpoint = Some(services.endpoint_url().to_owned());
    let stack = drill.start().await;
    assert!(stack.engine().is_none());
    assert_eq!(stack.endpoint_url(), services.endpoint_url());
    let url = format!("{}/000000000000/guest-work.fifo", services.endpoint_url());
    send(
        &stack.clients().sqs,
        &url,
        &[("a".to_owned(), 1, json!({"do": "ok"}))],
    )
    .await;
    assert!(stack.idle(LIMIT).await);
    assert_eq!(drill.trace().len(), 1);
    assert!(host.trace().is_empty());
    stack.shutdown().await;
    services.shutdown().await;
}
