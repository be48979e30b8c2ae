//! Sends that arrive: settled with what Telegram said, in the order of their chat, each once.

use penstock_ports::ApiReply;
use penstock_testkit::Fault;

use super::*;

#[tokio::test]
async fn a_send_is_settled_with_the_message_id_that_telegram_gave() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    world.deps.api.answer(
        "sendMessage",
        Ok(ApiReply {
            message_id: Some(77),
            already_done: false,
        }),
    );
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    let intent = intent(&world, 1, 0);
    assert_eq!(
        (intent.state, intent.message_id, intent.attempts),
        (IntentState::Sent, Some(77), 1)
    );
    let [made] = world.deps.api.calls().try_into().unwrap();
    assert_eq!(
        (made.token.reveal(), made.method.as_str()),
        (TOKEN, "sendMessage")
    );
    assert!(made.params.contains(PRIVATE));
    assert_eq!(world.deps.ledger.record(&key(1)).unwrap().open, 0);
}

#[tokio::test]
async fn what_had_been_done_before_is_sent() {
    let world = world();
    let edit = call(
        "editMessageText",
        &json!({"chat_id": 5, "message_id": 1, "text": "x"}),
    );
    let record = one(&world, 1, edit).await;
    world.deps.api.answer(
        "editMessageText",
        Ok(ApiReply {
            message_id: None,
            already_done: true,
        }),
    );
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    assert_eq!(state(&world, 1), IntentState::Sent);
}

#[tokio::test]
async fn a_repeat_of_what_was_sent_is_acknowledged_and_calls_nothing() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    for delivery in [record.clone(), again(&record), again(&again(&record))] {
        assert_eq!(deliver(&world, &[delivery]).await, back(NONE));
    }
    assert_eq!(world.deps.api.calls().len(), 1);
}

#[tokio::test]
async fn a_chats_sends_go_in_the_order_of_the_queue_and_within_an_update_by_their_numbers() {
    let world = world();
    let mut batch = committed(&world, 1, vec![say(5, 10), say(5, 11)]).await;
    batch.extend(committed(&world, 2, vec![say(5, 20), say(5, 21)]).await);
    let [a, b, c, d] = batch.try_into().unwrap();
    // The ids of updates may fall, so the queue's order of updates stands.
    // Three at once are as many as a private chat takes.
    let waits = deliver(&world, &[d, b.clone(), c, a]).await;
    assert_eq!(waits, back(&[("m1.1", 1_050)]));
    world.deps.clock.advance(Duration::from_millis(1_050));
    assert_eq!(deliver(&world, &[again(&b)]).await, back(NONE));
    assert_eq!(texts(&world), [20, 21, 10, 11]);
}

#[tokio::test]
async fn a_later_send_of_a_chat_waits_until_the_one_before_it_has_ended() {
    let world = world();
    let [first, second] = committed(&world, 1, vec![say(5, 1), say(5, 2)])
        .await
        .try_into()
        .unwrap();
    assert_eq!(
        deliver(&world, std::slice::from_ref(&second)).await,
        back(&[("m1.1", 5_000)])
    );
    assert!(world.deps.api.calls().is_empty());
    world.deps.api.answer("sendMessage", Err(throttled(3)));
    let held = deliver(&world, &[first.clone(), again(&second)]).await;
    assert_eq!(held, back(&[("m1.0", 3_250), ("m1.1", 3_250)]));
    assert_eq!(texts(&world), [1], "the second went while the first waits");
    world.deps.clock.advance(Duration::from_secs(4));
    assert_eq!(
        deliver(&world, &[again(&first), again(&again(&second))]).await,
        back(NONE)
    );
    assert_eq!(texts(&world), [1, 1, 2]);
}

