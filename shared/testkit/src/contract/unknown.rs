//! Sends of which nobody knows whether they arrived, and what people have sent again.

use penstock_domain::intent::{IntentClaim, IntentRefusal, IntentState};
use penstock_ports::{IntentStart, SettleAs};

use super::{Case, DAY, LEASE_AND_MARGIN, MILLISECOND, START, World, failure, sent, start, started};

fn lost() -> SettleAs {
    SettleAs::Unknown {
        failure: failure("bot_api_no_answer", 1, START),
    }
}

/// So many sends, of which those before `until` are unknown.
pub(super) async fn unknown<W: World>(world: &W, sends: usize, until: u8) -> Case<'_, W> {
    let case = Case::done(world, sends).await;
    for n in 0..until {
        case.begin(n, &format!("sender {n}"), START).await;
        assert!(case.end(n, Some(&format!("sender {n}")), lost(), START).await);
    }
    case
}

/// A person finds it.
pub async fn an_unknown_intent_is_indexed_and_keeps_the_record_alive<W: World>(world: &W) {
    let case = unknown(world, 1, 1).await;
    let record = case.record().await;
    assert_eq!(
        (record.open, record.expires_at),
        (1, (START + 90 * DAY).as_secs_ceil())
    );
    assert_eq!(record.intents[0].state, IntentState::Unknown);
    assert_eq!(
        record.intents[0].failure,
        Some(failure("bot_api_no_answer", 1, START))
    );
    assert_eq!(case.attention().await.as_deref(), Some("unknown"));
}

/// Of its own worker, and of no other.
pub async fn a_late_confirmation_settles_an_unknown_intent<W: World>(world: &W) {
    let case = unknown(world, 1, 1).await;
    assert!(!case.end(0, Some("stranger"), sent(41), START).await);
    assert!(!case.end(0, None, sent(41), START + DAY).await);
    assert!(case.end(0, Some("sender 0"), sent(41), START).await);
    let record = case.record().await;
    assert_eq!(
        (record.intents[0].state, record.intents[0].message_id),
        (IntentState::Sent, Some(41))
    );
    assert_eq!(
        (record.open, record.expires_at),
        (0, (START + 7 * DAY).as_secs_ceil())
    );
    assert_eq!(case.attention().await, None);
}

/// Nor a late retry: it is a person's now.
pub async fn a_late_failure_does_not_settle_an_unknown_intent<W: World>(world: &W) {
    let case = unknown(world, 1, 1).await;
    let failed = SettleAs::Failed {
        failure: failure("bot_api_400", 1, START),
    };
    let retry = SettleAs::Retry {
        next_at: START,
        burned: true,
        failure: failure("away", 1, START),
    };
    for late in [failed, retry] {
        assert!(!case.end(0, Some("sender 0"), late, START).await);
    }
    assert_eq!(
        (case.intent_state(0).await, case.record().await.open),
        (IntentState::Unknown, 1)
    );
    assert_eq!(case.attention().await.as_deref(), Some("unknown"));
}

/// The call may have been on its way: whoever finds it gives it up as unknown.
pub async fn a_sender_that_died_is_found_lost_after_lease_and_margin<W: World>(world: &W) {
    let case = Case::done(world, 1).await;
    case.begin(0, "dead", START).await;
    let end = START + LEASE_AND_MARGIN;
    assert!(!case.end(0, None, lost(), end).await, "its worker may be alive");
    let after = end + MILLISECOND;
    assert_eq!(
        case.start(&start(0, "other", after)).await,
        IntentStart::Refused(IntentRefusal::Lost)
    );
    assert!(case.end(0, None, lost(), after).await);
    assert_eq!(case.intent_state(0).await, IntentState::Unknown);
    assert_eq!(case.attention().await.as_deref(), Some("unknown"));
    assert!(
        case.end(0, Some("dead"), sent(41), after).await,
        "it was alive after all"
    );
    assert_eq!(
        (case.intent_state(0).await, case.attention().await),
        (IntentState::Sent, None)
    );
}

