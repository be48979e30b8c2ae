//! When a failed effect is tried again. Never reads a clock and never draws: the draw is an argument.

use std::time::Duration;

use crate::failure::Disposition;
use crate::kind::UpdateKind;
use crate::time::Timestamp;

/// Base of the backoff (R030: 2,000 ms).
pub const BASE: Duration = Duration::from_millis(2_000);
/// Cap of the backoff before jitter (R031: 300,000 ms).
pub const CAP: Duration = Duration::from_millis(300_000);
/// Tries in all (R050: 8).
pub const MAX_ATTEMPTS: u32 = 8;
/// Tries of a failure that nobody classed, a panic for one (R103: a limited number, then a person).
pub const MAX_UNCLASSIFIED: u32 = 3;

/// A uniform draw in [0, 1), taken beside the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jitter(f64);

impl Jitter {
    /// The least draw: no jitter at all.
    pub const LEAST: Self = Self(0.0);

    /// A draw; values outside [0, 1) are brought inside.
    #[must_use]
    pub fn new(draw: f64) -> Self {
        Self(if draw.is_finite() {
            draw.clamp(0.0, 1.0 - f64::EPSILON)
        } else {
            0.0
        })
    }

    /// The draw.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

/// Tries and the waits between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// First wait before jitter.
    pub base: Duration,
    /// Longest wait before jitter; with it the longest wait is 1.5 times that (R033).
    pub cap: Duration,
    /// Tries in all.
    pub max_attempts: u32,
}

/// The policy of [`Preset::Seed`].
impl Default for RetryPolicy {
    fn default() -> Self {
        Preset::default().policy()
    }
}

/// A policy by name, for owners who choose rather than tune. Attempts are a matter of what the work is worth and how
/// long its person waits (R097).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Preset {
    /// Eight tries over some four minutes (R030-R033, R050).
    #[default]
    Seed,
    /// For work that must outlive a day on which whatever it calls is away: waits grow to half an hour, for 24 h
    /// at the least.
    Outage24h,
    /// For work that a person waits for at a till: Telegram wants a checkout answered within 10 s, so tries follow one
    /// another quickly and end soon. A charge's own condition, not the number of tries, keeps it from being made twice.
    Payments,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 3] = [Self::Seed, Self::Outage24h, Self::Payments];

    /// As written in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Seed => "seed",
            Self::Outage24h => "outage-24h",
            Self::Payments => "payments",
        }
    }

    /// The policy.
    #[must_use]
    pub fn policy(self) -> RetryPolicy {
        match self {
            Self::Seed => RetryPolicy {
                base: BASE,
                cap: CAP,
                max_attempts: MAX_ATTEMPTS,
            },
            // 11 doublings reach the cap after 34 min nominally; with the least jitter (half of each wait) another 95
            // waits of 15 min end a day. 120 tries stay far from the 1,000 receives after which SQS gives up.
            Self::Outage24h => RetryPolicy {
                base: BASE,
                cap: Duration::from_secs(1_800),
                max_attempts: 120,
            },
            Self::Payments => RetryPolicy {
                base: Duration::from_millis(500),
                cap: Duration::from_secs(2),
                max_attempts: 5,
            },
        }
    }
}

/// Classes of Update whose tries may be limited apart (R097, R112).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UpdateClass {
    /// A message or post that begins with a command.
    Command,
    /// Any other message or post.
    Message,
    /// A pressed button.
    Callback,
    /// An inline query or its chosen result.
    Inline,
    /// Pre-checkout, shipping, paid media, a subscription: money.
    Payment,
    /// Everything else: reactions, members, polls, boosts, kinds to come.
    Other,
}

impl UpdateClass {
    /// Every class.
    pub const ALL: [Self; 6] = [
        Self::Command,
        Self::Message,
        Self::Callback,
        Self::Inline,
        Self::Payment,
        Self::Other,
    ];

