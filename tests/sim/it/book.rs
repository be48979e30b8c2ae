//! The book of one seed: what Telegram posted, what was seen of each Update and each send, and the trace. Never judges.

use std::collections::{BTreeMap, BTreeSet};

use penstock_domain::ids::{MessageGroupId, UpdateDigest};
use penstock_domain::ledger::State;
use penstock_domain::time::Timestamp;
use penstock_formats::envelope::Envelope;
use penstock_formats::outbound::Outbound;

use crate::hub::{ApiFate, WorkerId};
use crate::plan::{Planned, Post};

/// The number of an invocation.
pub(crate) type RunId = u32;
/// A send: the post and the number of the intent.
pub(crate) type SendId = (usize, u8);

/// A call of the Bot API that was made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    pub(crate) run: RunId,
    pub(crate) send: SendId,
    pub(crate) fate: ApiFate,
    pub(crate) at: Timestamp,
}

impl Made {
    /// Whether nobody can know what became of it.
    pub(crate) fn is_ambiguous(&self) -> bool {
        matches!(self.fate, ApiFate::LostAnswer | ApiFate::LostRequest)
    }

    /// Whether Telegram did it.
    pub(crate) fn is_delivered(&self) -> bool {
        matches!(self.fate, ApiFate::Sent | ApiFate::LostAnswer)
    }
}

/// An invocation that has not ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Alive {
    pub(crate) worker: WorkerId,
    /// Its time is over, and it stands still instead of being ended.
    pub(crate) is_overdue: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Book {
    is_traced: bool,
    pub(crate) lines: Vec<String>,
    pub(crate) broken: Vec<String>,
    pub(crate) reached: BTreeSet<&'static str>,
    pub(crate) posts: Vec<Post>,
    /// Posts that are in the queue, in the order in which they came in.
    pub(crate) accepted: Vec<usize>,
    /// Posts that were answered with a 200.
    pub(crate) thanked: BTreeSet<usize>,
    /// Posts that the queue gave up; they come late, if at all.
    pub(crate) given_up: BTreeSet<usize>,
    pub(crate) sends_given_up: BTreeSet<SendId>,
    /// Posts that a person sent again.
    pub(crate) redriven: BTreeSet<usize>,
    /// How often a person had a send repeated.
    pub(crate) resent: BTreeMap<SendId, u32>,
    /// The state of each post's record when it was last seen.
    pub(crate) states: BTreeMap<usize, State>,
    /// How many outcomes were committed.
    pub(crate) outcomes: BTreeMap<usize, u32>,
    /// Which invocation claimed a send last.
    pub(crate) claims: BTreeMap<SendId, RunId>,
    pub(crate) calls: Vec<Made>,
    pub(crate) alive: BTreeMap<RunId, Alive>,
    /// Runs of the handler.
    pub(crate) runs: BTreeMap<usize, usize>,
    /// How often a post was put into the queue.
    pub(crate) puts: BTreeMap<usize, usize>,
    /// Runs of the handler that were given a state without an outcome of the chat that was there by then.
    pub(crate) stale: BTreeMap<(usize, RunId), usize>,
    /// Until when chats are held.
    pub(crate) holds: BTreeMap<MessageGroupId, Timestamp>,
    /// Whether a person has put right whatever failed.
    pub(crate) is_cured: bool,
    pub(crate) cuts: bool,
}

impl Book {
    pub(crate) fn new(posts: Vec<Post>, is_traced: bool) -> Self {
        Self {
            is_traced,
            posts,
            ..Self::default()
        }
    }

    pub(crate) fn trace(&mut self, at_ms: i64, line: impl FnOnce() -> String) {
        if self.is_traced {
            let line = format!("{:>10}.{:03} {}", at_ms / 1000, at_ms % 1000, line());
            self.lines.push(line);
        }
    }

    pub(crate) fn reached(&mut self, what: &'static str) {
        self.reached.insert(what);
    }

    pub(crate) fn post_of(&self, update_id: i64, digest: Option<UpdateDigest>) -> Option<usize> {
        self.posts.iter().position(|post| {
            let update = post.update.as_ref();
            update.is_some_and(|update| update.id == update_id && Some(update.digest) == digest)
        })
    }

    pub(crate) fn planned(&self, send: SendId) -> Option<Planned> {
        self.posts
            .get(send.0)?
            .act
            .calls
            .get(usize::from(send.1))
            .copied()
    }

    /// The invocation that a worker is in.
    pub(crate) fn run_of(&self, worker: WorkerId) -> RunId {
        let run = self.alive.iter().find(|(_, alive)| alive.worker == worker);
        run.map_or(0, |(run, _)| *run)
    }

    pub(crate) fn gave_up(&mut self, body: &str) {
        self.reached("a queue gave up");
        if let Ok(envelope) = Envelope::read(body) {
            let post = self.post_of(envelope.update_id.0, Some(envelope.digest));
            self.given_up.extend(post);
        } else if let Ok(outbound) = Outbound::read(body) {
            let send = send_of(&outbound.call.params);
            self.sends_given_up.extend(send);
            // The head of its chat, whose visibility was the chat's hold, is gone.
            let group = send.and_then(|(post, _)| self.posts[post].update.as_ref());
            if let Some(update) = group {
                self.holds.remove(&update.group);
            }
        }
    }

    /// Whether the next batch of messages is taken only in part.
    pub(crate) fn cuts_next_batch(&mut self) -> bool {
        std::mem::take(&mut self.cuts)
    }

    /// The calls made for a send.
    pub(crate) fn calls_of(&self, send: SendId) -> impl DoubleEndedIterator<Item = &Made> {
        self.calls.iter().filter(move |made| made.send == send)
    }
}

/// Which send the parameters of a call belong to: the bot writes that into each text.
pub(crate) fn send_of(params: &str) -> Option<SendId> {
    let params: serde_json::Value = serde_json::from_str(params).ok()?;
    let (post, n) = params["text"].as_str()?.strip_prefix('u')?.split_once('.')?;
    Some((post.parse().ok()?, n.parse().ok()?))
}