/// The chat goes on, and the person still finds it.
pub async fn an_unknown_intent_stays_in_the_index_while_others_end<W: World>(world: &W) {
    let case = unknown(world, 3, 1).await;
    for (n, end) in [
        (1, sent(42)),
        (
            2,
            SettleAs::Failed {
                failure: failure("bot_api_400", 1, START),
            },
        ),
    ] {
        case.begin(n, "sender", START).await;
        assert!(case.end(n, Some("sender"), end, START).await);
        assert_eq!(case.attention().await.as_deref(), Some("unknown"));
    }
    let record = case.record().await;
    assert_eq!(
        (record.open, record.expires_at),
        (1, (START + 90 * DAY).as_secs_ceil())
    );
    assert!(case.end(0, Some("sender 0"), sent(41), START).await);
    assert_eq!((case.record().await.open, case.attention().await), (0, None));
}

/// Not the first.
pub async fn of_two_unknown_intents_the_last_one_leaves_the_index<W: World>(world: &W) {
    let case = unknown(world, 2, 2).await;
    assert!(case.end(1, Some("sender 1"), sent(42), START).await);
    assert_eq!(case.attention().await.as_deref(), Some("unknown"));
    assert!(case.end(0, Some("sender 0"), sent(41), START).await);
    assert_eq!(case.attention().await, None);
}

/// It may have been received twice.
pub async fn a_copy_of_an_earlier_resend_is_settled<W: World>(world: &W) {
    let case = unknown(world, 1, 1).await;
    world.resend(case.key(), 0, 1, START).await;
    let old = start(0, "old copy", START);
    assert_eq!(
        case.start(&old).await,
        IntentStart::Refused(IntentRefusal::Settled)
    );
    let current = IntentClaim {
        resend: 1,
        ..start(0, "sender", START)
    };
    assert_eq!(case.start(&current).await, started(2));
    assert!(
        !case.end(0, Some("sender 0"), sent(41), START).await,
        "the first sender's claim is over"
    );
    assert!(case.end(0, Some("sender"), sent(42), START).await);
    assert_eq!(case.record().await.open, 0);
}

/// Until then its copy may have been lost on the way to the queue.
pub async fn a_resent_intent_leaves_the_index_when_it_is_started<W: World>(world: &W) {
    let case = unknown(world, 2, 2).await;
    world.resend(case.key(), 0, 1, START).await;
    assert_eq!(case.attention().await.as_deref(), Some("unknown"));
    let resent = |n: u8| IntentClaim {
        resend: 1,
        ..start(n, "sender", START)
    };
    assert_eq!(case.start(&resent(0)).await, started(2));
    assert_eq!(
        case.attention().await.as_deref(),
        Some("unknown"),
        "the other one is unknown still"
    );
    assert!(case.end(0, Some("sender"), sent(41), START).await);
    world.resend(case.key(), 1, 1, START).await;
    assert_eq!(case.attention().await.as_deref(), Some("unknown"));
    assert_eq!(case.start(&resent(1)).await, started(2));
    assert_eq!(case.attention().await, None);
}

/// And closes once more.
pub async fn a_resent_failure_is_open_again<W: World>(world: &W) {
    let case = Case::done(world, 1).await;
    case.begin(0, "sender", START).await;
    let failed = SettleAs::Failed {
        failure: failure("bot_api_400", 1, START),
    };
    assert!(case.end(0, Some("sender"), failed, START).await);
    world.resend(case.key(), 0, 1, START + DAY).await;
    assert_eq!(case.record().await.open, 1);
    let resent = IntentClaim {
        resend: 1,
        ..start(0, "sender 2", START + DAY)
    };
    assert_eq!(case.start(&resent).await, started(2));
    assert!(case.end(0, Some("sender 2"), sent(41), START + DAY).await);
    let record = case.record().await;
    assert_eq!(
        (record.open, record.expires_at),
        (0, (START + 8 * DAY).as_secs_ceil())
    );
}
