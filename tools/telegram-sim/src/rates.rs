//! Telegram's rate limits as pure maths: state and time in, admission or a wait out. No clock, no I/O.
//!
//! The real limits are unpublished. The strict profile enforces what the Bot FAQ names (30 messages per
//! second, one per second and chat, 20 per minute and group) to the letter; the real profile lets a bot go
//! over 30 per second as long as it talks to few chats, which is what field reports describe.

use std::collections::{HashMap, HashSet, VecDeque};

/// How hard the simulated Telegram is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// The Bot FAQ's numbers without any slack.
    #[default]
    Strict,
    /// The per-chat limits, and the bot-wide one only for calls spread over many chats.
    Real,
}

impl Profile {
    /// The numbers of this profile.
    #[must_use]
    pub fn limits(self) -> Limits {
        let limits = Limits::default();
        match self {
            Self::Strict => limits,
            Self::Real => Limits {
                bot_distinct_chats: 25,
                ..limits
            },
        }
    }
}

/// The numbers that the maths works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Sends of a bot in `bot_window_ms` (Bot FAQ: about 30 per second).
    pub bot_calls: usize,
    /// Length of the bot's sliding window, milliseconds.
    pub bot_window_ms: i64,
    /// The bot's limit binds only from this many different chats in the window on; 0 is always.
    pub bot_distinct_chats: usize,
    /// Time between sends to a private chat in the long run (Bot FAQ: one per second), milliseconds.
    pub private_interval_ms: i64,
    /// Sends a private chat takes at once (Bot FAQ: "bursts"; three is what bots report).
    pub private_burst: i64,
    /// Sends to a group in `group_window_ms` (Bot FAQ: 20 per minute).
    pub group_calls: usize,
    /// Length of a group's sliding window, milliseconds.
    pub group_window_ms: i64,
    /// Typing and drafts per peer: calls and window in milliseconds (core.telegram.org/api/bots/ai).
    pub action: [(usize, i64); 2],
    /// Longest cool-down of typing and drafts, seconds (same page).
    pub action_cooldown_max_s: i64,
    /// What a call made during a hold adds to it, milliseconds (calling during the wait escalates: field reports).
    pub hold_extension_ms: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bot_calls: 30,
            bot_window_ms: 1_000,
            bot_distinct_chats: 0,
            private_interval_ms: 1_000,
            private_burst: 3,
            group_calls: 20,
            group_window_ms: 60_000,
            action: [(20, 5_000), (40, 30_000)],
            action_cooldown_max_s: 3,
            hold_extension_ms: 1_000,
        }
    }
}

/// What a call weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// A send, an edit, or an album of that many items.
    Send(usize),
    /// Typing or a draft.
    Action,
    /// Not limited.
    Free,
}

/// A refusal: the whole seconds after which the call will pass if nobody calls before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetryAfter(pub(crate) u64);

#[derive(Debug, Default)]
struct ChatRate {
    /// When a private chat has forgotten all sends so far.
    tat_ms: i64,
    sends: VecDeque<i64>,
    actions: VecDeque<i64>,
    hold_until_ms: i64,
    action_hold_until_ms: i64,
}

/// What one bot has used of its limits.
#[derive(Debug)]
pub(crate) struct Rates {
    limits: Limits,
    sends: VecDeque<(i64, i64)>,
    hold_until_ms: i64,
    chats: HashMap<i64, ChatRate>,
}

/// Milliseconds until `window` has room for `more`, counted in `log` of past times; 0 when it has.
fn window_wait(log: &VecDeque<i64>, now: i64, calls: usize, window_ms: i64, more: usize) -> i64 {
    let over = (log.len() + more).saturating_sub(calls.max(more));
    if over == 0 {
        0
    } else {
        log.get(over - 1).map_or(0, |at| at + window_ms - now).max(0)
    }
}

fn forget(log: &mut VecDeque<i64>, until: i64) {
    while log.front().is_some_and(|at| *at <= until) {
        log.pop_front();
    }
}

/// Whole seconds, rounded up, at least one: Telegram never says 0.
fn whole_seconds(ms: i64) -> i64 {
    ((ms + 999) / 1_000).max(1)
}

/// Starts a hold of `wait_ms` rounded up to seconds.
fn hold(until: &mut i64, now: i64, wait_ms: i64) -> RetryAfter {
    let seconds = whole_seconds(wait_ms);
    *until = (*until).max(now + seconds * 1_000);
    RetryAfter(seconds.unsigned_abs())
}

/// Refuses while a hold lasts, and lengthens it.
fn held(until: &mut i64, now: i64, extension_ms: i64) -> Result<(), RetryAfter> {
    if *until <= now {
        return Ok(());
    }
    *until += extension_ms;
    Err(RetryAfter(whole_seconds(*until - now).unsigned_abs()))
}

