//! Which stack a command is about: the running one, or a deployed one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use aws_sdk_dynamodb::error::DisplayErrorContext;
use clap::Args;
use penstock_aws::{Ledger, SqsQueue, WallClock};
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::ledger::Retention;
use penstock_domain::time::Timestamp;
use penstock_local::backend::{BackendStatus, BreakerReader};
use penstock_ports::Clock as _;

use crate::failure::Failure;
use crate::running::{DEFAULT_STATE_DIR, Running};
use crate::trace::Subject;

const DAY: Duration = Duration::from_secs(86_400);

/// Which stack.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
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

/// A stack's ledger and its queues.
pub(crate) struct Place {
    pub(crate) ledger: Ledger,
    dynamodb: aws_sdk_dynamodb::Client,
    sqs: aws_sdk_sqs::Client,
    table: String,
    clock: WallClock,
    bot: Option<u64>,
}

impl PlaceArgs {
    /// The options that name the same place, for a command that is printed.
    pub(crate) fn words(&self) -> String {
        let place = match &self.table {
            Some(table) => format!(" --table {table}"),
            None if self.state_dir == Path::new(DEFAULT_STATE_DIR) => String::new(),
            None => format!(" --state-dir {}", self.state_dir.display()),
        };
        let bot = self.bot.map(|bot| format!(" --bot {bot}")).unwrap_or_default();
        place + &bot
    }

    pub(crate) async fn find(&self) -> Result<Place, Failure> {
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
            ledger: Ledger::new(dynamodb.clone(), &table, retention),
            dynamodb,
            sqs,
            table,
            clock,
            bot: self.bot.or(bot),
        })
    }
}

impl Place {
    /// Now, in the stack's time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The bot.
    pub(crate) fn bot(&self) -> Result<BotId, Failure> {
        let no_bot = || Failure::Usage(anyhow!("which bot? name its id with --bot"));
        self.bot.map(BotId).ok_or_else(no_bot)
    }

    /// The key that a person named.
    pub(crate) fn key(&self, subject: &Subject) -> Result<LedgerKey, Failure> {
        subject.key(self.bot)
    }

    /// The stack's name, which its table has too (template).
    pub(crate) fn stack(&self) -> &str {
        &self.table
    }

    /// The queue of Updates.
    pub(crate) async fn updates(&self) -> Result<SqsQueue, Failure> {
        let url = self.queue_url("updates").await?;
        Ok(SqsQueue::new(self.sqs.clone(), &url))
    }

    /// The queue of sends.
    pub(crate) async fn outbound(&self) -> Result<SqsQueue, Failure> {
        let url = self.queue_url("outbound").await?;
        Ok(SqsQueue::new(self.sqs.clone(), &url))
    }

    /// Messages in a queue, by its name in the template: those that can be received, and those that somebody works on or
    /// that wait for their next try.
    pub(crate) async fn depth(&self, queue: &str) -> Result<(u64, u64), Failure> {
        use aws_sdk_sqs::types::QueueAttributeName as Name;
        let url = self.queue_url(queue).await?;
        let answer = self
            .sqs
            .get_queue_attributes()
            .queue_url(url)
            .attribute_names(Name::ApproximateNumberOfMessages)
            .attribute_names(Name::ApproximateNumberOfMessagesNotVisible)
            .attribute_names(Name::ApproximateNumberOfMessagesDelayed)
            .send()
            .await
            .map_err(|error| {
                Failure::Broken(anyhow!(
                    "queue {queue} of {} cannot be read: {}",
                    self.table,
                    DisplayErrorContext(error)
                ))
            })?;
        let attributes = answer.attributes.unwrap_or_default();
        let count = |name: Name| -> u64 {
            let text = attributes.get(&name);
            text.and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        Ok((
            count(Name::ApproximateNumberOfMessages) + count(Name::ApproximateNumberOfMessagesDelayed),
            count(Name::ApproximateNumberOfMessagesNotVisible),
        ))
    }

    /// What the breaker of the bot's backend says.
    pub(crate) async fn backend(&self, bot: BotId) -> Result<BackendStatus, Failure> {
        let reader = BreakerReader::new(self.dynamodb.clone(), &self.table, bot.0);
        reader.read().await.map_err(|error| Failure::Broken(error.into()))
    }

    async fn queue_url(&self, queue: &str) -> Result<String, Failure> {
        let name = format!("{}-{queue}.fifo", self.table);
        let answer = self.sqs.get_queue_url().queue_name(&name).send().await;
        let answer = answer.map_err(|error| {
            Failure::Broken(anyhow!(
                "queue {name} cannot be found: {}",
                DisplayErrorContext(error)
            ))
        })?;
        Ok(answer.queue_url.unwrap_or_default())
    }
}
