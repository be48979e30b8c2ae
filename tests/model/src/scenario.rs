//! What is explored: which Updates there are, and how many accidents of each kind may happen. Never how anything is
//! decided.

/// Accidents and acts that may still happen, each counted down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Budget {
    /// An invocation, or the person's terminal, dies between two steps.
    pub crash: u8,
    /// A tick passes while invocations are alive: they are late, or their clock is.
    pub slow: u8,
    /// A message is delivered again: its visibility ends early, it is sent twice, or the queue forgets an id.
    pub duplicate: u8,
    /// The SDK repeats a write that had landed.
    pub repeat: u8,
    /// The table or the queue answers with an error, whether the write landed or not.
    pub away: u8,
    /// A dispatch reports some of its messages in `Failed`.
    pub partial: u8,
    /// A handler or a call fails in a way that may pass.
    pub fail: u8,
    /// A handler or a call fails for good.
    pub permanent: u8,
    /// A call's answer is lost.
    pub lost: u8,
    /// A person redrives.
    pub redrive: u8,
    /// A person has a send repeated.
    pub resend: u8,
    /// A release is rolled back.
    pub rollback: u8,
    /// A record outlives its life, and its id is used again.
    pub reuse: u8,
}

/// An Update of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Its chat.
    pub chat: u8,
    /// How many sends its outcome asks for.
    pub intents: u8,
    /// It kills whoever runs it.
    pub poison: bool,
    /// It was written by a newer release.
    pub newer: bool,
}

impl Spec {
    /// A plain Update of that chat.
    #[must_use]
    pub const fn of(chat: u8, intents: u8) -> Self {
        Self {
            chat,
            intents,
            poison: false,
            newer: false,
        }
    }
}

/// What is explored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Its name in the report.
    pub name: &'static str,
    /// The Updates, in the order of their acceptance.
    pub updates: Vec<Spec>,
    /// What may happen.
    pub budget: Budget,
    /// Tries of an Update and of a send.
    pub max_attempts: u8,
    /// Receives after which a queue gives a message up.
    pub max_receives: u8,
    /// Messages of a batch.
    pub batch: u8,
    /// Processors alive at once.
    pub processors: u8,
    /// Senders alive at once; none: sends stay in the queue, and a state with them is at rest.
    pub senders: u8,
    /// The bot is built in: a first receive runs without a claim.
    pub unclaimed: bool,
    /// It begins where every outcome is committed and dispatched.
    pub committed: bool,
    /// From every so-many-th state a run without accidents is followed to its rest; 0: from none.
    pub drain_every: u64,
}

impl Scenario {
    /// One of these Updates, with a budget; the rest as most scenarios have it.
    #[must_use]
    pub fn new(name: &'static str, updates: Vec<Spec>, budget: Budget) -> Self {
        Self {
            name,
            updates,
            budget,
            max_attempts: 3,
            max_receives: 9,
            batch: 2,
            processors: 2,
            senders: 1,
            unclaimed: false,
            committed: false,
            drain_every: 512,
        }
    }

    /// Attempts that a poison may burn of a neighbour. It is a suspect from its first crash under a claim on. A crash of
    /// a run without a claim leaves no record, so it may crash once more beside others before that.
    #[must_use]
    pub fn may_burn(&self) -> u8 {
        1 + u8::from(self.unclaimed)
    }

    /// The same under another name.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }
}
