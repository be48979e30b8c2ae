//! `penstock trigger`: sends a sample, or a file, to the running stack through its webhook, as Telegram would.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use penstock_domain::ids::BotId;
use penstock_events::{Expect, Secret, find, samples, with_update_id};
use penstock_local::SIMULATED_BOT_ID;
use serde::Serialize;
use serde_json::Value;

use crate::called;
use crate::failure::{Ended, Failure};
use crate::feed::fresh_update_id;
use crate::ledger::key_of;
use crate::print;
use crate::running::{DEFAULT_STATE_DIR, Running};
use crate::table::{Align, lines};

/// What to send.
#[derive(Debug, Args)]
pub(crate) struct TriggerArgs {
    /// Name of a sample; see --list
    sample: Option<String>,
    /// Send this file instead: an update as Telegram sends it
    #[arg(long, value_name = "FILE", conflicts_with = "sample")]
    file: Option<PathBuf>,
    /// List the samples
    #[arg(long)]
    list: bool,
    /// Send it so many times
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    times: u32,
    /// Keep the update id, so that a repeat is a duplicate; otherwise each one gets a fresh id
    #[arg(long)]
    same_id: bool,
    /// State directory of the running stack
    #[arg(long, value_name = "DIR", default_value = DEFAULT_STATE_DIR)]
    state_dir: PathBuf,
    /// Answer in JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// One request that was made.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Triggered {
    http_status: u16,
    /// The update's id, or the key of a body that has none: what `penstock trace` takes.
    update: String,
    as_expected: bool,
}

/// What is sent.
struct Parcel {
    body: Vec<u8>,
    secret: Secret,
    http_status: u16,
    /// Whether the example bot may send something for it.
    is_answered: bool,
}

pub(crate) async fn run(args: &TriggerArgs) -> Result<Ended, Failure> {
    if args.list {
        list(args.json);
        return Ok(Ended::Well);
    }
    let parcel = parcel(args).map_err(Failure::Usage)?;
    let running = Running::find(&args.state_dir).await?;
    let webhook = running.webhook();
    let mut is_well = true;
    for _ in 0..args.times {
        let body = if args.same_id {
            parcel.body.clone()
        } else {
            with_update_id(&parcel.body, fresh_update_id()).unwrap_or_else(|| parcel.body.clone())
        };
        let update = name_of(BotId(running.bot_id), &body);
        let http_status = webhook.post(body, parcel.secret).await?;
        let triggered = Triggered {
            http_status,
            update,
            as_expected: http_status == parcel.http_status,
        };
        is_well &= triggered.as_expected;
        tell(args, &triggered);
    }
    let chat = chat_of(&parcel.body).filter(|_| parcel.is_answered && is_well && !args.json);
    if let Some(chat) = chat.filter(|_| running.bot_id == SIMULATED_BOT_ID) {
        print::note(&format!(
            "what the bot sends is at {}, in the list of chats under (chat {chat})",
            running.front
        ));
    }
    Ok(Ended::well_if(is_well))
}

fn parcel(args: &TriggerArgs) -> Result<Parcel, anyhow::Error> {
    if let Some(path) = &args.file {
        let body = std::fs::read(path).map_err(|error| {
            anyhow!(
                "{} cannot be read: {error}; name a file with one update as Telegram sends it",
                path.display()
            )
        })?;
        return Ok(Parcel {
            body,
            secret: Secret::Right,
            http_status: 200,
            is_answered: true,
        });
    }
    let list = called::command("trigger --list");
    let Some(name) = args.sample.as_deref() else {
        return Err(anyhow!(
            "send what? name a sample (`{list}` shows them), or a file with --file"
        ));
    };
    let sample = find(name).ok_or_else(|| anyhow!("there is no sample `{name}`: see `{list}`"))?;
    Ok(Parcel {
        body: sample.raw().into_owned(),
        secret: sample.secret,
        http_status: sample.expect.http_status,
        is_answered: sample.expect.sends.max > 0,
    })
}

/// What `penstock trace` takes for this body.
fn name_of(bot: BotId, body: &[u8]) -> String {
    let key = key_of(bot, body);
    let own = format!("{bot}:");
    match key.as_str().strip_prefix(&own) {
        Some(id) if !id.starts_with("q:") => id.to_owned(),
        _ => key.as_str().to_owned(),
    }
}

