//! The protocol: what goes over the wire, read as plain JSON.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use fifo_queue::http::{HttpConfig, serve};
use fifo_queue::{Engine, Options, SystemClock};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// An answer: status, head, body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Value,
}

/// One request on a connection of its own; `None` when the server went away.
pub(crate) fn call(address: SocketAddr, operation: &str, body: &Value) -> Option<Answer> {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).ok()?;
    let head = format!(
        "POST / HTTP/1.1\r\nHost: queue\r\nX-Amz-Target: AmazonSQS.{operation}\r\nConnection: close\r\n\
         Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer {
        status,
        head: head.to_ascii_lowercase(),
        body: serde_json::from_str(body).ok()?,
    })
}

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Server {
    async fn start() -> Self {
        let engine = Engine::open(None, Options::default(), Arc::new(SystemClock)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let config = HttpConfig::local(format!("http://{address}"));
        let served = tokio::spawn(serve(listener, engine, config, async {
            stopped.await.ok();
        }));
        let server = Self {
            address,
            stop,
            served,
        };
        let queue = json!({ "QueueName": "q.fifo", "Attributes": { "FifoQueue": "true" } });
        assert_eq!(server.call("CreateQueue", queue).await.status, 200);
        server
    }

    async fn call(&self, operation: &'static str, body: Value) -> Answer {
        let address = self.address;
        tokio::task::spawn_blocking(move || call(address, operation, &body))
            .await
            .unwrap()
            .expect("an answer")
    }

    fn url(&self) -> String {
        format!("http://{}/000000000000/q.fifo", self.address)
    }
}

#[tokio::test]
async fn refusal_has_both_codes() {
    let server = Server::start().await;
    let answer = server
        .call("GetQueueUrl", json!({ "QueueName": "nope.fifo" }))
        .await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.body["__type"], "com.amazonaws.sqs#QueueDoesNotExist");
    let header = "x-amzn-query-error: aws.simplequeueservice.nonexistentqueue;sender";
    assert!(answer.head.contains(header), "{}", answer.head);
}

#[tokio::test]
async fn attributes_of_messages_come_back_with_their_sums() {
    let server = Server::start().await;
    let sent = server
        .call(
            "SendMessage",
            json!({
                "QueueUrl": server.url(), "MessageBody": "hello", "MessageGroupId": "a",
                "MessageDeduplicationId": "1",
                "MessageAttributes": {
                    "app.kind": { "DataType": "String", "StringValue": "é" },
                    "raw": { "DataType": "Binary", "BinaryValue": "AP8=" },
                },
            }),
        )
        .await;
    assert_eq!(sent.body["MD5OfMessageBody"], "5d41402abc4b2a76b9719d911017c592");
    let receive = json!({
        "QueueUrl": server.url(), "MessageAttributeNames": ["app.*"],
        "MessageSystemAttributeNames": ["MessageGroupId"], "VisibilityTimeout": 0,
    });
    let received = server.call("ReceiveMessage", receive).await;
    let message = &received.body["Messages"][0];
    assert_eq!(message["Attributes"], json!({ "MessageGroupId": "a" }));
    let expected = json!({ "app.kind": { "DataType": "String", "StringValue": "é" } });
    assert_eq!(message["MessageAttributes"], expected);
    let all = json!({ "QueueUrl": server.url(), "MessageAttributeNames": ["All"] });
    let received = server.call("ReceiveMessage", all).await;
    let message = &received.body["Messages"][0];
    assert_eq!(message["MessageAttributes"]["raw"]["BinaryValue"], "AP8=");
    assert_eq!(
        message["MD5OfMessageAttributes"],
        sent.body["MD5OfMessageAttributes"]
    );
}

#[tokio::test]
async fn batch_answers_each_entry_under_its_id() {
    let server = Server::start().await;
    let entry = |id: &str, body: &str| json!({ "Id": id, "MessageBody": body, "MessageGroupId": "a", "MessageDeduplicationId": id });
    let entries = json!([entry("good", "x"), entry("bad", "\u{1}"), { "Id": "empty" }]);
    let answer = server
        .call(
            "SendMessageBatch",
            json!({ "QueueUrl": server.url(), "Entries": entries }),
        )
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body["Successful"][0]["Id"], "good");
    let failed = answer.body["Failed"].as_array().unwrap();
    let failed: Vec<_> = failed
        .iter()
        .map(|entry| (&entry["Id"], &entry["Code"]))
        .collect();
    let expected =
        [("bad", "InvalidMessageContents"), ("empty", "MissingParameter")].map(|(a, b)| (json!(a), json!(b)));
    assert_eq!(
        failed,
        expected.iter().map(|(id, code)| (id, code)).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn lists_of_queues_have_pages() {
    let server = Server::start().await;
    for name in ["b", "c"] {
        server.call("CreateQueue", json!({ "QueueName": name })).await;
    }
    let first = server.call("ListQueues", json!({ "MaxResults": 2 })).await;
    assert_eq!(first.body["QueueUrls"].as_array().map(Vec::len), Some(2));
    let rest = server
        .call(
            "ListQueues",
            json!({ "MaxResults": 2, "NextToken": first.body["NextToken"] }),
        )
        .await;
    assert_eq!(rest.body["QueueUrls"], json!([server.url()]));
    assert_eq!(rest.body["NextToken"], Value::Null);
}

#[tokio::test]
async fn unknown_operation_and_unfit_body_are_refused() {
    let server = Server::start().await;
    let unknown = server.call("AddPermission", json!({})).await;
    assert_eq!(unknown.body["__type"], "com.amazonaws.sqs#InvalidAction");
    let unfit = server.call("SendMessage", json!({ "QueueUrl": 5 })).await;
    assert_eq!(unfit.body["__type"], "com.amazonaws.sqs#SerializationException");
    let urlless = server.call("SendMessage", json!({ "MessageBody": "x" })).await;
    assert_eq!(urlless.body["__type"], "com.amazonaws.sqs#MissingParameter");
}

#[tokio::test]
async fn closing_answers_waiting_receivers() {
    let server = Server::start().await;
    let body = json!({ "QueueUrl": server.url(), "WaitTimeSeconds": 20 });
    let mut stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let text = body.to_string();
    let request = format!(
        "POST / HTTP/1.1\r\nHost: queue\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    );
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes())
        .await
        .unwrap();
    // The call below is answered after the one above has begun to be read; then the server is told to stop.
    server.call("ListQueues", json!({})).await;
    server.stop.send(()).unwrap();
    let stopped = tokio::time::timeout(std::time::Duration::from_secs(15), server.served).await;
    stopped
        .expect("well before the wait of 20 seconds ends")
        .unwrap()
        .unwrap();
}
