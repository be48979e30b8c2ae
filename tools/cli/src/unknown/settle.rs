//! `penstock unknown settle`: a person has looked, and says that a send has arrived, or has it sent again.

use anyhow::anyhow;
use clap::Args;
use penstock_domain::ids::LedgerKey;
use penstock_domain::intent::IntentState;
use penstock_domain::repair::{Act, decide_resend, decide_settle};
use penstock_ports::{Letter, Repairs as _};
use penstock_repair::{RepairError, resend, settle_unknown};
use serde::Serialize;

use super::failed;
use crate::failure::{Ended, Failure};
use crate::operator::account::Account;
use crate::operator::place::{Place, PlaceArgs};
use crate::print;
use crate::trace::Subject;

/// Which send, and how.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("how").required(true).args(["sent", "resend"]))]
pub(crate) struct SettleArgs {
    /// The update's id, or a whole key as `unknown list` shows it
    update: Subject,
    /// Which of its sends; may be left out where only one is unknown
    #[arg(long, value_name = "N")]
    send: Option<u8>,
    /// It has arrived: somebody has seen it in the chat
    #[arg(long)]
    sent: bool,
    /// It has not arrived: send it again. Also for a send that failed
    #[arg(long)]
    resend: bool,
    #[command(flatten)]
    account: Account,
    #[command(flatten)]
    place: PlaceArgs,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Told {
    key: String,
    send: u8,
    /// `settled`, `sent_again`, `queued_again`; with `would_be_` in front for a dry run.
    outcome: String,
}

pub(super) async fn run(args: &SettleArgs) -> Result<Ended, Failure> {
    let place = args.place.find().await?;
    let key = place.key(&args.update)?;
    let act = args.account.act(place.now())?;
    let n = match args.send {
        Some(n) => n,
        None => the_only_one(&letter(&place, &key).await?)?,
    };
    let outcome = if args.account.dry_run {
        would(args, &place, &key, n, &act).await?
    } else {
        settle(args, &place, &key, n, &act).await?.to_owned()
    };
    let told = Told {
        key: key.as_str().to_owned(),
        send: n,
        outcome,
    };
    if args.json {
        print::json(&told);
    } else {
        let words = told.outcome.replace('_', " ");
        print::data(&format!("{}  send {}  {words}", told.key, told.send));
    }
    Ok(Ended::Well)
}

async fn letter(place: &Place, key: &LedgerKey) -> Result<Letter, Failure> {
    let found = place.ledger.letter(key).await;
    let found = found.map_err(|error| failed(RepairError::Store(error)))?;
    found.ok_or_else(|| failed(RepairError::NotFound(key.clone())))
}

/// The send that is unknown, if it is one.
fn the_only_one(letter: &Letter) -> Result<u8, Failure> {
    let unknown: Vec<u8> = letter
        .record
        .intents
        .iter()
        .filter(|stored| stored.state == IntentState::Unknown)
        .map(|stored| stored.intent.n)
        .collect();
    match unknown.as_slice() {
        [n] => Ok(*n),
        [] => Err(Failure::Broken(anyhow!(
            "none of its sends is unknown; name one that failed with --send"
        ))),
        several => Err(Failure::Usage(anyhow!(
            "several of its sends are unknown ({}): name one with --send",
            several.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")
        ))),
    }
}

async fn settle(
    args: &SettleArgs,
    place: &Place,
    key: &LedgerKey,
    n: u8,
    act: &Act,
) -> Result<&'static str, Failure> {
    if args.sent {
        settle_unknown(&place.ledger, key, n, act).await.map_err(failed)?;
        return Ok("settled");
    }
    let outbound = place.outbound().await?;
    let resent = resend(&place.ledger, &outbound, key, n, act)
        .await
        .map_err(failed)?;
    Ok(if resent.is_repeat {
        "queued_again"
    } else {
        "sent_again"
    })
}

/// What it would come to, by the same rules.
async fn would(
    args: &SettleArgs,
    place: &Place,
    key: &LedgerKey,
    n: u8,
    act: &Act,
) -> Result<String, Failure> {
    let letter = letter(place, key).await?;
    let stored = letter.record.intents.iter().find(|stored| stored.intent.n == n);
    let stored = stored.ok_or_else(|| failed(RepairError::NoSuchSend(n)))?;
    let refused = |error| failed(RepairError::SendRefused(error));
    if args.sent {
        decide_settle(stored.state).map_err(refused)?;
        return Ok("would_be_settled".to_owned());
    }
    let resent_at = letter.resent_at.get(&n).copied();
    decide_resend(stored.state, stored.resend, resent_at, act.at()).map_err(refused)?;
    Ok("would_be_sent_again".to_owned())
}
