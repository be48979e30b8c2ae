//! How Updates are parked, with their bodies.

use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::LedgerKey;
use penstock_domain::ledger::{ClaimRequest, Fence, Refusal, State};
use penstock_domain::time::Timestamp;
use penstock_ports::{Commitment, Filed, Inbox as _, Verdict};

use super::{Case, DAY, LEASE_AND_MARGIN, MILLISECOND, START, World, failure, plain, request};

/// Text that no compression makes much shorter: six random bits a byte.
pub(super) fn noise(bytes: usize, seed: u64) -> String {
    let mut state = seed | 1;
    let mut next = || {
        // Xorshift of Marsaglia, 64 bits.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'0' + u8::try_from(state >> 58).unwrap_or(0))
    };
    (0..bytes).map(|_| next()).collect()
}

fn letter(at: Timestamp) -> Failure {
    Failure::new(
        "dead_lettered",
        "received too often",
        Disposition::Permanent,
        1,
        at,
    )
}

async fn file<W: World>(case: &Case<'_, W>, redrive: u32, raw: &str, now: Timestamp) -> Filed {
    case.ledger()
        .file_dead(&case.subject, redrive, raw, &letter(now), now)
        .await
        .expect("filing answers")
}

async fn body_survives<W: World>(world: &W, raw: &str) {
    let case = Case::parked(world, raw).await;
    assert!(
        world.raw_body(case.key()).await.as_deref() == Some(raw),
        "a body of {} bytes is not as it was",
        raw.len()
    );
    let filed = Case::new(world);
    assert_eq!(file(&filed, 0, raw, START).await, Filed::Dead);
    assert!(
        world.raw_body(filed.key()).await.as_deref() == Some(raw),
        "a body of {} bytes is not as it was",
        raw.len()
    );
}

/// As it is.
pub async fn a_small_body_is_kept_with_the_dead_update<W: World>(world: &W) {
    body_survives(world, r#"{"update_id":1,"message":{"text":"\ud83d é"}}"#).await;
}

/// Long enough to be compressed.
pub async fn a_body_of_twenty_kilobytes_is_kept_with_the_dead_update<W: World>(world: &W) {
    body_survives(world, &noise(20_000, 1)).await;
}

/// Too long for one row, even compressed.
pub async fn a_big_incompressible_body_is_kept_with_the_dead_update<W: World>(world: &W) {
    body_survives(world, &noise(600_000, 2)).await;
}

/// A person finds it, and nobody works on it.
pub async fn a_dead_update_is_indexed_and_not_claimed<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    assert_eq!(case.attention().await.as_deref(), Some("dead"));
    assert_eq!(case.refused(&request("worker 2", START)).await, Refusal::Dead);
    let record = case.record().await;
    assert_eq!(
        (record.state, record.attempts, record.fence),
        (State::Dead, 1, Fence(1))
    );
    assert_eq!((record.lease_until, record.next_at), (None, None));
    assert_eq!(record.tries, [failure("no_use", 1, START)]);
    assert_eq!(record.expires_at, (START + 90 * DAY).as_secs_ceil());
}

/// It had landed, and its answer was lost.
pub async fn a_repeated_kill_is_a_success<W: World>(world: &W) {
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    let kill = Verdict::Dead {
        raw: "{}".to_owned(),
        failure: failure("no_use", 1, START),
    };
    assert!(case.settle(&claim, &kill, START).await);
    assert!(case.settle(&claim, &kill, START).await);
    assert_eq!(case.record().await.tries.len(), 1);
}

