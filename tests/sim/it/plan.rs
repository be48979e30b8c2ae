//! What a seed is made of: the Updates, what the bot does with each, and how much trouble there is. Never acts.

use fastrand::Rng;
use penstock_domain::ids::{BotId, LedgerKey, MessageGroupId, UpdateDigest, UpdateId};
use penstock_domain::intent::OnUnknown;
use penstock_domain::route::route;
use serde_json::json;

pub(crate) const BOT: BotId = BotId(7);
/// More receives than any schedule needs (template: 1000).
pub(crate) const ENOUGH_RECEIVES: u32 = 1_000;

/// How a run of the handler fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failing {
    Transient,
    RetryAfter(u64),
    Permanent,
    Unclassified,
    Panic,
    Hang,
}

/// A call of the Bot API that the bot asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) method: &'static str,
    pub(crate) on_unknown: OnUnknown,
    pub(crate) refers_to: Option<u8>,
}

impl Planned {
    /// Whether people see it twice if it is done twice.
    pub(crate) fn is_visible(&self) -> bool {
        matches!(self.method, "sendMessage" | "sendPhoto")
    }
}

/// What the bot does with an Update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Act {
    pub(crate) reads_state: bool,
    pub(crate) writes_state: bool,
    pub(crate) calls: Vec<Planned>,
    /// How its first runs fail.
    pub(crate) failures: Vec<Failing>,
    /// The record that only one Update may make.
    pub(crate) order: Option<u8>,
    /// Every run takes the process with it.
    pub(crate) is_poison: bool,
}

/// What Telegram posts.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) raw: String,
    /// `None` for what is no Update.
    pub(crate) update: Option<PostedUpdate>,
    pub(crate) act: Act,
}

#[derive(Debug, Clone)]
pub(crate) struct PostedUpdate {
    pub(crate) id: i64,
    pub(crate) digest: UpdateDigest,
    pub(crate) group: MessageGroupId,
}

impl PostedUpdate {
    /// The keys under which its record may be: its own, or the one of a reused id.
    pub(crate) fn keys(&self) -> [LedgerKey; 2] {
        let id = UpdateId(self.id);
        [LedgerKey::new(BOT, id), LedgerKey::reused(BOT, id, self.digest)]
    }
}

/// How much trouble there is. Each sort is off in about half of the seeds, so that what needs calm in one place and
/// trouble in another is met too.
#[derive(Debug, Clone)]
pub(crate) struct Trouble {
    /// Share of the calls to table, queues and secrets that fail.
    pub(crate) stores: f64,
    /// Share of the unanswered ones that are applied later.
    pub(crate) late: f64,
    /// Share of the calls of the Bot API that fail.
    pub(crate) api: f64,
    /// Share of the steps in which a process dies.
    pub(crate) crashes: f64,
    /// Share of the steps in which a process stands still, beyond its time.
    pub(crate) freezes: f64,
    /// Share of the steps in which a delivery is handed out twice.
    pub(crate) duplicates: f64,
    /// Share of the deletions that are lost.
    pub(crate) lost_deletions: f64,
    /// Share of the steps in which a clock is set.
    pub(crate) clocks: f64,
    /// Share of the waits that are long.
    pub(crate) jumps: f64,
    /// Share of the steps in which a person acts.
    pub(crate) people: f64,
    /// Share of the steps in which another writes a chat's state.
    pub(crate) conflicts: f64,
    /// Share of the accepted posts that Telegram repeats.
    pub(crate) repeats: f64,
    /// Share of the answers that come late.
    pub(crate) held_answers: f64,
    /// After how many receives the queues give a message up.
    pub(crate) max_receives: u32,
    /// Whether weeks pass, and ids are drawn anew.
    pub(crate) idles: bool,
}

