//! Who may send, in which order, and how the end of a send is kept.

use std::time::Duration;

use penstock_domain::ids::{LedgerKey, UpdateId};
use penstock_domain::intent::{IntentClaim, IntentRefusal, IntentState};
use penstock_domain::ledger::{ClaimRequest, Owner};
use penstock_ports::{Commit, Commitment, IntentStart, Outbox as _, SettleAs};

use super::{
    Case, DAY, LEASE, LEASE_AND_MARGIN, MILLISECOND, START, World, failure, group_of, request, sent, start,
    started,
};

async fn refused<W: World>(case: &Case<'_, W>, claim: &IntentClaim) -> IntentRefusal {
    match case.start(claim).await {
        IntentStart::Refused(refusal) => refusal,
        IntentStart::Acquired { attempt, .. } => panic!("it was started, as attempt {attempt}"),
    }
}

/// Who comes second waits for the lease and its margin.
pub async fn an_intent_is_started_once<W: World>(world: &W) {
    let case = Case::done(world, 1).await;
    assert_eq!(case.begin(0, "sender", START).await, 1);
    let end = START + LEASE_AND_MARGIN;
    assert_eq!(
        refused(&case, &start(0, "other", START)).await,
        IntentRefusal::HeldUntil(end)
    );
    assert_eq!(
        refused(&case, &start(0, "other", end)).await,
        IntentRefusal::HeldUntil(end)
    );
    let stored = case.record().await.intents.remove(0);
    assert_eq!((stored.state, stored.attempts), (IntentState::Sending, 1));
    assert_eq!(
        (stored.owner, stored.lease_until),
        (Some(Owner("sender".to_owned())), Some(START + LEASE))
    );
}

/// It had landed, and its answer was lost.
pub async fn a_repeated_start_of_the_same_owner_is_its_own<W: World>(world: &W) {
    let case = Case::done(world, 1).await;
    assert_eq!(case.begin(0, "sender", START).await, 1);
    assert_eq!(case.begin(0, "sender", START + MILLISECOND).await, 1);
    assert_eq!(case.record().await.intents[0].attempts, 1);
}

/// Until it is sent, or will not be, or nobody knows.
pub async fn an_intent_waits_for_the_previous_one_of_its_chat<W: World>(world: &W) {
    let case = Case::done(world, 4).await;
    let is_behind =
        async |n: u8| refused(&case, &start(n, "next", START)).await == IntentRefusal::BehindPrevious;
    assert!(is_behind(1).await, "while the previous one is intended");
    case.begin(0, "sender", START).await;
    assert!(is_behind(1).await, "while the previous one is sending");
    let retry = SettleAs::Retry {
        next_at: START,
        burned: true,
        failure: failure("away", 1, START),
    };
    assert!(case.end(0, Some("sender"), retry, START).await);
    assert!(is_behind(1).await, "while the previous one is retrying");
    case.begin(0, "sender 2", START).await;
    assert!(case.end(0, Some("sender 2"), sent(1), START).await);
    assert_eq!(case.begin(1, "sender", START).await, 1);
    assert!(is_behind(2).await);
    assert!(
        case.end(
            1,
            Some("sender"),
            SettleAs::Failed {
                failure: failure("no_use", 1, START)
            },
            START
        )
        .await
    );
    assert_eq!(case.begin(2, "sender", START).await, 1);
    assert!(is_behind(3).await);
    assert!(
        case.end(
            2,
            Some("sender"),
            SettleAs::Unknown {
                failure: failure("lost", 1, START)
            },
            START
        )
        .await
    );
    assert_eq!(case.begin(3, "sender", START).await, 1);
}

/// It has no previous one.
pub async fn an_intent_of_another_chat_does_not_wait<W: World>(world: &W) {
    let case = Case::new(world);
    let mut intents = case.sends(2);
    (intents[1].group, intents[1].previous) = (group_of(&case, "1002"), None);
    let claim = case.acquire("worker", START).await;
    let commit = Commit {
        intents,
        state: None,
        writes: Vec::new(),
        result: String::new(),
    };
    assert_eq!(case.commit(&claim, &commit, START).await, Commitment::Done);
    case.begin(0, "sender", START).await;
    let other = IntentClaim {
        previous: None,
        ..start(1, "sender", START)
    };
    assert_eq!(case.start(&other).await, started(1));
}

/// Its Update was redriven: the newer copy counts.
pub async fn a_copy_of_an_earlier_generation_is_settled<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    world.redrive(case.key(), 1, START).await;
    let claim = case
        .acquire_as(&ClaimRequest {
            redrive: 1,
            ..request("worker 2", START)
        })
        .await;
    let commit = Commit {
        intents: case.sends(1),
        state: None,
        writes: Vec::new(),
        result: String::new(),
    };
    assert_eq!(case.commit(&claim, &commit, START).await, Commitment::Done);
    assert_eq!(
        refused(&case, &start(0, "old copy", START)).await,
        IntentRefusal::Settled
    );
    let current = IntentClaim {
        redrive: 1,
        ..start(0, "sender", START)
    };
    assert_eq!(case.start(&current).await, started(1));
}

