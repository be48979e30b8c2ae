//! What Telegram refuses: waits that it asks for, chats and tokens that are gone, calls that it wants in another form.

use super::*;

fn permanent(code: u16, meaning: Meaning) -> ApiError {
    refused(code, Disposition::Permanent, meaning)
}

#[tokio::test]
async fn a_429_holds_the_chat_for_at_least_as_long_as_telegram_asks_and_burns_no_attempt() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    world.deps.api.answer("sendMessage", Err(throttled(2_282)));
    let answered = deliver(&world, std::slice::from_ref(&record)).await;
    assert!(answered[0].1 >= Duration::from_secs(2_282), "{answered:?}");
    assert!(world.deps.ledger.hold(BOT, "5").unwrap() >= START + Duration::from_secs(2_282));
    let intent = intent(&world, 1, 0);
    assert_eq!((intent.state, intent.attempts), (IntentState::Retrying, 0));
    // A copy that comes early anyway calls nothing.
    world.deps.clock.advance(Duration::from_secs(2_000));
    let early = deliver(&world, &[again(&record)]).await;
    assert_eq!(early[0].1 + Duration::from_secs(2_000), answered[0].1);
    assert_eq!(world.deps.api.calls().len(), 1);
}

#[tokio::test]
async fn many_429s_in_a_row_never_end_a_send() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    for _ in 0..20 {
        world.deps.api.answer("sendMessage", Err(throttled(30)));
    }
    assert_eq!(deliver_until_done(&world, &record).await, 21);
    assert_eq!(
        (state(&world, 1), intent(&world, 1, 0).attempts),
        (IntentState::Sent, 1)
    );
}

#[tokio::test]
async fn a_chat_that_cannot_be_reached_ends_its_send_at_once() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    world
        .deps
        .api
        .answer("sendMessage", Err(permanent(403, Meaning::ChatUnreachable)));
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    assert_eq!(
        (state(&world, 1), why(&world, 1).as_str()),
        (IntentState::Failed, "chat_unreachable")
    );
    assert_eq!(world.deps.api.calls().len(), 1);
}

#[tokio::test]
async fn a_batch_ends_each_of_its_sends_by_what_telegram_said_of_it() {
    let world = world();
    let mut batch = Vec::new();
    for update in 1..=5 {
        batch.push(one(&world, update, say(10 + update, 1)).await);
    }
    let bad_gateway = refused(502, Disposition::Transient, Meaning::Plain);
    world
        .deps
        .api
        .answer("sendMessage", Ok(penstock_ports::ApiReply::default()));
    for error in [
        permanent(400, Meaning::Plain),
        throttled(9),
        no_answer(),
        bad_gateway,
    ] {
        world.deps.api.answer("sendMessage", Err(error));
    }
    assert_eq!(
        deliver(&world, &batch).await,
        back(&[("m3.0", 9_250), ("m5.0", 2_000)])
    );
    let states: Vec<_> = (1..=5).map(|update| state(&world, update)).collect();
    use IntentState::{Failed, Retrying, Sent, Unknown};
    assert_eq!(states, [Sent, Failed, Retrying, Unknown, Retrying]);
    assert_eq!(why(&world, 2), "bot_api_400");
}

#[tokio::test]
async fn a_token_that_was_rotated_is_read_again_once_and_used() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    let other = one(&world, 2, say(6, 1)).await;
    assert_eq!(
        deliver(&world, &[other]).await,
        back(NONE),
        "the old token is cached"
    );
    world.deps.secrets.store(BOT, secret("7000001:rotated"));
    world
        .deps
        .api
        .answer("sendMessage", Err(permanent(401, Meaning::BotRefused)));
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    let tokens: Vec<_> = world
        .deps
        .api
        .calls()
        .iter()
        .map(|made| made.token.reveal().to_owned())
        .collect();
    assert_eq!(tokens, [TOKEN, TOKEN, "7000001:rotated"]);
    assert_eq!(
        (state(&world, 1), world.deps.secrets.refreshes()),
        (IntentState::Sent, 1)
    );
}

#[tokio::test]
async fn a_token_that_stays_refused_lets_its_sends_wait_without_burning_them() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    world
        .deps
        .api
        .answer("sendMessage", Err(permanent(401, Meaning::BotRefused)));
    assert_eq!(
        deliver(&world, std::slice::from_ref(&record)).await,
        back(&[("m1.0", 300_000)])
    );
    let waiting = intent(&world, 1, 0);
    assert_eq!((waiting.state, waiting.attempts), (IntentState::Retrying, 0));
    assert_eq!(world.deps.api.calls().len(), 1, "the same token was tried again");
    world.deps.clock.advance(Duration::from_secs(300));
    assert_eq!(deliver(&world, &[again(&record)]).await, back(NONE));
    assert_eq!(state(&world, 1), IntentState::Sent);
}

#[tokio::test]
async fn a_fresh_token_that_is_refused_too_is_not_tried_for_ever() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    let other = one(&world, 2, say(6, 1)).await;
    assert_eq!(deliver(&world, &[other]).await, back(NONE));
    world.deps.secrets.store(BOT, secret("7000001:rotated"));
    for _ in 0..3 {
        world
            .deps
            .api
            .answer("sendMessage", Err(permanent(401, Meaning::BotRefused)));
    }
    assert_eq!(deliver(&world, &[record]).await, back(&[("m1.0", 300_000)]));
    assert_eq!(world.deps.api.unused_answers(), 1);
}

