//! `penstock trace`: what became of an Update, from the ledger of the running stack or of a deployed one. Shows no
//! text of anybody unless asked to.

mod story;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use penstock_aws::Ledger;
use penstock_domain::ids::{BotId, LedgerKey, UpdateId};
use penstock_domain::ledger::Retention;

use crate::failure::{Ended, Failure};
use crate::ledger::Records;
use crate::print;
use crate::running::{DEFAULT_STATE_DIR, Running};
use story::Story;
pub(crate) use story::utc;

/// Which update.
#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// The update's id, or a whole ledger key (`BOT:ID`) as `penstock trigger` prints it for what is no update
    update: Subject,
    /// The bot's id; the running stack's own unless given
    #[arg(long, value_name = "ID")]
    bot: Option<u64>,
    /// State directory of the running stack
    #[arg(long, value_name = "DIR", default_value = DEFAULT_STATE_DIR)]
    state_dir: PathBuf,
    /// Read this table instead, with the region and credentials of the environment (AWS_ENDPOINT_URL is honoured)
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// Show the parameters of each send and the raw body of a dead update: they hold people's texts
    #[arg(long)]
    show_body: bool,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// What a person names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    Update(i64),
    Key(String),
}

impl Subject {
    /// The ledger key that is named.
    pub(crate) fn key(&self, bot: Option<u64>) -> Result<LedgerKey, Failure> {
        match self {
            Self::Key(key) => Ok(LedgerKey::from_stored(key.clone())),
            Self::Update(id) => {
                let no_bot = || Failure::Usage(anyhow!("which bot? name its id with --bot"));
                Ok(LedgerKey::new(BotId(bot.ok_or_else(no_bot)?), UpdateId(*id)))
            }
        }
    }
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_key = text
            .split_once(':')
            .is_some_and(|(bot, rest)| bot.parse::<u64>().is_ok() && !rest.is_empty());
        if is_key {
            return Ok(Self::Key(text.to_owned()));
        }
        text.parse()
            .map(Self::Update)
            .map_err(|_| "give an update id, for example 500000001".to_owned())
    }
}

/// Where it is read.
struct Place {
    client: aws_sdk_dynamodb::Client,
    table: String,
    bot: Option<u64>,
    /// Names the place in messages.
    name: String,
}

pub(crate) async fn run(args: &TraceArgs) -> Result<Ended, Failure> {
    let place = place(args).await?;
    let key = args.update.key(args.bot.or(place.bot))?;
    let Some(entry) = Records::new(place.client.clone(), &place.table)
        .read(&key)
        .await?
    else {
        return Err(Failure::NotFound(anyhow!(
            "no record of {key} in {}: it waits in the queue or is in its first run (the console shows both; after a \
             worker's crash that lasts until its visibility ends, two minutes), or it was never accepted, or its record \
             has outlived its time; if it was just accepted, try again in a second, else check the id and the bot (--bot)",
            place.name
        )));
    };
    let body = if args.show_body {
        raw_body(&place, &key).await?
    } else {
        None
    };
    let story = Story::of(&entry, args.show_body, body);
    if args.json {
        print::json(&story);
    } else {
        story.lines().iter().for_each(|line| print::data(line));
    }
    Ok(Ended::Well)
}

async fn place(args: &TraceArgs) -> Result<Place, Failure> {
    if let Some(table) = &args.table {
        let client = penstock_aws::Clients::load().await.dynamodb();
        return Ok(Place {
            client,
            table: table.clone(),
            bot: None,
            name: format!("table {table}"),
        });
    }
    let running = Running::find(&args.state_dir).await?;
    Ok(Place {
        client: running.clients().dynamodb,
        bot: Some(running.bot_id),
        name: format!("the stack of {}", args.state_dir.display()),
        table: running.table,
    })
}

/// The raw body, which is kept of dead updates only.
async fn raw_body(place: &Place, key: &LedgerKey) -> Result<Option<String>, anyhow::Error> {
    // Nothing is written, so the lives of records do not matter.
    let retention = Retention {
        dedup_window: Duration::ZERO,
        dead: Duration::ZERO,
    };
    Ok(Ledger::new(place.client.clone(), &place.table, retention)
        .raw_body(key)
        .await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_is_named_by_its_id_or_by_a_whole_key() {
        assert_eq!("12".parse(), Ok(Subject::Update(12)));
        assert_eq!("-3".parse(), Ok(Subject::Update(-3)));
        assert_eq!("7:q:ab".parse(), Ok(Subject::Key("7:q:ab".to_owned())));
        for wrong in ["x", "", "x:5", "7:"] {
            assert!(wrong.parse::<Subject>().is_err(), "{wrong}");
        }
    }
}
