//! The rules of the protocol, each as the variant of the model that lacks it. A rule that no counterexample needs would
//! be no rule.

use crate::promise::Promise;
use crate::scenario::Scenario;
use crate::scenarios;

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
}

impl Fault {
    /// Every rule.
    pub const ALL: [Self; 31] = [
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
        Self::SendWithoutClaim,
        Self::LostSendRepeated,
        Self::ResendUnderOldId,
        Self::ResendNotRepeatable,
        Self::BodyWithoutResend,
        Self::FailedIgnored,
        Self::ExpiryIgnored,
        Self::DeadLetterIgnoresLease,
        Self::FenceForgottenOnExpiry,
        Self::NewerBodyIsPoison,
        Self::AuditedAgain,
        Self::BatchUnsorted,
    ];

    /// The scenario in which its lack shows, and the promise that it breaks there.
    #[must_use]
    pub fn shows_in(self) -> (Scenario, Promise) {
        match self {
            Self::SettleUnconditionally => (scenarios::one_update(), Promise::OneOutcome),
            Self::NoOwnerToken => (scenarios::impatient(), Promise::NobodyDiesUnharmed),
            Self::OwnerWithoutState => (scenarios::two_senders(), Promise::NothingIsLost),
            Self::ClaimWithoutTime => (scenarios::one_update(), Promise::NotBeforeItsTime),
            Self::SendWithoutTime => (scenarios::two_senders(), Promise::NotBeforeItsTime),
            Self::AckBeforeCommit => (scenarios::one_update(), Promise::NothingIsLost),
            Self::RedriveKeepsAttempts => (scenarios::redrive(), Promise::NobodyDiesUnharmed),
            Self::PendingNeverResent => (scenarios::redrive(), Promise::NothingIsLost),
            Self::RepeatOfDoneOnlyAcked => (scenarios::one_update(), Promise::NothingIsLost),
            Self::RestGoesOn => (scenarios::one_chat(), Promise::OrderOfOutcomes),
            Self::RestStaysHidden => (scenarios::one_chat(), Promise::ChatsGoOn),
            Self::LeaseIgnored => (scenarios::impatient(), Promise::NobodyDiesUnharmed),
            Self::SuspectsNotAlone => (scenarios::poison(), Promise::NeighbourBurnsOnce),
            Self::SuspectBesideOthers => (scenarios::poison(), Promise::NeighbourBurnsOnce),
            Self::BodyWithoutRedrive => (scenarios::redrive(), Promise::NothingIsLost),
            Self::DeadLetterIgnoresPending => (scenarios::redrive(), Promise::NothingIsLost),
            Self::DeadLetterIgnoresExpiredLease => (scenarios::given_up(), Promise::ChatsGoOn),
            Self::RefusedUnclaimedRunAcked => (scenarios::one_unclaimed(), Promise::NothingIsLost),
            Self::UnclaimedRetryUnconditionally => (scenarios::one_unclaimed(), Promise::OneOutcome),
            Self::SendWithoutClaim => (scenarios::two_senders(), Promise::NoDoubleSend),
            Self::LostSendRepeated => (scenarios::two_senders(), Promise::NoDoubleSend),
            Self::ResendUnderOldId => (scenarios::resend(), Promise::NothingIsLost),
            Self::ResendNotRepeatable => (scenarios::resend(), Promise::NothingIsLost),
            Self::BodyWithoutResend => (scenarios::resend(), Promise::NothingIsLost),
            Self::FailedIgnored => (scenarios::sends(), Promise::NothingIsLost),
            Self::ExpiryIgnored => (scenarios::reuse(), Promise::NothingIsLost),
            Self::DeadLetterIgnoresLease => (scenarios::given_up(), Promise::LeaseIsRespected),
            Self::FenceForgottenOnExpiry => (scenarios::reuse(), Promise::FenceNeverFalls),
            Self::NewerBodyIsPoison => (scenarios::rollback(), Promise::NobodyDiesUnharmed),
            Self::AuditedAgain => (scenarios::redrive(), Promise::AuditedOnce),
            Self::BatchUnsorted => (scenarios::sends(), Promise::ChatsGoOn),
        }
    }
}
