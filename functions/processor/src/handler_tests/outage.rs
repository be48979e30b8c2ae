//! What people are told while a backend is away.

use penstock_domain::breaker::FIRST_WAIT;
use penstock_domain::intent::IntentState;

use super::forward::{Forwards, Scripted};
use super::*;
use crate::logic::{CoreReplies, Forwarding, Standby};

const NOTICE: &str = "We will answer soon.";
const DAY: Duration = Duration::from_secs(86_400);

/// A processor whose backend has been away for a while, with that longest wait.
async fn away_for(secs: u64, max_age: Duration) -> (Forwards, Scripted) {
    let backend = Scripted::default();
    backend.goes_away(true);
    let core = CoreReplies::parse(r#"{"help": "Ask me anything."}"#).unwrap();
    let logic = Forwarding::new(backend.clone(), FakeLedger::new(RETENTION), "here")
        .with_standby(Standby::new(NOTICE, core, max_age));
    let world = processor(FakeLedger::new(RETENTION), logic);
    // The try that finds it away shuts the door.
    assert_eq!(deliver(&world, &[record(1, 1)]).await.len(), 1);
    world.clock.advance(Duration::from_secs(secs));
    (world, backend)
}

/// The delivery of an Update that comes now.
fn now(world: &Forwards, raw: &str) -> Record {
    let found = route(raw.as_bytes()).unwrap();
    let trace = trace_id(BOT, found.update_id);
    Record {
        body: enclose(BOT, &found, &trace, raw, world.clock.now()),
        sent_at_ms: world.clock.now().as_millis(),
        ..record_of(raw)
    }
}

fn text(world: &Forwards, update: i64, chat: i64, text: &str) -> Record {
    let chat = json!({"id": chat, "type": "private"});
    let raw = json!({"update_id": update, "message": {"message_id": 1, "chat": chat, "text": text}});
    now(world, &raw.to_string())
}

fn press(world: &Forwards, update: i64, chat: i64) -> Record {
    let message = json!({"message_id": 1, "chat": {"id": chat, "type": "private"}});
    let query = json!({"id": format!("q{update}"), "from": {"id": chat}, "message": message});
    now(
        world,
        &json!({"update_id": update, "callback_query": query}).to_string(),
    )
}

/// What was sent on: method and parameters.
fn said(world: &Forwards) -> Vec<(String, serde_json::Value)> {
    let bodies = world.outbound.messages().into_iter().map(|message| message.body);
    bodies
        .map(|body| {
            let call = Outbound::read(&body).unwrap().call;
            (call.method.clone(), serde_json::from_str(&call.params).unwrap())
        })
        .collect()
}

fn told(chat: i64) -> (String, serde_json::Value) {
    ("sendMessage".to_owned(), json!({"chat_id": chat, "text": NOTICE}))
}

#[tokio::test]
async fn a_chat_is_told_once_in_an_outage_and_its_updates_wait_without_a_record() {
    let (world, backend) = away_for(10, DAY).await;
    for update in [10, 11, 12] {
        let waits = deliver(&world, &[text(&world, update, 5, PRIVATE)]).await;
        assert_eq!(waits.len(), 1, "it waits on");
        assert!(world.inbox.row(&key(update)).is_none());
        world.clock.advance(Duration::from_secs(20));
    }
    deliver(&world, &[text(&world, 13, 6, PRIVATE)]).await;
    assert_eq!(said(&world), [told(5), told(6)]);
    assert_eq!(backend.given().len(), 1);
}

#[tokio::test]
async fn a_restart_of_the_backend_is_not_worth_a_notice() {
    let (world, _) = away_for(0, DAY).await;
    deliver(&world, &[text(&world, 10, 5, PRIVATE)]).await;
    assert_eq!(said(&world), []);
}

#[tokio::test]
async fn another_instance_does_not_tell_a_chat_again() {
    let (world, backend) = away_for(10, DAY).await;
    deliver(&world, &[text(&world, 10, 5, PRIVATE)]).await;
    let first = world.outbound.messages().remove(0).deduplication;
    // It knows of nothing but the table.
    let logic = Forwarding::new(backend, FakeLedger::new(RETENTION), "there").with_standby(Standby::new(
        NOTICE,
        CoreReplies::default(),
        DAY,
    ));
    let other = processor(world.inbox, logic);
    deliver(&other, &[record(2, 2)]).await;
    other.clock.advance(Duration::from_secs(10));
    deliver(&other, &[text(&other, 11, 5, PRIVATE)]).await;
    // Nobody has sent the first yet, so it is sent on once more: the queue knows it, and a sender claims it.
    let again: Vec<_> = other
        .outbound
        .messages()
        .into_iter()
        .map(|message| message.deduplication)
        .collect();
    assert_eq!(again, [first]);
    assert!(other.inbox.row(&key(11)).is_none());
}

#[tokio::test]
async fn a_notice_that_was_committed_and_not_sent_on_is_sent_on_by_the_next() {
    let (world, _) = away_for(10, DAY).await;
    world.outbound.fail_next(1, penstock_testkit::Fault::Unavailable);
    deliver(&world, &[text(&world, 10, 5, PRIVATE)]).await;
    assert_eq!(said(&world), []);
    deliver(&world, &[text(&world, 11, 5, PRIVATE)]).await;
    assert_eq!(said(&world), [told(5)]);
}

#[tokio::test]
async fn a_pressed_button_is_answered_once_at_once_even_behind_what_waits() {
    let (world, _) = away_for(10, DAY).await;
    let batch = [
        text(&world, 10, 5, PRIVATE),
        press(&world, 11, 5),
        press(&world, 12, 6),
    ];
    let waits = deliver(&world, &batch).await;
    assert_eq!(waits.len(), 3);
    world.clock.advance(FIRST_WAIT);
    deliver(&world, &batch.each_ref().map(again)).await;
    let answered: Vec<_> = said(&world)
        .into_iter()
        .filter(|(method, _)| method == "answerCallbackQuery")
        .map(|(_, params)| params)
        .collect();
    // The groups of a batch run side by side.
    assert_eq!(answered.len(), 2);
    for id in ["q11", "q12"] {
        assert!(answered.contains(&json!({"callback_query_id": id, "text": NOTICE})));
    }
    let ack = LedgerKey::acknowledgement(BOT, "q11");
    assert_eq!(
        world.inbox.row(&ack).unwrap().record.intents[0].state,
        IntentState::Intended
    );
    assert!(world.inbox.row(&key(11)).is_none(), "its handler runs later");
}

#[tokio::test]
async fn a_core_command_works_while_the_backend_is_away_and_never_reaches_it() {
    let (world, backend) = away_for(10, DAY).await;
    let help = text(&world, 10, 5, "/help");
    assert!(deliver(&world, std::slice::from_ref(&help)).await.is_empty());
    let answer = (
        "sendMessage".to_owned(),
        json!({"chat_id": 5, "text": "Ask me anything."}),
    );
    assert_eq!(said(&world), [answer]);
    assert_eq!(state_of(&world, 10), State::Done);
    // Behind what waits it is answered too, and done with when it comes first.
    let behind = [text(&world, 20, 6, PRIVATE), text(&world, 21, 6, "/help")];
    assert_eq!(deliver(&world, &behind).await.len(), 2);
    assert_eq!(
        said(&world)[1..],
        [
            told(6),
            (
                "sendMessage".to_owned(),
                json!({"chat_id": 6, "text": "Ask me anything."})
            )
        ]
    );
    assert_eq!(state_of(&world, 21), State::Done);
    deliver(&world, &behind.each_ref().map(again)).await;
    assert_eq!(said(&world).len(), 3, "answered once");
    backend.goes_away(false);
    world.clock.advance(Duration::from_secs(60));
    deliver_until_done(&world, &again(&behind[0])).await;
    deliver_until_done(&world, &again(&behind[1])).await;
    let given: Vec<_> = backend.given().into_iter().map(|given| given.0).collect();
    assert!(given.contains(&key(20).to_string()));
    assert!(!given.contains(&key(21).to_string()) && !given.contains(&key(10).to_string()));
}

#[tokio::test]
async fn what_has_waited_longer_than_it_may_is_parked_and_its_group_goes_on() {
    let (world, backend) = away_for(0, Duration::from_secs(3_600)).await;
    let batch = [text(&world, 10, 5, PRIVATE), text(&world, 11, 5, PRIVATE)];
    world.clock.advance(Duration::from_secs(3_600));
    assert_eq!(deliver(&world, &batch).await.len(), 2, "an hour is not longer");
    world.clock.advance(Duration::from_secs(1));
    let newer = text(&world, 12, 5, PRIVATE);
    let [first, second] = batch.each_ref().map(again);
    let waits = deliver(&world, &[first, second, newer]).await;
    assert_eq!(waits.len(), 1);
    for update in [10, 11] {
        let row = world.inbox.row(&key(update)).unwrap();
        let last = row.record.tries.last().unwrap();
        assert_eq!(
            (row.record.state, row.record.attempts, last.code.as_str()),
            (State::Dead, 1, "too_old")
        );
        assert!(row.raw.unwrap().contains(PRIVATE));
    }
    assert_eq!(backend.given().len(), 1);
}

/// An earlier Update of this id, which Telegram has given anew: it is dead.
#[tokio::test]
async fn what_is_parked_under_an_id_that_was_used_before_gets_a_record_of_its_own() {
    let (world, _) = away_for(0, Duration::from_secs(3_600)).await;
    let earlier = text(&world, 10, 5, "an earlier update");
    world.clock.advance(Duration::from_secs(3_601));
    assert!(deliver(&world, &[again(&earlier)]).await.is_empty());
    assert_eq!(state_of(&world, 10), State::Dead);
    let later = text(&world, 10, 6, PRIVATE);
    world.clock.advance(Duration::from_secs(3_601));
    assert!(deliver(&world, &[again(&later)]).await.is_empty());
    let envelope = penstock_formats::envelope::Envelope::read(&later.body).unwrap();
    let own = LedgerKey::reused(BOT, UpdateId(10), envelope.digest);
    let row = world.inbox.row(&own).unwrap();
    assert_eq!(row.record.state, State::Dead);
    assert!(row.raw.unwrap().contains(PRIVATE));
}

#[tokio::test]
async fn a_letter_that_was_redriven_waits_anew() {
    let (world, _) = away_for(0, Duration::from_secs(3_600)).await;
    let mut old = text(&world, 10, 5, PRIVATE);
    world.clock.advance(Duration::from_secs(7_200));
    let now_ms = world.clock.now().as_millis();
    old.sent_at_ms = now_ms;
    old.body = old.body.replace("\"redrive\":0", "\"redrive\":1");
    assert_eq!(deliver(&world, &[old]).await.len(), 1, "it waits");
    assert!(world.inbox.row(&key(10)).is_none());
}

#[tokio::test]
async fn a_command_that_the_backend_may_have_acted_on_is_not_answered_in_its_place() {
    let (world, backend) = away_for(0, DAY).await;
    backend.goes_away(false);
    world.clock.advance(Duration::from_secs(60));
    let tried = text(&world, 10, 5, "/help");
    backend.answers(Err(super::forward::bad_gateway()));
    assert_eq!(deliver(&world, std::slice::from_ref(&tried)).await.len(), 1);
    assert_eq!(state_of(&world, 10), State::Retrying);
    backend.goes_away(true);
    assert_eq!(deliver(&world, &[text(&world, 11, 6, PRIVATE)]).await.len(), 1);
    world.clock.advance(Duration::from_secs(60));
    assert_eq!(deliver(&world, &[again(&tried)]).await.len(), 1);
    // Nor behind another.
    let behind = [text(&world, 9, 5, PRIVATE), again(&tried)];
    assert_eq!(deliver(&world, &behind).await.len(), 2);
    assert!(
        said(&world)
            .iter()
            .all(|(_, params)| params["text"] != "Ask me anything.")
    );
    assert_ne!(state_of(&world, 10), State::Done);
}

#[tokio::test]
async fn an_answer_that_was_committed_does_not_wait_for_the_backend() {
    let (world, backend) = away_for(0, DAY).await;
    backend.goes_away(false);
    world.clock.advance(Duration::from_secs(60));
    let call =
        penstock_domain::intent::Call::new("sendMessage", r#"{"chat_id":5,"text":"hello"}"#.to_owned());
    backend.answers(Ok(Some(call)));
    let answered = text(&world, 10, 5, PRIVATE);
    world.outbound.fail_next(1, penstock_testkit::Fault::Unavailable);
    assert_eq!(deliver(&world, std::slice::from_ref(&answered)).await.len(), 1);
    assert_eq!((state_of(&world, 10), said(&world).len()), (State::Done, 0));
    // The door is shut again before it comes back.
    backend.goes_away(true);
    world.clock.advance(Duration::from_secs(60));
    assert_eq!(deliver(&world, &[text(&world, 11, 6, PRIVATE)]).await.len(), 1);
    assert!(deliver(&world, &[again(&answered)]).await.is_empty());
    assert_eq!(said(&world).len(), 1);
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_is_settled_without_a_place_or_a_wait() {
    let (world, backend) = away_for(0, DAY).await;
    let raw = json!({"update_id": 10, "inline_query": {"id": "7", "from": {"id": 5}, "query": PRIVATE}});
    let query = now(&world, &raw.to_string());
    assert_eq!(deliver(&world, std::slice::from_ref(&query)).await.len(), 1);
    world.clock.advance(Duration::from_secs(31));
    assert!(deliver(&world, &[again(&query)]).await.is_empty());
    let row = world.inbox.row(&key(10)).unwrap();
    assert_eq!(row.record.tries.last().unwrap().code, "expired");
    assert_eq!(backend.given().len(), 1);
}

fn state_of(world: &Forwards, update: i64) -> State {
    world.inbox.row(&key(update)).unwrap().record.state
}