    /// The class of an Update of that kind.
    #[must_use]
    pub fn of(kind: UpdateKind, is_command: bool) -> Self {
        match kind {
            UpdateKind::Message
            | UpdateKind::EditedMessage
            | UpdateKind::ChannelPost
            | UpdateKind::EditedChannelPost
            | UpdateKind::BusinessMessage
            | UpdateKind::EditedBusinessMessage
            | UpdateKind::GuestMessage => {
                if is_command {
                    Self::Command
                } else {
                    Self::Message
                }
            }
            UpdateKind::CallbackQuery => Self::Callback,
            UpdateKind::InlineQuery | UpdateKind::ChosenInlineResult => Self::Inline,
            UpdateKind::PreCheckoutQuery
            | UpdateKind::ShippingQuery
            | UpdateKind::PurchasedPaidMedia
            | UpdateKind::Subscription => Self::Payment,
            UpdateKind::BusinessConnection
            | UpdateKind::DeletedBusinessMessages
            | UpdateKind::MessageReaction
            | UpdateKind::MessageReactionCount
            | UpdateKind::Poll
            | UpdateKind::PollAnswer
            | UpdateKind::MyChatMember
            | UpdateKind::ChatMember
            | UpdateKind::ChatJoinRequest
            | UpdateKind::ChatBoost
            | UpdateKind::RemovedChatBoost
            | UpdateKind::ManagedBot
            | UpdateKind::StoppedMessageGeneration
            | UpdateKind::Unknown => Self::Other,
        }
    }

    /// The preset of the class, where a bot does not choose its own.
    #[must_use]
    pub fn preset(self) -> Preset {
        match self {
            Self::Payment => Preset::Payments,
            Self::Command | Self::Message | Self::Callback | Self::Inline | Self::Other => Preset::Seed,
        }
    }
}

/// Why there is no further try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveUp {
    /// It will never work.
    Permanent,
    /// It was tried often enough.
    Exhausted,
    /// It may have been done already: a person or a rule decides, not the backoff.
    Ambiguous,
    /// The next try would come after its time: nobody waits for it any more.
    Expired,
}

/// What follows a failed try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Try again no earlier than after this wait.
    RetryIn(Duration),
    /// Don't.
    GiveUp(GiveUp),
}

impl RetryPolicy {
    /// What follows the `attempt`-th try (from 1) that failed so.
    ///
    /// `delay = floor(min(cap, base * 2^(attempt-1)) * (0.5 + draw))` (R032, R033; the first gap is the base, so that
    /// eight tries span 254 s nominally). A `retry_after` is a floor that jitter only adds to (R034, R159): up to a
    /// tenth of the backoff on top, so that many waiters don't come back in one instant.
    #[must_use]
    pub fn decide(&self, attempt: u32, disposition: Disposition, draw: Jitter) -> RetryDecision {
        let floor = match disposition {
            Disposition::Permanent => return RetryDecision::GiveUp(GiveUp::Permanent),
            Disposition::Ambiguous => return RetryDecision::GiveUp(GiveUp::Ambiguous),
            Disposition::Transient => Duration::ZERO,
            Disposition::Throttled { retry_after } => retry_after,
        };
        if attempt >= self.max_attempts {
            return RetryDecision::GiveUp(GiveUp::Exhausted);
        }
        let backoff = self.backoff(attempt, draw);
        if floor.is_zero() {
            return RetryDecision::RetryIn(backoff);
        }
        let spread = Duration::from_millis(scaled(self.exponential(attempt), 0.1 * draw.get()));
        RetryDecision::RetryIn(backoff.max(floor.saturating_add(spread)))
    }

    /// The same for work that is worth nothing after `until`: a try that would begin later is not made.
    #[must_use]
    pub fn decide_until(
        &self,
        attempt: u32,
        disposition: Disposition,
        draw: Jitter,
        now: Timestamp,
        until: Option<Timestamp>,
    ) -> RetryDecision {
        match (self.decide(attempt, disposition, draw), until) {
            (RetryDecision::RetryIn(wait), Some(until)) if now + wait > until => {
                RetryDecision::GiveUp(GiveUp::Expired)
            }
            (decision, _) => decision,
        }
    }

    /// The same policy with no more than that many tries.
    #[must_use]
    pub fn at_most(self, tries: Option<u32>) -> Self {
        Self {
            max_attempts: tries.map_or(self.max_attempts, |tries| tries.min(self.max_attempts)),
            ..self
        }
    }

    fn exponential(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        self.base.saturating_mul(1 << doublings).min(self.cap)
    }

