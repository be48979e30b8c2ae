//! What the test function does with what it is given.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

use lambda_runtime::Error;
use serde_json::{Value, json};

/// Looks for other invocations, at most.
const RENDEZVOUS_LOOKS: u32 = 1_000;
/// Between two of them.
const RENDEZVOUS_WAIT: Duration = Duration::from_millis(10);

/// Works through a batch of queue messages. Each body is `{"do": ..., "n": ...}`; `..._first` does
/// it at the first receive only.
pub(crate) async fn batch(event: &Value) -> Result<Value, Error> {
    let mut failures = Vec::new();
    let mut answer = None;
    for record in event["Records"].as_array().into_iter().flatten() {
        let body: Value = serde_json::from_str(text(&record["body"]))?;
        let attributes = &record["attributes"];
        trace(&format!(
            "{} {} {}",
            std::process::id(),
            text(&attributes["MessageGroupId"]),
            body["n"]
        ))?;
        let is_first = text(&attributes["ApproximateReceiveCount"]) == "1";
        let act = match text(&body["do"]).strip_suffix("_first") {
            Some(act) if is_first => act,
            Some(_) => "ok",
            None => text(&body["do"]),
        };
        match act {
            "ok" => {}
            "fail" => failures.push(json!({ "itemIdentifier": record["messageId"] })),
            "error" => return Err("the script says so".into()),
            "crash" => std::process::exit(7),
            "hang" => std::future::pending::<()>().await,
            "answer" => answer = Some(body["answer"].clone()),
            "meet" => meet(body["count"].as_u64().unwrap_or(0)).await?,
            other => return Err(format!("no script {other:?}").into()),
        }
    }
    Ok(answer.unwrap_or_else(|| json!({ "batchItemFailures": failures })))
}

/// Answers HTTP: `/telegram/echo` with the event, `/telegram/boom` not at all, anything else as a
/// webhook that refuses an Update with the text `later` the first time.
pub(crate) fn web(event: &Value) -> Result<Value, Error> {
    match text(&event["rawPath"]) {
        "/telegram/echo" => Ok(json!({ "statusCode": 200, "body": event.to_string() })),
        "/telegram/boom" => Err("details for nobody".into()),
        _ => {
            let body = text(&event["body"]);
            let update: Value = serde_json::from_str(body)?;
            let line = format!(
                "update {} {}",
                update["update_id"],
                text(&update["message"]["text"])
            );
            let seen = traced()?.lines().any(|known| known == line);
            trace(&line)?;
            let status = if !seen && line.ends_with(" later") {
                503
            } else {
                200
            };
            let secret = &event["headers"]["x-telegram-bot-api-secret-token"];
            trace(&format!("secret {}", text(secret).len()))?;
            Ok(json!({ "statusCode": status, "headers": { "Retry-After": "0" } }))
        }
    }
}

/// Waits until so many messages have been started, by whatever process.
async fn meet(count: u64) -> Result<(), Error> {
    for _ in 0..RENDEZVOUS_LOOKS {
        if traced()?.lines().count() as u64 >= count {
            return Ok(());
        }
        tokio::time::sleep(RENDEZVOUS_WAIT).await;
    }
    Err(format!("{count} messages were never under way together").into())
}

fn trace_file() -> Result<std::ffi::OsString, Error> {
    std::env::var_os("TRACE_FILE").ok_or_else(|| "TRACE_FILE is not set".into())
}

fn traced() -> Result<String, Error> {
    Ok(std::fs::read_to_string(trace_file()?)?)
}

/// Appends a line; short appends of several processes do not mix.
fn trace(line: &str) -> Result<(), Error> {
    let mut file = OpenOptions::new().create(true).append(true).open(trace_file()?)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
