//! What the model holds the protocol to, each named after what it promises.

/// A promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Promise {
    /// Every accepted Update is in a queue, or done with its sends ended or on their way, or dead with its body.
    NothingIsLost,
    /// One outcome is committed for each accepted Update.
    OneOutcome,
    /// No outcome is committed while an earlier Update of its chat is neither done nor dead.
    OrderOfOutcomes,
    /// The sends of a chat are made in their order.
    OrderOfSends,
    /// A visible send is made twice only if a person says so.
    NoDoubleSend,
    /// A record's fence never goes down.
    FenceNeverFalls,
    /// Nobody changes a record under a worker whose lease holds.
    LeaseIsRespected,
    /// Nothing is tried before its time.
    NotBeforeItsTime,
    /// A poison burns at most one attempt of any neighbour; two where first receives run without a claim.
    NeighbourBurnsOnce,
    /// Nothing dies that never failed, crashed, was too slow or was given up by its queue.
    NobodyDiesUnharmed,
    /// What a person does is in the audit once, however often it is repeated.
    AuditedOnce,
    /// What waits in a chat waits for a reason, and every run comes to rest with everything settled.
    ChatsGoOn,
    /// Every write that lands is a transition of the domain's tables.
    LegalTransitions,
}

impl Promise {
    /// Every promise.
    pub const ALL: [Self; 13] = [
        Self::NothingIsLost,
        Self::OneOutcome,
        Self::OrderOfOutcomes,
        Self::OrderOfSends,
        Self::NoDoubleSend,
        Self::FenceNeverFalls,
        Self::LeaseIsRespected,
        Self::NotBeforeItsTime,
        Self::NeighbourBurnsOnce,
        Self::NobodyDiesUnharmed,
        Self::AuditedOnce,
        Self::ChatsGoOn,
        Self::LegalTransitions,
    ];

    /// Its name in the checker.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NothingIsLost => "nothing is lost",
            Self::OneOutcome => "one outcome",
            Self::OrderOfOutcomes => "order of outcomes",
            Self::OrderOfSends => "order of sends",
            Self::NoDoubleSend => "no double send",
            Self::FenceNeverFalls => "the fence never falls",
            Self::LeaseIsRespected => "a lease is respected",
            Self::NotBeforeItsTime => "nothing before its time",
            Self::NeighbourBurnsOnce => "a poison burns next to nothing of its neighbours",
            Self::NobodyDiesUnharmed => "nobody dies unharmed",
            Self::AuditedOnce => "audited once",
            Self::ChatsGoOn => "chats go on",
            Self::LegalTransitions => "legal transitions",
        }
    }

    pub(crate) fn bit(self) -> u16 {
        1 << (self as u16)
    }
}