    fn backoff(&self, attempt: u32, draw: Jitter) -> Duration {
        Duration::from_millis(scaled(self.exponential(attempt), 0.5 + draw.get()))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "floor of a small positive product"
)]
fn scaled(wait: Duration, factor: f64) -> u64 {
    (wait.as_millis() as f64 * factor).floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn delay(attempt: u32, disposition: Disposition, draw: f64) -> Option<u64> {
        match RetryPolicy::default().decide(attempt, disposition, Jitter::new(draw)) {
            RetryDecision::RetryIn(wait) => Some(u64::try_from(wait.as_millis()).unwrap()),
            RetryDecision::GiveUp(_) => None,
        }
    }

    #[test]
    fn waits_double_from_two_seconds_and_the_eighth_failure_is_the_last() {
        let nominal: Vec<_> = (1..=8)
            .map(|attempt| delay(attempt, Disposition::Transient, 0.5))
            .collect();
        let expected = [2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000].map(Some);
        assert_eq!(nominal[..7], expected);
        assert_eq!(nominal[7], None);
    }

    #[test]
    fn a_permanent_or_ambiguous_failure_is_never_repeated_by_the_backoff() {
        let policy = RetryPolicy::default();
        let draw = Jitter::new(0.3);
        assert_eq!(
            policy.decide(1, Disposition::Permanent, draw),
            RetryDecision::GiveUp(GiveUp::Permanent)
        );
        assert_eq!(
            policy.decide(1, Disposition::Ambiguous, draw),
            RetryDecision::GiveUp(GiveUp::Ambiguous)
        );
    }

    #[test]
    fn a_try_that_would_begin_too_late_is_not_made() {
        let decide = |until| {
            let (draw, now) = (Jitter::new(0.5), Timestamp::from_millis(1_000));
            RetryPolicy::default().decide_until(1, Disposition::Transient, draw, now, until)
        };
        let wait = RetryDecision::RetryIn(Duration::from_secs(2));
        assert_eq!(decide(None), wait);
        assert_eq!(decide(Some(Timestamp::from_millis(3_000))), wait);
        let late = decide(Some(Timestamp::from_millis(2_999)));
        assert_eq!(late, RetryDecision::GiveUp(GiveUp::Expired));
    }

    #[test]
    fn the_outage_preset_outlives_a_day_whatever_is_drawn_and_the_payments_preset_ends_in_ten_seconds() {
        let span = |preset: Preset, draw: f64| {
            let policy = preset.policy();
            (1..policy.max_attempts)
                .map(|attempt| policy.backoff(attempt, Jitter::new(draw)))
                .sum::<Duration>()
        };
        assert!(span(Preset::Outage24h, 0.0) > Duration::from_secs(86_400));
        assert!(span(Preset::Payments, 1.0) < Duration::from_secs(10));
        assert!(
            Preset::ALL
                .iter()
                .all(|preset| preset.policy().max_attempts < 900)
        );
    }

    #[test]
    fn money_is_tried_by_its_own_policy_and_commands_are_told_from_messages() {
        assert_eq!(UpdateClass::of(UpdateKind::Message, true), UpdateClass::Command);
        assert_eq!(UpdateClass::of(UpdateKind::Message, false), UpdateClass::Message);
        let payment = UpdateClass::of(UpdateKind::PreCheckoutQuery, false);
        assert_eq!(payment.preset(), Preset::Payments);
        assert_eq!(UpdateClass::of(UpdateKind::Unknown, false), UpdateClass::Other);
    }

    proptest! {
        #[test]
        fn no_retry_comes_before_retry_after(attempt in 1_u32..8, secs in 0_u64..100_000, draw in 0.0..1.0_f64) {
            let after = Duration::from_secs(secs);
            let wait = delay(attempt, Disposition::Throttled { retry_after: after }, draw).unwrap();
            prop_assert!(wait >= secs * 1000);
        }

        #[test]
        fn every_wait_lies_between_half_and_one_and_a_half_of_the_backoff(attempt in 1_u32..40, draw in 0.0..1.0_f64) {
            let policy = RetryPolicy { max_attempts: 100, ..RetryPolicy::default() };
            let RetryDecision::RetryIn(wait) = policy.decide(attempt, Disposition::Transient, Jitter::new(draw)) else {
                return Err(TestCaseError::fail("gave up"));
            };
            let nominal = policy.exponential(attempt);
            prop_assert!(wait >= nominal / 2 && wait <= nominal * 3 / 2);
            prop_assert!(wait <= CAP * 3 / 2);
        }
    }
}
