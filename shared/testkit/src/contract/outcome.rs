//! How outcomes and failed tries are kept.

use std::time::Duration;

use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::intent::{Call, IntentState, OnUnknown, plan};
use penstock_domain::ledger::{ClaimRequest, Fence, MAX_TRIES_KEPT, Refusal, State};
use penstock_domain::time::Timestamp;
use penstock_ports::{ClaimAs, Commit, Commitment, Inbox as _, StateWrite, TakeOver, Verdict};

use super::{Case, DAY, LEASE_AND_MARGIN, MILLISECOND, START, World, failure, plain, request};

fn state(read_version: u64, text: &str) -> Option<StateWrite> {
    Some(StateWrite {
        chat: "1001".to_owned(),
        read_version,
        state: text.to_owned(),
    })
}

async fn stored_state<W: World>(case: &Case<'_, W>) -> Option<(String, u64)> {
    case.ledger()
        .chat_state(case.subject.bot_id, "1001")
        .await
        .expect("chat state answers")
}

fn retry(next_at: Timestamp, attempt: u32, at: Timestamp) -> Verdict {
    Verdict::Retry {
        next_at,
        failure: failure("away", attempt, at),
    }
}

/// A worker that was taken for dead, and the claim of the one that took over.
async fn taken_over<W: World>(case: &Case<'_, W>) -> (ClaimAs, ClaimAs, Timestamp) {
    let dead = case.acquire("dead", START).await;
    let now = START + LEASE_AND_MARGIN + MILLISECOND;
    match case.take_over(&request("quick", now), &dead).await {
        TakeOver::Acquired(claim) => (dead, claim, now),
        TakeOver::Lost => panic!("the take-over was refused"),
    }
}

/// What is open keeps the record alive as long as the dead.
pub async fn an_outcome_is_kept_with_its_intents_and_their_number<W: World>(world: &W) {
    let case = Case::done(world, 2).await;
    let record = case.record().await;
    assert_eq!(
        (record.state, record.open, record.fence),
        (State::Done, 2, Fence(1))
    );
    assert_eq!((record.lease_until, record.next_at), (None, None));
    assert_eq!(record.expires_at, (START + 90 * DAY).as_secs_ceil());
    let intents: Vec<_> = record
        .intents
        .iter()
        .map(|stored| stored.intent.clone())
        .collect();
    assert_eq!(intents, case.sends(2));
    for stored in &record.intents {
        assert_eq!(
            (stored.state, stored.resend, stored.attempts),
            (IntentState::Intended, 0, 0)
        );
        assert_eq!(
            (&stored.owner, stored.lease_until, stored.next_at),
            (&None, None, None)
        );
        assert_eq!((stored.message_id, &stored.failure), (None, &None));
    }
}

/// Nothing is open, so only repeats have to be known.
pub async fn an_outcome_without_sends_lives_for_the_dedup_window<W: World>(world: &W) {
    let record = Case::done(world, 0).await.record().await;
    assert_eq!(
        (record.open, record.expires_at),
        (0, (START + 7 * DAY).as_secs_ceil())
    );
    assert!(record.intents.is_empty());
}

/// Not by its own worker, either.
pub async fn a_done_update_is_never_claimed_again<W: World>(world: &W) {
    let case = Case::done(world, 1).await;
    let before = case.record().await;
    assert_eq!(case.refused(&request("worker", START)).await, Refusal::Done);
    assert_eq!(case.refused(&request("other", START + DAY)).await, Refusal::Done);
    assert_eq!(case.record().await, before);
}