/// Neither its record nor its number may be missing.
pub async fn an_intent_that_is_not_in_the_ledger_is_absent<W: World>(world: &W) {
    let case = Case::done(world, 1).await;
    let second = IntentClaim {
        previous: None,
        ..start(1, "sender", START)
    };
    assert_eq!(refused(&case, &second).await, IntentRefusal::Absent);
    let unwritten = LedgerKey::new(case.subject.bot_id, UpdateId(world.fresh_update()));
    let answer = case
        .ledger()
        .start(&unwritten, &start(0, "sender", START))
        .await
        .expect("start answers");
    assert_eq!(answer, IntentStart::Refused(IntentRefusal::Absent));
    // One that is being handled has no intents yet.
    let handled = Case::new(world);
    handled.acquire("worker", START).await;
    assert_eq!(
        refused(&handled, &start(0, "sender", START)).await,
        IntentRefusal::Absent
    );
    let settlement = SettleAs::Sent { message_id: None };
    assert!(!handled.end(0, Some("sender"), settlement, START).await);
}

/// A row lingers after its life, and nothing can vouch for its message any more.
pub async fn an_intent_of_an_expired_record_is_absent<W: World>(world: &W) {
    let case = Case::done(world, 1).await;
    let last = START + 90 * DAY;
    let late = last + Duration::from_secs(1);
    assert_eq!(
        refused(&case, &start(0, "sender", late)).await,
        IntentRefusal::Absent
    );
    assert_eq!(case.begin(0, "sender", last).await, 1);
}

/// Sent, failed or unknown.
pub async fn what_has_ended_is_not_started_again<W: World>(world: &W) {
    let failed = SettleAs::Failed {
        failure: failure("no_use", 1, START),
    };
    let unknown = SettleAs::Unknown {
        failure: failure("lost", 1, START),
    };
    for end in [sent(7), failed, unknown] {
        let case = Case::done(world, 1).await;
        case.begin(0, "sender", START).await;
        assert!(case.end(0, Some("sender"), end, START).await);
        assert_eq!(
            refused(&case, &start(0, "other", START)).await,
            IntentRefusal::Settled
        );
        assert_eq!(
            refused(&case, &start(0, "sender", START)).await,
            IntentRefusal::Settled
        );
    }
}

/// Only the last: what is open keeps it.
pub async fn the_last_intent_to_end_shortens_the_records_life<W: World>(world: &W) {
    let case = Case::done(world, 2).await;
    let now = START + DAY;
    case.begin(0, "sender", now).await;
    assert!(case.end(0, Some("sender"), sent(41), now).await);
    let record = case.record().await;
    assert_eq!(
        (record.open, record.expires_at),
        (1, (START + 90 * DAY).as_secs_ceil())
    );
    assert_eq!(
        (record.intents[0].state, record.intents[0].message_id),
        (IntentState::Sent, Some(41))
    );
    assert_eq!(record.intents[0].lease_until, None);
    case.begin(1, "sender", now).await;
    assert!(
        case.end(1, Some("sender"), SettleAs::Sent { message_id: None }, now)
            .await
    );
    let record = case.record().await;
    assert_eq!(
        (record.open, record.expires_at),
        (0, (now + 7 * DAY).as_secs_ceil())
    );
    assert_eq!(
        (record.intents[1].state, record.intents[1].message_id),
        (IntentState::Sent, None)
    );
}

/// In the same write.
pub async fn a_single_intent_that_ends_shortens_the_records_life<W: World>(world: &W) {
    let case = Case::done(world, 1).await;
    let now = START + DAY;
    case.begin(0, "sender", now).await;
    assert!(case.end(0, Some("sender"), sent(41), now).await);
    let record = case.record().await;
    assert_eq!(
        (record.open, record.expires_at),
        (0, (now + 7 * DAY).as_secs_ceil())
    );
}

/// A 429 burns none.
pub async fn a_retry_burns_its_attempt_or_not_and_waits_for_its_time<W: World>(world: &W) {
    let case = Case::done(world, 1).await;
    let mut now = START;
    for (n, burned, attempt) in [(1, true, 1), (2, false, 2), (3, true, 2), (4, true, 3)] {
        let owner = format!("sender {n}");
        assert_eq!(case.begin(0, &owner, now).await, attempt);
        let next_at = now + Duration::from_secs(5);
        let failure = failure("away", attempt, now);
        let retry = SettleAs::Retry {
            next_at,
            burned,
            failure: failure.clone(),
        };
        assert!(case.end(0, Some(&owner), retry, now).await);
        let record = case.record().await;
        let stored = &record.intents[0];
        assert_eq!(
            (stored.state, stored.next_at, stored.lease_until),
            (IntentState::Retrying, Some(next_at), None)
        );
        assert_eq!(
            (stored.attempts, &stored.failure),
            (attempt - u32::from(!burned), &Some(failure))
        );
        assert_eq!(
            (record.open, record.expires_at),
            (1, (START + 90 * DAY).as_secs_ceil())
        );
        let early = start(0, "early", next_at - MILLISECOND);
        assert_eq!(refused(&case, &early).await, IntentRefusal::HeldUntil(next_at));
        now = next_at;
    }
    case.begin(0, "last", now).await;
    assert_eq!(case.record().await.intents[0].next_at, None);
}