#[tokio::test]
async fn a_send_that_failed_for_good_or_is_unknown_holds_up_nobody() {
    for error in [refused(400, Disposition::Permanent, Meaning::Plain), no_answer()] {
        let world = world();
        let batch = committed(&world, 1, vec![say(5, 1), say(5, 2)]).await;
        world.deps.api.answer("sendMessage", Err(error));
        assert_eq!(deliver(&world, &batch).await, back(NONE));
        assert_eq!(texts(&world), [1, 2]);
        assert_eq!(intent(&world, 1, 1).state, IntentState::Sent);
    }
}

#[tokio::test]
async fn a_chat_that_has_to_wait_holds_up_no_other() {
    let world = world();
    let mut batch = Vec::new();
    for update in 1..10 {
        batch.push(one(&world, update, say(100 + update, 1)).await);
    }
    world.deps.api.answer("sendMessage", Err(throttled(60)));
    assert_eq!(deliver(&world, &batch).await, back(&[("m1.0", 60_250)]));
    assert!((2..10).all(|update| state(&world, update) == IntentState::Sent));
}

#[tokio::test]
async fn what_is_not_to_be_sent_yet_waits_unclaimed() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    let mut later = Outbound::read(&record.body).unwrap();
    later.call.not_before = Some(START + Duration::from_secs(90));
    let record = Record {
        body: later.write().unwrap(),
        ..record
    };
    assert_eq!(
        deliver(&world, std::slice::from_ref(&record)).await,
        back(&[("m1.0", 90_000)])
    );
    assert_eq!(
        (state(&world, 1), world.deps.api.calls().len()),
        (IntentState::Intended, 0)
    );
    world.deps.clock.advance(Duration::from_secs(90));
    assert_eq!(deliver(&world, &[again(&record)]).await, back(NONE));
}

#[tokio::test]
async fn a_copy_that_a_person_has_had_sent_again_meanwhile_is_acknowledged() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    world.deps.api.answer("sendMessage", Err(no_answer()));
    assert_eq!(deliver(&world, std::slice::from_ref(&record)).await, back(NONE));
    assert!(world.deps.ledger.resend(&key(1), 0, 1, world.deps.clock.now()));
    assert_eq!(
        deliver(&world, &[again(&record)]).await,
        back(NONE),
        "the old copy"
    );
    assert_eq!(world.deps.api.calls().len(), 1);
    let resent = Outbound {
        resend: 1,
        ..Outbound::read(&record.body).unwrap()
    };
    let resent = Record {
        body: resent.write().unwrap(),
        ..again(&again(&record))
    };
    assert_eq!(deliver(&world, &[resent]).await, back(NONE));
    assert_eq!(
        (state(&world, 1), world.deps.api.calls().len()),
        (IntentState::Sent, 2)
    );
}

