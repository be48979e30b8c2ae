//! The cases that lead to the arrows which an Update of the samples does not pass: refused sends, bodies that are no
//! Update, dead letters, records that earlier crashes and earlier lives have left. Pure but for the draw of ids.

use penstock_domain::ids::{LedgerKey, MessageGroupId, UpdateId, chat_of_group, trace_id};
use penstock_domain::intent::{Call, Intent, IntentState, plan};
use penstock_domain::ledger::MAX_TRIES_KEPT;
use penstock_domain::retry::MAX_ATTEMPTS;
use penstock_domain::route::route;
use penstock_domain::time::Timestamp;
use penstock_events::queued;
use penstock_formats::outbound::{Origin, Outbound};
use serde_json::json;

use super::load::{Case, Ids, Put, Raw, Step, Wanted, text_message};
use super::rows::About;

/// Queues by what follows the stack's name.
pub(super) const UPDATES: &str = "updates.fifo";
pub(super) const OUTBOUND: &str = "outbound.fifo";
pub(super) const UPDATES_DEAD: &str = "updates-dlq.fifo";
pub(super) const OUTBOUND_DEAD: &str = "outbound-dlq.fifo";

/// Chats that are refused at the same time: with two senders at least three are at one of them, and that holds the bot.
const THROTTLED: usize = 5;
/// A body that does not fit into one row even when compressed (256 KiB).
const BIG_BYTES: usize = 420_000;
/// Longer than an inline query waits for its answer (30 s).
const TOO_LATE_SECS: u64 = 31;

/// All of them. `now_ms` is the stack's time.
pub(super) fn special(ids: &mut Ids, now_ms: i64) -> Vec<Case> {
    vec![
        throttled(ids),
        too_late(ids),
        stranger("unparseable", ids, b"no update at all".to_vec(), 200),
        stranger(
            "no update id",
            ids,
            b"{\"update_id\":\"x\",\"message\":{}}".to_vec(),
            400,
        ),
        stranger("big stranger", ids, big(), 200),
        dead_update(ids, now_ms),
        dead_stranger(ids),
        two_sends(ids, now_ms),
        left_in_the_index(ids, now_ms),
        long_history(ids, now_ms),
        outlived(ids, now_ms),
        reused_id(ids, now_ms),
        dead_send(ids, now_ms),
    ]
}

/// Sends that Telegram refuses for being too fast: the chat is held, and with several chats the bot.
fn throttled(ids: &mut Ids) -> Case {
    let mut case = Case::new("throttled");
    for _ in 0..THROTTLED {
        let chat = ids.chat();
        case.throttled.push(chat);
        case.text(ids, chat, "throttled");
        case.text(ids, chat, "after throttled");
    }
    case
}

/// A query whose answer would come too late: parked by the processor.
fn too_late(ids: &mut Ids) -> Case {
    let mut case = Case::new("too late");
    let user = ids.chat();
    let query = json!({
        "update_id": ids.update(),
        "inline_query": {"id": user.to_string(), "query": "late", "offset": "", "chat_type": "sender",
            "from": {"id": user, "is_bot": false, "first_name": "Matrix"}},
    });
    case.post(ids.bot, query.to_string().into_bytes(), None);
    case.held_secs = TOO_LATE_SECS;
    case
}

fn stranger(name: &str, ids: &mut Ids, mut body: Vec<u8>, accepted: u16) -> Case {
    let mut case = Case::new(name);
    // Different bytes each time: a stranger's key is made of them. Blanks change nothing else.
    body.extend(std::iter::repeat_n(
        b' ',
        usize::try_from(ids.chat() % 10_000).unwrap_or(0),
    ));
    case.post_stranger(ids.bot, body, accepted);
    case
}

/// Bytes that cannot be compressed, the same every time.
fn big() -> Vec<u8> {
    let mut draw = fastrand::Rng::with_seed(1);
    (0..BIG_BYTES).map(|_| draw.u8(..)).collect()
}

/// An Update that SQS has given up.
fn dead_update(ids: &mut Ids, now_ms: i64) -> Case {
    let mut case = Case::new("dead update");
    let body = text_message(ids.update(), ids.chat(), "given up by the queue");
    case.post(ids.bot, body.clone(), None);
    if let (Some(step), Ok(message)) = (case.steps.last_mut(), queued(&body, ids.bot.0, now_ms)) {
        step.put = Put::Message {
            queue: UPDATES_DEAD,
            group: message.group,
            deduplication: message.deduplication_id,
            body: message.body,
        };
    }
    case
}

