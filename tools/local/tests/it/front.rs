//! The HTTP front over a real function process.

use serde_json::Value;

use crate::harness::{Drill, LIMIT};

#[tokio::test]
async fn a_request_reaches_the_function_as_an_http_api_event() {
    let drill = Drill::new();
    let stack = drill.start().await;
    let client = reqwest::Client::new();
    let answer = client
        .put(format!("{}/telegram/echo?a=1", stack.front_url()))
        .header("content-type", "application/json")
        .body("{\"x\": \"\u{e9}\"}")
        .send()
        .await
        .unwrap();
    let event: Value = answer.json().await.unwrap();
    assert_eq!(event["requestContext"]["http"]["method"], "PUT");
    assert_eq!(event["body"], "{\"x\": \"\u{e9}\"}");
    assert_eq!(event["queryStringParameters"]["a"], "1");
    stack.shutdown().await;
}

#[tokio::test]
async fn a_failing_function_is_a_500_without_its_details() {
    let drill = Drill::new();
    let stack = drill.start().await;
    let answer = reqwest::get(format!("{}/telegram/boom", stack.front_url()))
        .await
        .unwrap();
    assert_eq!(answer.status(), 500);
    assert_eq!(
        answer.text().await.unwrap(),
        "{\"message\":\"Internal Server Error\"}"
    );
    stack.shutdown().await;
}

#[tokio::test]
async fn a_body_over_the_limit_never_reaches_the_function() {
    let drill = Drill::new();
    let stack = drill.start().await;
    let client = reqwest::Client::new();
    let request = client
        .post(format!("{}/telegram/echo", stack.front_url()))
        .body(vec![b'x'; 7 * 1024 * 1024]);
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 413);
    stack.shutdown().await;
}

#[tokio::test]
async fn simulated_telegram_delivers_through_the_front_and_repeats_what_was_refused() {
    let drill = Drill::new();
    let stack = drill.start().await;
    let sim = stack.sim().unwrap();
    let first = sim.user_text(1, 1, "hello").unwrap();
    let second = sim.user_text(2, 2, "later").unwrap();
    assert!(stack.idle(LIMIT).await);
    let trace = drill.trace();
    let count = |line: &str| trace.iter().filter(|known| *known == line).count();
    assert_eq!(count(&format!("update {first} hello")), 1);
    assert_eq!(count(&format!("update {second} later")), 2);
    assert_eq!(count("secret 64"), 3);
    let mut recent: Vec<i64> = stack
        .view()
        .recent_updates()
        .iter()
        .filter_map(|update| update.update_id)
        .collect();
    recent.sort_unstable();
    assert_eq!(recent, [first, second]);
    stack.shutdown().await;
}

#[tokio::test]
async fn web_pages_and_foreign_hosts_are_kept_from_the_services() {
    let drill = Drill::new();
    let stack = drill.start().await;
    let client = reqwest::Client::new();
    let ask = async |name: &'static str, value: String, target: &'static str| {
        let answer = client
            .post(stack.endpoint_url())
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", target)
            .header(name, value)
            .body("{}")
            .send()
            .await
            .unwrap();
        let pages = answer.headers().contains_key("access-control-allow-origin");
        (answer.status().as_u16(), pages)
    };
    for target in [
        "AmazonSQS.ListQueues",
        "DynamoDB_20120810.ListTables",
        "secretsmanager.ListSecrets",
    ] {
        let page = ask("origin", "https://penstock.example".to_owned(), target).await;
        let own_page = ask("origin", stack.endpoint_url().to_owned(), target).await;
        let host = ask("host", "penstock.example".to_owned(), target).await;
        assert_eq!([page, own_page, host], [(403, false); 3], "{target}");
        let program = ask("user-agent", "a-program".to_owned(), target).await;
        assert_ne!(program.0, 403, "{target}");
        assert!(!program.1, "{target}");
    }
    stack.shutdown().await;
}
