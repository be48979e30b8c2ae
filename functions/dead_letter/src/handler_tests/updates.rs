//! Updates that the queue gave up, by what the ledger knows of them.

use penstock_domain::intent::IntentState;

use super::*;

/// It is filed, with its raw body and why.
fn assert_filed(world: &World, raw: &str) {
    let row = row(world, &key(1));
    assert_eq!((row.record.state, row.attention), (State::Dead, Some("dead")));
    assert_eq!(row.raw.as_deref(), Some(raw));
    assert_eq!(row.record.tries.last().unwrap().code, "too_many_receives");
    assert_eq!(row.record.owner, None, "a late worker could still settle it");
}

fn generation(record: &Record, redrive: u32) -> Record {
    Record {
        body: Envelope {
            redrive,
            ..Envelope::read(&record.body).unwrap()
        }
        .write(),
        ..record.clone()
    }
}

#[tokio::test]
async fn one_that_the_ledger_does_not_know_is_filed() {
    let world = world();
    assert_eq!(deliver(&world, &[update(1, 5)]).await, back(NONE));
    assert_filed(&world, &message(1, 5));
}

#[tokio::test]
async fn one_that_waits_for_its_next_try_is_filed_with_its_history() {
    let world = world();
    let next_at = START + Duration::from_secs(300);
    settled(
        &world,
        &update(1, 5),
        Verdict::Retry {
            next_at,
            failure: failure("busy"),
        },
    )
    .await;
    assert_eq!(deliver(&world, &[update(1, 5)]).await, back(NONE));
    assert_filed(&world, &message(1, 5));
    assert_eq!(row(&world, &key(1)).record.tries[0].code, "busy");
}

#[tokio::test]
async fn one_that_was_deferred_is_filed() {
    let world = world();
    claimed(&world, &update(1, 5)).await;
    let mut deferred = row(&world, &key(1));
    (deferred.record.state, deferred.record.lease_until) = (State::Deferred, None);
    world.deps.ledger.put(deferred);
    assert_eq!(deliver(&world, &[update(1, 5)]).await, back(NONE));
    assert_filed(&world, &message(1, 5));
}

#[tokio::test]
async fn one_that_was_redriven_is_filed_again_in_its_generation() {
    let world = world();
    assert_eq!(deliver(&world, &[update(1, 5)]).await, back(NONE));
    assert!(world.deps.ledger.redrive(&key(1), 1, world.deps.clock.now()));
    assert_eq!(deliver(&world, &[generation(&update(1, 5), 1)]).await, back(NONE));
    assert_filed(&world, &message(1, 5));
    assert_eq!(row(&world, &key(1)).record.redrive, 1);
}

#[tokio::test]
async fn one_that_a_worker_holds_waits_until_its_lease_can_have_ended_and_is_filed_then() {
    let world = world();
    let held = claimed(&world, &update(1, 5)).await;
    world.deps.clock.advance(Duration::from_secs(5));
    assert_eq!(deliver(&world, &[update(1, 5)]).await, back(&[("m1", 15)]));
    assert_eq!(row(&world, &key(1)).record.state, State::Processing);
    world.deps.clock.advance(Duration::from_millis(15_001));
    assert_eq!(deliver(&world, &[again(&update(1, 5))]).await, back(NONE));
    assert_filed(&world, &message(1, 5));
    assert!(row(&world, &key(1)).record.fence > held.fence);
    let commit = Commit {
        intents: Vec::new(),
        state: None,
        writes: Vec::new(),
        result: "late".to_owned(),
    };
    let late = world
        .deps
        .ledger
        .commit(
            &subject(&update(1, 5)),
            &RunAs::Claimed(held),
            &commit,
            world.deps.clock.now(),
        )
        .await;
    assert_eq!(late.unwrap(), Commitment::LeaseLost);
}

#[tokio::test]
async fn one_that_is_dead_already_is_acknowledged_and_keeps_its_reason() {
    let world = world();
    let verdict = Verdict::Dead {
        raw: message(1, 5),
        failure: failure("no_such_order"),
    };
    settled(&world, &update(1, 5), verdict).await;
    let before = row(&world, &key(1));
    assert_eq!(deliver(&world, &[update(1, 5)]).await, back(NONE));
    assert_eq!(row(&world, &key(1)), before);
}

#[tokio::test]
async fn a_copy_of_an_earlier_generation_is_acknowledged_and_changes_nothing() {
    let world = world();
    assert_eq!(deliver(&world, &[update(1, 5)]).await, back(NONE));
    assert!(world.deps.ledger.redrive(&key(1), 1, world.deps.clock.now()));
    let before = row(&world, &key(1));
    assert_eq!(deliver(&world, &[again(&update(1, 5))]).await, back(NONE));
    assert_eq!(row(&world, &key(1)), before);
}