#[tokio::test]
async fn a_bot_without_a_secret_or_whose_secret_cannot_be_read_waits() {
    let world = world();
    let record = one(&world, 1, say(5, 1)).await;
    world
        .deps
        .secrets
        .fail_next(1, penstock_testkit::Fault::Unavailable);
    assert_eq!(
        deliver(&world, std::slice::from_ref(&record)).await,
        back(&[("m1.0", 5_000)])
    );
    world.deps.clock.advance(Duration::from_secs(5));
    world.deps.secrets.remove(BOT);
    assert_eq!(
        deliver(&world, &[again(&record)]).await,
        back(&[("m1.0", 300_000)])
    );
    assert_eq!(
        (intent(&world, 1, 0).attempts, world.deps.api.calls().len()),
        (0, 0)
    );
}

#[tokio::test]
async fn a_group_that_became_a_supergroup_is_sent_to_once_under_its_new_id() {
    let world = world();
    let record = one(&world, 1, say(-5, 1)).await;
    world.deps.api.answer(
        "sendMessage",
        Err(permanent(400, Meaning::MigratedTo(-1_009_000_000_002))),
    );
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    let chats: Vec<_> = world
        .deps
        .api
        .sent()
        .iter()
        .map(|(_, params)| chat_of(params))
        .collect();
    assert_eq!(chats, [-5, -1_009_000_000_002]);
    assert_eq!(state(&world, 1), IntentState::Sent);
}

fn chat_of(params: &str) -> i64 {
    serde_json::from_str::<Value>(params).unwrap()["chat_id"]
        .as_i64()
        .unwrap()
}

#[tokio::test]
async fn a_group_that_keeps_moving_ends_its_send() {
    let world = world();
    let record = one(&world, 1, say(-5, 1)).await;
    for id in [-1005, -1006, -1007] {
        world
            .deps
            .api
            .answer("sendMessage", Err(permanent(400, Meaning::MigratedTo(id))));
    }
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    assert_eq!(
        (state(&world, 1), world.deps.api.calls().len()),
        (IntentState::Failed, 2)
    );
}

#[tokio::test]
async fn a_reply_whose_topic_or_message_is_gone_is_sent_once_without_it() {
    let world = world();
    let params =
        json!({"chat_id": 5, "text": "x 1", "message_thread_id": 3, "reply_parameters": {"message_id": 9}});
    let record = one(&world, 1, call("sendMessage", &params)).await;
    world
        .deps
        .api
        .answer("sendMessage", Err(permanent(400, Meaning::TargetGone)));
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    let sent: Vec<_> = world
        .deps
        .api
        .sent()
        .into_iter()
        .map(|(_, params)| params)
        .collect();
    assert_eq!(serde_json::from_str::<Value>(&sent[0]).unwrap(), params);
    assert_eq!(
        serde_json::from_str::<Value>(&sent[1]).unwrap(),
        json!({"chat_id": 5, "text": "x 1"})
    );
    assert_eq!((sent.len(), state(&world, 1)), (2, IntentState::Sent));
}

#[tokio::test]
async fn a_migrated_group_whose_topic_is_gone_needs_both_changes() {
    let world = world();
    let params = json!({"chat_id": -5, "text": "x 1", "message_thread_id": 3});
    let record = one(&world, 1, call("sendMessage", &params)).await;
    world
        .deps
        .api
        .answer("sendMessage", Err(permanent(400, Meaning::MigratedTo(-1005))));
    world
        .deps
        .api
        .answer("sendMessage", Err(permanent(400, Meaning::TargetGone)));
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    let (_, last) = world.deps.api.sent().pop().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&last).unwrap(),
        json!({"chat_id": -1005, "text": "x 1"})
    );
    assert_eq!(state(&world, 1), IntentState::Sent);
}

#[tokio::test]
async fn a_repeated_form_that_nobody_answered_is_unknown() {
    let world = world();
    let record = one(&world, 1, say(-5, 1)).await;
    world
        .deps
        .api
        .answer("sendMessage", Err(permanent(400, Meaning::MigratedTo(-1005))));
    world.deps.api.answer("sendMessage", Err(no_answer()));
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    assert_eq!(
        (state(&world, 1), world.deps.api.calls().len()),
        (IntentState::Unknown, 2)
    );
}

#[tokio::test]
async fn an_answer_that_comes_too_late_is_failed_without_a_call_or_by_telegrams_word() {
    let inline = call(
        "answerInlineQuery",
        &json!({"inline_query_id": "7", "results": []}),
    );
    let world = world();
    let late = one(&world, 1, inline.clone()).await;
    world.deps.clock.advance(Duration::from_secs(31));
    assert_eq!(deliver(&world, &[late]).await, back(NONE));
    assert_eq!(world.deps.api.calls().len(), 0);
    let in_time = one(&world, 2, inline).await;
    world
        .deps
        .api
        .answer("answerInlineQuery", Err(permanent(400, Meaning::Expired)));
    assert_eq!(deliver(&world, &[in_time]).await, back(NONE));
    for update in [1, 2] {
        assert_eq!(
            (state(&world, update), why(&world, update).as_str()),
            (IntentState::Failed, "expired")
        );
    }
}
