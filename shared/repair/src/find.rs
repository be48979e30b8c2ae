//! Finding what needs a person, in every shard of the index.

use std::time::Duration;

use futures::future::try_join_all;
use penstock_domain::ids::{BotId, MessageGroupId};
use penstock_domain::time::Timestamp;
use penstock_ports::{ATTENTION_SHARDS, AttentionKind, Letter, Need, PortError, Repairs};

/// Which ones. An absent part lets all pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Failure code of the last try.
    pub code: Option<String>,
    /// In need of somebody for at least that long.
    pub older_than: Option<Duration>,
    /// Its message group.
    pub group: Option<MessageGroupId>,
}

impl Filter {
    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn takes(&self, letter: &Letter, now: Timestamp) -> bool {
        let code = letter.record.tries.last().map(|failure| failure.code.as_str());
        let age = letter.attention.map(|(_, since)| now.since(since));
        self.code.as_deref().is_none_or(|wanted| code == Some(wanted))
            && self
                .older_than
                .is_none_or(|wanted| age.is_some_and(|age| age >= wanted))
            && self
                .group
                .as_ref()
                .is_none_or(|wanted| letter.subject.group == *wanted)
    }
}

/// What was found, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Each with why it needs somebody.
    pub letters: Vec<(Letter, Need)>,
    /// There are more than were asked for.
    pub has_more: bool,
}

/// Finds what needs a person: at most `most`, the oldest. What somebody has just repaired is passed over, and so is
/// what the index, which follows the table a little later, still shows.
///
/// # Errors
/// The ledger's.
pub async fn find<L: Repairs>(
    ledger: &L,
    bot: BotId,
    kinds: &[AttentionKind],
    filter: &Filter,
    most: usize,
    now: Timestamp,
) -> Result<Found, PortError> {
    let mut letters = Vec::new();
    let mut has_more = false;
    for kind in kinds {
        let shards =
            (0..ATTENTION_SHARDS).map(|shard| of_shard(ledger, bot, *kind, shard, filter, most, now));
        for (found, is_cut) in try_join_all(shards).await? {
            letters.extend(found);
            has_more |= is_cut;
        }
    }
    letters.sort_by_key(|(letter, _)| {
        (
            letter.attention.map(|(_, since)| since),
            letter.record.key.clone(),
        )
    });
    has_more |= letters.len() > most;
    letters.truncate(most);
    Ok(Found { letters, has_more })
}

/// The oldest of one shard, and whether there are more.
async fn of_shard<L: Repairs>(
    ledger: &L,
    bot: BotId,
    kind: AttentionKind,
    shard: u8,
    filter: &Filter,
    most: usize,
    now: Timestamp,
) -> Result<(Vec<(Letter, Need)>, bool), PortError> {
    let mut found = Vec::new();
    let mut from = None;
    loop {
        let page = ledger.attention(bot, kind, shard, from.as_ref()).await?;
        for letter in page
            .letters
            .into_iter()
            .filter(|letter| filter.takes(letter, now))
        {
            if let Some(need) = letter.need(now) {
                found.push((letter, need));
            }
        }
        from = page.next;
        if found.len() > most {
            found.truncate(most);
            return Ok((found, true));
        }
        if from.is_none() {
            return Ok((found, false));
        }
    }
}
