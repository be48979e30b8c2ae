//! A server on loopback that follows a script on each connection and remembers what it was sent. Bound to a random
//! port; it ends with the test's runtime.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use penstock_backend::{HttpBackend, HttpTimes, Target};
use penstock_domain::ids::{BotId, LedgerKey, UpdateId};
use penstock_domain::intent::Call;
use penstock_domain::secret::WebhookSecret;
use penstock_domain::time::Timestamp;
use penstock_ports::{Backend, BackendError, Clock, Forward};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Where the end of a request's head is looked for, and the end of it.
const HEAD_END: &[u8] = b"\r\n\r\n";

/// The secret of these tests.
pub(crate) const SECRET: &str = "hook-secret_0123456789";

/// The Update of these tests.
pub(crate) const UPDATE: &str = r#"{"update_id":8,"message":{"chat":{"id":5},"from":{"first_name":"Zo\u00eb"},"text":"Mimi likes fish"}}"#;

/// Ample time: no test waits for it.
pub(crate) const AMPLE: Duration = Duration::from_secs(30);

/// The time of a test that sees it end.
pub(crate) const SHORT: Duration = Duration::from_millis(200);

/// A clock that stands still at the example of RFC 9110: Sun, 06 Nov 1994 08:49:37 GMT.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(784_111_777_000)
    }
}

/// What a server does on a connection, in order. After the last step it closes.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Reads a whole request.
    Read,
    /// Reads so many bytes.
    ReadBytes(usize),
    /// Writes.
    Write(Vec<u8>),
    /// Waits a little, as a slow handler does.
    Think(Duration),
    /// Writes one byte now and then, for ever.
    Drip(u8),
    /// Writes as fast as is read, for ever.
    Flood(Vec<u8>),
    /// Does nothing, for ever.
    Stall,
    /// Ends the connection with a reset.
    Reset,
}

/// A written answer.
pub(crate) fn write(text: &str) -> Step {
    Step::Write(text.as_bytes().to_vec())
}

/// An answer with that status, type and body.
pub(crate) fn answer(status: u16, content_type: &str, body: &str) -> Step {
    write(&format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (written, value) = line.split_once(':')?;
            written.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A server and its memory.
pub(crate) struct Server {
    pub(crate) address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// The requests that came whole.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// How many connections were taken.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }
}

/// A server that follows these steps on every connection.
pub(crate) async fn following(steps: Vec<Step>) -> Server {
    serving(move |_| steps.clone()).await
}

/// A server that reads requests for ever and answers each one by what is in it.
pub(crate) async fn answering(answer: impl Fn(&Seen) -> Vec<u8> + Clone + Send + 'static) -> Server {
    let (listener, server) = listen().await;
    let (seen, connections) = (Arc::clone(&server.seen), Arc::clone(&server.connections));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            connections.fetch_add(1, Ordering::SeqCst);
            let (seen, answer) = (Arc::clone(&seen), answer.clone());
            tokio::spawn(async move {
                while let Some(request) = read(&mut stream).await {
                    let answer = answer(&request);
                    seen.lock().unwrap().push(request);
                    if stream.write_all(&answer).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    server
}

/// A server whose script depends on the connection's number, from 0.
pub(crate) async fn serving(script: impl Fn(usize) -> Vec<Step> + Send + 'static) -> Server {
    let (listener, server) = listen().await;
    let (seen, connections) = (Arc::clone(&server.seen), Arc::clone(&server.connections));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let steps = script(connections.fetch_add(1, Ordering::SeqCst));
            tokio::spawn(follow(stream, steps, Arc::clone(&seen)));
        }
    });
    server
}

async fn listen() -> (TcpListener, Server) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = Server {
        address: listener.local_addr().unwrap().to_string(),
        seen: Arc::default(),
        connections: Arc::default(),
    };
    (listener, server)
}

async fn follow(mut stream: TcpStream, steps: Vec<Step>, seen: Arc<Mutex<Vec<Seen>>>) {
    for step in steps {
        let went_on = match step {
            Step::Read => match read(&mut stream).await {
                Some(request) => {
                    seen.lock().unwrap().push(request);
                    true
                }
                None => false,
            },
            Step::ReadBytes(count) => stream.read_exact(&mut vec![0; count]).await.is_ok(),
            Step::Write(bytes) => stream.write_all(&bytes).await.is_ok(),
            Step::Think(time) => {
                tokio::time::sleep(time).await;
                true
            }
            Step::Drip(byte) => {
                while stream.write_all(&[byte]).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                false
            }
            Step::Flood(bytes) => {
                while stream.write_all(&bytes).await.is_ok() {}
                false
            }
            Step::Stall => std::future::pending().await,
            Step::Reset => {
                stream.set_zero_linger().unwrap();
                false
            }
        };
        if !went_on {
            return;
        }
    }
}

/// The next request of a connection; `None` if it ends before one is whole.
async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    loop {
        if let Some(at) = bytes
            .windows(HEAD_END.len())
            .position(|window| window == HEAD_END)
        {
            let head = String::from_utf8(bytes[..at].to_vec()).unwrap();
            let mut request = Seen {
                head,
                body: bytes[at + HEAD_END.len()..].to_vec(),
            };
            let length: usize = request
                .header("content-length")
                .map_or(0, |length| length.parse().unwrap());
            let have = request.body.len();
            request.body.resize(length.max(have), 0);
            stream.read_exact(&mut request.body[have..]).await.ok()?;
            return Some(request);
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// An address where nobody listens, and nobody will while it lives.
pub(crate) struct Nobody(TcpSocket);

impl Nobody {
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        Self(socket)
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.0.local_addr().unwrap())
    }
}

/// A client of that URL.
pub(crate) fn client(url: &str) -> HttpBackend<Still> {
    client_with(url, None, HttpTimes::default())
}

/// A client of that URL with an authority and times.
pub(crate) fn client_with(url: &str, ca: Option<&str>, times: HttpTimes) -> HttpBackend<Still> {
    let secret = Some(WebhookSecret::new(SECRET.to_owned()));
    let Target::Http(target) = Target::parse(url, secret, ca).unwrap() else {
        panic!("{url} is no URL");
    };
    HttpBackend::new(target, times, Still).unwrap()
}

/// Hands over the Update of these tests.
pub(crate) async fn deliver<B: Backend>(backend: &B, limit: Duration) -> Result<Option<Call>, BackendError> {
    deliver_as(backend, UPDATE, 1, limit).await
}

/// Hands over that Update as that attempt.
pub(crate) async fn deliver_as<B: Backend>(
    backend: &B,
    update: &str,
    attempt: u32,
    limit: Duration,
) -> Result<Option<Call>, BackendError> {
    let key = LedgerKey::new(BotId(4242), UpdateId(8));
    backend
        .deliver(&Forward {
            update,
            key: &key,
            attempt,
            fence: 3,
            received_at: Timestamp::from_millis(1_767_323_045_006),
            trace_id: "00000000000010920000000000000008",
            limit,
        })
        .await
}

/// The code of a delivery's failure.
pub(crate) async fn code<B: Backend>(backend: &B, limit: Duration) -> String {
    deliver(backend, limit).await.unwrap_err().code()
}