/// And nothing is open any more.
pub async fn a_failed_intent_is_closed_with_its_failure<W: World>(world: &W) {
    let case = Case::done(world, 1).await;
    case.begin(0, "sender", START).await;
    let failure = failure("bot_api_400", 1, START);
    assert!(
        case.end(
            0,
            Some("sender"),
            SettleAs::Failed {
                failure: failure.clone()
            },
            START
        )
        .await
    );
    let record = case.record().await;
    assert_eq!(
        (record.intents[0].state, &record.intents[0].failure),
        (IntentState::Failed, &Some(failure))
    );
    assert_eq!(
        (record.open, record.expires_at),
        (0, (START + 7 * DAY).as_secs_ceil())
    );
    assert_eq!(case.attention().await, None);
}

/// Only who holds the claim, and only what was started.
pub async fn a_stranger_cannot_settle<W: World>(world: &W) {
    let case = Case::done(world, 1).await;
    assert!(
        !case.end(0, Some("sender"), sent(1), START).await,
        "it was not started"
    );
    case.begin(0, "sender", START).await;
    let why = || failure("away", 1, START);
    let ends = [
        sent(1),
        SettleAs::Failed { failure: why() },
        SettleAs::Unknown { failure: why() },
        SettleAs::Retry {
            next_at: START,
            burned: true,
            failure: why(),
        },
    ];
    for end in ends {
        assert!(!case.end(0, Some("stranger"), end, START).await);
    }
    assert!(
        !case.end(0, None, sent(1), START + LEASE_AND_MARGIN).await,
        "its worker may be alive"
    );
    let record = case.record().await;
    assert_eq!((record.intents[0].state, record.open), (IntentState::Sending, 1));
}

/// Its call is done, late or not.
pub async fn a_worker_may_settle_after_its_lease_while_nobody_took_it<W: World>(world: &W) {
    let case = Case::done(world, 1).await;
    case.begin(0, "sender", START).await;
    assert!(case.end(0, Some("sender"), sent(41), START + DAY).await);
    assert_eq!(case.intent_state(0).await, IntentState::Sent);
}

/// It had landed, and its answer was lost.
pub async fn a_repeated_settle_is_a_success_and_is_counted_once<W: World>(world: &W) {
    let case = Case::done(world, 2).await;
    case.begin(0, "sender", START).await;
    for _ in 0..2 {
        assert!(case.end(0, Some("sender"), sent(41), START).await);
        assert_eq!(case.record().await.open, 1);
    }
    case.begin(1, "sender", START).await;
    let retry = SettleAs::Retry {
        next_at: START,
        burned: false,
        failure: failure("away", 1, START),
    };
    for _ in 0..2 {
        assert!(case.end(1, Some("sender"), retry.clone(), START).await);
        assert_eq!(case.record().await.intents[1].attempts, 0);
    }
}

/// Its message is in the queue behind the other's: each would wait for the other.
pub async fn an_intent_does_not_wait_for_one_that_a_person_has_sent_again<W: World>(world: &W) {
    let case = Case::done(world, 2).await;
    case.begin(0, "sender", START).await;
    let failed = SettleAs::Failed {
        failure: failure("no_use", 1, START),
    };
    assert!(case.end(0, Some("sender"), failed, START).await);
    world.resend(case.key(), 0, 1, START).await;
    assert_eq!(case.intent_state(0).await, IntentState::Intended);
    assert_eq!(case.begin(1, "sender", START).await, 1);
}

/// An edit of a message that the same outcome sends learns its id when it is begun, from a repeat of its claim, too.
pub async fn an_intent_that_refers_to_another_is_given_its_message<W: World>(world: &W) {
    let case = Case::done(world, 2).await;
    case.begin(0, "sender", START).await;
    let edit = IntentClaim {
        refers_to: Some(0),
        ..start(1, "editor", START)
    };
    assert_eq!(
        case.start(&edit).await,
        IntentStart::Refused(IntentRefusal::BehindPrevious)
    );
    assert!(case.end(0, Some("sender"), sent(77), START).await);
    for _ in 0..2 {
        let begun = IntentStart::Acquired {
            attempt: 1,
            message_id: Some(77),
        };
        assert_eq!(case.start(&edit).await, begun);
    }
}
