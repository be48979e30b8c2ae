//! The promise of an answered send, against a process that is killed.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;

use fifo_queue::{Engine, Options, SystemClock};
use serde_json::json;

use crate::http::call;
use crate::support::up_to;

/// Answered sends after which the process is killed, while others are under way.
const ENOUGH: usize = 300;
/// More than can be sent until then.
const AT_MOST: usize = 100_000;

/// A process that does not outlive the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Already gone in the good case.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn answered_sends_survive_the_kill_of_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("q.db");
    let mut process = Process(
        Command::new(env!("CARGO_BIN_EXE_fifo-queue"))
            .args(["--listen", "127.0.0.1:0", "--db"])
            .arg(&path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut line = String::new();
    BufReader::new(process.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address: SocketAddr = line.trim().strip_prefix("http://").unwrap().parse().unwrap();
    let queue = json!({ "QueueName": "q.fifo", "Attributes": { "FifoQueue": "true" } });
    call(address, "CreateQueue", &queue).expect("an answer");

    let (answered, answers) = mpsc::channel();
    let senders: Vec<_> = (0..4)
        .map(|sender| {
            let answered = answered.clone();
            thread::spawn(move || {
                for number in 0..AT_MOST {
                    let body = format!("{sender}-{number}");
                    let request = json!({
                        "QueueUrl": "http://queue/000000000000/q.fifo", "MessageBody": body,
                        "MessageGroupId": sender.to_string(), "MessageDeduplicationId": body,
                    });
                    match call(address, "SendMessage", &request) {
                        Some(answer) if answer.status == 200 => answered.send(body).unwrap(),
                        _ => return,
                    }
                }
            })
        })
        .collect();
    drop(answered);
    let mut promised: Vec<String> = answers.iter().take(ENOUGH).collect();
    process.0.kill().unwrap();
    process.0.wait().unwrap();
    promised.extend(answers.iter());
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    assert!(promised.len() >= ENOUGH);

    let engine = Engine::open(Some(&path), Options::default(), Arc::new(SystemClock)).unwrap();
    let mut found = HashSet::new();
    loop {
        let messages = engine.try_receive("q.fifo", &up_to(10)).unwrap();
        if messages.is_empty() {
            break;
        }
        for message in messages {
            engine.delete("q.fifo", &message.receipt_handle).unwrap();
            found.insert(message.body);
        }
    }
    let lost: Vec<_> = promised.iter().filter(|body| !found.contains(*body)).collect();
    assert!(
        lost.is_empty(),
        "{} of {} answered sends are lost: {lost:?}",
        lost.len(),
        promised.len()
    );
}
