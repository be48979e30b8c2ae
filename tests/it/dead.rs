//! Dead letters and repairs by a person, on the real embedded stack.

use std::time::Duration;

use penstock_aws::SqsQueue;
use penstock_domain::ids::{BotId, LedgerKey, UpdateId, trace_id};
use penstock_domain::intent::IntentState;
use penstock_domain::ledger::State;
use penstock_domain::repair::{Act, Action, Refused};
use penstock_domain::route::route;
use penstock_domain::time::Timestamp;
use penstock_formats::envelope::{Envelope, enclose};
use penstock_ports::{AttentionKind, Enqueue, Need, QueueSender as _, Repaired, Repairs as _};
use penstock_repair::{
    Filter, Redriven, RepairError, carry_out, discard, edit, editable, find, plan, resend, settle_unknown,
};
use telegram_sim::{Fault, FaultKind};

use crate::stack::{FAST, TestStack, start, text};

const CHAT: i64 = 700_000_001;
const SECOND: Duration = Duration::from_secs(1);

fn key(stack: &TestStack, update: i64) -> LedgerKey {
    LedgerKey::new(BotId(stack.stack.bot_id()), UpdateId(update))
}

fn now(stack: &TestStack) -> Timestamp {
    Timestamp::from_millis(stack.stack.view().clock().now_ms())
}

fn act(who: &str, at: Timestamp) -> Act {
    Act::new(who, "the handler is mended", at).unwrap()
}

async fn queue(stack: &TestStack, name: &str) -> SqsQueue {
    let sqs = stack.stack.clients().sqs.clone();
    let answer = sqs.get_queue_url().queue_name(name).send().await.unwrap();
    SqsQueue::new(sqs, &answer.queue_url.unwrap())
}

/// The queue gives an Update up, as after too many receives.
async fn dies(stack: &TestStack, raw: &str, hop: &str) {
    let bot = BotId(stack.stack.bot_id());
    let route = route(raw.as_bytes()).unwrap();
    let letter = Enqueue {
        group: route.group(bot),
        deduplication: penstock_domain::ids::DeduplicationId(hop.to_owned()),
        body: enclose(bot, &route, &trace_id(bot, route.update_id), raw, now(stack)),
    };
    let letters = queue(stack, "penstock-updates-dlq.fifo").await;
    letters.enqueue(letter).await.unwrap();
    stack.rest().await;
}

async fn redrive(stack: &TestStack, update: i64, who: &str, at: Timestamp) -> Result<Redriven, RepairError> {
    let ledger = stack.ledger();
    let planned = plan(&ledger, &key(stack, update), at).await?;
    let updates = queue(stack, "penstock-updates.fifo").await;
    carry_out(&ledger, &updates, planned, &act(who, at)).await
}

/// What needs a person at that time.
async fn needs(stack: &TestStack, at: Timestamp) -> Vec<Need> {
    let bot = BotId(stack.stack.bot_id());
    let found = find(
        &stack.ledger(),
        bot,
        &AttentionKind::ALL,
        &Filter::default(),
        10,
        at,
    )
    .await;
    found.unwrap().letters.into_iter().map(|(_, need)| need).collect()
}

