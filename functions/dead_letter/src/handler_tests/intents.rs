//! Sends that the queue gave up: failed if nobody began them, unknown if one may be on its way, never just gone.

use penstock_domain::intent::{IntentClaim, IntentState};
use penstock_ports::{IntentStart, Outbox as _};

use super::*;

/// The letters of the sends of an Update that is done.
async fn sends(world: &World, count: usize) -> Vec<Record> {
    done(world, &update(1, 5), count).await;
    let record = row(world, &key(1)).record;
    let origin = Origin {
        bot_id: BOT,
        update_id: UpdateId(1),
        key: key(1),
        redrive: 0,
        received_at: START,
        trace_id: trace_id(BOT, UpdateId(1)),
    };
    let body = |stored: &penstock_domain::intent::IntentRecord| {
        Outbound::new(&origin, &stored.intent, 0, u8::try_from(count).unwrap())
            .write()
            .unwrap()
    };
    record
        .intents
        .iter()
        .map(|stored| {
            letter(
                &format!("s{}", stored.intent.n),
                &stored.intent.group.0,
                body(stored),
            )
        })
        .collect()
}

/// A sender takes the first send; its lease holds for 18 s.
async fn sending(world: &World) {
    let now = world.deps.clock.now();
    let claim = IntentClaim {
        owner: Owner("a sender".to_owned()),
        n: 0,
        redrive: 0,
        resend: 0,
        previous: None,
        refers_to: None,
        now,
        lease_until: now + Duration::from_secs(18),
    };
    let start = world.deps.ledger.start(&key(1), &claim).await.unwrap();
    assert!(matches!(start, IntentStart::Acquired { .. }));
}

fn states(world: &World) -> Vec<IntentState> {
    world.deps.ledger.intent_states(&key(1))
}

#[tokio::test]
async fn a_send_that_nobody_began_has_failed() {
    let world = world();
    let letters = sends(&world, 1).await;
    assert_eq!(deliver(&world, &letters).await, back(NONE));
    assert_eq!(states(&world), [IntentState::Failed]);
    let record = row(&world, &key(1)).record;
    assert_eq!(
        record.intents[0].failure.as_ref().unwrap().code,
        "too_many_receives"
    );
    assert_eq!(record.open, 0);
}

#[tokio::test]
async fn the_sends_of_a_chat_fail_in_their_order() {
    let world = world();
    let letters = sends(&world, 3).await;
    let [first, second, third] = letters.try_into().unwrap();
    let waiting = deliver(&world, &[second.clone(), third.clone()]).await;
    assert_eq!(waiting, back(&[("s1", 30), ("s2", 30)]));
    assert_eq!(
        deliver(&world, &[first, again(&second), again(&third)]).await,
        back(NONE)
    );
    assert_eq!(states(&world), [IntentState::Failed; 3]);
}

#[tokio::test]
async fn a_send_that_a_sender_has_in_hand_is_waited_for_and_unknown_once_its_lease_is_over() {
    let world = world();
    let letters = sends(&world, 1).await;
    sending(&world).await;
    assert_eq!(deliver(&world, &letters).await, back(&[("s0", 20)]));
    assert_eq!(states(&world), [IntentState::Sending]);
    world.deps.clock.advance(Duration::from_millis(20_001));
    assert_eq!(deliver(&world, &[again(&letters[0])]).await, back(NONE));
    assert_eq!(states(&world), [IntentState::Unknown]);
    assert_eq!(row(&world, &key(1)).attention, Some("unknown"));
}

#[tokio::test]
async fn a_send_that_has_ended_is_acknowledged_and_stays_as_it_is() {
    let world = world();
    let letters = sends(&world, 1).await;
    for state in [
        IntentState::Sent,
        IntentState::Failed,
        IntentState::Unknown,
        IntentState::Cancelled,
    ] {
        let mut stored = row(&world, &key(1));
        stored.record.intents[0].state = state;
        world.deps.ledger.put(stored.clone());
        assert_eq!(deliver(&world, &letters).await, back(NONE));
        assert_eq!(row(&world, &key(1)), stored);
    }
}

#[tokio::test]
async fn a_send_that_no_ledger_knows_is_filed_raw() {
    let letters = sends(&world(), 1).await;
    let world = world();
    assert_eq!(deliver(&world, &letters).await, back(NONE));
    let row = row(&world, &LedgerKey::quarantined(BOT, letters[0].body.as_bytes()));
    assert_eq!(
        (row.record.state, row.raw.as_ref()),
        (State::Dead, Some(&letters[0].body))
    );
    assert_eq!(row.record.tries[0].code, "no_intent");
}

#[tokio::test]
async fn a_send_of_a_newer_release_is_filed_raw() {
    let world = world();
    let body = r#"{"schema_version":2,"method":"sendMessage","params":{}}"#;
    assert_eq!(
        deliver(&world, &[letter("s0", "7000001:c:5", body.to_owned())]).await,
        back(NONE)
    );
    assert_eq!(
        row(&world, &LedgerKey::quarantined(BOT, body.as_bytes()))
            .raw
            .as_deref(),
        Some(body)
    );
}

#[tokio::test]
async fn a_send_that_cannot_be_settled_now_comes_back_and_ends() {
    for fault in [Fault::Unavailable, Fault::NeverArrived, Fault::AnswerLost] {
        for nth in 1..=1 {
            let world = world();
            let letters = sends(&world, 1).await;
            world
                .deps
                .ledger
                .fail_call(world.deps.ledger.calls() + nth, fault);
            let mut delivery = letters[0].clone();
            let mut deliveries = 1;
            while let Some((_, wait)) = deliver(&world, std::slice::from_ref(&delivery)).await.first() {
                world.deps.clock.advance(Duration::from_secs(*wait));
                delivery = again(&delivery);
                deliveries += 1;
                assert!(deliveries < 10, "never acknowledged");
            }
            assert!(deliveries > 1, "{fault:?} at {nth} was not met");
            // Nobody ever called for it, so it has failed, and is never unknown.
            assert_eq!(states(&world), [IntentState::Failed], "{fault:?} at {nth}");
        }
    }
}

/// Its message is gone from the queue, so nobody would try it at that time.
#[tokio::test]
async fn a_send_that_waits_for_its_next_try_has_failed_at_once() {
    let world = world();
    let letters = sends(&world, 1).await;
    sending(&world).await;
    let mut stored = row(&world, &key(1));
    let intent = &mut stored.record.intents[0];
    intent.state = IntentState::Retrying;
    (intent.lease_until, intent.next_at) = (None, Some(START + Duration::from_secs(300)));
    world.deps.ledger.put(stored);
    assert_eq!(deliver(&world, &letters).await, back(NONE));
    assert_eq!(states(&world), [IntentState::Failed]);
    assert_eq!(world.deps.ledger.calls(), 4, "giving up is one write");
}

/// A person has had it sent again: the copy of before says nothing of that one.
#[tokio::test]
async fn a_send_of_an_earlier_resending_is_acknowledged_and_changes_nothing() {
    let world = world();
    let letters = sends(&world, 1).await;
    assert_eq!(deliver(&world, &letters).await, back(NONE));
    assert!(world.deps.ledger.resend(&key(1), 0, 1, world.deps.clock.now()));
    let before = row(&world, &key(1));
    assert_eq!(deliver(&world, &[again(&letters[0])]).await, back(NONE));
    assert_eq!(row(&world, &key(1)), before);
}
