//! Which letters: by key, or all that a filter names. A change in bulk without a filter is refused.

use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use penstock_domain::ids::{BotId, MessageGroupId, Scope};
use penstock_ports::{AttentionKind, Letter, Need};
use penstock_repair::{Filter, Found, find};

use crate::called;
use crate::failure::Failure;
use crate::operator::age;
use crate::operator::place::Place;
use crate::print;
use crate::trace::Subject;

/// A filter.
#[derive(Debug, Args)]
pub(super) struct FilterArgs {
    /// Only of this kind; may be given several times
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Vec<Kind>,
    /// Only those whose last failure has this code
    #[arg(long, value_name = "CODE")]
    code: Option<String>,
    /// Only those that have been dead for so long: 90s, 15m, 2h, 3d
    #[arg(long, value_name = "AGE", value_parser = age::read)]
    older_than: Option<Duration>,
    /// Only of this chat: its id, or a whole group as `dead list` shows it
    #[arg(long, value_name = "CHAT", allow_hyphen_values = true)]
    chat: Option<String>,
    /// At most so many, the oldest
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    most: u32,
}

/// Letters of one change.
#[derive(Debug, Args)]
pub(super) struct SelectArgs {
    /// Update ids, or whole keys as `dead list` shows them
    #[arg(value_name = "UPDATE")]
    updates: Vec<Subject>,
    #[command(flatten)]
    filter: FilterArgs,
    /// All dead letters of the bot; needs --yes
    #[arg(long, requires = "yes")]
    all: bool,
    /// Yes, all
    #[arg(long)]
    yes: bool,
}

/// A kind of letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    /// Updates that died
    Dead,
    /// Updates that came too late to matter
    Expired,
    /// Bodies that are no update
    Quarantine,
}

impl From<Kind> for AttentionKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Dead => Self::Dead,
            Kind::Expired => Self::Expired,
            Kind::Quarantine => Self::Quarantine,
        }
    }
}

/// The group that a person named: a chat's, or a whole one.
fn group(bot: BotId, chat: &str) -> MessageGroupId {
    if chat.contains(':') {
        MessageGroupId(chat.to_owned())
    } else {
        Scope::Chat(chat.to_owned()).group(bot)
    }
}

impl FilterArgs {
    fn is_empty(&self) -> bool {
        self.kind.is_empty() && self.code.is_none() && self.older_than.is_none() && self.chat.is_none()
    }

    /// Finds what it names; of these kinds unless it names some.
    pub(super) async fn find(&self, place: &Place, kinds: &[AttentionKind]) -> Result<Found, Failure> {
        let bot = place.bot()?;
        let filter = Filter {
            code: self.code.clone(),
            older_than: self.older_than,
            group: self.chat.as_deref().map(|chat| group(bot, chat)),
        };
        let named: Vec<AttentionKind> = self.kind.iter().copied().map(AttentionKind::from).collect();
        let kinds = if named.is_empty() { kinds } else { &named };
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        let found = find(&place.ledger, bot, kinds, &filter, most, place.now()).await;
        found.map_err(|error| Failure::Broken(error.into()))
    }
}

/// What a change is about.
pub(super) enum Selected {
    /// These, each by its key.
    Keys(Vec<penstock_domain::ids::LedgerKey>),
    /// What a filter has found.
    Letters(Vec<Letter>),
}

impl SelectArgs {
    pub(super) async fn select(&self, place: &Place) -> Result<Selected, Failure> {
        if !self.updates.is_empty() {
            if self.all || !self.filter.is_empty() {
                return Err(Failure::Usage(anyhow!(
                    "name updates or a filter, not both: a filter finds its own"
                )));
            }
            let keys = self.updates.iter().map(|update| place.key(update));
            return Ok(Selected::Keys(keys.collect::<Result<_, _>>()?));
        }
        if self.filter.is_empty() && !self.all {
            return Err(Failure::Usage(anyhow!(
                "which ones? name updates, a filter (--kind, --code, --older-than, --chat), or --all --yes"
            )));
        }
        let found = self.filter.find(place, &[AttentionKind::Dead]).await?;
        if found.letters.is_empty() && !self.filter.is_empty() {
            return Err(Failure::NotFound(anyhow!(
                "no dead letter matches the filter: `{}` shows those there are",
                called::command("dead list")
            )));
        }
        if found.has_more {
            print::note(&format!(
                "there are more than {}: these are the oldest; ask again for the rest, or raise --most",
                found.letters.len()
            ));
        }
        let letters = found
            .letters
            .into_iter()
            .map(|(letter, _): (Letter, Need)| letter);
        Ok(Selected::Letters(letters.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_is_named_by_its_id_or_by_its_group() {
        assert_eq!(group(BotId(7), "-5").0, "7:c:-5");
        assert_eq!(group(BotId(7), "7:u:5").0, "7:u:5");
    }
}
