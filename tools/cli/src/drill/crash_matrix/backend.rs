//! A backend of the bot's owner, in this process: it remembers what it was handed and answers with a reply to the chat.
//! While it is away its port refuses, and stays its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 128;

/// One Update as it was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Handed {
    pub(super) update: i64,
    /// `Penstock-Try`: another one for every try.
    pub(super) fence: u64,
}

type Log = Arc<Mutex<Vec<Handed>>>;

#[derive(Debug)]
enum Port {
    Served(JoinHandle<()>),
    /// Bound, and nobody listens.
    Refuses(TcpSocket),
    /// Between the two.
    Nothing,
}

/// The backend.
#[derive(Debug)]
pub(super) struct Backend {
    address: SocketAddr,
    port: Port,
    log: Log,
}

impl Backend {
    pub(super) fn start() -> Result<Self, anyhow::Error> {
        let socket = bound(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let mut backend = Self {
            address: socket.local_addr()?,
            port: Port::Refuses(socket),
            log: Log::default(),
        };
        backend.come_back()?;
        Ok(backend)
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// What was handed over so far, in that order.
    pub(super) fn handed(&self) -> Vec<Handed> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Refuses from now on; what is being answered is answered.
    pub(super) async fn go_away(&mut self) -> Result<(), anyhow::Error> {
        if let Port::Served(served) = std::mem::replace(&mut self.port, Port::Nothing) {
            served.abort();
            // It ends as cancelled, and with it the port is free.
            served.await.ok();
        }
        self.port = Port::Refuses(bound(self.address)?);
        Ok(())
    }

    pub(super) fn come_back(&mut self) -> Result<(), anyhow::Error> {
        if let Port::Refuses(socket) = std::mem::replace(&mut self.port, Port::Nothing) {
            let listener = socket.listen(BACKLOG).context("the backend cannot listen")?;
            self.port = Port::Served(tokio::spawn(serve(listener, Arc::clone(&self.log))));
        }
        Ok(())
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        if let Port::Served(served) = &self.port {
            served.abort();
        }
    }
}

fn bound(address: SocketAddr) -> Result<TcpSocket, anyhow::Error> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address).context("the backend has no port")?;
    Ok(socket)
}

async fn serve(listener: TcpListener, log: Log) {
    while let Ok((stream, _)) = listener.accept().await {
        let log = Arc::clone(&log);
        // A caller that dies in the middle of its request is one that a drill has killed.
        tokio::spawn(async move { answer(stream, &log).await.ok() });
    }
}

/// Reads one request and answers it.
async fn answer(stream: TcpStream, log: &Log) -> Result<(), std::io::Error> {
    let mut stream = BufReader::new(stream);
    let (mut is_post, mut length, mut fence) = (None, 0, 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 || line == "\r\n" {
            break;
        }
        let line = line.to_ascii_lowercase();
        is_post.get_or_insert(line.starts_with("post "));
        match line.trim_end().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap_or(0),
            Some(("penstock-try", value)) => fence = value.parse().unwrap_or(0),
            Some(_) | None => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let mut reply = String::new();
    if is_post == Some(true) {
        let update: Value = serde_json::from_slice(&body).unwrap_or_default();
        let id = update["update_id"].as_i64().unwrap_or(-1);
        let handed = Handed { update: id, fence };
        log.lock().unwrap_or_else(PoisonError::into_inner).push(handed);
        if let Some(chat) = chat_of(&update) {
            reply =
                json!({"method": "sendMessage", "chat_id": chat, "text": format!("seen {id}")}).to_string();
        }
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        reply.len()
    );
    stream.write_all(format!("{head}{reply}").as_bytes()).await?;
    stream.shutdown().await
}

/// The chat that an Update came from, if it came from one.
fn chat_of(update: &Value) -> Option<i64> {
    let members = update.as_object()?;
    let chat = |member: &Value| {
        let there = member["chat"]["id"].as_i64();
        there.or_else(|| member["message"]["chat"]["id"].as_i64())
    };
    members.values().find_map(chat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_counts_what_it_is_handed_and_refuses_while_it_is_away() {
        let mut backend = Backend::start().unwrap();
        let client = reqwest::Client::new();
        let post = || {
            let body = json!({"update_id": 7, "message": {"chat": {"id": 5}}}).to_string();
            let request = client.post(backend.url()).header("Penstock-Try", "3");
            request.body(body).send()
        };
        let reply: Value = serde_json::from_str(&post().await.unwrap().text().await.unwrap()).unwrap();
        assert_eq!(reply["text"], "seen 7");
        assert_eq!(backend.handed(), [Handed { update: 7, fence: 3 }]);
        let head = client.head(backend.url()).send().await.unwrap();
        assert!(head.status().is_success());
        backend.go_away().await.unwrap();
        let refused = client.head(backend.url()).send().await.unwrap_err();
        assert!(refused.is_connect());
        backend.come_back().unwrap();
        assert!(client.head(backend.url()).send().await.is_ok());
        assert_eq!(backend.handed().len(), 1, "a HEAD is no Update");
    }
}
