//! A bot that exists already, behind the stack: it answers its webhook as it would answer Telegram.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{Dev, run, text, told};

/// Longest wait for what happens within a second on an idle machine.
const LIMIT: Duration = Duration::from_secs(60);

/// One request as the bot got it.
struct Request {
    line: String,
    headers: Vec<String>,
    body: String,
}

/// Answers every request on that listener with a reply to the chat that wrote.
fn bot(listener: TcpListener) -> Receiver<Request> {
    let (seen, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut lines = Vec::new();
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap() == 0 || line == "\r\n" {
                    break;
                }
                lines.push(line.trim_end().to_owned());
            }
            let length = lines.iter().find_map(|line| {
                line.to_ascii_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            });
            let mut body = vec![0; length.unwrap_or(0)];
            reader.read_exact(&mut body).unwrap();
            let body = text(&body);
            let update: Value = serde_json::from_str(&body).unwrap_or_default();
            let chat = &update["message"]["chat"]["id"];
            let reply = format!(r#"{{"method":"sendMessage","chat_id":{chat},"text":"from elsewhere"}}"#);
            let length = reply.len();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
            write!(stream, "{head}Content-Length: {length}\r\n\r\n{reply}").unwrap();
            let request = Request {
                line: lines.remove(0),
                headers: lines,
                body,
            };
            // The test may be over.
            seen.send(request).ok();
        }
    });
    requests
}

#[test]
fn an_update_goes_to_the_bot_that_is_named_and_its_answer_to_the_chat() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}/hook", listener.local_addr().unwrap().port());
    let requests = bot(listener);
    let dev = Dev::start_with(&state, &["--forward", &url, "--forward-secret", "its-own_secret"]);
    assert_eq!(dev.ready["forward"], url.as_str());
    assert!(
        dev.ready["api_root"]
            .as_str()
            .unwrap()
            .starts_with("http://127.0.0.1:")
    );
    let state = state.to_str().unwrap();
    let sent = run(&["trigger", "text", "--state-dir", state, "--json"]);
    let sent: Value = serde_json::from_str(&text(&sent.stdout)).unwrap();
    let update = sent["update"].as_str().unwrap();

    let request = requests.recv_timeout(LIMIT).unwrap();
    assert_eq!(request.line, "POST /hook HTTP/1.1");
    let header = |name: &str| {
        let found = request.headers.iter().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then(|| value.to_owned())
        });
        found.unwrap_or_default()
    };
    assert_eq!(header("X-Telegram-Bot-Api-Secret-Token"), "its-own_secret");
    assert!(header("Idempotency-Key").ends_with(&format!(":{update}")));
    assert_eq!(header("Penstock-Attempt"), "1");
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(body["update_id"].to_string(), update);

    let begun = Instant::now();
    loop {
        let trace = run(&["trace", update, "--state-dir", state]);
        let story = text(&trace.stdout);
        if story.contains("done (forwarded)") && story.contains("sendMessage") && story.contains("sent") {
            break;
        }
        assert!(begun.elapsed() < LIMIT, "{}", told(&trace));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_forward_that_is_no_url_is_refused_with_its_reason() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().to_str().unwrap();
    for (url, reason) in [("localhost:3000", "scheme"), ("http://me@127.0.0.1:1/", "user")] {
        let refused = run(&[
            "dev",
            "--headless",
            "--port",
            "0",
            "--state-dir",
            state,
            "--forward",
            url,
        ]);
        assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
        assert!(text(&refused.stderr).contains(reason), "{}", told(&refused));
    }
}
