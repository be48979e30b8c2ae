//! The bridge to the real decisions: the model's small records as the domain's, and the domain's answers back. Never
//! re-states a decision.

use std::time::Duration;

use penstock_domain::failure::Disposition;
use penstock_domain::ids::{LedgerKey, MessageGroupId, UpdateDigest};
use penstock_domain::intent::{Call, Intent, IntentClaim, IntentEvent, IntentRecord, IntentState};
use penstock_domain::ledger::{ClaimRequest, Event, Fence, Owner, Record, State};
use penstock_domain::retry::{Jitter, RetryDecision, RetryPolicy};
use penstock_domain::time::Timestamp;
use penstock_domain::{intent, ledger};

use crate::promise::Promise;
use crate::state::{Row, Sending, World};

/// A tick. Longer than the margin of a lease (2 s), so that the margin is one tick.
const TICK: Duration = Duration::from_secs(10);
/// "Now" of every state.
const NOW: i64 = 1_000_000;

/// The instant so many ticks from now.
pub(crate) fn at(ticks: i8) -> Timestamp {
    Timestamp::from_millis(NOW + i64::from(ticks) * 10_000)
}

/// Ticks until an instant, rounded up; 0 if it has passed.
pub(crate) fn ticks_until(until: Timestamp) -> u8 {
    let wait = until.since(at(0));
    u8::try_from(wait.as_millis().div_ceil(TICK.as_millis())).unwrap_or(u8::MAX)
}

fn owner(token: u8) -> Option<Owner> {
    (token > 0).then(|| Owner(token.to_string()))
}

/// The record as the domain has it.
pub(crate) fn record(row: &Row) -> Record {
    Record {
        key: LedgerKey::from_stored("1:1".to_owned()),
        state: row.state(),
        redrive: row.redrive.into(),
        attempts: row.attempts.into(),
        fence: Fence(row.fence.into()),
        owner: owner(row.owner),
        lease_until: row.lease.map(at),
        next_at: row.next.map(|next| at(next.cast_signed())),
        digest: Some(UpdateDigest(1)),
        open: 0,
        tries: Vec::new(),
        intents: row.intents.iter().enumerate().map(intent_record).collect(),
        result: None,
        expires_at: i64::MAX,
    }
}

fn intent_record((n, sending): (usize, &Sending)) -> IntentRecord {
    let n = u8::try_from(n).unwrap_or(u8::MAX);
    IntentRecord {
        intent: Intent {
            n,
            call: Call::new("", String::new()),
            group: MessageGroupId(String::new()),
            previous: n.checked_sub(1),
        },
        state: sending.state(),
        resend: sending.resend.into(),
        attempts: sending.attempts.into(),
        owner: owner(sending.owner),
        lease_until: sending.lease.map(at),
        next_at: sending.next.map(|next| at(next.cast_signed())),
        message_id: None,
        failure: None,
    }
}

/// What a claim asks that was first made `age` ticks ago.
pub(crate) fn claim_request(token: u8, redrive: u8, age: u8, lease: i8) -> ClaimRequest {
    let age = age.cast_signed();
    ClaimRequest {
        owner: Owner(token.to_string()),
        redrive: redrive.into(),
        digest: UpdateDigest(1),
        now: at(-age),
        lease_until: at(lease - age),
    }
}

/// What a sender's claim asks.
pub(crate) fn intent_claim(token: u8, n: u8, generation: (u8, u8), previous: Option<u8>) -> IntentClaim {
    IntentClaim {
        owner: Owner(token.to_string()),
        n,
        redrive: generation.0.into(),
        resend: generation.1.into(),
        previous,
        refers_to: None,
        now: at(0),
        lease_until: at(1),
    }
}

/// The state after an event. One that the domain forbids breaks a promise; the write is made all the same, as a table
/// would.
pub(crate) fn after(world: &mut World, state: Option<State>, event: Event) -> State {
    ledger::transition(state, event).unwrap_or_else(|_| {
        world.breaks(Promise::LegalTransitions);
        match event {
            Event::Claim | Event::TakeOver => State::Processing,
            Event::Commit => State::Done,
            Event::Retry => State::Retrying,
            Event::Defer => State::Deferred,
            Event::Kill => State::Dead,
            Event::Redrive => State::Pending,
        }
    })
}

/// The same of an intent.
pub(crate) fn intent_after(world: &mut World, state: IntentState, event: IntentEvent) -> IntentState {
    intent::transition(state, event).unwrap_or_else(|_| {
        world.breaks(Promise::LegalTransitions);
        match event {
            IntentEvent::Claim => IntentState::Sending,
            IntentEvent::Confirm => IntentState::Sent,
            IntentEvent::Retry => IntentState::Retrying,
            IntentEvent::Fail => IntentState::Failed,
            IntentEvent::LoseTrack => IntentState::Unknown,
            IntentEvent::Resend => IntentState::Intended,
            IntentEvent::Cancel => IntentState::Cancelled,
        }
    })
}

/// Whether the domain's policy tries a passing failure again after that try.
pub(crate) fn is_tried_again(attempt: u8, max_attempts: u8) -> bool {
    let policy = RetryPolicy {
        max_attempts: max_attempts.into(),
        ..RetryPolicy::default()
    };
    match policy.decide(attempt.into(), Disposition::Transient, Jitter::new(0.5)) {
        RetryDecision::RetryIn(_) => true,
        RetryDecision::GiveUp(_) => false,
    }
}

/// Whether a lease with that many ticks left is taken for that of a dead worker.
pub(crate) fn is_suspect(lease: Option<i8>) -> bool {
    lease.is_some_and(|lease| ledger::is_suspect_at(at(lease), at(0)))
}