/// The call is made once, whatever becomes of the writes around it.
#[tokio::test(start_paused = true)]
async fn whichever_write_fails_the_call_is_made_once_and_settled() {
    for fault in [Fault::Unavailable, Fault::NeverArrived, Fault::AnswerLost] {
        // The gate, the claim, the settling.
        for nth in 1..=3 {
            let world = world();
            let record = one(&world, 1, say(5, 1)).await;
            world
                .deps
                .ledger
                .fail_call(world.deps.ledger.calls() + nth, fault);
            deliver_until_done(&world, &record).await;
            assert_eq!(
                (state(&world, 1), world.deps.api.calls().len()),
                (IntentState::Sent, 1),
                "{fault:?} at call {nth}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn settling_is_tried_again_until_the_table_is_back() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    let settling = world.deps.ledger.calls() + 3;
    (0..4).for_each(|n| world.deps.ledger.fail_call(settling + n, Fault::Unavailable));
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    assert_eq!(
        (state(&world, 1), intent(&world, 1, 0).message_id),
        (IntentState::Sent, Some(1))
    );
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_settled_is_never_sent_twice() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    let settling = world.deps.ledger.calls() + 3;
    (0..5).for_each(|n| world.deps.ledger.fail_call(settling + n, Fault::NeverArrived));
    assert_eq!(
        deliver(&world, std::slice::from_ref(&record)).await,
        back(&[("m1.0", 5_000)])
    );
    world.deps.clock.advance(Duration::from_secs(5));
    deliver_until_done(&world, &again(&record)).await;
    assert_eq!(
        (state(&world, 1), world.deps.api.calls().len()),
        (IntentState::Unknown, 1)
    );
}

/// "Thinking..." and, two seconds later, the answer in its place.
async fn thought(world: &World) -> Vec<Record> {
    let edit = Call {
        not_before: Some(START + Duration::from_secs(2)),
        refers_to: Some(0),
        ..call("editMessageText", &json!({"chat_id": 5, "text": PRIVATE}))
    };
    committed(world, 1, vec![say(5, 1), edit]).await
}

#[tokio::test]
async fn an_edit_of_a_message_of_the_same_outcome_waits_for_it_and_learns_its_id() {
    let world = world();
    let records = thought(&world).await;
    let sent = ApiReply {
        message_id: Some(77),
        already_done: false,
    };
    world.deps.api.answer("sendMessage", Ok(sent));
    assert_eq!(deliver(&world, &records).await, back(&[("m1.1", 2_000)]));
    world.deps.clock.advance(Duration::from_secs(2));
    assert_eq!(deliver(&world, &records[1..]).await, back(NONE));
    let edit = world.deps.api.calls().pop().unwrap();
    let params: serde_json::Value = serde_json::from_str(&edit.params).unwrap();
    assert_eq!(
        (edit.method.as_str(), &params["message_id"]),
        ("editMessageText", &json!(77))
    );
    assert_eq!(intent(&world, 1, 1).state, IntentState::Sent);
}

#[tokio::test]
async fn an_edit_of_a_message_that_was_not_sent_has_failed() {
    let world = world();
    let records = thought(&world).await;
    world.deps.api.answer(
        "sendMessage",
        Err(ApiError::Refused {
            method: "sendMessage".to_owned(),
            code: 400,
            description: "Bad Request: message text is empty".to_owned(),
            disposition: Disposition::Permanent,
            meaning: Meaning::Plain,
        }),
    );
    deliver(&world, &records).await;
    world.deps.clock.advance(Duration::from_secs(2));
    assert_eq!(deliver(&world, &records[1..]).await, back(NONE));
    let edit = intent(&world, 1, 1);
    assert_eq!(
        (edit.state, edit.failure.unwrap().code.as_str()),
        (IntentState::Failed, "no_target")
    );
    assert_eq!(world.deps.api.calls().len(), 1, "nothing was edited");
}

/// Its message is behind the head of its group, and stays there, though its number is lower.
#[tokio::test]
async fn what_a_person_has_sent_again_does_not_pass_the_hold_of_its_chat() {
    let world = world();
    let records = committed(&world, 1, vec![say(5, 1), say(5, 2)]).await;
    let refusal = refused(400, Disposition::Permanent, Meaning::Plain);
    world.deps.api.answer("sendMessage", Err(refusal));
    world.deps.api.answer("sendMessage", Err(throttled(400)));
    assert_eq!(deliver(&world, &records).await, back(&[("m1.1", 400_250)]));
    assert!(world.deps.ledger.resend(&key(1), 0, 1, world.deps.clock.now()));
    let outbound = Outbound {
        resend: 1,
        ..Outbound::read(&records[0].body).unwrap()
    };
    let resent = Record {
        id: "again".to_owned(),
        receipt: "receipt of again".to_owned(),
        body: outbound.write().unwrap(),
        ..records[0].clone()
    };
    // The queue shows the head before its time.
    let comes_back = deliver(&world, &[again(&records[1]), resent.clone()]).await;
    assert_eq!(comes_back, back(&[("m1.1", 400_250), ("again", 400_250)]));
    world.deps.clock.advance(Duration::from_secs(401));
    assert_eq!(deliver(&world, &[again(&records[1]), resent]).await, back(NONE));
    assert_eq!(texts(&world), [1, 2, 2, 1]);
}
