//! Holds on chats and the debits of a bot.

use std::time::Duration;

use futures::future::join_all;
use penstock_domain::ids::BotId;
use penstock_domain::pace::{ChatGate, Logged};
use penstock_ports::{Debit, Outbox as _, StoredChatGate, Swapped};

use super::{Case, START, World};

/// The later one counts, whoever comes last.
pub async fn a_hold_is_never_shortened<W: World>(world: &W) {
    let case = Case::new(world);
    let bot = case.subject.bot_id;
    let (near, far) = (START + Duration::from_secs(3), START + Duration::from_secs(30));
    assert_eq!(world.hold(bot, "1001").await, None);
    for (until, held) in [(near, near), (far, far), (near, far), (far, far)] {
        case.ledger()
            .hold_chat(bot, "1001", until, START)
            .await
            .expect("hold answers");
        assert_eq!(world.hold(bot, "1001").await, Some(held));
    }
}

/// And nobody else.
pub async fn a_hold_binds_one_chat_of_one_bot<W: World>(world: &W) {
    let case = Case::new(world);
    let bot = case.subject.bot_id;
    case.ledger()
        .hold_chat(bot, "1001", START, START)
        .await
        .expect("hold answers");
    assert_eq!(world.hold(bot, "1002").await, None);
    assert_eq!(world.hold(BotId(bot.0 + 1), "1001").await, None);
}

/// A gate with one send of that time in its log.
fn gate_at(millis: i64) -> ChatGate {
    let at = START + Duration::from_millis(millis.unsigned_abs());
    ChatGate {
        tat: (millis % 2 == 0).then_some(at),
        log: vec![Logged {
            at,
            token: format!("of {millis}"),
            cells: 3,
        }],
    }
}

/// Whoever was slower is told what is there.
pub async fn a_chats_gate_is_changed_by_whoever_has_seen_its_last_change<W: World>(world: &W) {
    let case = Case::new(world);
    let bot = case.subject.bot_id;
    let swap = async |seen, millis, token| {
        case.ledger()
            .swap_chat_gate(bot, "-5", seen, &gate_at(millis), token, START)
            .await
            .expect("swap answers")
    };
    let done = Swapped::Done { hold_until: None };
    assert_eq!(swap(None, 1, "a").await, done);
    let there = |millis, last: &str| {
        Swapped::Lost(Box::new(StoredChatGate {
            gate: gate_at(millis),
            last: Some(last.to_owned()),
            hold_until: None,
        }))
    };
    assert_eq!(swap(None, 2, "b").await, there(1, "a"));
    assert_eq!(swap(Some("a"), 2, "b").await, done);
    assert_eq!(swap(Some("a"), 3, "c").await, there(2, "b"));
    assert_eq!(swap(Some("a"), 2, "b").await, done, "its own, repeated");
    assert_eq!(swap(Some("b"), 3, "d").await, done);
    assert_eq!(
        swap(None, 4, "e").await,
        there(3, "d"),
        "and no time is left of the one before"
    );
}

/// It is told with every change, and no change shortens it.
pub async fn a_change_of_a_chats_gate_tells_of_its_hold<W: World>(world: &W) {
    let case = Case::new(world);
    let bot = case.subject.bot_id;
    let until = START + Duration::from_secs(30);
    case.ledger()
        .hold_chat(bot, "-6", until, START)
        .await
        .expect("hold answers");
    let swapped = case
        .ledger()
        .swap_chat_gate(bot, "-6", None, &gate_at(1), "a", START)
        .await
        .expect("swap answers");
    assert_eq!(
        swapped,
        Swapped::Done {
            hold_until: Some(until)
        }
    );
    assert_eq!(world.hold(bot, "-6").await, Some(until));
}

fn reserved(millis: u64) -> Debit {
    Debit::Reserved {
        ahead: Duration::from_millis(millis),
    }
}

/// How long one waits is what is ahead of it.
pub async fn debits_add_up_and_an_idle_gate_does_not_wait<W: World>(world: &W) {
    let case = Case::new(world);
    let bot = case.subject.bot_id;
    let debit = async |cells, millis| {
        let now = START + Duration::from_millis(millis);
        case.ledger()
            .debit_bot(bot, cells, now)
            .await
            .expect("debit answers")
    };
    assert_eq!(debit(10, 0).await, reserved(0));
    assert_eq!(debit(10, 0).await, reserved(350));
    assert_eq!(debit(1, 500).await, reserved(200));
    assert_eq!(debit(10, 1_000).await, reserved(0), "it has run empty");
    let other = BotId(bot.0 + 1);
    let answer = case
        .ledger()
        .debit_bot(other, 1, START)
        .await
        .expect("debit answers");
    assert_eq!(answer, reserved(0));
}

/// Beyond the horizon nothing is reserved, however often somebody asks.
pub async fn a_full_gate_reserves_nothing<W: World>(world: &W) {
    let case = Case::new(world);
    let bot = case.subject.bot_id;
    let debit = async |cells, millis| {
        let now = START + Duration::from_millis(millis);
        case.ledger()
            .debit_bot(bot, cells, now)
            .await
            .expect("debit answers")
    };
    assert_eq!(debit(40, 0).await, reserved(0));
    let full = Debit::Full {
        ahead: Duration::from_millis(1_400),
    };
    assert_eq!(debit(10, 0).await, full);
    assert_eq!(debit(10, 0).await, full, "the one before took nothing");
    assert_eq!(debit(10, 400).await, reserved(1_000), "exactly at the horizon");
}

/// Whoever asks the gate waits for the hold, and nobody shortens it.
pub async fn a_held_bot_is_waited_for_by_whoever_debits_its_gate<W: World>(world: &W) {
    let case = Case::new(world);
    let bot = case.subject.bot_id;
    let second = Duration::from_secs(1);
    for until in [START + 9 * second, START + 3 * second] {
        case.ledger()
            .hold_bot(bot, until, START)
            .await
            .expect("hold answers");
    }
    let debit = async |now| case.ledger().debit_bot(bot, 1, now).await.expect("debit answers");
    assert_eq!(
        debit(START).await,
        Debit::Full { ahead: 9 * second },
        "the later hold binds"
    );
    assert_eq!(debit(START + 9 * second).await, reserved(0), "it is over");
}

/// None is lost.
pub async fn debits_at_once_are_all_counted<W: World>(world: &W) {
    let case = Case::new(world);
    let bot = case.subject.bot_id;
    let answers = join_all((0..4).map(|_| case.ledger().debit_bot(bot, 8, START))).await;
    let mut answers: Vec<_> = answers
        .into_iter()
        .map(|answer| answer.expect("debit answers"))
        .collect();
    answers.sort_by_key(|answer| match answer {
        Debit::Reserved { ahead } | Debit::Full { ahead } => *ahead,
    });
    assert_eq!(answers, [0, 280, 560, 840].map(reserved));
}
