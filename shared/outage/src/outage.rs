//! The driver: one cached breaker for each bot, one read or change at a time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use penstock_domain::breaker::{
    Breaker, Cause, Decision, Effect, Entry, Event, FIRST_WAIT, FailedTry, Probe, ProbeAnswer, Sign, decide,
    entry, is_news, ramp_wait,
};
use penstock_domain::ids::BotId;
use penstock_domain::ledger::Owner;
use penstock_domain::retry::Jitter;
use penstock_domain::time::Timestamp;
use penstock_ports::{BreakerChange, Breakers, Changed, Debit, PortError, StoredBreaker};

use crate::door::Door;

/// How long a breaker is used as it was read: half a read unit every 5 s while there is work, and tries go on for so
/// long after another instance has shut the door.
pub const FRESH: Duration = Duration::from_secs(5);
/// How often counts are stored: a minute's count is then at most a sixth off, and an instance that is frozen or ends
/// loses no more than that.
pub const FLUSH_EVERY: Duration = Duration::from_secs(10);
/// An Update that is answered so long after its receipt is a backlog's, which may come back when the ramp is over: only
/// what is answered sooner tells how busy the backend is.
pub const USUAL: Duration = Duration::from_secs(60);
/// Changes tried after lost races. Whoever loses them all leaves it to the others.
const TRIES: usize = 3;

/// Whether an Update may be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Now.
    Free,
    /// After this wait, at most [`penstock_ports::HORIZON`]: its place in the ramp.
    In(Duration),
    /// Not now; it comes back after this wait, without a write to its record and without an attempt.
    Deferred(Duration),
}

/// The outage mode of this process.
#[derive(Debug)]
pub struct Outage<B> {
    breakers: B,
    instance: String,
    changes: AtomicU64,
    doors: Mutex<HashMap<BotId, Arc<Door>>>,
}

impl<B: Breakers> Outage<B> {
    /// Over those breakers. `instance` is a name that no other process has, nor this one's predecessor.
    #[must_use]
    pub fn new(breakers: B, instance: impl Into<String>) -> Self {
        Self {
            breakers,
            instance: instance.into(),
            changes: AtomicU64::new(0),
            doors: Mutex::default(),
        }
    }

    /// Whether an Update of the bot that was received then may be tried now. In a ramp this takes its place at the gate.
    pub async fn entry(&self, bot: BotId, received_at: Timestamp, now: Timestamp, draw: Jitter) -> Turn {
        let door = self.door(bot);
        let mut stored = self.current(bot, &door, now).await;
        if Self::looked(&stored.breaker, true, now) != stored.breaker {
            stored = self.step(bot, &door, now).await.unwrap_or(stored);
        }
        match (entry(&stored.breaker, received_at, now, draw), &stored.breaker) {
            (Entry::Free, _) => Turn::Free,
            (Entry::Deferred(wait), _) => Turn::Deferred(wait),
            (Entry::Gated(gate), breaker) => {
                let ramp_at = match breaker {
                    Breaker::Ramp { ramp_at, .. } => *ramp_at,
                    Breaker::Closed { .. } | Breaker::Open { .. } | Breaker::HalfOpen { .. } => now,
                };
                let wait = |ahead| Turn::Deferred(ramp_wait(ramp_at, ahead, now, draw));
                if let Some(ahead) = door.full_ahead(now) {
                    return wait(ahead);
                }
                match self.breakers.reserve(bot, gate, 1, now).await {
                    Ok(Debit::Reserved { ahead }) => Turn::In(ahead),
                    Ok(Debit::Full { ahead }) => {
                        door.found_full(ahead, now);
                        wait(ahead)
                    }
                    Err(error) => {
                        store_away(bot, &error);
                        wait(Duration::ZERO)
                    }
                }
            }
        }
    }

    /// Since when nothing of the bot is tried, if its door is shut. Takes no place in a ramp.
    pub async fn shut_since(&self, bot: BotId, now: Timestamp) -> Option<Timestamp> {
        let door = self.door(bot);
        match self.current(bot, &door, now).await.breaker {
            Breaker::Open { opened_at, .. } | Breaker::HalfOpen { opened_at, .. } => Some(opened_at),
            Breaker::Closed { .. } | Breaker::Ramp { .. } => None,
        }
    }

    /// The backend answered an Update that was received then, be it with a failure of its own.
    pub async fn answered(&self, bot: BotId, received_at: Timestamp, now: Timestamp) {
        let door = self.door(bot);
        door.answered(now);
        if now.since(received_at) < USUAL {
            door.count(now);
        }
        let is_told = || door.known().is_some_and(|known| is_news(&known.breaker, now));
        let is_due = || door.is_flush_due(FLUSH_EVERY, now);
        let _turn = if is_told() {
            door.turn.lock().await
        } else if is_due() {
            // Whoever has the turn stores the counts too, or the next answer does.
            let Ok(turn) = door.turn.try_lock() else { return };
            turn
        } else {
            return;
        };
        if !is_told() && !is_due() {
            return;
        }
        let answered = |stored: &StoredBreaker| {
            if is_news(&stored.breaker, now) {
                return decide(&stored.breaker, &Event::Answered, now, NO_DRAW);
            }
            unchanged(stored)
        };
        let changed = self.change(bot, &door, door.known(), now, answered).await;
        Self::told(bot, changed);
    }

