//! What the event source mapping does with a function's answers.

use serde_json::json;

use crate::harness::{Drill, LIMIT, WORK, WORKER, pause, send_work, settled, work_depth};

#[tokio::test]
async fn listed_failures_stay_and_the_rest_is_deleted() {
    let drill = Drill::new();
    let stack = drill.start().await;
    send_work(
        &stack,
        &[
            ("a", 1, json!({"do": "ok"})),
            ("b", 2, json!({"do": "fail"})),
            ("c", 3, json!({"do": "ok"})),
        ],
    )
    .await;
    settled(&stack, 2, 1).await;
    let depth = work_depth(&stack).await;
    assert_eq!((depth.visible, depth.in_flight), (0, 1));
    stack.shutdown().await;
}

#[tokio::test]
async fn a_failed_message_comes_again_when_its_visibility_ends() {
    let drill = Drill::new().fast();
    let stack = drill.start().await;
    send_work(&stack, &[("a", 1, json!({"do": "fail_first"}))]).await;
    assert!(stack.idle(LIMIT).await);
    assert_eq!(drill.trace().len(), 2);
    settled(&stack, 1, 1).await;
    stack.shutdown().await;
}

#[tokio::test]
async fn answers_that_lambda_rejects_delete_nothing() {
    let drill = Drill::new().parameter("Batch", "1");
    let stack = drill.start().await;
    let answers = [
        json!([]),
        json!("done"),
        json!({"batchItemFailures": [{"itemIdentifier": ""}]}),
        json!({"batchItemFailures": [{"itemIdentifier": null}]}),
        json!({"batchItemFailures": [{"itemIdentifier": "nobody"}]}),
    ];
    for (n, answer) in answers.iter().enumerate() {
        send_work(
            &stack,
            &[(&format!("g{n}"), n, json!({"do": "answer", "answer": answer}))],
        )
        .await;
    }
    settled(&stack, 0, 5).await;
    assert_eq!(work_depth(&stack).await.in_flight, 5);
    assert_eq!(stack.view().mappings()[0].failed_batches, 5);
    stack.shutdown().await;
}

#[tokio::test]
async fn answers_that_name_no_failure_delete_everything() {
    let drill = Drill::new().parameter("Batch", "1");
    let stack = drill.start().await;
    for (n, answer) in [json!(null), json!({}), json!({"batchItemFailures": null})]
        .iter()
        .enumerate()
    {
        send_work(
            &stack,
            &[(&format!("g{n}"), n, json!({"do": "answer", "answer": answer}))],
        )
        .await;
    }
    settled(&stack, 3, 0).await;
    assert!(work_depth(&stack).await.is_empty());
    stack.shutdown().await;
}

#[tokio::test]
async fn without_partial_responses_a_success_deletes_what_the_function_failed() {
    let drill = Drill::new().replace(
        "            FunctionResponseTypes: [ReportBatchItemFailures]\n",
        "",
    );
    let stack = drill.start().await;
    send_work(
        &stack,
        &[("a", 1, json!({"do": "fail"})), ("b", 2, json!({"do": "ok"}))],
    )
    .await;
    settled(&stack, 2, 0).await;
    assert!(work_depth(&stack).await.is_empty());
    stack.shutdown().await;
}

#[tokio::test]
async fn a_function_error_deletes_nothing_and_the_process_is_used_again() {
    let drill = Drill::new().parameter("Limit", "2").parameter("Batch", "1");
    let stack = drill.start().await;
    send_work(&stack, &[("a", 1, json!({"do": "error"}))]).await;
    settled(&stack, 0, 1).await;
    send_work(&stack, &[("b", 2, json!({"do": "ok"}))]).await;
    settled(&stack, 1, 1).await;
    let worker = worker_stats(&stack);
    assert_eq!((worker.cold_starts, worker.invocations, worker.errors), (1, 2, 1));
    assert!(
        worker
            .last_error
            .as_deref()
            .unwrap_or_default()
            .contains("the script says so"),
        "{worker:?}"
    );
    stack.shutdown().await;
}

#[tokio::test]
async fn a_paused_mapping_leaves_messages_until_it_is_enabled() {
    let drill = Drill::new();
    let stack = drill.start().await;
    pause(&stack).await;
    send_work(&stack, &[("a", 1, json!({"do": "ok"}))]).await;
    assert_eq!(work_depth(&stack).await.visible, 1);
    assert!(drill.trace().is_empty());
    stack.set_mapping_enabled(WORK, true).unwrap();
    assert!(stack.idle(LIMIT).await);
    assert_eq!(drill.trace().len(), 1);
    let error = stack.set_mapping_enabled("other.fifo", true).unwrap_err();
    assert!(error.to_string().contains(WORK), "{error}");
    stack.shutdown().await;
}

pub(crate) fn worker_stats(stack: &penstock_local::Stack) -> penstock_local::lambda::FunctionStats {
    stack
        .view()
        .functions()
        .into_iter()
        .find(|stats| stats.name == WORKER)
        .unwrap()
}
