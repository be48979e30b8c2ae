//! Who may work on an Update.

use futures::future::join_all;
use penstock_domain::ids::UpdateDigest;
use penstock_domain::ledger::{ClaimRequest, Fence, Record, Refusal, State};
use penstock_ports::{Claim, Inbox as _, TakeOver};

use super::{Case, DAY, DIGEST, LEASE, LEASE_AND_MARGIN, MILLISECOND, START, World, failure, request};

/// The second claim is told until when it has to wait, and changes nothing.
pub async fn an_update_is_claimed_once_and_others_wait_for_the_lease<W: World>(world: &W) {
    let case = Case::new(world);
    assert_eq!(case.ledger().read(case.key()).await.expect("read answers"), None);
    let claim = case.acquire("first", START).await;
    assert_eq!((claim.fence, claim.attempt), (Fence(1), 1));
    let before = case.record().await;
    assert_eq!(
        case.refused(&request("second", START)).await,
        Refusal::HeldUntil(START + LEASE_AND_MARGIN)
    );
    let record = case.record().await;
    assert_eq!(record, before);
    assert_eq!(record.key, *case.key());
    assert_eq!(
        (record.state, record.owner),
        (State::Processing, Some(claim.owner))
    );
    assert_eq!(
        (record.redrive, record.attempts, record.fence, record.open),
        (0, 1, Fence(1), 0)
    );
    assert_eq!((record.lease_until, record.next_at), (Some(START + LEASE), None));
    assert_eq!(record.digest, Some(DIGEST));
    assert_eq!(record.expires_at, (START + 90 * DAY).as_secs_ceil());
}

/// Whoever asks at the same time, one gets it.
pub async fn of_many_claims_at_once_one_is_granted<W: World>(world: &W) {
    let case = Case::new(world);
    let requests: Vec<_> = (0..8).map(|n| request(&format!("worker {n}"), START)).collect();
    let answers = join_all(requests.iter().map(|request| case.claim(request))).await;
    let granted = answers
        .iter()
        .filter(|answer| matches!(answer, Claim::Acquired(_)))
        .count();
    assert_eq!(granted, 1, "{answers:?}");
    assert_eq!(case.record().await.attempts, 1);
}

/// A claim that landed and was repeated is a success, and is counted once.
pub async fn a_repeated_claim_of_the_same_owner_is_its_own<W: World>(world: &W) {
    let case = Case::new(world);
    let first = case.acquire("worker", START).await;
    assert_eq!(case.acquire("worker", START + MILLISECOND).await, first);
    assert_eq!(case.record().await.attempts, 1);
}

/// Whatever became of the newer generation.
pub async fn a_copy_of_an_earlier_generation_is_superseded<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    world.redrive(case.key(), 1, START).await;
    assert_eq!(
        case.refused(&request("old copy", START)).await,
        Refusal::Superseded
    );
    let newer = ClaimRequest {
        redrive: 1,
        ..request("worker", START)
    };
    case.acquire_as(&newer).await;
    let late = START + 2 * LEASE_AND_MARGIN;
    assert_eq!(
        case.refused(&request("old copy", late)).await,
        Refusal::Superseded
    );
}

/// Telegram draws update ids anew after idle weeks.
pub async fn a_reused_id_with_another_digest_is_told_apart<W: World>(world: &W) {
    let case = Case::done(world, 0).await;
    let other = ClaimRequest {
        digest: UpdateDigest(1),
        ..request("worker", START)
    };
    assert_eq!(case.refused(&other).await, Refusal::ReusedId);
    // Of one that waits, too, although its time has come.
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    let retry = penstock_ports::Verdict::Retry {
        next_at: START,
        failure: failure("away", 1, START),
    };
    assert!(case.settle(&claim, &retry, START).await);
    assert_eq!(case.refused(&other).await, Refusal::ReusedId);
}

/// A row lingers after its life: it is begun anew, and only its fence goes on.
pub async fn an_expired_record_is_claimed_anew_without_its_old_outcome<W: World>(world: &W) {
    let case = Case::done(world, 2).await;
    let before = case.record().await;
    let last = START + 90 * DAY;
    assert_eq!(case.refused(&request("worker 2", last)).await, Refusal::Done);
    let late = last + std::time::Duration::from_secs(1);
    let claim = case.acquire("worker 3", late).await;
    assert_eq!((claim.fence, claim.attempt), (Fence(before.fence.0 + 1), 1));
    let record = case.record().await;
    assert_eq!(record.state, State::Processing);
    assert!(record.intents.is_empty() && record.tries.is_empty(), "{record:?}");
    assert_eq!((record.attempts, record.open, record.redrive), (1, 0, 0));
    assert_eq!(record.expires_at, (late + 90 * DAY).as_secs_ceil());
    assert_eq!(case.acquire("worker 3", late).await, claim);
}