/// It was never claimed: the queue gave it up.
pub async fn a_letter_without_a_record_is_filed<W: World>(world: &W) {
    let case = Case::new(world);
    assert_eq!(file(&case, 0, "{}", START).await, Filed::Dead);
    let record = case.record().await;
    assert_eq!(record.key, *case.key());
    assert_eq!(
        (record.state, record.attempts, record.fence, record.open),
        (State::Dead, 0, Fence(1), 0)
    );
    assert_eq!((record.owner, record.redrive), (None, 0));
    assert_eq!(record.tries, [letter(START)]);
    assert_eq!(record.expires_at, (START + 90 * DAY).as_secs_ceil());
    assert_eq!(case.attention().await.as_deref(), Some("dead"));
    assert_eq!(case.refused(&request("worker", START)).await, Refusal::Dead);
}

/// One that is tried again later, and one that was redriven.
pub async fn a_letter_whose_update_waits_is_filed<W: World>(world: &W) {
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    let retry = Verdict::Retry {
        next_at: START + DAY,
        failure: failure("away", 1, START),
    };
    assert!(case.settle(&claim, &retry, START).await);
    assert_eq!(file(&case, 0, "{}", START).await, Filed::Dead);
    let record = case.record().await;
    assert_eq!(
        (record.state, record.fence, record.attempts),
        (State::Dead, Fence(2), 1)
    );
    assert_eq!(
        (record.owner, record.next_at, record.tries.len()),
        (None, None, 2)
    );

    world.redrive(case.key(), 1, START).await;
    assert_eq!(file(&case, 1, "{}", START).await, Filed::Dead);
    assert_eq!(
        (case.state().await, case.record().await.redrive),
        (State::Dead, 1)
    );
}

/// Its worker may still commit.
pub async fn a_letter_whose_update_is_held_waits_for_the_lease<W: World>(world: &W) {
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    let end = START + LEASE_AND_MARGIN;
    assert_eq!(file(&case, 0, "{}", START).await, Filed::HeldUntil(end));
    assert_eq!(file(&case, 0, "{}", end).await, Filed::HeldUntil(end));
    assert_eq!(
        (case.state().await, case.attention().await),
        (State::Processing, None)
    );
    assert_eq!(case.commit(&claim, &plain(None), end).await, Commitment::Done);
}

/// The fence has moved on.
pub async fn a_letter_whose_worker_died_is_filed_and_its_late_commit_refused<W: World>(world: &W) {
    let case = Case::new(world);
    let claim = case.acquire("worker", START).await;
    let now = START + LEASE_AND_MARGIN + MILLISECOND;
    assert_eq!(file(&case, 0, "{}", now).await, Filed::Dead);
    assert_eq!(case.record().await.fence, Fence(2));
    assert_eq!(
        case.commit(&claim, &plain(None), now).await,
        Commitment::LeaseLost
    );
    let kill = Verdict::Dead {
        raw: "{}".to_owned(),
        failure: failure("no_use", 1, now),
    };
    assert!(!case.settle(&claim, &kill, now).await);
    assert_eq!(case.record().await.tries, [letter(now)]);
}

/// Its body stays the one that it died with.
pub async fn a_letter_that_is_dead_already_changes_nothing<W: World>(world: &W) {
    let (first, second) = (noise(600_000, 3), noise(600_000, 4));
    let case = Case::parked(world, &first).await;
    let before = case.record().await;
    assert_eq!(file(&case, 0, &second, START).await, Filed::Already);
    assert_eq!(case.record().await, before);
    assert!(
        world.raw_body(case.key()).await == Some(first),
        "the body was changed"
    );
}

/// Nor does it disturb the body of the later one.
pub async fn a_letter_of_an_earlier_generation_changes_nothing<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    world.redrive(case.key(), 1, START).await;
    assert_eq!(file(&case, 0, "{}", START).await, Filed::Already);
    assert_eq!(case.state().await, State::Pending);
    let claim = case
        .acquire_as(&ClaimRequest {
            redrive: 1,
            ..request("worker 2", START)
        })
        .await;
    let late = START + 2 * LEASE_AND_MARGIN;
    assert_eq!(file(&case, 0, "{}", late).await, Filed::Already);
    let edited = noise(600_000, 5);
    let kill = Verdict::Dead {
        raw: edited.clone(),
        failure: failure("no_use", 1, late),
    };
    assert!(case.settle(&claim, &kill, late).await);
    assert_eq!(file(&case, 0, &noise(600_000, 6), late).await, Filed::Already);
    assert!(
        world.raw_body(case.key()).await == Some(edited),
        "the body was changed"
    );
}

