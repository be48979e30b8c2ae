//! `penstock dead show`: one letter's story. Its body is personal data, so it is shown only when asked for.

use std::io::Write as _;

use clap::Args;
use penstock_domain::failure::Failure as Tried;
use penstock_domain::ledger::State;
use penstock_formats::quarantine::Quarantined;
use penstock_ports::{AuditRow, Letter, Repairs as _};
use penstock_repair::{RepairError, cure};
use serde::Serialize;

use super::{failed, redrive_command};
use crate::failure::{Ended, Failure};
use crate::operator::place::PlaceArgs;
use crate::print;
use crate::trace::{Subject, utc};

/// Which one.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The update's id, or a whole key as `dead list` shows it
    update: Subject,
    /// Print its body, and nothing else: personal data
    #[arg(long)]
    raw: bool,
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
    /// Its heading in `dead list`; none where nobody has to look at it.
    kind: Option<&'static str>,
    update_kind: &'static str,
    group: String,
    attempts: u32,
    redrive: u32,
    received_at: i64,
    dead_at: Option<i64>,
    redriven_at: Option<i64>,
    expires_at_s: i64,
    tries: Vec<Try>,
    audit: Vec<Act>,
    cure: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
}

#[derive(Debug, Serialize)]
struct Try {
    attempt: u32,
    code: String,
    message: String,
    disposition: &'static str,
    at: i64,
}

#[derive(Debug, Serialize)]
struct Act {
    action: &'static str,
    who: String,
    why: String,
    at: i64,
    before: String,
    redrive: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    send: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest_after: Option<String>,
}

pub(super) async fn run(args: &ShowArgs) -> Result<Ended, Failure> {
    let place = args.place.find().await?;
    let key = place.key(&args.update)?;
    let broken = |error: penstock_ports::PortError| Failure::Broken(error.into());
    let Some(letter) = place.ledger.letter(&key).await.map_err(broken)? else {
        return Err(failed(RepairError::NotFound(key)));
    };
    let body = if args.raw {
        let kept = place.ledger.body(&key).await.map_err(broken)?;
        Some(kept.ok_or_else(|| failed(RepairError::NoBody))?)
    } else {
        None
    };
    if let (Some(body), false) = (&body, args.json) {
        // A reader that went away is no failure of the command.
        std::io::stdout().lock().write_all(&bytes_of(body)).ok();
        return Ok(Ended::Well);
    }
    let audit = place.ledger.audit(&key).await.map_err(broken)?;
    let story = Story::of(&letter, &audit, body);
    if args.json {
        print::json(&story);
    } else {
        story.lines().iter().for_each(|line| print::data(line));
        if story.is_for_redrive() {
            print::note(&format!("next: {}", redrive_command(&key, &args.place)));
        }
    }
    Ok(Ended::Well)
}

/// What arrived: a quarantined body travels in base64.
fn bytes_of(kept: &str) -> Vec<u8> {
    match Quarantined::read(kept) {
        Ok(quarantined) => quarantined.body,
        Err(_) => kept.as_bytes().to_vec(),
    }
}

/// What to do about a letter.
fn advice(letter: &Letter) -> String {
    let code = letter.record.tries.last().map(|failure| failure.code.as_str());
    match letter.record.state {
        State::Dead if letter.attention.is_none() => {
            "it was discarded; redriving it by its key brings it back".to_owned()
        }
        State::Dead => cure(code.unwrap_or_default()).to_owned(),
        State::Pending => {
            "it was redriven; if it is still pending after a minute, redrive it again".to_owned()
        }
        State::Processing | State::Retrying | State::Deferred => {
            "it is still tried by itself: nothing to do".to_owned()
        }
        State::Done => "it is done: nothing to do".to_owned(),
    }
}