impl Rates {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            sends: VecDeque::new(),
            hold_until_ms: 0,
            chats: HashMap::new(),
        }
    }

    /// Admits a call to `chat` at `now`, or says how long to wait. An admitted call is counted, a refused one
    /// starts or lengthens a hold: of the chat if the chat's limit refused it, else of the bot.
    pub(crate) fn admit(&mut self, now: i64, chat: i64, weight: Weight) -> Result<(), RetryAfter> {
        match weight {
            Weight::Free => Ok(()),
            Weight::Action => self.admit_action(now, chat),
            Weight::Send(items) => self.admit_send(now, chat, items.max(1)),
        }
    }

    /// Takes the last admission back: the call was refused for another reason before Telegram sent anything.
    pub(crate) fn give_back(&mut self, chat: i64, weight: Weight) {
        let (Weight::Send(items), Some(rate)) = (weight, self.chats.get_mut(&chat)) else {
            return;
        };
        for _ in 0..items.max(1) {
            self.sends.pop_back();
            if chat < 0 {
                rate.sends.pop_back();
            } else {
                rate.tat_ms -= self.limits.private_interval_ms;
            }
        }
    }

    fn admit_action(&mut self, now: i64, chat: i64) -> Result<(), RetryAfter> {
        let Limits {
            action,
            action_cooldown_max_s,
            ..
        } = self.limits;
        let rate = self.chats.entry(chat).or_default();
        let cap_ms = action_cooldown_max_s * 1_000;
        if rate.action_hold_until_ms > now {
            // The cool-down does not grow past its cap, however often one knocks.
            rate.action_hold_until_ms = now + cap_ms;
            return Err(RetryAfter(action_cooldown_max_s.unsigned_abs()));
        }
        forget(&mut rate.actions, now - action[1].1);
        let wait = action
            .iter()
            .map(|&(calls, window)| action_wait(&rate.actions, now, calls, window))
            .max();
        match wait {
            Some(wait) if wait > 0 => Err(hold(&mut rate.action_hold_until_ms, now, wait.min(cap_ms))),
            _ => {
                rate.actions.push_back(now);
                Ok(())
            }
        }
    }

    fn admit_send(&mut self, now: i64, chat: i64, items: usize) -> Result<(), RetryAfter> {
        let limits = &self.limits;
        held(&mut self.hold_until_ms, now, limits.hold_extension_ms)?;
        let rate = self.chats.entry(chat).or_default();
        held(&mut rate.hold_until_ms, now, limits.hold_extension_ms)?;

        if chat < 0 {
            forget(&mut rate.sends, now - limits.group_window_ms);
            let wait = window_wait(
                &rate.sends,
                now,
                limits.group_calls,
                limits.group_window_ms,
                items,
            );
            if wait > 0 {
                return Err(hold(&mut rate.hold_until_ms, now, wait));
            }
        } else {
            let wait = rate.tat_ms - now - (limits.private_burst - 1) * limits.private_interval_ms;
            if wait > 0 {
                return Err(hold(&mut rate.hold_until_ms, now, wait));
            }
        }

        while self
            .sends
            .front()
            .is_some_and(|(at, _)| *at <= now - limits.bot_window_ms)
        {
            self.sends.pop_front();
        }
        let over = (self.sends.len() + items).saturating_sub(limits.bot_calls.max(items));
        if over > 0 && self.distinct_chats(chat) >= self.limits.bot_distinct_chats {
            let wait = self
                .sends
                .get(over - 1)
                .map_or(0, |(at, _)| at + self.limits.bot_window_ms - now);
            return Err(hold(&mut self.hold_until_ms, now, wait));
        }
        self.count_send(now, chat, items);
        Ok(())
    }

    fn distinct_chats(&self, chat: i64) -> usize {
        self.sends
            .iter()
            .map(|(_, chat)| *chat)
            .chain([chat])
            .collect::<HashSet<_>>()
            .len()
    }

    fn count_send(&mut self, now: i64, chat: i64, items: usize) {
        let interval = self.limits.private_interval_ms;
        let rate = self.chats.entry(chat).or_default();
        for _ in 0..items {
            self.sends.push_back((now, chat));
            if chat < 0 {
                rate.sends.push_back(now);
            } else {
                rate.tat_ms = rate.tat_ms.max(now) + interval;
            }
        }
    }
}