/// Version 1 is the first.
pub async fn an_outcome_and_its_chat_state_land_together<W: World>(world: &W) {
    let case = Case::new(world);
    assert_eq!(stored_state(&case).await, None);
    let claim = case.acquire("worker", START).await;
    let commit = Commit {
        intents: case.sends(1),
        state: state(0, r#"{"step":1}"#),
        writes: Vec::new(),
        result: "ok".to_owned(),
    };
    assert_eq!(case.commit(&claim, &commit, START).await, Commitment::Done);
    assert_eq!(stored_state(&case).await, Some((r#"{"step":1}"#.to_owned(), 1)));
    assert_eq!((case.state().await, case.record().await.open), (State::Done, 1));

    let next = Case::new(world);
    let claim = next.acquire("worker", START).await;
    assert_eq!(
        next.commit(&claim, &plain(state(1, r#"{"step":2}"#)), START)
            .await,
        Commitment::Done
    );
    assert_eq!(stored_state(&next).await, Some((r#"{"step":2}"#.to_owned(), 2)));
}

/// Neither the outcome nor the chat's state.
pub async fn a_commit_after_a_lost_lease_changes_nothing<W: World>(world: &W) {
    let case = Case::new(world);
    let (dead, claim, now) = taken_over(&case).await;
    assert_eq!(
        case.commit(&dead, &plain(state(0, "{}")), now).await,
        Commitment::LeaseLost
    );
    assert_eq!(case.commit(&dead, &plain(None), now).await, Commitment::LeaseLost);
    // A token that was lost and found again with an old fence is as little worth.
    let mixed = ClaimAs {
        fence: dead.fence,
        ..claim.clone()
    };
    assert_eq!(
        case.commit(&mixed, &plain(None), now).await,
        Commitment::LeaseLost
    );
    assert_eq!(
        (case.state().await, stored_state(&case).await),
        (State::Processing, None)
    );
    assert_eq!(case.commit(&claim, &plain(None), now).await, Commitment::Done);
    assert_eq!(
        case.commit(&dead, &plain(state(0, "{}")), now).await,
        Commitment::LeaseLost
    );
    assert_eq!(stored_state(&case).await, None);
}

/// It had landed, and its answer was lost.
pub async fn a_repeated_commit_is_done<W: World>(world: &W) {
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    let commit = Commit {
        intents: case.sends(2),
        state: None,
        writes: Vec::new(),
        result: "ok".to_owned(),
    };
    assert_eq!(case.commit(&claim, &commit, START).await, Commitment::Done);
    case.begin(0, "sender", START).await;
    let before = case.record().await;
    assert_eq!(
        case.commit(&claim, &commit, START + MILLISECOND).await,
        Commitment::Done
    );
    assert_eq!(case.record().await, before);
}

/// Repeated in the same words, and with a later time.
pub async fn a_repeated_commit_with_chat_state_is_done<W: World>(world: &W) {
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    let commit = Commit {
        intents: case.sends(1),
        state: state(0, "{}"),
        writes: Vec::new(),
        result: "ok".to_owned(),
    };
    assert_eq!(case.commit(&claim, &commit, START).await, Commitment::Done);
    let before = case.record().await;
    for now in [START, START + MILLISECOND] {
        assert_eq!(case.commit(&claim, &commit, now).await, Commitment::Done);
    }
    assert_eq!(case.record().await, before);
    assert_eq!(stored_state(&case).await, Some(("{}".to_owned(), 1)));
}

/// The claim still holds: reloaded and run again, it commits.
pub async fn a_chat_state_that_has_changed_refuses_the_outcome<W: World>(world: &W) {
    let first = Case::new(world);
    let claim = first.acquire("worker", START).await;
    assert_eq!(
        first.commit(&claim, &plain(state(0, "1")), START).await,
        Commitment::Done
    );

    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    for stale in [0, 2] {
        assert_eq!(
            case.commit(&claim, &plain(state(stale, "2")), START).await,
            Commitment::StateConflict
        );
    }
    assert_eq!(
        (case.state().await, stored_state(&case).await),
        (State::Processing, Some(("1".to_owned(), 1)))
    );
    assert_eq!(
        case.commit(&claim, &plain(state(1, "2")), START).await,
        Commitment::Done
    );
    assert_eq!(stored_state(&case).await, Some(("2".to_owned(), 2)));
}

/// Of two that saw none.
pub async fn a_first_chat_state_is_written_once<W: World>(world: &W) {
    let (one, other) = (Case::new(world), Case::new(world));
    let claims = (
        one.acquire("one", START).await,
        other.acquire("other", START).await,
    );
    assert_eq!(
        one.commit(&claims.0, &plain(state(0, "1")), START).await,
        Commitment::Done
    );
    assert_eq!(
        other.commit(&claims.1, &plain(state(0, "2")), START).await,
        Commitment::StateConflict
    );
    // Another chat of the same bot has a state of its own.
    let elsewhere = StateWrite {
        chat: "1002".to_owned(),
        read_version: 0,
        state: "2".to_owned(),
    };
    assert_eq!(
        other.commit(&claims.1, &plain(Some(elsewhere)), START).await,
        Commitment::Done
    );
    assert_eq!(stored_state(&one).await, Some(("1".to_owned(), 1)));
}

/// The body was kept for the dead only.
pub async fn a_redriven_update_that_is_done_keeps_no_body<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    world.redrive(case.key(), 1, START).await;
    let claim = case
        .acquire_as(&ClaimRequest {
            redrive: 1,
            ..request("worker 2", START)
        })
        .await;
    assert_eq!(world.raw_body(case.key()).await.as_deref(), Some("{}"));
    assert_eq!(case.commit(&claim, &plain(None), START).await, Commitment::Done);
    assert_eq!(world.raw_body(case.key()).await, None);
}

/// Then it is, as the next attempt, with its history.
pub async fn a_retry_is_not_claimable_before_its_time<W: World>(world: &W) {
    let case = Case::new(world);
    let claim = case.acquire("worker 1", START).await;
    let next_at = START + Duration::from_secs(5);
    assert!(case.settle(&claim, &retry(next_at, 1, START), START).await);
    let record = case.record().await;
    assert_eq!(
        (record.state, record.next_at, record.lease_until),
        (State::Retrying, Some(next_at), None)
    );
    assert_eq!(record.expires_at, (START + 90 * DAY).as_secs_ceil());
    let early = request("worker 2", next_at - MILLISECOND);
    assert_eq!(case.refused(&early).await, Refusal::HeldUntil(next_at));
    let claim = case.acquire("worker 2", next_at).await;
    assert_eq!((claim.attempt, claim.fence), (2, Fence(2)));
    let record = case.record().await;
    assert_eq!(
        (record.next_at, record.tries),
        (None, vec![failure("away", 1, START)])
    );
}

/// It had landed, and its answer was lost.
pub async fn a_repeated_retry_is_a_success_and_is_counted_once<W: World>(world: &W) {
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    let verdict = retry(START + MILLISECOND, 1, START);
    assert!(case.settle(&claim, &verdict, START).await);
    assert!(case.settle(&claim, &verdict, START).await);
    assert_eq!(case.record().await.tries.len(), 1);
}

/// Neither a retry nor a kill.
pub async fn a_settle_after_a_lost_lease_changes_nothing<W: World>(world: &W) {
    let case = Case::new(world);
    let (dead, claim, now) = taken_over(&case).await;
    let before = case.record().await;
    assert!(!case.settle(&dead, &retry(now, 1, now), now).await);
    let kill = Verdict::Dead {
        raw: "{}".to_owned(),
        failure: failure("no_use", 1, now),
    };
    assert!(!case.settle(&dead, &kill, now).await);
    assert_eq!(case.record().await, before);
    assert_eq!(case.attention().await, None);
    assert!(case.settle(&claim, &retry(now, 2, now), now).await);
    assert!(!case.settle(&dead, &retry(now, 1, now), now).await);
    assert_eq!(case.record().await.tries.len(), 1);
    // Of an Update without a record there is nothing to settle.
    let absent = Case::new(world);
    assert!(!absent.settle(&dead, &kill, now).await);
    assert_eq!(
        absent.ledger().read(absent.key()).await.expect("read answers"),
        None
    );
}

/// In every class.
pub async fn failures_are_read_back_as_they_were<W: World>(world: &W) {
    let case = Case::new(world);
    let throttled = Disposition::Throttled {
        retry_after: Duration::from_millis(1_500),
    };
    let classes = [
        Disposition::Transient,
        throttled,
        Disposition::Permanent,
        Disposition::Ambiguous,
    ];
    let mut expected = Vec::new();
    for (n, class) in (1_u32..).zip(classes) {
        let claim = case.acquire(&format!("worker {n}"), START).await;
        let failure = Failure::new("code", "text with \u{1F600} and \"quotes\"\n", class, n, START);
        let verdict = Verdict::Retry {
            next_at: START,
            failure: failure.clone(),
        };
        assert!(case.settle(&claim, &verdict, START).await);
        expected.push(failure);
    }
    assert_eq!(case.record().await.tries, expected);
}

/// A record has to stay small, however often an Update is redriven.
pub async fn only_the_latest_tries_are_kept<W: World>(world: &W) {
    let case = Case::new(world);
    let most = u32::try_from(MAX_TRIES_KEPT).expect("a small number");
    for n in 1..=most + 2 {
        let claim = case.acquire(&format!("worker {n}"), START).await;
        assert_eq!(claim.attempt, n);
        assert!(case.settle(&claim, &retry(START, n, START), START).await);
    }
    let kept: Vec<_> = case
        .record()
        .await
        .tries
        .iter()
        .map(|failure| failure.attempt)
        .collect();
    assert_eq!(kept, (3..=most + 2).collect::<Vec<_>>());
    // Parking is a try, too, with or without a claim.
    let letter = failure("parked", most + 3, START);
    case.ledger()
        .file_dead(&case.subject, 0, "{}", &letter, START)
        .await
        .expect("filing answers");
    world.redrive(case.key(), 1, START).await;
    let claim = case
        .acquire_as(&ClaimRequest {
            redrive: 1,
            ..request("last", START)
        })
        .await;
    let verdict = Verdict::Dead {
        raw: "{}".to_owned(),
        failure: failure("no_use", most + 4, START),
    };
    assert!(case.settle(&claim, &verdict, START).await);
    assert!(case.settle(&claim, &verdict, START).await);
    let kept: Vec<_> = case
        .record()
        .await
        .tries
        .iter()
        .map(|failure| failure.attempt)
        .collect();
    assert_eq!(kept, (5..=most + 4).collect::<Vec<_>>());
    assert_eq!(case.state().await, State::Dead);
}

/// Long enough to be compressed, with every optional member.
pub async fn a_long_intent_is_read_back_as_it_was<W: World>(world: &W) {
    let case = Case::new(world);
    let params = format!(r#"{{"chat_id":1001,"text":"{}\ud83d"}}"#, "é".repeat(10_000));
    let call = Call {
        on_unknown: OnUnknown::ResendOnce,
        ..Call::new("sendMessage", params)
    };
    let mut intents = plan(case.subject.bot_id, vec![call.clone(), call]).expect("the calls are valid");
    (intents[1].call.not_before, intents[1].call.refers_to) = (Some(START), Some(0));
    let claim = case.acquire("worker", START).await;
    let commit = Commit {
        intents: intents.clone(),
        state: None,
        writes: Vec::new(),
        result: String::new(),
    };
    assert_eq!(case.commit(&claim, &commit, START).await, Commitment::Done);
    let stored: Vec<_> = case
        .record()
        .await
        .intents
        .into_iter()
        .map(|stored| stored.intent)
        .collect();
    assert_eq!(stored, intents);
}
