//! `penstock dead discard`: closes letters.

use clap::Args;
use penstock_domain::ids::LedgerKey;
use penstock_domain::repair::{Act, decide_discard};
use penstock_ports::Repairs as _;
use penstock_repair::{RepairError, discard};
use serde::Serialize;

use super::failed;
use super::select::{SelectArgs, Selected};
use crate::failure::{Ended, Failure};
use crate::operator::account::Account;
use crate::operator::place::{Place, PlaceArgs};
use crate::print;

/// Which ones.
#[derive(Debug, Args)]
pub(crate) struct DiscardArgs {
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    account: Account,
    #[command(flatten)]
    place: PlaceArgs,
    /// Answer in JSON, one object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Told {
    key: String,
    /// `discarded`, `would_discard`, `failed`.
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

pub(super) async fn run(args: &DiscardArgs) -> Result<Ended, Failure> {
    let place = args.place.find().await?;
    let act = args.account.act(place.now())?;
    let keys = match args.select.select(&place).await? {
        Selected::Keys(keys) if keys.len() == 1 => {
            one(args, &place, &keys[0], &act).await.map_err(failed)?;
            tell(args, &keys[0], None);
            return Ok(Ended::Well);
        }
        Selected::Keys(keys) => keys,
        Selected::Letters(letters) => letters.into_iter().map(|letter| letter.record.key).collect(),
    };
    let mut well = 0;
    for key in &keys {
        match one(args, &place, key, &act).await {
            Ok(()) => {
                well += 1;
                tell(args, key, None);
            }
            Err(error) => tell(args, key, Some(error.to_string())),
        }
    }
    let verb = if args.account.dry_run {
        "would be discarded"
    } else {
        "discarded"
    };
    print::note(&format!("{well} of {} {verb}", keys.len()));
    Ok(Ended::well_if(well == keys.len()))
}

async fn one(args: &DiscardArgs, place: &Place, key: &LedgerKey, act: &Act) -> Result<(), RepairError> {
    if !args.account.dry_run {
        return discard(&place.ledger, key, act).await;
    }
    let found = place.ledger.letter(key).await.map_err(RepairError::Store)?;
    let letter = found.ok_or_else(|| RepairError::NotFound(key.clone()))?;
    decide_discard(&letter.seen(), act.at()).map_err(RepairError::Refused)
}

fn tell(args: &DiscardArgs, key: &LedgerKey, reason: Option<String>) {
    let outcome = match (&reason, args.account.dry_run) {
        (Some(_), _) => "failed",
        (None, true) => "would_discard",
        (None, false) => "discarded",
    };
    let told = Told {
        key: key.as_str().to_owned(),
        outcome,
        reason,
    };
    if args.json {
        return print::json(&told);
    }
    let outcome = outcome.replace('_', " ");
    match told.reason {
        None => print::data(&format!("{}  {outcome}", told.key)),
        Some(reason) => print::data(&format!("{}  {outcome}: {reason}", told.key)),
    }
}