/// As [`window_wait`], for a window that may be shorter than the log reaches back.
fn action_wait(log: &VecDeque<i64>, now: i64, calls: usize, window_ms: i64) -> i64 {
    let inside: VecDeque<i64> = log.iter().copied().filter(|at| *at > now - window_ms).collect();
    window_wait(&inside, now, calls, window_ms, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(profile: Profile) -> Rates {
        Rates::new(profile.limits())
    }

    const SEND: Weight = Weight::Send(1);

    #[test]
    fn a_private_chat_takes_three_at_once_and_then_one_per_second() {
        let mut rates = rates(Profile::Strict);
        for _ in 0..3 {
            assert_eq!(rates.admit(0, 1, SEND), Ok(()));
        }
        assert_eq!(rates.admit(0, 1, SEND), Err(RetryAfter(1)));
        assert_eq!(rates.admit(1_000, 1, SEND), Ok(()));
        assert_eq!(rates.admit(1_500, 1, SEND), Err(RetryAfter(1)));
    }

    #[test]
    fn another_chat_is_not_held_by_a_busy_one() {
        let mut rates = rates(Profile::Strict);
        while rates.admit(0, 1, SEND).is_ok() {}
        assert_eq!(rates.admit(0, 2, SEND), Ok(()));
    }

    #[test]
    fn a_group_takes_twenty_in_any_sixty_seconds() {
        let mut rates = rates(Profile::Strict);
        for n in 0..20 {
            assert_eq!(rates.admit(n * 1_000, -7, SEND), Ok(()));
        }
        assert_eq!(rates.admit(20_000, -7, SEND), Err(RetryAfter(40)));
        assert_eq!(rates.admit(60_000, -7, SEND), Ok(()));
        assert_eq!(rates.admit(60_001, -7, SEND), Err(RetryAfter(1)));
    }

    #[test]
    fn the_wait_of_a_refusal_is_enough_if_nobody_calls_before() {
        let mut rates = rates(Profile::Strict);
        let mut now = 0;
        for _ in 0..200 {
            match rates.admit(now, -7, SEND) {
                Ok(()) => now += 137,
                Err(RetryAfter(seconds)) => {
                    now += i64::try_from(seconds).unwrap() * 1_000;
                    assert_eq!(rates.admit(now, -7, SEND), Ok(()));
                }
            }
        }
    }

    #[test]
    fn a_call_during_a_hold_lengthens_it() {
        let mut rates = rates(Profile::Strict);
        while rates.admit(0, 1, SEND).is_ok() {}
        assert_eq!(rates.admit(100, 1, SEND), Err(RetryAfter(2)));
        assert_eq!(rates.admit(200, 1, SEND), Err(RetryAfter(3)));
        assert_eq!(rates.admit(3_000, 1, SEND), Ok(()));
    }

    #[test]
    fn thirty_sends_fit_a_second_and_the_next_holds_the_whole_bot() {
        let mut rates = rates(Profile::Strict);
        for chat in 0..30 {
            assert_eq!(rates.admit(chat, chat, SEND), Ok(()));
        }
        assert_eq!(rates.admit(30, 30, SEND), Err(RetryAfter(1)));
        assert_eq!(rates.admit(40, 77, SEND), Err(RetryAfter(2)));
    }

    #[test]
    fn the_real_profile_lets_few_chats_exceed_thirty_per_second() {
        let few = |profile| {
            let mut rates = rates(profile);
            (0..60)
                .filter(|n| rates.admit(0, n % 20 + 1, SEND).is_ok())
                .count()
        };
        assert_eq!(few(Profile::Strict), 30);
        assert_eq!(few(Profile::Real), 60);
    }

    #[test]
    fn the_real_profile_limits_a_broadcast_over_many_chats() {
        let mut rates = rates(Profile::Real);
        assert_eq!(
            (1..=60)
                .filter(|chat| rates.admit(0, *chat, SEND).is_ok())
                .count(),
            30
        );
    }

    #[test]
    fn an_album_weighs_as_many_sends_as_it_has_items() {
        let mut rates = rates(Profile::Strict);
        assert_eq!(rates.admit(0, -7, Weight::Send(10)), Ok(()));
        assert_eq!(rates.admit(0, -7, Weight::Send(10)), Ok(()));
        assert_eq!(rates.admit(0, -7, SEND), Err(RetryAfter(60)));
    }

    #[test]
    fn an_admission_given_back_leaves_the_limits_as_they_were() {
        for chat in [1, -7] {
            let mut rates = rates(Profile::Strict);
            for n in 0..100 {
                assert_eq!(rates.admit(n, chat, SEND), Ok(()));
                rates.give_back(chat, SEND);
            }
        }
    }

    #[test]
    fn typing_is_counted_apart_and_cools_down_in_three_seconds() {
        let mut rates = rates(Profile::Strict);
        for _ in 0..20 {
            assert_eq!(rates.admit(0, 1, Weight::Action), Ok(()));
        }
        assert_eq!(rates.admit(0, 1, Weight::Action), Err(RetryAfter(3)));
        assert_eq!(rates.admit(0, 1, SEND), Ok(()));
        assert_eq!(rates.admit(5_000, 1, Weight::Action), Ok(()));
    }

    #[test]
    fn typing_has_a_second_limit_over_thirty_seconds() {
        let mut rates = rates(Profile::Strict);
        let admitted = (0..100)
            .filter(|n| rates.admit(n * 300, 1, Weight::Action).is_ok())
            .count();
        assert!((40..50).contains(&admitted), "{admitted}");
    }

    #[test]
    fn free_calls_are_never_refused() {
        let mut rates = rates(Profile::Strict);
        assert!((0..1_000).all(|_| rates.admit(0, 1, Weight::Free).is_ok()));
    }
}
