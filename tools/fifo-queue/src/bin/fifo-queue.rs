//! Serves queues over HTTP: `fifo-queue [--listen 127.0.0.1:PORT] [--db PATH] [--synchronous-full]`.
//! Prints the address it listens on and stops at an interrupt. Must not listen where callers are not trusted:
//! it checks no signatures.
#![expect(
    clippy::print_stdout,
    reason = "the address and the usage are this program's output"
)]

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use fifo_queue::http::{self, HttpConfig};
use fifo_queue::{Engine, Options, SystemClock};

const USAGE: &str = "usage: fifo-queue [--listen 127.0.0.1:PORT] [--db PATH] [--synchronous-full]";

/// What asks for the usage.
const HELP: [&str; 2] = ["--help", "-h"];

struct Arguments {
    listen: SocketAddr,
    db: Option<PathBuf>,
    options: Options,
}

fn arguments(given: impl Iterator<Item = String>) -> Result<Arguments, Box<dyn Error>> {
    let mut given = given;
    let mut read = Arguments {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        db: None,
        options: Options::default(),
    };
    while let Some(flag) = given.next() {
        match flag.as_str() {
            "--listen" => read.listen = given.next().ok_or(USAGE)?.parse()?,
            "--db" => read.db = Some(given.next().ok_or(USAGE)?.into()),
            "--synchronous-full" => read.options.synchronous_full = true,
            unknown => return Err(format!("unknown argument `{unknown}`; {USAGE}").into()),
        }
    }
    Ok(read)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args()
        .skip(1)
        .any(|argument| HELP.contains(&argument.as_str()))
    {
        println!("{USAGE}");
        return Ok(());
    }
    let arguments = arguments(std::env::args().skip(1))?;
    let engine = Engine::open(arguments.db.as_deref(), arguments.options, Arc::new(SystemClock))?;
    let listener = tokio::net::TcpListener::bind(arguments.listen).await?;
    let base_url = format!("http://{}", listener.local_addr()?);
    println!("{base_url}");
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    http::serve(listener, engine, HttpConfig::local(base_url), interrupted).await?;
    Ok(())
}
