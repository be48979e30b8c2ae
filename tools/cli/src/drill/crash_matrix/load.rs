//! What is put in: one Update of every kind, each in a chat of its own, and what leads to the arrows that no such Update
//! reaches (see `special`). Pure but for the draw of ids.

use std::collections::BTreeMap;

use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::kind::UpdateKind;
use penstock_domain::route::route;
use penstock_events::{Outcome, Sample, Secret, samples, with_update_id};
use serde_json::{Value, json};

use super::rows::Row;
use crate::feed::fresh_update_id;

/// Ids of the chats and people of the load: far from the samples' own.
const FIRST_ID: i64 = 6_000_000_001;
/// Ids of Telegram's people and chats are longer than this; message ids and the bot's own id are shorter.
const SHORTEST_ID: i64 = 100_000_000;
/// Text messages that follow in a chat, so that its order can be seen.
const FOLLOWING: u32 = 2;
/// The kinds whose chats get them.
const FOLLOWED: [&str; 3] = ["message", "callback_query", "edited_message"];

/// Something that is put in as one: in the batch with all others, or alone.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
    /// Chats whose next call is answered with 429.
    pub(super) throttled: Vec<i64>,
    /// Stack seconds for which the updates are held back in their queue.
    pub(super) held_secs: u64,
}

/// One thing to do, and what has to come of it; `None` if it is not judged by itself.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) put: Put,
    pub(super) wanted: Option<Wanted>,
}

/// How it is put in.
#[derive(Debug, Clone)]
pub(super) enum Put {
    /// Posted to the webhook until it is accepted.
    Post {
        body: Vec<u8>,
        kind: String,
        accepted: u16,
    },
    /// A message in a queue, as SQS or a worker leaves it there.
    Message {
        queue: &'static str,
        group: String,
        deduplication: String,
        body: String,
    },
    /// A record that is there already.
    Row(Row),
}

/// What is judged.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) key: LedgerKey,
    pub(super) group: String,
    pub(super) counts: Option<&'static str>,
    pub(super) raw: Raw,
}

/// What the body of a dead letter has to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Raw {
    /// That, as JSON.
    Json(Value),
    /// A quarantined body that holds these bytes.
    Quarantined(Vec<u8>),
    /// Exactly that.
    Text(String),
}

/// Draws ids that no other Update and no other chat of the run has.
#[derive(Debug)]
pub(super) struct Ids {
    pub(super) bot: BotId,
    update: i64,
    next: i64,
}

impl Ids {
    pub(super) fn new(bot: BotId) -> Self {
        Self {
            bot,
            update: fresh_update_id(),
            next: FIRST_ID,
        }
    }

    pub(super) fn update(&mut self) -> i64 {
        self.update += 1;
        self.update
    }

    pub(super) fn chat(&mut self) -> i64 {
        self.next += 1;
        self.next
    }
}

impl Case {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            steps: Vec::new(),
            throttled: Vec::new(),
            held_secs: 0,
        }
    }

    /// Posts an Update.
    pub(super) fn post(&mut self, bot: BotId, body: Vec<u8>, counts: Option<&'static str>) {
        let Ok(found) = route(&body) else {
            return self.post_stranger(bot, body, 200);
        };
        let key = LedgerKey::new(bot, found.update_id);
        let raw = Raw::Json(serde_json::from_slice(&body).unwrap_or_default());
        self.steps.push(Step {
            wanted: Some(Wanted {
                key,
                group: found.group(bot).0,
                counts,
                raw,
            }),
            put: Put::Post {
                body,
                kind: found.kind_name,
                accepted: 200,
            },
        });
    }

    /// Posts what is no Update.
    pub(super) fn post_stranger(&mut self, bot: BotId, body: Vec<u8>, accepted: u16) {
        self.steps.push(Step {
            wanted: Some(Wanted {
                key: LedgerKey::quarantined(bot, &body),
                group: penstock_domain::ids::quarantine_group(bot, &body).0,
                counts: None,
                raw: Raw::Quarantined(body.clone()),
            }),
            put: Put::Post {
                body,
                kind: String::new(),
                accepted,
            },
        });
    }

    /// Posts a text message.
    pub(super) fn text(&mut self, ids: &mut Ids, chat: i64, text: &str) {
        let body = text_message(ids.update(), chat, text);
        self.post(ids.bot, body, Some("messages"));
    }
}

/// A text message as Telegram sends it.
pub(super) fn text_message(update_id: i64, chat: i64, text: &str) -> Vec<u8> {
    json!({
        "update_id": update_id,
        "message": {
            "message_id": update_id % 1_000_000, "date": 1_789_000_000, "text": text,
            "chat": {"id": chat, "type": "private", "first_name": "Matrix"},
            "from": {"id": chat, "is_bot": false, "first_name": "Matrix"},
        }
    })
    .to_string()
    .into_bytes()
}