    /// A try found the backend away. Whether it is given back.
    pub async fn failed(&self, bot: BotId, cause: Cause, sign: &Sign, now: Timestamp) -> bool {
        let door = self.door(bot);
        let _turn = door.turn.lock().await;
        let failed = |stored: &StoredBreaker| {
            let failure = FailedTry {
                cause,
                sign: sign.clone(),
                measured: door.metered(&stored.meter, now).rate(now),
                answered_at: door.answered_at(),
            };
            decide(&stored.breaker, &Event::Failed(failure), now, NO_DRAW)
        };
        let changed = self.change(bot, &door, None, now, failed).await;
        let decision = Self::told(bot, changed);
        decision.is_some_and(|decision| decision.effect == Effect::Settle { is_refunded: true })
    }

    /// The right to ask the backend by a HEAD, if nobody else has it and it is time. Its answer goes to
    /// [`Self::probed`].
    pub async fn probe_due(&self, bot: BotId, now: Timestamp, owner: &Owner) -> Option<Probe> {
        let door = self.door(bot);
        let wanted = |stored: &StoredBreaker| {
            let owner = owner.clone();
            decide(&stored.breaker, &Event::ProbeWanted { owner }, now, NO_DRAW)
        };
        let stored = self.current(bot, &door, now).await;
        if wanted(&stored).effect != Effect::MakeProbe {
            return None;
        }
        let _turn = door.turn.lock().await;
        let changed = self.change(bot, &door, door.known(), now, wanted).await;
        match Self::told(bot, changed)? {
            Decision {
                next: Breaker::HalfOpen { probe, .. },
                effect: Effect::MakeProbe,
            } => Some(probe),
            _ => None,
        }
    }

    /// A probe came back. If that cannot be stored, its lease ends and another is made.
    pub async fn probed(&self, bot: BotId, owner: &Owner, answer: ProbeAnswer, now: Timestamp, draw: Jitter) {
        let door = self.door(bot);
        let _turn = door.turn.lock().await;
        let probed = |stored: &StoredBreaker| {
            let owner = owner.clone();
            decide(&stored.breaker, &Event::Probed { owner, answer }, now, draw)
        };
        let changed = self.change(bot, &door, door.known(), now, probed).await;
        Self::told(bot, changed);
    }

    /// Whoever asked by a HEAD before the last try of an Update (`asks_first` says when) learns here whether the try is
    /// made. A backend that is away shuts the door; should that fail, this Update waits all the same.
    pub async fn asked_first(
        &self,
        bot: BotId,
        answer: ProbeAnswer,
        received_at: Timestamp,
        now: Timestamp,
        draw: Jitter,
    ) -> Turn {
        if answer.is_up() {
            return Turn::Free;
        }
        let door = self.door(bot);
        let _turn = door.turn.lock().await;
        let away = |stored: &StoredBreaker| {
            let measured = door.metered(&stored.meter, now).rate(now);
            decide(&stored.breaker, &Event::FoundAway { measured }, now, NO_DRAW)
        };
        let changed = self.change(bot, &door, None, now, away).await;
        let waits = Self::told(bot, changed).map(|decision| entry(&decision.next, received_at, now, draw));
        match waits {
            Some(Entry::Deferred(wait)) => Turn::Deferred(wait),
            Some(Entry::Free | Entry::Gated(_)) | None => Turn::Deferred(FIRST_WAIT),
        }
    }

    fn door(&self, bot: BotId) -> Arc<Door> {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(doors.entry(bot).or_default())
    }

    /// The breaker as it was at most [`FRESH`] ago. A store that is away leaves what was known, for as long again.
    async fn current(&self, bot: BotId, door: &Door, now: Timestamp) -> StoredBreaker {
        if let Some(fresh) = door.fresh(FRESH, now) {
            return fresh;
        }
        let _turn = door.turn.lock().await;
        if let Some(fresh) = door.fresh(FRESH, now) {
            return fresh;
        }
        let stored = match self.breakers.breaker(bot).await {
            Ok(stored) => stored,
            Err(error) => {
                store_away(bot, &error);
                door.known().unwrap_or_default()
            }
        };
        door.keep(stored.clone(), now);
        stored
    }

    fn looked(breaker: &Breaker, is_bound: bool, now: Timestamp) -> Breaker {
        decide(breaker, &Event::Looked { is_bound }, now, NO_DRAW).next
    }