impl Trouble {
    pub(crate) const NONE: Self = Self {
        stores: 0.0,
        late: 0.0,
        api: 0.0,
        crashes: 0.0,
        freezes: 0.0,
        duplicates: 0.0,
        lost_deletions: 0.0,
        clocks: 0.0,
        jumps: 0.0,
        people: 0.0,
        conflicts: 0.0,
        repeats: 0.0,
        held_answers: 0.0,
        max_receives: ENOUGH_RECEIVES,
        idles: false,
    };

    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let mut share = |some: f64, much: f64| match rng.u8(0..4) {
            0 | 1 => 0.0,
            2 => some,
            _ => much,
        };
        Self {
            stores: share(0.03, 0.15),
            late: share(0.3, 0.8),
            api: share(0.15, 0.5),
            crashes: share(0.01, 0.05),
            freezes: share(0.01, 0.04),
            duplicates: share(0.01, 0.06),
            lost_deletions: share(0.1, 0.4),
            clocks: share(0.02, 0.1),
            jumps: share(0.03, 0.15),
            people: share(0.02, 0.08),
            conflicts: share(0.01, 0.05),
            repeats: share(0.1, 0.4),
            held_answers: share(0.05, 0.3),
            max_receives: *rng
                .choice(&[
                    ENOUGH_RECEIVES,
                    ENOUGH_RECEIVES,
                    ENOUGH_RECEIVES,
                    ENOUGH_RECEIVES,
                    12,
                    4,
                ])
                .unwrap(),
            idles: rng.u8(0..8) == 0,
        }
    }
}

/// The posts of a seed, in the order in which Telegram sends them.
pub(crate) fn posts(rng: &mut Rng, reuses_ids: bool) -> Vec<Post> {
    let count = rng.usize(2..=12);
    let chats = rng.i64(1..=4);
    let fails = rng.f64() * 0.8;
    (0..count)
        .map(|index| {
            if rng.u8(0..24) == 0 {
                return no_update(rng, index);
            }
            let id = if reuses_ids && index > 0 {
                100 + rng.i64(0..4)
            } else {
                100 + i64::try_from(index).unwrap()
            };
            let chat = rng.i64(1..=chats);
            post(index, id, chat, rng.u8(..), act(rng, fails))
        })
        .collect()
}

fn no_update(rng: &mut Rng, index: usize) -> Post {
    let raw = if rng.bool() {
        format!("no json {index}")
    } else {
        json!({"update_id": "none", "n": index}).to_string()
    };
    Post {
        raw,
        update: None,
        act: Act::default(),
    }
}

fn post(index: usize, id: i64, chat: i64, kind: u8, mut act: Act) -> Post {
    let text = format!("u{index}");
    let update = match kind {
        0..24 => {
            let answer = Planned {
                method: "answerCallbackQuery",
                on_unknown: OnUnknown::Hold,
                refers_to: None,
            };
            act.calls.push(answer);
            json!({"update_id": id, "callback_query": {"id": format!("q{index}"), "text": text, "data": "x",
                "message": {"message_id": 1, "chat": {"id": chat}}}})
        }
        24..32 => {
            // Nobody to write to: it is answered or it expires.
            act.calls.clear();
            json!({"update_id": id, "inline_query": {"id": format!("q{index}"), "text": text, "from": {"id": chat}}})
        }
        _ => json!({"update_id": id, "message": {"message_id": 1, "text": text, "chat": {"id": chat}}}),
    };
    let raw = update.to_string();
    let found = route(raw.as_bytes()).unwrap();
    let update = PostedUpdate {
        id,
        digest: found.digest,
        group: found.group(BOT),
    };
    Post {
        raw,
        update: Some(update),
        act,
    }
}

fn act(rng: &mut Rng, fails: f64) -> Act {
    let mut act = Act {
        reads_state: rng.bool(),
        order: (rng.u8(0..6) == 0).then(|| rng.u8(0..2)),
        is_poison: rng.u8(0..40) == 0,
        ..Act::default()
    };
    act.writes_state = act.reads_state && rng.u8(0..5) > 0;
    for n in 0..*rng.choice(&[0_u8, 1, 1, 1, 2, 2, 3, 4]).unwrap() {
        let method = *rng
            .choice(&[
                "sendMessage",
                "sendMessage",
                "sendPhoto",
                "editMessageText",
                "sendChatAction",
            ])
            .unwrap();
        let on_unknown = if rng.u8(0..4) == 0 {
            OnUnknown::ResendOnce
        } else {
            OnUnknown::Hold
        };
        let refers_to = (n > 0 && method == "editMessageText").then(|| rng.u8(0..n));
        act.calls.push(Planned {
            method,
            on_unknown,
            refers_to,
        });
    }
    if rng.f64() < fails {
        let kinds = [
            Failing::Transient,
            Failing::Transient,
            Failing::RetryAfter(30),
            Failing::RetryAfter(50_000),
            Failing::Permanent,
            Failing::Unclassified,
            Failing::Panic,
            Failing::Hang,
        ];
        let times = *rng.choice(&[1, 1, 2, 3, 9]).unwrap();
        act.failures = (0..times).map(|_| *rng.choice(&kinds).unwrap()).collect();
    }
    act
}