impl Story {
    fn of(letter: &Letter, audit: &[AuditRow], raw: Option<String>) -> Self {
        let record = &letter.record;
        let ms = |at: penstock_domain::time::Timestamp| at.as_millis();
        let tried = |failure: &Tried| Try {
            attempt: failure.attempt,
            code: failure.code.clone(),
            message: failure.message.clone(),
            disposition: failure.disposition.name(),
            at: ms(failure.at),
        };
        let acted = |row: &AuditRow| Act {
            action: row.action.name(),
            who: row.who.clone(),
            why: row.why.clone(),
            at: ms(row.at),
            before: row.before.clone(),
            redrive: row.redrive,
            send: row.send.map(|(n, _)| n),
            digest_before: row.bodies.map(|(before, _)| before.to_string()),
            digest_after: row.bodies.map(|(_, after)| after.to_string()),
        };
        Self {
            key: record.key.as_str().to_owned(),
            state: record.state.name(),
            kind: letter.attention.map(|(kind, _)| kind.name()),
            update_kind: letter.subject.kind.name(),
            group: letter.subject.group.0.clone(),
            attempts: record.attempts,
            redrive: record.redrive,
            received_at: ms(letter.subject.received_at),
            dead_at: letter.dead_at.map(ms),
            redriven_at: letter.redriven_at.map(ms),
            expires_at_s: record.expires_at,
            tries: record.tries.iter().map(tried).collect(),
            audit: audit.iter().map(acted).collect(),
            cure: advice(letter),
            raw,
        }
    }

    /// What failed and what people did, in the order in which it happened.
    fn happenings(&self) -> Vec<String> {
        let tries = self.tries.iter().map(|failed| {
            let Try {
                attempt,
                code,
                disposition,
                message,
                at,
            } = failed;
            (*at, format!("try {attempt}: {code} ({disposition}): {message}"))
        });
        let acts = self
            .audit
            .iter()
            .map(|act| (act.at, format!("{} by {}: {}", act.action, act.who, act.why)));
        let mut all: Vec<(i64, String)> = tries.chain(acts).collect();
        // Stable: what has one time stays in the order in which it is stored.
        all.sort_by_key(|(at, _)| *at);
        all.into_iter()
            .map(|(at, what)| format!("    {}  {what}", utc(at)))
            .collect()
    }

    fn lines(&self) -> Vec<String> {
        let mut told = vec![
            format!("update {}  {}  {}", self.key, self.update_kind, self.state),
            format!("  group     {}", self.group),
            format!("  received  {}", utc(self.received_at)),
        ];
        if let Some(at) = self.dead_at {
            told.push(format!("  died      {}", utc(at)));
        }
        told.push(format!(
            "  tries     {} in generation {}",
            self.attempts, self.redrive
        ));
        told.extend(self.happenings());
        told.push(format!(
            "  kept till {}",
            utc(self.expires_at_s.saturating_mul(1_000))
        ));
        told.push(format!("cure: {}", self.cure));
        told
    }

    /// Whether sending it through again may help.
    fn is_for_redrive(&self) -> bool {
        self.state == State::Dead.name() && self.cure.contains("redrive")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_domain::ids::BotId;
    use penstock_domain::time::Timestamp;
    use penstock_formats::quarantine::Reason;

    #[test]
    fn tries_and_acts_are_told_in_the_order_in_which_they_happened() {
        let tried = |at| Try {
            attempt: 1,
            code: "away".to_owned(),
            message: String::new(),
            disposition: "transient",
            at,
        };
        let story = Story {
            key: "7:1".to_owned(),
            state: "retrying",
            kind: None,
            update_kind: "message",
            group: "7:c:1".to_owned(),
            attempts: 1,
            redrive: 1,
            received_at: 0,
            dead_at: None,
            redriven_at: None,
            expires_at_s: 0,
            tries: vec![tried(1_000), tried(3_000)],
            audit: vec![Act {
                action: "redrive",
                who: "op".to_owned(),
                why: "mended".to_owned(),
                at: 2_000,
                before: "dead".to_owned(),
                redrive: 1,
                send: None,
                digest_before: None,
                digest_after: None,
            }],
            cure: String::new(),
            raw: None,
        };
        let told = story.happenings();
        let words: Vec<_> = told.iter().map(|line| line.split_whitespace().nth(3)).collect();
        assert_eq!(words, [Some("try"), Some("redrive"), Some("try")], "{told:?}");
    }

    #[test]
    fn a_quarantined_body_is_shown_as_it_came() {
        let quarantined = Quarantined::new(
            BotId(7),
            Reason::Unparseable,
            Timestamp::from_millis(1),
            b"\xff\x00{",
        );
        assert_eq!(bytes_of(&quarantined.write().unwrap()), b"\xff\x00{");
        assert_eq!(bytes_of(r#"{"update_id":1}"#), br#"{"update_id":1}"#);
    }
}