/// One case of every kind. In a batch some chats get more messages, so that their order can be seen.
pub(super) fn kinds(ids: &mut Ids, in_batch: bool) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for sample in samples().iter().filter(|sample| is_chosen(sample)) {
        let (body, chat) = own(sample, ids);
        let mut case = Case::new(sample.kind);
        case.post(ids.bot, body, counts(sample));
        if let Some(chat) = chat.filter(|_| in_batch && FOLLOWED.contains(&sample.kind)) {
            for number in 1..=FOLLOWING {
                case.text(ids, chat, &format!("after {} {number}", sample.kind));
            }
        }
        cases.push(case);
    }
    cases
}

/// The first sample of its kind; of messages a text.
fn is_chosen(sample: &Sample) -> bool {
    let usual = sample.expect.outcome == Outcome::Done && sample.secret == Secret::Right && !sample.is_made();
    let first = samples()
        .iter()
        .find(|other| other.kind == sample.kind && (sample.kind != "message" || other.name == "text"));
    usual && first.is_some_and(|first| first.name == sample.name)
}

/// Which counter of its chat the example bot counts for it.
fn counts(sample: &Sample) -> Option<&'static str> {
    match UpdateKind::from_name(sample.kind)? {
        UpdateKind::Message | UpdateKind::BusinessMessage => Some("messages"),
        UpdateKind::CallbackQuery => Some("presses"),
        _ => None,
    }
}

/// The sample with ids of its own, and the chat that its order is kept by, if that is a plain chat.
fn own(sample: &Sample, ids: &mut Ids) -> (Vec<u8>, Option<i64>) {
    let raw = sample.raw();
    let mut update: Value = serde_json::from_slice(&raw).unwrap_or_default();
    let mut drawn = BTreeMap::new();
    redraw(&mut update, &mut drawn, ids);
    let text = update.to_string().into_bytes();
    let body = with_update_id(&text, ids.update()).unwrap_or(text);
    let group = route(&body).map(|found| found.group(ids.bot)).ok();
    let chat = group.and_then(|group| penstock_domain::ids::chat_of_group(&group).parse().ok());
    (body, chat)
}

/// Gives every person and chat another id; the same one for the same one.
fn redraw(value: &mut Value, drawn: &mut BTreeMap<i64, i64>, ids: &mut Ids) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let old = member
                    .as_i64()
                    .filter(|id| matches!(name.as_str(), "id" | "user_chat_id") && id.abs() >= SHORTEST_ID);
                match old {
                    Some(old) => {
                        let new = *drawn.entry(old).or_insert_with(|| ids.chat() * old.signum());
                        *member = json!(new);
                    }
                    None => redraw(member, drawn, ids),
                }
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(|entry| redraw(entry, drawn, ids)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn posted(cases: &[Case]) -> Vec<(&str, Value)> {
        let bodies = cases
            .iter()
            .flat_map(|case| &case.steps)
            .filter_map(|step| match &step.put {
                Put::Post { body, kind, .. } => Some((kind.as_str(), serde_json::from_slice(body).unwrap())),
                Put::Message { .. } | Put::Row(_) => None,
            });
        bodies.collect()
    }

    #[test]
    fn every_kind_is_there_once_and_an_unknown_one_too() {
        let cases = kinds(&mut Ids::new(BotId(424_242)), false);
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        for kind in UpdateKind::ALL {
            let there = names.iter().filter(|name| **name == kind.name()).count();
            assert_eq!(there, 1, "{}", kind.name());
        }
        assert!(names.contains(&"hologram_message"));
        assert_eq!(posted(&cases).len(), cases.len());
    }

    #[test]
    fn no_two_cases_share_a_group_but_a_poll_and_its_answer() {
        let mut ids = Ids::new(BotId(424_242));
        let cases = [kinds(&mut ids, true), kinds(&mut ids, false)].concat();
        let mut groups = BTreeMap::<&str, BTreeSet<usize>>::new();
        for (number, case) in cases.iter().enumerate() {
            for wanted in case.steps.iter().filter_map(|step| step.wanted.as_ref()) {
                groups.entry(&wanted.group).or_default().insert(number);
            }
        }
        for (group, cases) in groups {
            assert!(cases.len() == 1 || group.contains(":p:"), "{group}: {cases:?}");
        }
    }

    #[test]
    fn the_chats_of_a_batch_that_are_followed_have_three_updates() {
        let cases = kinds(&mut Ids::new(BotId(424_242)), true);
        for kind in FOLLOWED {
            let case = cases.iter().find(|case| case.name == kind).unwrap();
            let groups: BTreeSet<_> = case
                .steps
                .iter()
                .filter_map(|step| Some(&step.wanted.as_ref()?.group))
                .collect();
            assert_eq!((case.steps.len(), groups.len()), (3, 1), "{kind}");
        }
    }
}
