//! Runs without a claim: every settling write makes the record, or finds out why it must not.

use std::time::Duration;

use penstock_domain::ids::UpdateDigest;
use penstock_domain::ledger::{ClaimRequest, Fence, Owner, Record, Refusal, State};
use penstock_domain::time::Timestamp;
use penstock_ports::{Commitment, Inbox as _, RunAs, Settlement, Verdict};

use super::{Case, DAY, LEASE_AND_MARGIN, MILLISECOND, START, World, failure, plain, request};

/// The settling writes, each of the same unclaimed run.
async fn settle_all<W: World>(case: &Case<'_, W>, request: &ClaimRequest) -> Vec<Option<(Refusal, Record)>> {
    let run = RunAs::Unclaimed(request.clone());
    let now = request.now;
    let mut refused = Vec::new();
    for verdict in [retry(now + DAY, now), kill(now)] {
        refused.push(match case.settle_run(&run, &verdict, now).await {
            Settlement::Refused(refusal, record) => Some((refusal, *record)),
            Settlement::Settled | Settlement::LeaseLost => None,
        });
    }
    refused.push(match case.commit_run(&run, &plain(None), now).await {
        Commitment::Refused(refusal, record) => Some((refusal, *record)),
        _ => None,
    });
    refused
}

fn retry(next_at: Timestamp, at: Timestamp) -> Verdict {
    Verdict::Retry {
        next_at,
        failure: failure("away", 1, at),
    }
}

fn kill(at: Timestamp) -> Verdict {
    Verdict::Dead {
        raw: r#"{"update_id":1}"#.to_owned(),
        failure: failure("no_use", 1, at),
    }
}

fn unclaimed(owner: &str, now: Timestamp) -> RunAs {
    RunAs::Unclaimed(request(owner, now))
}

/// As a claimed one leaves it: attempt 1, fence 1, its owner.
pub async fn an_unclaimed_outcome_makes_the_record<W: World>(world: &W) {
    let case = Case::new(world);
    let mut commit = plain(None);
    commit.intents = case.sends(2);
    let run = unclaimed("worker", START);
    assert_eq!(case.commit_run(&run, &commit, START).await, Commitment::Done);
    let record = case.record().await;
    assert_eq!((record.state, record.open), (State::Done, 2));
    assert_eq!((record.attempts, record.fence), (1, Fence(1)));
    assert_eq!(record.owner, Some(Owner("worker".to_owned())));
    assert_eq!(record.result.as_deref(), Some("ok"));
    assert_eq!(record.expires_at, (START + 90 * DAY).as_secs_ceil());
    // Its sends can be begun like any other's.
    assert_eq!(case.begin(0, "sender", START).await, 1);
}

/// It had landed, and its answer was lost.
pub async fn a_repeated_unclaimed_write_is_a_success<W: World>(world: &W) {
    let case = Case::new(world);
    let run = unclaimed("worker", START);
    assert_eq!(case.commit_run(&run, &plain(None), START).await, Commitment::Done);
    let before = case.record().await;
    assert_eq!(
        case.commit_run(&run, &plain(None), START + MILLISECOND).await,
        Commitment::Done
    );
    assert_eq!(case.record().await, before);
    for verdict in [retry(START + DAY, START), kill(START)] {
        let case = Case::new(world);
        assert_eq!(case.settle_run(&run, &verdict, START).await, Settlement::Settled);
        let before = case.record().await;
        assert_eq!(case.settle_run(&run, &verdict, START).await, Settlement::Settled);
        assert_eq!(case.record().await, before);
    }
}

/// And is claimed by the next delivery as its second try.
pub async fn an_unclaimed_retry_makes_the_record_with_one_try<W: World>(world: &W) {
    let case = Case::new(world);
    let run = unclaimed("worker", START);
    let next_at = START + Duration::from_secs(5);
    assert_eq!(
        case.settle_run(&run, &retry(next_at, START), START).await,
        Settlement::Settled
    );
    let record = case.record().await;
    assert_eq!(
        (record.state, record.attempts, record.tries.len()),
        (State::Retrying, 1, 1)
    );
    assert_eq!(record.next_at, Some(next_at));
    let too_early = request("next", next_at - MILLISECOND);
    assert_eq!(case.refused(&too_early).await, Refusal::HeldUntil(next_at));
    let claim = case.acquire("next", next_at).await;
    assert_eq!((claim.attempt, claim.fence), (2, Fence(2)));
}