    /// A step of the ramp may be over. Whether its gate has held anything back is what any process noted in the item:
    /// this one may have been let through whenever it asked.
    async fn step(&self, bot: BotId, door: &Door, now: Timestamp) -> Option<StoredBreaker> {
        let _turn = door.turn.lock().await;
        let looked = |stored: &StoredBreaker| {
            let is_bound = match &stored.breaker {
                Breaker::Ramp { step_at, .. } => stored.held_back_at >= Some(*step_at),
                Breaker::Closed { .. } | Breaker::Open { .. } | Breaker::HalfOpen { .. } => false,
            };
            Decision {
                next: Self::looked(&stored.breaker, is_bound, now),
                effect: Effect::None,
            }
        };
        // Another has made the step while this one waited for its turn.
        if let Some(fresh) = door.known().filter(|known| looked(known).next == known.breaker) {
            return Some(fresh);
        }
        let changed = self.change(bot, door, None, now, looked).await;
        Self::told(bot, changed)?;
        door.known()
    }

    /// Decides upon what is stored and writes that, again upon what others wrote in between. `known` spares the first
    /// read. Counts go with it. None: others were faster each time. The caller has the door's turn.
    async fn change(
        &self,
        bot: BotId,
        door: &Door,
        known: Option<StoredBreaker>,
        now: Timestamp,
        decide: impl Fn(&StoredBreaker) -> Decision,
    ) -> Result<Option<Decision>, PortError> {
        let mut stored = match known {
            Some(known) => known,
            None => {
                let stored = self.breakers.breaker(bot).await?;
                door.keep(stored.clone(), now);
                stored
            }
        };
        // Asked before the first write, which counts as a flush: one that lost its race is made again.
        let is_due = door.is_flush_due(FLUSH_EVERY, now);
        for _ in 0..TRIES {
            let decision = decide(&stored);
            let is_usual = matches!(stored.breaker, Breaker::Closed { .. });
            if decision.next == stored.breaker && !(is_usual && is_due) {
                return Ok(Some(decision));
            }
            match self.write(bot, door, &stored, &decision.next, now).await? {
                Changed::Done => return Ok(Some(decision)),
                Changed::Lost(found) => stored = *found,
            }
        }
        // What the others left may need no change any more.
        let decision = decide(&stored);
        Ok((decision.next == stored.breaker).then_some(decision))
    }

    async fn write(
        &self,
        bot: BotId,
        door: &Door,
        stored: &StoredBreaker,
        next: &Breaker,
        now: Timestamp,
    ) -> Result<Changed, PortError> {
        let mut meter = stored.meter.clone();
        let counts = match stored.breaker {
            Breaker::Closed { .. } => door.take_counts(now),
            Breaker::Open { .. } | Breaker::HalfOpen { .. } | Breaker::Ramp { .. } => Vec::new(),
        };
        for (at, count) in &counts {
            meter.add(*count, *at);
        }
        let number = self.changes.fetch_add(1, Ordering::Relaxed);
        let change = BreakerChange {
            seen: stored.version,
            writer: Owner(format!("{}:{number}", self.instance)),
            breaker: next.clone(),
            meter,
        };
        let changed = self.breakers.change(bot, &change, now).await;
        if matches!(changed, Ok(Changed::Done)) {
            say(bot, &stored.breaker, next);
        }
        match &changed {
            Ok(Changed::Done) => door.keep(
                StoredBreaker {
                    breaker: change.breaker,
                    meter: change.meter,
                    version: change.seen + 1,
                    held_back_at: stored.held_back_at,
                },
                now,
            ),
            Ok(Changed::Lost(found)) => {
                door.put_back(counts);
                door.keep(StoredBreaker::clone(found), now);
            }
            Err(_) => door.put_back(counts),
        }
        changed
    }

    /// What was decided and stored; a store that is away and races that were lost change nothing for the caller.
    fn told(bot: BotId, changed: Result<Option<Decision>, PortError>) -> Option<Decision> {
        match changed {
            Ok(Some(decision)) => Some(decision),
            Ok(None) => {
                tracing::info!(bot.id = bot.0, "a breaker was changed by others each time");
                None
            }
            Err(error) => {
                store_away(bot, &error);
                None
            }
        }
    }
}

/// One line when the door is shut, and one when it is open again.
fn say(bot: BotId, before: &Breaker, after: &Breaker) {
    let is_tried = |breaker: &Breaker| matches!(breaker, Breaker::Closed { .. } | Breaker::Ramp { .. });
    match (before, after) {
        (_, Breaker::Open { .. }) if is_tried(before) => {
            tracing::warn!(bot.id = bot.0, "the backend is away: its updates wait");
        }
        (Breaker::HalfOpen { .. }, Breaker::Ramp { .. }) => {
            tracing::warn!(
                bot.id = bot.0,
                "the backend is back: its updates are let in by a ramp"
            );
        }
        (Breaker::Ramp { .. }, Breaker::Closed { .. }) => {
            tracing::info!(bot.id = bot.0, "the backend is given every update again");
        }
        _ => {}
    }
}

/// Of events that need no draw.
const NO_DRAW: Jitter = Jitter::LEAST;

fn unchanged(stored: &StoredBreaker) -> Decision {
    Decision {
        next: stored.breaker.clone(),
        effect: Effect::None,
    }
}

fn store_away(bot: BotId, error: &PortError) {
    tracing::warn!(bot.id = bot.0, error = %error, "a breaker cannot be reached");
}
