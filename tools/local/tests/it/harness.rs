//! A small stack for the tests: two queues, a worker fed from one of them, a web function.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use penstock_local::{QueueDepth, Stack, StackOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longest that anything here is waited for.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// The queue of the worker.
pub(crate) const WORK: &str = "drill-work.fifo";
/// The worker.
pub(crate) const WORKER: &str = "drill-worker";

const TEMPLATE: &str = r#"
Transform: AWS::Serverless-2016-10-31
Parameters:
  Limit: {Type: Number, Default: 5}
  Batch: {Type: Number, Default: 10}
Resources:
  Work:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !Sub '${AWS::StackName}-work.fifo'
      FifoQueue: true
      DeduplicationScope: messageGroup
      FifoThroughputLimit: perMessageGroupId
      VisibilityTimeout: 60
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 10}
  Dead:
    Type: AWS::SQS::Queue
    Properties: {QueueName: !Sub '${AWS::StackName}-dead.fifo', FifoQueue: true}
  Worker:
    Type: AWS::Serverless::Function
    Metadata: {BuildProperties: {Binary: worker}}
    Properties:
      FunctionName: !Sub '${AWS::StackName}-worker'
      Timeout: 20
      Events:
        Work:
          Type: SQS
          Properties:
            Queue: !GetAtt Work.Arn
            BatchSize: !Ref Batch
            FunctionResponseTypes: [ReportBatchItemFailures]
            ScalingConfig: {MaximumConcurrency: !Ref Limit}
  Web:
    Type: AWS::Serverless::Function
    Metadata: {BuildProperties: {Binary: web}}
    Properties:
      FunctionName: !Sub '${AWS::StackName}-web'
      Timeout: 10
      Events:
        All: {Type: HttpApi, Properties: {Path: '/{proxy+}', Method: ANY}}
"#;

/// A stack that is not started yet.
pub(crate) struct Drill {
    pub(crate) options: StackOptions,
    pub(crate) directory: TempDir,
    template: String,
}

impl Drill {
    /// At the pace of the wall clock.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut options = StackOptions::new(PathBuf::from(env!("CARGO_BIN_EXE_local-test-function")));
        options.stack_name = "drill".to_owned();
        options.template = Some(directory.path().join("template.yaml"));
        let trace = directory.path().join("trace").display().to_string();
        options.extra_env.insert("TRACE_FILE".to_owned(), trace);
        std::fs::write(directory.path().join("trace"), "").unwrap();
        Self {
            options,
            directory,
            template: TEMPLATE.to_owned(),
        }
    }

    /// With ten stack seconds in one, for tests that wait for a timeout or a visibility timeout.
    pub(crate) fn fast(mut self) -> Self {
        self.options.time_scale = 10.0;
        self
    }

    pub(crate) fn parameter(mut self, name: &str, value: &str) -> Self {
        self.options.parameters.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn replace(mut self, from: &str, to: &str) -> Self {
        assert!(self.template.contains(from), "the template has no {from:?}");
        self.template = self.template.replace(from, to);
        self
    }

    /// Writes the template; gives its path.
    pub(crate) fn write_template(&self) -> PathBuf {
        let path = self.directory.path().join("template.yaml");
        std::fs::write(&path, &self.template).unwrap();
        path
    }

    pub(crate) async fn start(&self) -> Stack {
        self.write_template();
        Stack::start(self.options.clone()).await.unwrap()
    }

    /// What the function wrote down, in order.
    pub(crate) fn trace(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.directory.path().join("trace")).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

/// Sends messages `(group, n, script)` to the worker's queue, in order.
pub(crate) async fn send(client: &aws_sdk_sqs::Client, url: &str, messages: &[(String, usize, Value)]) {
    for chunk in messages.chunks(10) {
        let mut request = client.send_message_batch().queue_url(url);
        for (index, (group, n, script)) in chunk.iter().enumerate() {
            let mut body = script.clone();
            body["n"] = json!(n);
            let entry = SendMessageBatchRequestEntry::builder()
                .id(index.to_string())
                .message_group_id(group)
                .message_deduplication_id(format!("{group}-{n}"))
                .message_body(body.to_string())
                .build()
                .unwrap();
            request = request.entries(entry);
        }
        let answer = request.send().await.unwrap();
        assert!(answer.failed().is_empty(), "{:?}", answer.failed());
    }
}

/// Sends to the worker of a stack.
pub(crate) async fn send_work(stack: &Stack, messages: &[(&str, usize, Value)]) {
    let messages: Vec<(String, usize, Value)> = messages
        .iter()
        .map(|(group, n, script)| ((*group).to_owned(), *n, script.clone()))
        .collect();
    send(&stack.clients().sqs, &work_url(stack), &messages).await;
}

pub(crate) fn work_url(stack: &Stack) -> String {
    format!("{}/000000000000/{WORK}", stack.endpoint_url())
}

/// The worker's queue.
pub(crate) async fn work_depth(stack: &Stack) -> QueueDepth {
    let depths = stack.view().queues().await.unwrap();
    depths.into_iter().find(|depth| depth.name == WORK).unwrap()
}

/// Waits until something holds, and fails with the name of it when it never does.
pub(crate) async fn eventually<F: AsyncFnMut() -> bool>(what: &str, mut holds: F) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < LIMIT, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Pauses the worker's mapping and waits until no poller asks for messages any more.
pub(crate) async fn pause(stack: &Stack) {
    stack.set_mapping_enabled(WORK, false).unwrap();
    eventually("the pollers pause", async || {
        stack.view().mappings()[0].receiving == 0
    })
    .await;
}

/// Waits until the worker's mapping has settled so many messages, deleted or left.
pub(crate) async fn settled(stack: &Stack, deleted: u64, left: u64) {
    eventually(&format!("{deleted} deleted and {left} left"), async || {
        let stats = &stack.view().mappings()[0];
        (stats.deleted, stats.left) == (deleted, left)
    })
    .await;
}