async fn acts(stack: &TestStack, update: i64) -> Vec<Action> {
    let rows = stack.ledger().audit(&key(stack, update)).await.unwrap();
    rows.into_iter().map(|row| row.action).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_is_listed_redriven_done_and_answered() {
    let stack = start(|options| options.time_scale = FAST).await;
    dies(&stack, &text(1, CHAT, "hello"), "hop").await;
    let record = stack.record(1).await.unwrap();
    assert_eq!(
        (record.state, record.tries[0].code.as_str()),
        (State::Dead, "too_many_receives")
    );
    assert_eq!(
        needs(&stack, now(&stack)).await,
        [Need::Dead(AttentionKind::Dead)]
    );
    let redriven = redrive(&stack, 1, "ada", now(&stack)).await.unwrap();
    assert_eq!((redriven.generation, redriven.is_repeat), (1, false));
    stack.rest().await;
    let record = stack.record(1).await.unwrap();
    assert_eq!(
        (record.state, record.redrive, record.attempts, record.open),
        (State::Done, 1, 1, 0)
    );
    assert_eq!(stack.replies(CHAT), ["Message 1 of this chat: hello"]);
    assert_eq!(needs(&stack, now(&stack)).await, []);
    assert_eq!(acts(&stack, 1).await, [Action::Redrive]);
    let refused = redrive(&stack, 1, "ada", now(&stack)).await.unwrap_err();
    assert!(
        matches!(refused, RepairError::Refused(Refused::Done)),
        "{refused}"
    );
    // The copy that died comes once more: it is of an earlier generation.
    dies(&stack, &text(1, CHAT, "hello"), "hop-2").await;
    assert_eq!(stack.replies(CHAT).len(), 1);
    assert_eq!(stack.record(1).await.unwrap().state, State::Done);
    stack.stack.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_that_two_people_redrive_at_once_is_redriven_once() {
    let stack = start(|options| options.time_scale = FAST).await;
    dies(&stack, &text(1, CHAT, "hello"), "hop").await;
    let at = now(&stack);
    let (ledger, updates) = (stack.ledger(), queue(&stack, "penstock-updates.fifo").await);
    let (one, other) = (
        plan(&ledger, &key(&stack, 1), at).await.unwrap(),
        plan(&ledger, &key(&stack, 1), at).await.unwrap(),
    );
    let (ada, bob) = (act("ada", at), act("bob", at));
    let both = tokio::join!(
        carry_out(&ledger, &updates, one, &ada),
        carry_out(&ledger, &updates, other, &bob)
    );
    // The other one is refused, or told that a transaction is under way: it may never be done twice.
    assert_eq!(
        usize::from(both.0.is_ok()) + usize::from(both.1.is_ok()),
        1,
        "{both:?}"
    );
    stack.rest().await;
    assert_eq!(stack.record(1).await.unwrap().redrive, 1);
    assert_eq!(stack.replies(CHAT).len(), 1);
    assert_eq!(acts(&stack, 1).await, [Action::Redrive]);
    stack.stack.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redrive_that_dies_before_its_copy_is_sent_is_listed_and_its_repeat_arrives() {
    let stack = start(|options| options.time_scale = FAST).await;
    dies(&stack, &text(1, CHAT, "hello"), "hop").await;
    let (ledger, at) = (stack.ledger(), now(&stack));
    // The write, and then nothing more.
    let letter = ledger.letter(&key(&stack, 1)).await.unwrap().unwrap();
    assert_eq!(
        ledger.redrive(&letter, &act("ada", at)).await.unwrap(),
        Repaired::Done
    );
    stack.rest().await;
    assert_eq!(stack.record(1).await.unwrap().state, State::Pending);
    assert_eq!(needs(&stack, at + 59 * SECOND).await, []);
    let early = redrive(&stack, 1, "ada", at + 59 * SECOND).await.unwrap_err();
    assert!(
        matches!(early, RepairError::Refused(Refused::JustRedriven)),
        "{early}"
    );
    assert_eq!(needs(&stack, at + 60 * SECOND).await, [Need::StuckRedrive]);
    let again = redrive(&stack, 1, "bob", at + 60 * SECOND).await.unwrap();
    assert_eq!((again.generation, again.is_repeat), (1, true));
    stack.rest().await;
    assert_eq!(stack.record(1).await.unwrap().state, State::Done);
    assert_eq!(stack.replies(CHAT).len(), 1);
    assert_eq!(
        acts(&stack, 1).await,
        [Action::Redrive],
        "a repeat is no second act"
    );
    stack.stack.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_letter_is_answered_as_it_was_edited_and_keeps_its_id() {
    let stack = start(|options| options.time_scale = FAST).await;
    dies(&stack, &text(1, CHAT, "broken"), "hop").await;
    let (ledger, at) = (stack.ledger(), now(&stack));
    let before = stack.record(1).await.unwrap();
    let letter = editable(&ledger, &key(&stack, 1), at).await.unwrap();
    let wrong = edit(&ledger, &letter, &text(2, CHAT, "mended"), &act("ada", at)).await;
    assert!(matches!(wrong, Err(RepairError::Misfit(_))), "{wrong:?}");
    edit(&ledger, &letter, &text(1, CHAT, "mended"), &act("ada", at))
        .await
        .unwrap();
    redrive(&stack, 1, "ada", at).await.unwrap();
    stack.rest().await;
    let after = stack.record(1).await.unwrap();
    assert_eq!(
        (after.state, after.key, after.digest),
        (State::Done, before.key, before.digest)
    );
    assert_eq!(stack.replies(CHAT), ["Message 1 of this chat: mended"]);
    assert_eq!(acts(&stack, 1).await, [Action::Edit, Action::Redrive]);
    stack.stack.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discarded_letter_stays_closed_when_it_comes_again() {
    let stack = start(|options| options.time_scale = FAST).await;
    dies(&stack, &text(1, CHAT, "hello"), "hop").await;
    discard(&stack.ledger(), &key(&stack, 1), &act("ada", now(&stack)))
        .await
        .unwrap();
    assert_eq!(needs(&stack, now(&stack)).await, []);
    dies(&stack, &text(1, CHAT, "hello"), "hop-2").await;
    // Telegram repeats it too.
    assert_eq!(stack.post(text(1, CHAT, "hello")).await, 200);
    stack.rest().await;
    assert_eq!(needs(&stack, now(&stack)).await, []);
    assert_eq!(stack.record(1).await.unwrap().state, State::Dead);
    assert!(stack.replies(CHAT).is_empty());
    stack.stack.shutdown().await;
}

/// SQS would swallow a second copy under the first one's id for five minutes.
#[tokio::test(flavor = "multi_thread")]
async fn a_send_that_a_person_has_made_again_within_five_minutes_arrives() {
    let stack = start(|_| {}).await;
    let refused = Fault {
        method: Some("sendMessage".to_owned()),
        chat: Some(CHAT),
        kind: FaultKind::Status {
            code: 400,
            description: "Bad Request: a fault".to_owned(),
            parameters: None,
        },
        times: 1,
    };
    let lost = Fault {
        method: Some("sendMessage".to_owned()),
        chat: Some(CHAT + 1),
        kind: FaultKind::NoAnswerButDone,
        times: 1,
    };
    stack.sim().inject(refused);
    stack.sim().inject(lost);
    assert_eq!(stack.post(text(1, CHAT, "hello")).await, 200);
    assert_eq!(stack.post(text(2, CHAT + 1, "hello")).await, 200);
    stack.rest().await;
    assert_eq!(
        stack.record(1).await.unwrap().intents[0].state,
        IntentState::Failed
    );
    assert_eq!(
        stack.record(2).await.unwrap().intents[0].state,
        IntentState::Unknown
    );
    let (ledger, at) = (stack.ledger(), now(&stack));
    let outbound = queue(&stack, "penstock-outbound.fifo").await;
    let resent = resend(&ledger, &outbound, &key(&stack, 1), 0, &act("ada", at))
        .await
        .unwrap();
    assert_eq!((resent.resend, resent.is_repeat), (1, false));
    // The other one arrived, as somebody can see in the chat.
    settle_unknown(&ledger, &key(&stack, 2), 0, &act("ada", at))
        .await
        .unwrap();
    stack.rest().await;
    for (update, chat) in [(1, CHAT), (2, CHAT + 1)] {
        let record = stack.record(update).await.unwrap();
        assert_eq!(
            (record.intents[0].state, record.open),
            (IntentState::Sent, 0),
            "update {update}"
        );
        assert_eq!(stack.replies(chat).len(), 1, "update {update}");
    }
    assert_eq!(needs(&stack, now(&stack)).await, []);
    stack.stack.shutdown().await;
}

/// Too long for one row of the table, however it is compressed.
#[tokio::test(flavor = "multi_thread")]
async fn the_longest_update_dies_and_is_redriven_whole() {
    let stack = start(|options| options.time_scale = FAST).await;
    let mut state = 88_172_645_463_325_252_u64;
    let noise: String = (0..512 * 1024)
        .map(|_| {
            // Xorshift of Marsaglia, 64 bits: six random bits a character.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(
                b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[(state >> 58) as usize],
            )
        })
        .collect();
    let raw = text(1, CHAT, &noise);
    dies(&stack, &raw, "hop").await;
    assert_eq!(stack.record(1).await.unwrap().state, State::Dead);
    let body = stack.ledger().body(&key(&stack, 1)).await.unwrap();
    assert!(
        body.as_deref() == Some(raw.as_str()),
        "the stored body is another one"
    );
    stack
        .stack
        .set_mapping_enabled("penstock-updates.fifo", false)
        .unwrap();
    redrive(&stack, 1, "ada", now(&stack)).await.unwrap();
    stack
        .stack
        .set_mapping_enabled("penstock-updates.fifo", true)
        .unwrap();
    stack.rest().await;
    assert_eq!(stack.record(1).await.unwrap().state, State::Done);
    let expected = format!("Message 1 of this chat: {}", &noise[..1_000]);
    assert_eq!(stack.replies(CHAT), [expected]);
    stack.stack.shutdown().await;
}

/// What is in the queue is what died.
#[tokio::test(flavor = "multi_thread")]
async fn a_redriven_copy_is_equal_to_what_died_but_for_its_generation() {
    let stack = start(|_| {}).await;
    let raw = text(1, CHAT, "hello");
    dies(&stack, &raw, "hop").await;
    // Kept in the queue for this test to look at: a poll that is under way may take one more batch, so the queue is one
    // that no function is fed from.
    let planned = plan(&stack.ledger(), &key(&stack, 1), now(&stack)).await.unwrap();
    let spy = Spy::default();
    carry_out(&stack.ledger(), &spy, planned, &act("ada", now(&stack)))
        .await
        .unwrap();
    let sent = spy.0.lock().unwrap().take().unwrap();
    let envelope = Envelope::read(&sent.body).unwrap();
    assert_eq!((envelope.redrive, envelope.update), (1, raw.as_str()));
    let bot = BotId(stack.stack.bot_id());
    let found = route(raw.as_bytes()).unwrap();
    assert_eq!((envelope.digest, sent.group), (found.digest, found.group(bot)));
    assert_eq!(envelope.trace_id, trace_id(bot, UpdateId(1)));
    stack.stack.shutdown().await;
}

/// Keeps what is put into it.
#[derive(Default)]
struct Spy(std::sync::Mutex<Option<Enqueue>>);

impl penstock_ports::QueueSender for Spy {
    async fn enqueue(&self, message: Enqueue) -> Result<(), penstock_ports::PortError> {
        *self.0.lock().unwrap() = Some(message);
        Ok(())
    }

    async fn enqueue_all(&self, messages: Vec<Enqueue>) -> Result<(), penstock_ports::PortError> {
        for message in messages {
            self.enqueue(message).await?;
        }
        Ok(())
    }
}