#[tokio::test]
async fn one_that_is_done_has_what_is_still_intended_dispatched() {
    let world = world();
    done(&world, &update(1, 5), 3).await;
    let mut stored = row(&world, &key(1));
    stored.record.intents[1].state = IntentState::Sent;
    world.deps.ledger.put(stored.clone());
    world.deps.outbound.fail_next(1, Fault::Unavailable);
    assert_eq!(deliver(&world, &[update(1, 5)]).await, back(&[("m1", 5)]));
    assert_eq!(deliver(&world, &[again(&update(1, 5))]).await, back(NONE));
    let queued = world.deps.outbound.messages();
    let ids: Vec<_> = queued.iter().map(|sent| sent.deduplication.0.as_str()).collect();
    assert_eq!(ids, ["7000001:1:0", "7000001:1:2"]);
    let last = Outbound::read(&queued[1].body).unwrap();
    assert_eq!(
        (last.n, last.of, last.previous, last.key),
        (2, 3, Some(1), key(1))
    );
    assert_eq!(row(&world, &key(1)), stored);
}

#[tokio::test]
async fn one_that_is_done_and_sent_is_acknowledged() {
    let world = world();
    done(&world, &update(1, 5), 0).await;
    assert_eq!(deliver(&world, &[update(1, 5)]).await, back(NONE));
    assert_eq!(world.deps.outbound.calls(), 0);
}

/// Telegram draws update ids anew after idle weeks.
#[tokio::test]
async fn one_whose_id_was_used_before_by_another_is_filed_beside_it() {
    for sends in [None, Some(1)] {
        let world = world();
        match sends {
            Some(sends) => done(&world, &update(1, 5), sends).await,
            None => {
                let next_at = START + Duration::from_secs(300);
                settled(
                    &world,
                    &update(1, 5),
                    Verdict::Retry {
                        next_at,
                        failure: failure("busy"),
                    },
                )
                .await;
            }
        }
        let before = row(&world, &key(1));
        let other = update(1, 6);
        assert_eq!(deliver(&world, std::slice::from_ref(&other)).await, back(NONE));
        assert_eq!(
            row(&world, &key(1)),
            before,
            "the other update's record was touched"
        );
        let digest = Envelope::read(&other.body).unwrap().digest;
        let filed = row(&world, &LedgerKey::reused(BOT, UpdateId(1), digest));
        assert_eq!(
            (filed.record.state, filed.raw),
            (State::Dead, Some(message(1, 6)))
        );
        assert_eq!(world.deps.outbound.calls(), 0);
    }
}

/// What is to become of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Becomes {
    Filed,
    Acknowledged,
    Dispatched,
    Waits,
}

/// The table of design section 4, "Dead letters": state by generation by lease.
#[tokio::test]
async fn every_state_generation_and_lease_is_filed_by_the_table() {
    for state in State::ALL {
        for (letter, stored) in [(0, 1), (1, 1)] {
            for is_lease_over in [false, true] {
                let world = world();
                done(&world, &update(1, 5), 1).await;
                let mut row_before = row(&world, &key(1));
                let record = &mut row_before.record;
                (record.state, record.redrive) = (state, stored);
                record.owner = Some(Owner("a processor".to_owned()));
                record.lease_until = (state == State::Processing).then_some(START + Duration::from_secs(18));
                record.next_at = matches!(state, State::Retrying | State::Deferred)
                    .then_some(START + Duration::from_secs(300));
                if state != State::Done {
                    record.intents.clear();
                }
                let before = row_before.clone();
                world.deps.ledger.put(row_before);
                if is_lease_over {
                    world.deps.clock.advance(Duration::from_millis(20_001));
                }
                let expected = match state {
                    _ if letter < stored => Becomes::Acknowledged,
                    State::Pending | State::Retrying | State::Deferred => Becomes::Filed,
                    State::Processing if is_lease_over => Becomes::Filed,
                    State::Processing => Becomes::Waits,
                    State::Dead => Becomes::Acknowledged,
                    State::Done => Becomes::Dispatched,
                };
                let came_back = deliver(&world, &[generation(&update(1, 5), letter)]).await;
                let after = row(&world, &key(1));
                let queued = world.deps.outbound.messages().len();
                let cell = format!("{state:?}, generation {letter} of {stored}, lease over: {is_lease_over}");
                assert_eq!(came_back.is_empty(), expected != Becomes::Waits, "{cell}");
                assert_eq!(queued, usize::from(expected == Becomes::Dispatched), "{cell}");
                if expected == Becomes::Filed {
                    assert_filed(&world, &message(1, 5));
                    assert!(after.record.fence > before.record.fence, "{cell}");
                    assert_eq!(after.record.redrive, stored, "{cell}");
                } else {
                    assert_eq!(after, before, "{cell}");
                }
            }
        }
    }
}

/// A person has closed it.
#[tokio::test]
async fn one_that_was_discarded_is_acknowledged_and_stays_closed() {
    let world = world();
    assert_eq!(deliver(&world, &[update(1, 5)]).await, back(NONE));
    let mut stored = row(&world, &key(1));
    stored.attention = None;
    world.deps.ledger.put(stored.clone());
    assert_eq!(deliver(&world, &[again(&update(1, 5))]).await, back(NONE));
    assert_eq!(row(&world, &key(1)), stored);
}
