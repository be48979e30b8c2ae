//! Who answers for a change that a person makes, and why. It is written down with what was changed.

use anyhow::anyhow;
use clap::Args;
use penstock_domain::repair::Act;
use penstock_domain::time::Timestamp;

use crate::called;
use crate::failure::Failure;

/// Who answers for a change, and why.
#[derive(Debug, Args)]
pub(crate) struct Account {
    /// Why; it is kept with the letter
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Who does it: where the environment has no USER (cron, containers), it must be given
    #[arg(long, value_name = "NAME", env = called::USER, hide_env_values = true)]
    actor: String,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Account {
    /// What is written down of it.
    pub(crate) fn act(&self, now: Timestamp) -> Result<Act, Failure> {
        Act::new(&self.actor, &self.reason, now)
            .map_err(|error| Failure::Usage(anyhow!("{error}: --reason and --actor")))
    }
}