/// With its body, and in the index of what needs a person.
pub async fn an_unclaimed_kill_makes_a_dead_letter<W: World>(world: &W) {
    let case = Case::new(world);
    let run = unclaimed("worker", START);
    assert_eq!(
        case.settle_run(&run, &kill(START), START).await,
        Settlement::Settled
    );
    let record = case.record().await;
    assert_eq!(
        (record.state, record.attempts, record.fence),
        (State::Dead, 1, Fence(1))
    );
    assert_eq!(
        world.raw_body(case.key()).await.as_deref(),
        Some(r#"{"update_id":1}"#)
    );
    assert_eq!(case.attention().await.as_deref(), Some("dead"));
}

/// Nothing was burned, and nothing is written.
pub async fn an_unclaimed_deferral_leaves_no_record<W: World>(world: &W) {
    let case = Case::new(world);
    let defer = Verdict::Defer {
        next_at: START + DAY,
        failure: failure("away", 1, START),
    };
    let run = unclaimed("worker", START);
    assert_eq!(case.settle_run(&run, &defer, START).await, Settlement::Settled);
    assert_eq!(case.ledger().read(case.key()).await.expect("read answers"), None);
}

/// Whatever the record's state, nothing of it changes, and the refusal says what it means.
pub async fn an_unclaimed_write_over_a_record_changes_nothing_and_is_told_why<W: World>(world: &W) {
    let late = START + LEASE_AND_MARGIN + MILLISECOND;
    let done = Case::done(world, 1).await;
    let parked = Case::parked(world, "{}").await;
    let held = Case::new(world);
    held.acquire("worker", START).await;
    let waiting = Case::new(world);
    let claim = waiting.acquire("worker", START).await;
    assert!(waiting.settle(&claim, &retry(START + DAY, START), START).await);
    let lease_end = START + LEASE_AND_MARGIN;
    for (case, now, expected) in [
        (&done, START, Refusal::Done),
        (&parked, START, Refusal::Dead),
        (&held, START, Refusal::HeldUntil(lease_end)),
        (&held, late, Refusal::Suspect { fence: Fence(1) }),
        (&waiting, START, Refusal::HeldUntil(START + DAY)),
    ] {
        let before = case.record().await;
        for refused in settle_all(case, &request("other", now)).await {
            let (refusal, record) = refused.expect("the write is refused");
            assert_eq!((refusal, record), (expected.clone(), before.clone()));
        }
        assert_eq!(case.record().await, before);
    }
}

/// Its record stands in the way of another Update, which goes by a key of its own.
pub async fn an_unclaimed_write_under_a_reused_id_is_told_so<W: World>(world: &W) {
    let case = Case::done(world, 0).await;
    let other = ClaimRequest {
        digest: UpdateDigest(1),
        ..request("other", START)
    };
    for refused in settle_all(&case, &other).await {
        assert_eq!(refused.expect("the write is refused").0, Refusal::ReusedId);
    }
}

/// Nothing of it stays but the fence.
pub async fn an_unclaimed_write_over_an_expired_record_begins_anew<W: World>(world: &W) {
    let late = START + 91 * DAY;
    for verdict in [None, Some(retry(late + DAY, late)), Some(kill(late))] {
        let case = Case::parked(world, "{}").await;
        let run = unclaimed("worker", late);
        match verdict {
            None => {
                assert_eq!(case.commit_run(&run, &plain(None), late).await, Commitment::Done);
                assert_eq!(
                    (case.attention().await, world.raw_body(case.key()).await),
                    (None, None)
                );
                assert!(case.record().await.tries.is_empty());
            }
            Some(verdict) => {
                assert_eq!(case.settle_run(&run, &verdict, late).await, Settlement::Settled);
                assert_eq!(case.record().await.tries.len(), 1);
            }
        }
        let record = case.record().await;
        assert_eq!((record.attempts, record.fence), (1, Fence(2)));
        assert!(record.expires_at > late.as_secs_ceil());
    }
}

/// Of many at once one makes it.
pub async fn of_many_unclaimed_outcomes_one_is_written<W: World>(world: &W) {
    let case = Case::new(world);
    let runs: Vec<_> = (0..8).map(|n| unclaimed(&format!("worker {n}"), START)).collect();
    let outcome = plain(None);
    let commits = runs.iter().map(|run| case.commit_run(run, &outcome, START));
    let answers = futures::future::join_all(commits).await;
    let done = answers
        .iter()
        .filter(|answer| **answer == Commitment::Done)
        .count();
    assert_eq!(done, 1, "{answers:?}");
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer, Commitment::Done | Commitment::Refused(Refusal::Done, _)))
    );
}

/// Its own earlier write of another kind is no repeat of this one.
pub async fn an_unclaimed_outcome_after_its_own_failed_try_is_refused<W: World>(world: &W) {
    let case = Case::new(world);
    let run = unclaimed("worker", START);
    let next_at = START + DAY;
    assert_eq!(
        case.settle_run(&run, &retry(next_at, START), START).await,
        Settlement::Settled
    );
    let before = case.record().await;
    match case.commit_run(&run, &plain(None), START).await {
        Commitment::Refused(Refusal::HeldUntil(until), _) => assert_eq!(until, next_at),
        other => panic!("{other:?}"),
    }
    assert_eq!(case.record().await, before);
}
