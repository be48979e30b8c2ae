//! Where the letters are: in the running stack, or in a deployed one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use aws_sdk_dynamodb::error::DisplayErrorContext;
use clap::Args;
use penstock_aws::{Ledger, SqsQueue, WallClock};
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::ledger::Retention;
use penstock_domain::time::Timestamp;
use penstock_ports::Clock as _;

use crate::failure::Failure;
use crate::running::{DEFAULT_STATE_DIR, Running};
use crate::trace::Subject;

const DAY: Duration = Duration::from_secs(86_400);

/// Which stack.
#[derive(Debug, Args)]
pub(super) struct PlaceArgs {
    /// The bot's id; the running stack's own unless given
    #[arg(long, value_name = "ID")]
    bot: Option<u64>,
    /// State directory of the running stack
    #[arg(long, value_name = "DIR", default_value = DEFAULT_STATE_DIR)]
    state_dir: PathBuf,
    /// A deployed stack's table instead (its name is the stack's), with the region and credentials of the environment
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// Days that what is open is kept, as the stack is deployed with
    #[arg(long, value_name = "DAYS", env = "DEAD_RETENTION_DAYS", default_value_t = 90, value_parser = clap::value_parser!(u32).range(14..=3650))]
    dead_retention_days: u32,
    /// Days that what is settled is kept, as the stack is deployed with
    #[arg(long, value_name = "DAYS", env = "DEDUP_WINDOW_DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=90))]
    dedup_window_days: u32,
}

/// A stack's ledger and its queue of Updates.
pub(super) struct Place {
    pub(super) ledger: Ledger,
    sqs: aws_sdk_sqs::Client,
    queue: String,
    clock: WallClock,
    bot: Option<u64>,
}

impl PlaceArgs {
    /// The options that name the same place, for a command that is printed.
    pub(super) fn words(&self) -> String {
        match &self.table {
            Some(table) => format!(" --table {table}"),
            None if self.state_dir == Path::new(DEFAULT_STATE_DIR) => String::new(),
            None => format!(" --state-dir {}", self.state_dir.display()),
        }
    }

    pub(super) async fn find(&self) -> Result<Place, Failure> {
        let retention = Retention {
            dedup_window: DAY * self.dedup_window_days,
            dead: DAY * self.dead_retention_days,
        };
        let (dynamodb, sqs, table, bot, clock) = match &self.table {
            Some(table) => {
                let clients = penstock_aws::Clients::load().await;
                let clock = WallClock::default();
                (clients.dynamodb(), clients.sqs(), table.clone(), None, clock)
            }
            None => {
                let running = Running::find(&self.state_dir).await?;
                let (clients, clock) = (running.clients(), running.clock());
                (
                    clients.dynamodb,
                    clients.sqs,
                    running.table,
                    Some(running.bot_id),
                    clock,
                )
            }
        };
        Ok(Place {
            ledger: Ledger::new(dynamodb, &table, retention),
            sqs,
            // As the template names it: the table has the stack's own name.
            queue: format!("{table}-updates.fifo"),
            clock,
            bot: self.bot.or(bot),
        })
    }
}

impl Place {
    /// Now, in the stack's time.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The bot.
    pub(super) fn bot(&self) -> Result<BotId, Failure> {
        let no_bot = || Failure::Usage(anyhow!("which bot? name its id with --bot"));
        self.bot.map(BotId).ok_or_else(no_bot)
    }

    /// The key that a person named.
    pub(super) fn key(&self, subject: &Subject) -> Result<LedgerKey, Failure> {
        subject.key(self.bot)
    }

    /// The queue of Updates.
    pub(super) async fn updates(&self) -> Result<SqsQueue, Failure> {
        let answer = self
            .sqs
            .get_queue_url()
            .queue_name(&self.queue)
            .send()
            .await
            .map_err(|error| {
                Failure::Broken(anyhow!(
                    "queue {} cannot be found: {}",
                    self.queue,
                    DisplayErrorContext(error)
                ))
            })?;
        let url = answer.queue_url.unwrap_or_default();
        Ok(SqsQueue::new(self.sqs.clone(), &url))
    }
}
