//! Calls of which nobody knows whether they arrived, and senders that died with one on its way.

use penstock_ports::{IntentStart, Outbox as _};

use super::*;

fn resend_once(call: Call) -> Call {
    Call {
        on_unknown: OnUnknown::ResendOnce,
        ..call
    }
}

/// Another sender claims the record's intent now, and dies with the call on its way.
async fn dies_with(world: &World, record: &Record) {
    let outbound = Outbound::read(&record.body).unwrap();
    let now = world.deps.clock.now();
    let claim = penstock_domain::intent::IntentClaim {
        owner: Owner(format!("a sender that dies at {now}")),
        n: outbound.n,
        redrive: 0,
        resend: 0,
        previous: outbound.previous,
        refers_to: None,
        now,
        lease_until: now + crate::limits::LEASE,
    };
    let start = world.deps.ledger.start(&outbound.key, &claim).await.unwrap();
    assert!(matches!(start, IntentStart::Acquired { .. }), "{start:?}");
}

#[tokio::test]
async fn a_visible_send_without_an_answer_is_unknown_and_never_repeated() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    world.deps.api.answer("sendMessage", Err(no_answer()));
    assert_eq!(deliver(&world, std::slice::from_ref(&record)).await, back(NONE));
    assert_eq!(
        (state(&world, 1), why(&world, 1).as_str()),
        (IntentState::Unknown, "bot_api_no_answer")
    );
    assert_eq!(world.deps.ledger.row(&key(1)).unwrap().attention, Some("unknown"));
    world.deps.clock.advance(Duration::from_secs(3600));
    assert_eq!(deliver(&world, &[again(&record)]).await, back(NONE));
    assert_eq!(world.deps.api.calls().len(), 1);
}

#[tokio::test]
async fn what_is_safe_to_repeat_is_repeated() {
    for (method, params) in [
        ("setMyName", json!({"name": "a"})),
        ("answerCallbackQuery", json!({"callback_query_id": "7"})),
        (
            "editMessageText",
            json!({"chat_id": 5, "message_id": 1, "text": "x"}),
        ),
        ("unpinChatMessage", json!({"chat_id": 5, "message_id": 1})),
    ] {
        let world = world();
        let record = one(&world, 1, call(method, &params)).await;
        world.deps.api.answer(method, Err(no_answer()));
        assert_eq!(
            deliver(&world, std::slice::from_ref(&record)).await,
            back(&[("m1.0", 2_000)]),
            "{method}"
        );
        world.deps.clock.advance(Duration::from_secs(2));
        assert_eq!(deliver(&world, &[again(&record)]).await, back(NONE));
        assert_eq!(
            (state(&world, 1), world.deps.api.calls().len()),
            (IntentState::Sent, 2),
            "{method}"
        );
    }
}

#[tokio::test]
async fn a_send_whose_bot_allows_it_is_repeated_once_and_not_twice() {
    let world = world();
    let record = one(&world, 1, resend_once(say(5, 1))).await;
    for _ in 0..3 {
        world.deps.api.answer("sendMessage", Err(no_answer()));
    }
    assert_eq!(deliver_until_done(&world, &record).await, 2);
    assert_eq!(
        (state(&world, 1), world.deps.api.calls().len()),
        (IntentState::Unknown, 2)
    );
}

#[tokio::test]
async fn what_costs_money_is_never_repeated_whatever_its_bot_allows() {
    let world = world();
    let gift = call("sendGift", &json!({"user_id": 5, "gift_id": "g"}));
    let record = one(&world, 1, resend_once(gift)).await;
    world.deps.api.answer("sendGift", Err(no_answer()));
    assert_eq!(deliver_until_done(&world, &record).await, 1);
    assert_eq!(
        (state(&world, 1), world.deps.api.calls().len()),
        (IntentState::Unknown, 1)
    );
}

