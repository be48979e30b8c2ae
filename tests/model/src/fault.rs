//! The rules of the protocol, each as the variant of the model that lacks it. A rule that no counterexample needs would
//! be no rule.

use crate::door::{self, Door};
use crate::doors;
use crate::gate::{self, Gate};
use crate::promise::Promise;
use crate::scenario::Scenario;
use crate::scenarios;

/// Where the lack of a rule shows: what is explored, and the promise that is broken there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Showcase {
    /// In the pipeline.
    Pipeline(Box<Scenario>, &'static str),
    /// At a backend's breaker.
    Door(Door, &'static str),
    /// At a gate of sends.
    Gate(Gate, &'static str),
}

/// A rule that is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// 1: commit and settle ask neither for the fence nor for the state.
    SettleUnconditionally,
    /// 2: a claim has no owner token, so one that landed and was repeated looks refused.
    NoOwnerToken,
    /// 3: a write is taken for one's own by its token, without a look at the state.
    OwnerWithoutState,
    /// 4: a claim does not ask for `next_at`.
    ClaimWithoutTime,
    /// 5: a sender's claim does not ask for `next_at`.
    SendWithoutTime,
    /// 6: a message is deleted before its outcome is committed.
    AckBeforeCommit,
    /// 7: a redrive keeps the attempts of the life before.
    RedriveKeepsAttempts,
    /// 8: an Update that is `pending` cannot be redriven again.
    PendingNeverResent,
    /// 9: a repeat of a done Update is only acknowledged.
    RepeatOfDoneOnlyAcked,
    /// 10a: behind a failure the rest of the group is tried all the same.
    RestGoesOn,
    /// 10b: behind a failure the rest of the group stays hidden for the queue's visibility.
    RestStaysHidden,
    /// 11: a claim takes what another holds under a lease.
    LeaseIgnored,
    /// 12: crash suspects are taken over beside others.
    SuspectsNotAlone,
    /// 13: a crash suspect does not wait for groups that run already.
    SuspectBesideOthers,
    /// 14: the body of a redriven Update does not carry its generation.
    BodyWithoutRedrive,
    /// 15: `dead_letter` takes `pending` for nothing to do.
    DeadLetterIgnoresPending,
    /// 16: `dead_letter` does not see that a lease is over.
    DeadLetterIgnoresExpiredLease,
    /// 17: the refused settle of an unclaimed run is acknowledged, without a look at why.
    RefusedUnclaimedRunAcked,
    /// 18: the retry of an unclaimed run is written unconditionally.
    UnclaimedRetryUnconditionally,
    /// 19: failures of one Update shut the door for all.
    DoorShutByOne,
    /// 20: the try of a poison is given back whenever it shut the door itself.
    PoisonRefunded,
    /// 21: the probe is an Update.
    UpdateAsProbe,
    /// 22: a send is not claimed.
    SendWithoutClaim,
    /// 23: a send whose sender died is sent again.
    LostSendRepeated,
    /// 24: a person's resend goes out under the old deduplication id.
    ResendUnderOldId,
    /// 25: a person's resend that died before its message cannot be repeated.
    ResendNotRepeatable,
    /// 26: the body of a resend does not carry its number.
    BodyWithoutResend,
    /// 27: `Failed` of a dispatch is not looked at.
    FailedIgnored,
    /// 28: a slot is given back without a look at who moved the gate last.
    GiveBackWithoutToken,
    /// 29: conditions do not ask whether a record has outlived its life.
    ExpiryIgnored,
    /// 30: `dead_letter` files what a worker holds under a lease.
    DeadLetterIgnoresLease,
    /// A claim over an expired record starts a new fence.
    FenceForgottenOnExpiry,
    /// A body of a newer release is taken for poison.
    NewerBodyIsPoison,
    /// A redrive that is repeated is audited again.
    AuditedAgain,
    /// A batch of sends is not sorted by their number.
    BatchUnsorted,
    /// The last try after bad gateways is made without asking the backend first.
    LastTryUnasked,
}

impl Fault {
    /// Every rule.
    pub const ALL: [Self; 36] = [
        Self::SettleUnconditionally,
        Self::NoOwnerToken,
        Self::OwnerWithoutState,
        Self::ClaimWithoutTime,
        Self::SendWithoutTime,
        Self::AckBeforeCommit,
        Self::RedriveKeepsAttempts,
        Self::PendingNeverResent,
        Self::RepeatOfDoneOnlyAcked,
        Self::RestGoesOn,
        Self::RestStaysHidden,
        Self::LeaseIgnored,
        Self::SuspectsNotAlone,
        Self::SuspectBesideOthers,
        Self::BodyWithoutRedrive,
        Self::DeadLetterIgnoresPending,
        Self::DeadLetterIgnoresExpiredLease,
        Self::RefusedUnclaimedRunAcked,
        Self::UnclaimedRetryUnconditionally,
        Self::DoorShutByOne,
        Self::PoisonRefunded,
        Self::UpdateAsProbe,
        Self::SendWithoutClaim,
        Self::LostSendRepeated,
        Self::ResendUnderOldId,
        Self::ResendNotRepeatable,
        Self::BodyWithoutResend,
        Self::FailedIgnored,
        Self::GiveBackWithoutToken,
        Self::ExpiryIgnored,
        Self::DeadLetterIgnoresLease,
        Self::FenceForgottenOnExpiry,
        Self::NewerBodyIsPoison,
        Self::AuditedAgain,
        Self::BatchUnsorted,
        Self::LastTryUnasked,
    ];

    /// The scenario in which its lack shows, and the promise that it breaks there.
    #[must_use]
    pub fn shows_in(self) -> Showcase {
        let pipeline = |scenario, promise: Promise| Showcase::Pipeline(Box::new(scenario), promise.name());
        match self {
            Self::SettleUnconditionally => pipeline(scenarios::one_update(), Promise::OneOutcome),
            Self::NoOwnerToken => pipeline(scenarios::impatient(), Promise::NobodyDiesUnharmed),
            Self::OwnerWithoutState => pipeline(scenarios::two_senders(), Promise::NothingIsLost),
            Self::ClaimWithoutTime => pipeline(scenarios::one_chat(), Promise::NotBeforeItsTime),
            Self::SendWithoutTime => pipeline(scenarios::two_senders(), Promise::NotBeforeItsTime),
            Self::AckBeforeCommit => pipeline(scenarios::one_update(), Promise::NothingIsLost),
            Self::RedriveKeepsAttempts => pipeline(scenarios::redrive(), Promise::NobodyDiesUnharmed),
            Self::PendingNeverResent => pipeline(scenarios::redrive(), Promise::NothingIsLost),
            Self::RepeatOfDoneOnlyAcked => pipeline(scenarios::one_update(), Promise::NothingIsLost),
            Self::RestGoesOn => pipeline(scenarios::one_chat(), Promise::OrderOfOutcomes),
            Self::RestStaysHidden => pipeline(scenarios::one_chat(), Promise::ChatsGoOn),
            Self::LeaseIgnored => pipeline(scenarios::impatient(), Promise::NobodyDiesUnharmed),
            Self::SuspectsNotAlone => pipeline(scenarios::poison(), Promise::NeighbourBurnsOnce),
            Self::SuspectBesideOthers => pipeline(scenarios::poison(), Promise::NeighbourBurnsOnce),
            Self::BodyWithoutRedrive => pipeline(scenarios::redrive(), Promise::NothingIsLost),
            Self::DeadLetterIgnoresPending => pipeline(scenarios::redrive(), Promise::NothingIsLost),
            Self::DeadLetterIgnoresExpiredLease => pipeline(scenarios::given_up(), Promise::ChatsGoOn),
            Self::RefusedUnclaimedRunAcked => pipeline(scenarios::one_unclaimed(), Promise::NothingIsLost),
            Self::UnclaimedRetryUnconditionally => pipeline(scenarios::one_unclaimed(), Promise::OneOutcome),
            Self::DoorShutByOne => Showcase::Door(doors::door_with_poison(), door::OPENS_FOR_NO_POISON),
            Self::PoisonRefunded => Showcase::Door(doors::door_with_feller(), door::POISON_DIES),
            Self::UpdateAsProbe => Showcase::Door(doors::door_with_feller(), door::FOUND_UP),
            Self::SendWithoutClaim => pipeline(scenarios::two_senders(), Promise::NoDoubleSend),
            Self::LostSendRepeated => pipeline(scenarios::two_senders(), Promise::NoDoubleSend),
            Self::ResendUnderOldId => pipeline(scenarios::resend(), Promise::NothingIsLost),
            Self::ResendNotRepeatable => pipeline(scenarios::resend(), Promise::NothingIsLost),
            Self::BodyWithoutResend => pipeline(scenarios::resend(), Promise::NothingIsLost),
            Self::FailedIgnored => pipeline(scenarios::sends(), Promise::NothingIsLost),
            Self::GiveBackWithoutToken => Showcase::Gate(doors::gate(), gate::ONE_SEND_A_SLOT),
            Self::ExpiryIgnored => pipeline(scenarios::reuse(), Promise::NothingIsLost),
            Self::DeadLetterIgnoresLease => pipeline(scenarios::given_up(), Promise::LeaseIsRespected),
            Self::FenceForgottenOnExpiry => pipeline(scenarios::reuse(), Promise::FenceNeverFalls),
            Self::NewerBodyIsPoison => pipeline(scenarios::rollback(), Promise::NobodyDiesUnharmed),
            Self::AuditedAgain => pipeline(scenarios::redrive(), Promise::AuditedOnce),
            Self::BatchUnsorted => pipeline(scenarios::sends(), Promise::ChatsGoOn),
            Self::LastTryUnasked => Showcase::Door(doors::door_of_a_lone_chat(), door::OUTAGE_KILLS_NOBODY),
        }
    }
}