/// The record comes with the answer: what is still intended can be dispatched.
pub async fn a_letter_whose_update_is_done_is_told_so<W: World>(world: &W) {
    let case = Case::done(world, 2).await;
    let before = case.record().await;
    assert_eq!(
        file(&case, 0, "{}", START).await,
        Filed::Done(Box::new(before.clone()))
    );
    assert_eq!(case.record().await, before);
    assert_eq!(world.raw_body(case.key()).await, None);
}

/// The old outcome is another Update's, or of another time.
pub async fn a_letter_over_an_expired_record_begins_anew<W: World>(world: &W) {
    let case = Case::done(world, 2).await;
    let late = START + 91 * DAY;
    assert_eq!(file(&case, 0, "{}", late).await, Filed::Dead);
    let record = case.record().await;
    assert_eq!(
        (record.state, record.fence, record.attempts, record.open),
        (State::Dead, Fence(2), 0, 0)
    );
    assert!(record.intents.is_empty(), "{record:?}");
    assert_eq!((record.tries, record.digest), (vec![letter(late)], None));
}

/// Its record has no digest, since the letter has none.
pub async fn a_letter_that_was_filed_without_a_claim_can_be_redriven<W: World>(world: &W) {
    let case = Case::new(world);
    assert_eq!(file(&case, 0, "{}", START).await, Filed::Dead);
    world.redrive(case.key(), 1, START).await;
    let claim = case
        .acquire_as(&ClaimRequest {
            redrive: 1,
            ..request("worker", START)
        })
        .await;
    assert_eq!((claim.attempt, claim.fence), (1, Fence(2)));
}

/// Edited by a person between the two, wherever either of them is kept.
pub async fn a_body_that_dies_again_replaces_the_one_before<W: World>(world: &W) {
    let bodies = [
        "{}".to_owned(),
        noise(600_000, 7),
        noise(20_000, 8),
        noise(900_000, 9),
        "[]".to_owned(),
    ];
    let case = Case::parked(world, &bodies[0]).await;
    for (generation, body) in (1_u32..).zip(&bodies[1..]) {
        world.redrive(case.key(), generation, START).await;
        if generation % 2 == 0 {
            assert_eq!(file(&case, generation, body, START).await, Filed::Dead);
        } else {
            let owner = format!("worker {generation}");
            let claim = case
                .acquire_as(&ClaimRequest {
                    redrive: generation,
                    ..request(&owner, START)
                })
                .await;
            let kill = Verdict::Dead {
                raw: body.clone(),
                failure: failure("no_use", 1, START),
            };
            assert!(case.settle(&claim, &kill, START).await);
        }
        let stored = world.raw_body(case.key()).await;
        assert!(
            stored.as_ref() == Some(body),
            "generation {generation} has another body"
        );
    }
}

/// It has no update id, and the hash of its bytes for a key.
pub async fn a_quarantined_body_has_its_own_place_in_the_index<W: World>(world: &W) {
    let mut case = Case::new(world);
    case.subject.key = LedgerKey::quarantined(case.subject.bot_id, b"nonsense");
    case.subject.update_id = -1;
    case.subject.kind = penstock_domain::kind::UpdateKind::Unknown;
    assert_eq!(file(&case, 0, "bm9uc2Vuc2U=", START).await, Filed::Dead);
    assert_eq!(case.attention().await.as_deref(), Some("quarantine"));
    assert_eq!(world.raw_body(case.key()).await.as_deref(), Some("bm9uc2Vuc2U="));
    assert_eq!(file(&case, 0, "bm9uc2Vuc2U=", START).await, Filed::Already);
}
