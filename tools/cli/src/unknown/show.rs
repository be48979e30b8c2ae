//! `penstock unknown show`: an update's sends, and what people did to them.

use clap::Args;
use penstock_ports::Repairs as _;
use penstock_repair::RepairError;
use serde::Serialize;

use super::failed;
use super::sends::Send;
use crate::failure::{Ended, Failure};
use crate::operator::place::PlaceArgs;
use crate::trace::{Subject, utc};
use crate::{called, print};

/// Which one.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The update's id, or a whole key as `unknown list` shows it
    update: Subject,
    #[command(flatten)]
    place: PlaceArgs,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Story {
    key: String,
    state: &'static str,
    received_at: i64,
    sends: Vec<Send>,
    audit: Vec<Act>,
}

#[derive(Debug, Serialize)]
struct Act {
    action: &'static str,
    who: String,
    why: String,
    at: i64,
    send: Option<u8>,
}

pub(super) async fn run(args: &ShowArgs) -> Result<Ended, Failure> {
    let place = args.place.find().await?;
    let key = place.key(&args.update)?;
    let broken = |error: penstock_ports::PortError| Failure::Broken(error.into());
    let letter = place.ledger.letter(&key).await.map_err(broken)?;
    let letter = letter.ok_or_else(|| failed(RepairError::NotFound(key.clone())))?;
    let audit = place.ledger.audit(&key).await.map_err(broken)?;
    let story = Story {
        key: key.as_str().to_owned(),
        state: letter.record.state.name(),
        received_at: letter.subject.received_at.as_millis(),
        sends: letter.record.intents.iter().map(Send::of).collect(),
        audit: audit
            .into_iter()
            .map(|row| Act {
                action: row.action.name(),
                who: row.who,
                why: row.why,
                at: row.at.as_millis(),
                send: row.send.map(|(n, _)| n),
            })
            .collect(),
    };
    if args.json {
        print::json(&story);
        return Ok(Ended::Well);
    }
    story.lines().iter().for_each(|line| print::data(line));
    if story.sends.iter().any(|send| send.cure().is_some()) {
        let (place, actor) = (args.place.words(), called::actor());
        let settle = format!("unknown settle {key} --sent --reason TEXT{actor}{place}");
        print::note(&format!("next: {}", called::command(&settle)));
    }
    Ok(Ended::Well)
}

impl Story {
    fn lines(&self) -> Vec<String> {
        let mut told = vec![
            format!("update {}  {}", self.key, self.state),
            format!("  received  {}", utc(self.received_at)),
        ];
        for send in &self.sends {
            let mut line = format!(
                "  send {}  {}  {}  to {}",
                send.n, send.method, send.state, send.group
            );
            if let Some(id) = send.message_id {
                line += &format!("  message {id}");
            }
            if send.resend > 0 {
                line += &format!("  sent again {} times", send.resend);
            }
            told.push(line);
            if let (Some(code), Some(message)) = (&send.code, &send.message) {
                told.push(format!("    {code}: {message}"));
            }
            told.extend(send.cure().map(|cure| format!("    cure: {cure}")));
        }
        let acts = self.audit.iter().map(|act| {
            let send = act.send.map(|n| format!(" of send {n}")).unwrap_or_default();
            format!(
                "  {}  {}{send} by {}: {}",
                utc(act.at),
                act.action,
                act.who,
                act.why
            )
        });
        told.extend(acts);
        told
    }
}
