//! Order within a group, however many pollers there are.

use std::collections::BTreeMap;

use serde_json::json;

use crate::harness::{Drill, LIMIT, send, work_url};

#[tokio::test]
async fn a_group_stays_in_order_under_five_pollers_and_nothing_is_lost_or_doubled() {
    const GROUPS: usize = 12;
    const EACH: usize = 15;
    let drill = Drill::new();
    let stack = drill.start().await;
    let mut messages = Vec::new();
    for n in 0..EACH {
        for group in 0..GROUPS {
            messages.push((format!("g{group}"), n, json!({"do": "ok"})));
        }
    }
    send(&stack.clients().sqs, &work_url(&stack), &messages).await;
    assert!(stack.idle(LIMIT).await);
    let mut by_group: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for line in drill.trace() {
        let words: Vec<&str> = line.split(' ').collect();
        by_group
            .entry(words[1].to_owned())
            .or_default()
            .push(words[2].parse().unwrap());
    }
    assert_eq!(by_group.len(), GROUPS);
    for (group, order) in by_group {
        assert_eq!(order, (0..EACH).collect::<Vec<_>>(), "group {group}");
    }
    let mapping = &stack.view().mappings()[0];
    assert_eq!(mapping.deleted, (GROUPS * EACH) as u64);
    stack.shutdown().await;
}
