//! Functions as processes: timeouts, crashes, limits, orphans.

use serde_json::json;

use crate::feeding::worker_stats;
use crate::harness::{Drill, LIMIT, pause, send_work, settled, work_depth};

#[tokio::test]
async fn a_function_that_runs_too_long_is_killed_and_its_message_comes_again() {
    let drill = Drill::new().fast().parameter("Batch", "1");
    let stack = drill.start().await;
    send_work(&stack, &[("a", 1, json!({"do": "hang_first"}))]).await;
    settled(&stack, 0, 1).await;
    let worker = worker_stats(&stack);
    let error = worker.last_error.unwrap_or_default();
    assert!(error.contains("Task timed out after 20.00 seconds"), "{error}");
    assert_eq!((worker.instances, worker.errors), (0, 1));
    assert_eq!(work_depth(&stack).await.in_flight, 1);
    assert!(stack.idle(LIMIT).await);
    let worker = worker_stats(&stack);
    assert_eq!((worker.cold_starts, worker.invocations, worker.errors), (2, 2, 1));
    stack.shutdown().await;
}

#[tokio::test]
async fn a_crash_fails_its_invocation_with_the_exit_status() {
    let drill = Drill::new().fast().parameter("Batch", "1");
    let stack = drill.start().await;
    send_work(&stack, &[("a", 1, json!({"do": "crash_first"}))]).await;
    settled(&stack, 0, 1).await;
    let error = worker_stats(&stack).last_error.unwrap_or_default();
    assert!(
        error.contains("Runtime.ExitError") && error.contains("exit status: 7"),
        "{error}"
    );
    assert!(stack.idle(LIMIT).await);
    settled(&stack, 1, 1).await;
    stack.shutdown().await;
}

#[tokio::test]
async fn a_function_that_cannot_start_says_why() {
    let drill = Drill::new()
        .replace("Binary: worker", "Binary: broken")
        .parameter("Batch", "1");
    let stack = drill.start().await;
    send_work(&stack, &[("a", 1, json!({"do": "ok"}))]).await;
    settled(&stack, 0, 1).await;
    let error = worker_stats(&stack).last_error.unwrap_or_default();
    assert!(
        error.contains("ended before it was ready") && error.contains("exit status: 1"),
        "{error}"
    );
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
            .any(|line| line.contains("this function cannot start")),
        "{lines:?}"
    );
    stack.shutdown().await;
}

#[tokio::test]
async fn no_more_invocations_run_at_once_than_the_mapping_allows() {
    let drill = Drill::new().parameter("Limit", "3").parameter("Batch", "1");
    let stack = drill.start().await;
    pause(&stack).await;
    let groups: Vec<String> = (0..12).map(|n| format!("g{n}")).collect();
    let messages: Vec<_> = groups
        .iter()
        .enumerate()
        // The first three go on only when all three are under way.
        .map(|(n, group)| (group.as_str(), n, json!({"do": "meet", "count": 3})))
        .collect();
    send_work(&stack, &messages).await;
    stack.set_mapping_enabled(crate::harness::WORK, true).unwrap();
    assert!(stack.idle(LIMIT).await);
    let mapping = &stack.view().mappings()[0];
    assert_eq!((mapping.peak_in_function, mapping.deleted), (3, 12));
    let worker = worker_stats(&stack);
    assert_eq!(
        (worker.peak_busy, worker.cold_starts, worker.instances),
        (3, 3, 3)
    );
    stack.shutdown().await;
}

#[cfg(target_os = "linux")]
mod orphans {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    use super::*;
    use crate::harness::{WORK, eventually, send};

    /// Whether a process is there and not just waiting to be collected.
    fn is_running(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().trim().chars().next();
        !matches!(state, None | Some('Z' | 'X'))
    }

    #[tokio::test]
    async fn a_killed_stack_leaves_no_function_behind_not_even_one_that_hangs() {
        let drill = Drill::new();
        let template = drill.write_template();
        let directory = drill.directory.path();
        let mut host = Command::new(env!("CARGO_BIN_EXE_local-test-function"))
            .arg("host")
            .args([&template, &directory.join("state"), &directory.join("trace")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut endpoint = String::new();
        BufReader::new(host.stdout.take().unwrap())
            .read_line(&mut endpoint)
            .unwrap();
        let endpoints = penstock_local::aws::Endpoints::one(endpoint.trim());
        let clients = penstock_local::aws::Clients::new(&endpoints, "us-east-1");
        // Its own stack name: the host uses the default one.
        let url = format!(
            "{}/000000000000/{}",
            endpoint.trim(),
            WORK.replace("drill", "penstock")
        );
        let messages = [
            ("a".to_owned(), 1, json!({"do": "hang"})),
            ("b".to_owned(), 2, json!({"do": "hang"})),
        ];
        send(&clients.sqs, &url, &messages).await;
        eventually("a function hangs", async || !drill.trace().is_empty()).await;
        let pids: Vec<String> = drill
            .trace()
            .iter()
            .filter_map(|line| line.split(' ').next().map(str::to_owned))
            .collect();
        assert!(pids.iter().all(|pid| is_running(pid)), "{pids:?}");
        host.kill().unwrap();
        host.wait().unwrap();
        eventually("the functions are gone", async || {
            !pids.iter().any(|pid| is_running(pid))
        })
        .await;
    }
}