#[tokio::test]
async fn unpinning_without_a_message_is_not_repeated() {
    let world = world();
    let record = one(&world, 1, call("unpinChatMessage", &json!({"chat_id": 5}))).await;
    world.deps.api.answer("unpinChatMessage", Err(no_answer()));
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    assert_eq!(state(&world, 1), IntentState::Unknown);
}

#[tokio::test]
async fn a_call_that_did_not_leave_is_safe_to_repeat_and_ends_after_eight_tries() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    for _ in 0..8 {
        world.deps.api.answer(
            "sendMessage",
            Err(ApiError::NotSent {
                method: "sendMessage".to_owned(),
            }),
        );
    }
    assert_eq!(deliver_until_done(&world, &record).await, 8);
    assert_eq!(
        (state(&world, 1), why(&world, 1).as_str()),
        (IntentState::Failed, "bot_api_unreachable")
    );
    assert_eq!(world.deps.api.calls().len(), 8);
}

#[tokio::test]
async fn what_another_sender_has_in_hand_is_waited_for() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    dies_with(&world, &record).await;
    world.deps.clock.advance(Duration::from_secs(8));
    // 19 s of lease and 2 s of margin between the clocks.
    assert_eq!(
        deliver(&world, &[again(&record)]).await,
        back(&[("m1.0", 13_000)])
    );
    assert_eq!(state(&world, 1), IntentState::Sending);
}

#[tokio::test]
async fn what_a_sender_died_with_is_unknown_and_not_sent_again() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    dies_with(&world, &record).await;
    world.deps.clock.advance(Duration::from_millis(21_001));
    assert_eq!(deliver(&world, &[again(&record)]).await, back(NONE));
    assert_eq!(
        (state(&world, 1), why(&world, 1).as_str()),
        (IntentState::Unknown, "sender_died")
    );
    assert!(world.deps.api.calls().is_empty());
}

#[tokio::test]
async fn what_is_safe_to_repeat_is_sent_after_its_sender_died() {
    let world = world();
    let record = one(&world, 1, call("setMyName", &json!({"name": "a"}))).await;
    dies_with(&world, &record).await;
    world.deps.clock.advance(Duration::from_secs(60));
    deliver_until_done(&world, &again(&record)).await;
    assert_eq!(
        (state(&world, 1), world.deps.api.calls().len()),
        (IntentState::Sent, 1)
    );
}

/// Each sender dies with it: the second death is the second time that it may have arrived.
#[tokio::test]
async fn a_send_that_may_be_repeated_once_is_not_repeated_after_a_second_death() {
    let world = world();
    let record = one(&world, 1, resend_once(say(5, 1))).await;
    dies_with(&world, &record).await;
    world.deps.clock.advance(Duration::from_secs(60));
    assert_eq!(deliver(&world, &[again(&record)]).await, back(&[("m1.0", 2_000)]));
    world.deps.clock.advance(Duration::from_secs(2));
    dies_with(&world, &record).await;
    world.deps.clock.advance(Duration::from_secs(60));
    assert_eq!(deliver(&world, &[again(&again(&record))]).await, back(NONE));
    assert_eq!(
        (state(&world, 1), world.deps.api.calls().len()),
        (IntentState::Unknown, 0)
    );
}

#[tokio::test]
async fn the_late_answer_of_a_sender_that_was_given_up_still_counts() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    dies_with(&world, &record).await;
    let late = Owner(format!("a sender that dies at {START}"));
    world.deps.clock.advance(Duration::from_secs(60));
    assert_eq!(deliver(&world, &[again(&record)]).await, back(NONE));
    let settlement = penstock_ports::IntentSettlement {
        key: key(1),
        n: 0,
        of: 1,
        owner: Some(late),
        settle: penstock_ports::SettleAs::Sent { message_id: Some(9) },
        now: world.deps.clock.now(),
    };
    assert!(
        penstock_ports::Outbox::settle(&world.deps.ledger, &settlement)
            .await
            .unwrap()
    );
    assert_eq!(
        (state(&world, 1), intent(&world, 1, 0).message_id),
        (IntentState::Sent, Some(9))
    );
}
