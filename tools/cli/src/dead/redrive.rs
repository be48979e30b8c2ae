//! `penstock dead redrive`: sends letters through again.

use clap::Args;
use penstock_domain::ids::LedgerKey;
use penstock_domain::repair::{Act, Redrive};
use penstock_ports::{Letter, Repairs as _};
use penstock_repair::{Bulk, Redriven, RepairError, carry_out, oldest_first, plan, redrive_all};
use serde::Serialize;

use super::failed;
use super::select::{SelectArgs, Selected};
use crate::called;
use crate::failure::{Ended, Failure};
use crate::operator::account::Account;
use crate::operator::place::{Place, PlaceArgs};
use crate::print;

/// Which ones.
#[derive(Debug, Args)]
pub(crate) struct RedriveArgs {
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

/// What became of one letter.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Told {
    key: String,
    /// `redriven`, `repeated`, `would_redrive`, `would_repeat`, `failed`, `held`.
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Told {
    fn new(key: &LedgerKey, outcome: &'static str) -> Self {
        Self {
            key: key.as_str().to_owned(),
            outcome,
            generation: None,
            reason: None,
        }
    }

    fn made(key: &LedgerKey, redriven: Redriven) -> Self {
        Self {
            generation: Some(redriven.generation),
            ..Self::new(
                key,
                if redriven.is_repeat {
                    "repeated"
                } else {
                    "redriven"
                },
            )
        }
    }

    fn failed(key: &LedgerKey, error: &RepairError) -> Self {
        Self {
            reason: Some(error.to_string()),
            ..Self::new(key, "failed")
        }
    }

    fn held(key: &LedgerKey) -> Self {
        Self {
            reason: Some("an earlier one of its chat may still go through".to_owned()),
            ..Self::new(key, "held")
        }
    }

    fn would(key: &LedgerKey, step: Redrive) -> Self {
        let outcome = match step {
            Redrive::Begin { .. } => "would_redrive",
            Redrive::Repeat { .. } => "would_repeat",
        };
        Self {
            generation: Some(step.generation()),
            ..Self::new(key, outcome)
        }
    }

    fn is_well(&self) -> bool {
        self.reason.is_none()
    }

    fn tell(&self, in_json: bool) {
        if in_json {
            return print::json(self);
        }
        let generation = self
            .generation
            .map_or_else(String::new, |generation| format!(", generation {generation}"));
        let outcome = self.outcome.replace('_', " ");
        match &self.reason {
            None => print::data(&format!("{}  {outcome}{generation}", self.key)),
            Some(reason) => print::data(&format!("{}  {outcome}: {reason}", self.key)),
        }
    }
}

pub(super) async fn run(args: &RedriveArgs) -> Result<Ended, Failure> {
    let place = args.place.find().await?;
    let act = args.account.act(place.now())?;
    let told = match args.select.select(&place).await? {
        // One by its key: what is wrong with it ends the command.
        Selected::Keys(keys) if keys.len() == 1 => {
            let told = one(args, &place, &keys[0], &act).await.map_err(failed)?;
            told.tell(args.json);
            if !args.account.dry_run {
                let trace = format!("trace {}{}", keys[0], args.place.words());
                print::note(&format!("next: {}", called::command(&trace)));
            }
            return Ok(Ended::Well);
        }
        Selected::Keys(keys) => {
            let (letters, mut told) = by_keys(&place, &keys).await?;
            told.iter().for_each(|told| told.tell(args.json));
            told.extend(many(args, &place, letters, &act).await?);
            told
        }
        Selected::Letters(letters) => many(args, &place, letters, &act).await?,
    };
    let (count, well) = (told.len(), told.iter().filter(|told| told.is_well()).count());
    let verb = if args.account.dry_run {
        "would be redriven"
    } else {
        "redriven"
    };
    print::note(&format!("{well} of {count} {verb}"));
    Ok(Ended::well_if(well == count))
}

async fn one(args: &RedriveArgs, place: &Place, key: &LedgerKey, act: &Act) -> Result<Told, RepairError> {
    let planned = plan(&place.ledger, key, act.at()).await?;
    if args.account.dry_run {
        return Ok(Told::would(key, planned.step()));
    }
    let updates = place.updates().await.map_err(|failure| {
        RepairError::Store(penstock_ports::PortError::Unavailable {
            operation: "sqs.get_queue_url",
            code: failure.to_string(),
        })
    })?;
    let redriven = carry_out(&place.ledger, &updates, planned, act).await?;
    Ok(Told::made(key, redriven))
}

/// The letters of these keys, so that they can be put in their order; and what is told of keys that have none.
async fn by_keys(place: &Place, keys: &[LedgerKey]) -> Result<(Vec<Letter>, Vec<Told>), Failure> {
    let (mut letters, mut missing) = (Vec::new(), Vec::new());
    for key in keys {
        let found = place.ledger.letter(key).await;
        match found.map_err(|error| Failure::Broken(error.into()))? {
            Some(letter) => letters.push(letter),
            None => missing.push(Told::failed(key, &RepairError::NotFound(key.clone()))),
        }
    }
    Ok((letters, missing))
}

async fn many(
    args: &RedriveArgs,
    place: &Place,
    letters: Vec<Letter>,
    act: &Act,
) -> Result<Vec<Told>, Failure> {
    let mut all = Vec::new();
    if args.account.dry_run {
        for letter in oldest_first(letters) {
            let key = &letter.record.key;
            let told = match plan(&place.ledger, key, act.at()).await {
                Ok(planned) => Told::would(key, planned.step()),
                Err(error) => Told::failed(key, &error),
            };
            told.tell(args.json);
            all.push(told);
        }
        return Ok(all);
    }
    let updates = place.updates().await?;
    redrive_all(&place.ledger, &updates, letters, act, |letter, outcome| {
        let key = &letter.record.key;
        let told = match outcome {
            Bulk::Redriven(redriven) => Told::made(key, *redriven),
            Bulk::Failed(error) => Told::failed(key, error),
            Bulk::Held => Told::held(key),
        };
        told.tell(args.json);
        all.push(told);
    })
    .await;
    Ok(all)
}