/// A body that nobody knows, in the dead-letter queue of the sends.
fn dead_stranger(ids: &mut Ids) -> Case {
    let mut case = Case::new("dead stranger");
    let body = format!("a body of somebody else, {}", ids.chat());
    case.steps.push(Step {
        wanted: Some(Wanted {
            key: LedgerKey::quarantined(ids.bot, body.as_bytes()),
            group: format!("{}:x:stranger", ids.bot),
            counts: None,
            raw: Raw::Text(body.clone()),
        }),
        put: Put::Message {
            queue: OUTBOUND_DEAD,
            group: format!("{}:x:stranger", ids.bot),
            deduplication: body.replace([' ', ','], "-"),
            body,
        },
    });
    case
}

fn about(ids: &mut Ids, now_ms: i64) -> (About, i64) {
    let chat = ids.chat();
    let about = About {
        bot: ids.bot,
        update: UpdateId(ids.update()),
        group: MessageGroupId(format!("{}:c:{chat}", ids.bot)),
        digest: penstock_domain::ids::UpdateDigest(1),
        now_ms,
    };
    (about, chat)
}

fn sends(about: &About, chat: i64, texts: &[&str]) -> Vec<Intent> {
    let calls = texts
        .iter()
        .map(|text| Call::new("sendMessage", json!({"chat_id": chat, "text": text}).to_string()));
    plan(about.bot, calls.collect()).unwrap_or_default()
}

fn record_of(about: &About, row: super::rows::Row) -> Step {
    Step {
        wanted: Some(Wanted {
            key: about.key(),
            group: about.group.0.clone(),
            counts: None,
            raw: Raw::Text(String::new()),
        }),
        put: Put::Row(row),
    }
}

/// The message of an intent, as the processor dispatches it.
fn dispatched(about: &About, intent: &Intent, of: usize) -> Option<Step> {
    let origin = Origin {
        bot_id: about.bot,
        update_id: about.update,
        key: about.key(),
        redrive: 0,
        received_at: Timestamp::from_millis(about.now_ms),
        trace_id: trace_id(about.bot, about.update),
    };
    let of = u8::try_from(of).ok()?;
    Some(Step {
        wanted: None,
        put: Put::Message {
            queue: OUTBOUND,
            group: intent.group.0.clone(),
            deduplication: about.key().intent_deduplication_id(intent.n, 0).0,
            body: Outbound::new(&origin, intent, 0, of).write().ok()?,
        },
    })
}

/// An Update with two sends: the last of them ends the record's long life.
fn two_sends(ids: &mut Ids, now_ms: i64) -> Case {
    let mut case = Case::new("two sends");
    let (about, chat) = about(ids, now_ms);
    let intents = sends(&about, chat, &["first of two", "second of two"]);
    let states: Vec<_> = intents
        .iter()
        .map(|intent| (intent.clone(), IntentState::Intended))
        .collect();
    case.steps.push(record_of(&about, about.done(&states, false)));
    let messages = intents
        .iter()
        .filter_map(|intent| dispatched(&about, intent, intents.len()));
    case.steps.extend(messages);
    case
}

/// An Update that is in the index of what needs a person though none of its sends is unknown any more, as a crash
/// leaves it: its last send takes it out.
fn left_in_the_index(ids: &mut Ids, now_ms: i64) -> Case {
    let mut case = Case::new("left in the index");
    let (about, chat) = about(ids, now_ms);
    let intents = sends(&about, chat, &["settled by a person", "the last of them"]);
    let states = [IntentState::Cancelled, IntentState::Intended];
    let states: Vec<_> = intents.iter().cloned().zip(states).collect();
    case.steps.push(record_of(&about, about.done(&states, true)));
    let last = intents
        .last()
        .and_then(|intent| dispatched(&about, intent, intents.len()));
    case.steps.extend(last);
    case
}

