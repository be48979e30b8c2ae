//! A batch of which the queue takes only a part, before a server that answers as it was told.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use penstock_aws::SqsQueue;
use penstock_domain::ids::{DeduplicationId, MessageGroupId};
use penstock_ports::{Enqueue, PortError, QueueSender as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// One request: the ids of its entries, each with its body.
async fn request(stream: &mut TcpStream) -> Option<Vec<(String, String)>> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                let body: Value = serde_json::from_str(body).unwrap();
                let entries = body["Entries"].as_array().unwrap().iter();
                let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
                return Some(
                    entries
                        .map(|entry| (text(entry, "Id"), text(entry, "MessageBody")))
                        .collect(),
                );
            }
        }
        let mut buffer = [0_u8; 4096];
        let read = stream.read(&mut buffer).await.unwrap();
        if read == 0 {
            return None;
        }
        bytes.extend_from_slice(&buffer[..read]);
    }
}

/// Fails the named bodies as often as it is said, each time once; gives back the bodies of every request.
async fn served(
    listener: TcpListener,
    mut fails: Vec<(&'static str, bool)>,
    requests: usize,
) -> Vec<Vec<String>> {
    let mut seen = Vec::new();
    while seen.len() < requests {
        let (mut stream, _) = listener.accept().await.unwrap();
        while let Some(entries) = request(&mut stream).await {
            let (mut successful, mut failed) = (Vec::new(), Vec::new());
            for (id, body) in &entries {
                match fails.iter().position(|(name, _)| name == body) {
                    Some(at) => {
                        let (_, sender_fault) = fails.remove(at);
                        failed.push(json!({"Id": id, "SenderFault": sender_fault, "Code": "InternalError"}));
                    }
                    None => successful.push(json!({"Id": id, "MessageId": id, "MD5OfMessageBody": ""})),
                }
            }
            seen.push(entries.into_iter().map(|(_, body)| body).collect());
            let body = json!({"Successful": successful, "Failed": failed}).to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            stream.write_all((head + &body).as_bytes()).await.unwrap();
            if seen.len() == requests {
                break;
            }
        }
    }
    seen
}

/// Sends a, b and c; what the queue saw, and what came of it.
async fn sent(
    fails: Vec<(&'static str, bool)>,
    requests: usize,
) -> (Vec<Vec<String>>, Result<(), PortError>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(served(listener, fails, requests));
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(&url)
        .build();
    let queue = SqsQueue::new(
        aws_sdk_sqs::Client::from_conf(config),
        &format!("{url}/000000000000/outbound.fifo"),
    );
    let message = |body: &str| Enqueue {
        group: MessageGroupId("1:c:5".to_owned()),
        deduplication: DeduplicationId(body.to_owned()),
        body: body.to_owned(),
    };
    let answer = queue.enqueue_all(["a", "b", "c"].map(message).into()).await;
    (server.await.unwrap(), answer)
}

#[tokio::test]
async fn what_the_queue_failed_on_goes_again_at_once_and_alone() {
    let (seen, answer) = sent(vec![("a", false), ("c", false), ("c", false)], 3).await;
    assert_eq!(seen, [vec!["a", "b", "c"], vec!["a", "c"], vec!["c"]]);
    assert!(answer.is_ok(), "{answer:?}");
}

#[tokio::test]
async fn what_the_queue_fails_on_every_time_is_told() {
    let (seen, answer) = sent(vec![("b", false), ("b", false), ("b", false)], 3).await;
    assert_eq!(seen, [vec!["a", "b", "c"], vec!["b"], vec!["b"]]);
    assert!(matches!(answer, Err(PortError::Unavailable { .. })), "{answer:?}");
}

#[tokio::test]
async fn what_the_queue_will_never_take_is_not_sent_again() {
    let (seen, answer) = sent(vec![("b", true)], 1).await;
    assert_eq!(seen.len(), 1);
    assert!(matches!(answer, Err(PortError::Rejected { .. })), "{answer:?}");
}