/// The chat that an Update belongs to, as far as it names one.
fn chat_of(body: &[u8]) -> Option<i64> {
    let update: Value = serde_json::from_slice(body).ok()?;
    let mut members = update.as_object()?.values();
    members.find_map(|member| {
        let chat = member
            .pointer("/chat/id")
            .or_else(|| member.pointer("/message/chat/id"));
        chat?.as_i64()
    })
}

fn tell(args: &TriggerArgs, triggered: &Triggered) {
    if args.json {
        return print::json(triggered);
    }
    let Triggered {
        http_status,
        update,
        as_expected,
    } = triggered;
    print::data(&format!("http {http_status}  update {update}"));
    if !as_expected {
        print::note("that is not the answer that was expected: look at the stack's log");
    } else if *http_status == 200 || update.contains(':') {
        let place = args.state_dir.display().to_string();
        let state_dir = if place == DEFAULT_STATE_DIR {
            String::new()
        } else {
            format!(" --state-dir {place}")
        };
        let next = called::command(&format!("trace {update}{state_dir}"));
        print::note(&format!("next: {next}"));
    }
}

fn list(json: bool) {
    if json {
        for sample in samples() {
            let Expect {
                http_status,
                outcome,
                sends,
                ..
            } = sample.expect;
            let outcome = outcome.name();
            print::json(&serde_json::json!({
                "sample": sample.name, "kind": sample.kind, "http_status": http_status,
                "outcome": outcome, "sends": sends.max,
            }));
        }
        return;
    }
    let heading = [
        ("sample", Align::Left),
        ("kind", Align::Left),
        ("outcome", Align::Left),
        ("sends", Align::Right),
    ];
    let rows: Vec<Vec<String>> = samples()
        .iter()
        .map(|sample| {
            let kind = if sample.kind.is_empty() { "-" } else { sample.kind };
            let outcome = sample.expect.outcome.name();
            vec![
                sample.name.to_owned(),
                kind.to_owned(),
                outcome.to_owned(),
                sample.expect.sends.max.to_string(),
            ]
        })
        .collect();
    for line in lines(&heading, &rows) {
        print::data(&line);
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: TriggerArgs,
    }

    fn parse(line: &str) -> Result<TriggerArgs, clap::Error> {
        Line::try_parse_from(line.split(' ')).map(|line| line.args)
    }

    #[test]
    fn a_sample_a_file_or_the_list_is_asked_for() {
        for line in [
            "trigger text",
            "trigger --file x.json --times 3",
            "trigger --list",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
        for line in ["trigger text --file x.json", "trigger text --times 0"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn an_unknown_sample_and_none_name_the_list() {
        for (line, part) in [("trigger pigeon", "`pigeon`"), ("trigger", "name a sample")] {
            let told = parcel(&parse(line).unwrap())
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            assert!(told.contains(part) && told.contains("trigger --list"), "{told}");
        }
    }

    #[test]
    fn the_chat_of_a_reply_is_read_from_the_message_or_the_pressed_one() {
        let chat = |body: &str| chat_of(body.as_bytes());
        assert_eq!(chat(r#"{"update_id":1,"message":{"chat":{"id":5}}}"#), Some(5));
        assert_eq!(
            chat(r#"{"callback_query":{"message":{"chat":{"id":-7}},"id":"1"}}"#),
            Some(-7)
        );
        assert_eq!(chat(r#"{"update_id":1,"poll":{}}"#), None);
        assert_eq!(chat("nonsense"), None);
    }

    #[test]
    fn the_wrong_secret_is_sent_with_the_sample_of_that_name() {
        let parcel = parcel(&parse("trigger wrong_secret").unwrap()).unwrap();
        assert_eq!((parcel.secret, parcel.http_status), (Secret::Wrong, 403));
    }

    #[test]
    fn what_is_traced_is_the_update_id_or_the_key_of_the_bytes() {
        assert_eq!(name_of(BotId(7), br#"{"update_id":12,"poll":{}}"#), "12");
        assert!(name_of(BotId(7), b"nonsense").starts_with("7:q:"));
    }
}