/// A dead one leaves the index, and its body and its tries are gone. Another digest is no hindrance.
pub async fn an_expired_dead_record_is_claimed_anew_without_its_body<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    let late = START + 91 * DAY;
    let other = ClaimRequest {
        digest: UpdateDigest(1),
        ..request("worker 2", late)
    };
    assert_eq!(case.acquire_as(&other).await.fence, Fence(2));
    assert_eq!(case.record().await.tries, []);
    assert_eq!(case.record().await.digest, Some(UpdateDigest(1)));
    assert_eq!(world.raw_body(case.key()).await, None);
    assert_eq!(case.attention().await, None);
}

/// Two clocks differ: two seconds are left to the worker.
pub async fn a_crash_is_suspected_only_after_lease_and_margin<W: World>(world: &W) {
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    let end = START + LEASE_AND_MARGIN;
    assert_eq!(
        case.refused(&request("other", end)).await,
        Refusal::HeldUntil(end)
    );
    let after = request("other", end + MILLISECOND);
    assert_eq!(
        case.refused(&after).await,
        Refusal::Suspect { fence: claim.fence }
    );
    assert_eq!(case.record().await.owner, Some(claim.owner));
}

/// Of two that saw the same fence one gets it; the worker that was taken for dead has lost its claim.
pub async fn a_suspect_is_taken_over_once<W: World>(world: &W) {
    let case = Case::new(world);
    let dead = case.acquire("dead", START).await;
    let now = START + LEASE_AND_MARGIN + MILLISECOND;
    let TakeOver::Acquired(claim) = case.take_over(&request("quick", now), &dead).await else {
        panic!("the take-over was refused");
    };
    assert_eq!((claim.fence, claim.attempt), (Fence(2), 2));
    assert_eq!(case.take_over(&request("slow", now), &dead).await, TakeOver::Lost);
    // The quick one's write may have been repeated.
    assert_eq!(
        case.take_over(&request("quick", now), &dead).await,
        TakeOver::Acquired(claim.clone())
    );
    assert_eq!(case.record().await.lease_until, Some(now + LEASE));
    assert_eq!(
        case.commit(&dead, &super::plain(None), now).await,
        penstock_ports::Commitment::LeaseLost
    );
    assert_eq!(
        case.commit(&claim, &super::plain(None), now).await,
        penstock_ports::Commitment::Done
    );
}

/// Not while the lease or its margin lasts, and not with another fence than the one that is stored.
pub async fn a_living_worker_is_not_taken_over<W: World>(world: &W) {
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    let end = START + LEASE_AND_MARGIN;
    assert_eq!(
        case.take_over(&request("other", end), &claim).await,
        TakeOver::Lost
    );
    let stale = penstock_ports::ClaimAs {
        fence: Fence(0),
        ..claim.clone()
    };
    assert_eq!(
        case.take_over(&request("other", end + MILLISECOND), &stale).await,
        TakeOver::Lost
    );
    assert_eq!(case.record().await.owner, Some(claim.owner));
}

/// Each take-over is an attempt: what crashes every worker ends.
pub async fn a_take_over_keeps_count_of_the_attempts<W: World>(world: &W) {
    let case = Case::new(world);
    let mut last = case.acquire("worker 1", START).await;
    let mut now = START;
    for n in 2..=4_u32 {
        now = now + LEASE_AND_MARGIN + MILLISECOND;
        let request = request(&format!("worker {n}"), now);
        let TakeOver::Acquired(claim) = case.take_over(&request, &last).await else {
            panic!("take-over {n} was refused");
        };
        assert_eq!((claim.attempt, claim.fence), (n, Fence(u64::from(n))));
        last = claim;
    }
}

/// There is nothing to take.
pub async fn an_absent_record_is_not_taken_over<W: World>(world: &W) {
    let case = Case::new(world);
    let answer = case
        .ledger()
        .take_over(&case.subject, &request("worker", START), Fence(1))
        .await;
    assert_eq!(answer.expect("take-over answers"), TakeOver::Lost);
    assert_eq!(case.ledger().read(case.key()).await.expect("read answers"), None);
}

/// It has its attempts back, and leaves the index when it is claimed, not before.
pub async fn a_redriven_update_is_claimed_in_its_new_generation_only<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    world.redrive(case.key(), 1, START).await;
    assert_eq!(case.attention().await.as_deref(), Some("dead"));
    let claim = case
        .acquire_as(&ClaimRequest {
            redrive: 1,
            ..request("worker 2", START)
        })
        .await;
    assert_eq!((claim.attempt, claim.fence), (1, Fence(2)));
    assert_eq!(case.attention().await, None);
    let record = case.record().await;
    assert_eq!((record.redrive, record.tries.len()), (1, 1));
}

/// The other Update is told by this record from its own repeats, for as long as anything of it may be open.
pub async fn a_record_whose_id_is_used_again_outlives_the_other_update<W: World>(world: &W) {
    let case = Case::done(world, 0).await;
    let (before, now) = (case.record().await, START + 6 * DAY);
    let other = ClaimRequest {
        digest: UpdateDigest(1),
        ..request("other", now)
    };
    assert_eq!(case.refused(&other).await, Refusal::ReusedId);
    let after = case.record().await;
    assert_eq!(after.expires_at, (now + 90 * DAY).as_secs_ceil());
    assert_eq!(
        Record {
            expires_at: before.expires_at,
            ..after
        },
        before,
        "nothing else was changed"
    );
}