/// The Update of a record that was there before.
fn with_record(
    name: &str,
    ids: &mut Ids,
    now_ms: i64,
    row: impl FnOnce(&About) -> super::rows::Row,
    counts: Option<&'static str>,
) -> Case {
    let mut case = Case::new(name);
    let (mut about, chat) = about(ids, now_ms);
    let body = text_message(about.update.0, chat, name);
    if let Ok(found) = route(&body) {
        about.digest = found.digest;
    }
    let row = row(&about);
    case.steps.push(Step {
        put: Put::Row(row),
        wanted: None,
    });
    case.post(ids.bot, body, counts);
    case
}

/// An Update whose tries are used up and whose history is full: it dies, and the history is cut.
fn long_history(ids: &mut Ids, now_ms: i64) -> Case {
    let row = |about: &About| about.tried(MAX_ATTEMPTS, MAX_TRIES_KEPT);
    with_record("long history", ids, now_ms, row, Some("messages"))
}

/// An Update under an id that was used in an earlier life.
fn outlived(ids: &mut Ids, now_ms: i64) -> Case {
    with_record("outlived", ids, now_ms, About::outlived, Some("messages"))
}

/// An Update under an id that Telegram had used for another one, which is done: it goes by a key of its own.
fn reused_id(ids: &mut Ids, now_ms: i64) -> Case {
    let mut case = Case::new("reused id");
    let (about, chat) = about(ids, now_ms);
    case.steps.push(Step {
        put: Put::Row(about.done(&[], false)),
        wanted: None,
    });
    let body = text_message(about.update.0, chat, "reused id");
    let found = route(&body);
    case.post(ids.bot, body, Some("messages"));
    let wanted = case.steps.last_mut().and_then(|step| step.wanted.as_mut());
    if let (Some(wanted), Ok(found)) = (wanted, found) {
        wanted.key = LedgerKey::reused(ids.bot, found.update_id, found.digest);
    }
    case
}

/// A send that SQS gave up before anybody began it.
fn dead_send(ids: &mut Ids, now_ms: i64) -> Case {
    let mut case = Case::new("dead send");
    let (about, chat) = about(ids, now_ms);
    let intents = sends(&about, chat, &["given up by the queue"]);
    let states: Vec<_> = intents
        .iter()
        .map(|intent| (intent.clone(), IntentState::Intended))
        .collect();
    case.steps.push(record_of(&about, about.done(&states, false)));
    let mut message = intents.first().and_then(|intent| dispatched(&about, intent, 1));
    if let Some(Step {
        put: Put::Message { queue, .. },
        ..
    }) = &mut message
    {
        *queue = OUTBOUND_DEAD;
    }
    case.steps.extend(message);
    case
}

/// The chat whose counters a group has.
pub(super) fn chat_of(group: &str) -> String {
    chat_of_group(&MessageGroupId(group.to_owned())).to_owned()
}

#[cfg(test)]
mod tests {
    use penstock_domain::ids::BotId;

    use super::*;

    #[test]
    fn each_case_is_judged_and_none_is_like_one_of_an_earlier_draw() {
        let mut ids = Ids::new(BotId(424_242));
        let cases = [
            special(&mut ids, 1_790_000_000_000),
            special(&mut ids, 1_790_000_000_000),
        ]
        .concat();
        let mut keys = std::collections::BTreeSet::new();
        for case in &cases {
            let wanted: Vec<_> = case
                .steps
                .iter()
                .filter_map(|step| step.wanted.as_ref())
                .collect();
            assert!(!wanted.is_empty(), "{}", case.name);
            for wanted in wanted {
                assert!(keys.insert(wanted.key.as_str().to_owned()), "{}", case.name);
            }
        }
    }

    #[test]
    fn the_sends_that_are_put_into_a_queue_can_be_read_there() {
        let mut ids = Ids::new(BotId(424_242));
        let case = two_sends(&mut ids, 1_790_000_000_000);
        let bodies: Vec<_> = case
            .steps
            .iter()
            .filter_map(|step| match &step.put {
                Put::Message { body, .. } => Some(Outbound::read(body).unwrap()),
                Put::Post { .. } | Put::Row(_) => None,
            })
            .collect();
        let told: Vec<_> = bodies
            .iter()
            .map(|body| (body.n, body.of, body.previous))
            .collect();
        assert_eq!(told, [(0, 2, None), (1, 2, Some(0))]);
    }
}
