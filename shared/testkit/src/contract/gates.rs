//! Holds on chats and the debits of a bot.

use std::time::Duration;

use futures::future::join_all;
use penstock_domain::ids::BotId;
use penstock_ports::Outbox as _;

use super::{Case, MILLISECOND, START, World};

/// What thirty sends cost at about thirty a second.
const THIRTY: Duration = Duration::from_millis(990);

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

/// How long one waits is what is ahead of it.
pub async fn debits_add_up_and_an_idle_gate_does_not_wait<W: World>(world: &W) {
    let case = Case::new(world);
    let bot = case.subject.bot_id;
    let debit = async |cells, now| {
        case.ledger()
            .debit_bot(bot, cells, now)
            .await
            .expect("debit answers")
    };
    assert_eq!(debit(30, START).await, Duration::ZERO);
    assert_eq!(debit(30, START).await, THIRTY);
    let later = START + Duration::from_millis(500);
    assert_eq!(debit(1, later).await, 2 * THIRTY - Duration::from_millis(500));
    let idle = START + 2 * THIRTY + Duration::from_millis(33);
    assert_eq!(debit(30, idle).await, Duration::ZERO, "it has just run empty");
    assert_eq!(
        debit(1, idle + THIRTY + MILLISECOND).await,
        Duration::ZERO,
        "it ran empty a millisecond ago"
    );
    let other = BotId(bot.0 + 1);
    assert_eq!(
        case.ledger()
            .debit_bot(other, 1, START)
            .await
            .expect("debit answers"),
        Duration::ZERO
    );
}

/// Whoever debits the gate waits for the hold, and nobody shortens it.
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
    let cell = Duration::from_millis(33);
    assert_eq!(debit(START).await, 9 * second, "the later hold binds");
    assert_eq!(
        debit(START + 4 * second).await,
        5 * second + cell,
        "one behind the other"
    );
    assert_eq!(debit(START + 10 * second).await, Duration::ZERO, "it is over");
}

/// None is lost.
pub async fn debits_at_once_are_all_counted<W: World>(world: &W) {
    let case = Case::new(world);
    let bot = case.subject.bot_id;
    let answers = join_all((0..6).map(|_| case.ledger().debit_bot(bot, 10, START))).await;
    let mut waits: Vec<_> = answers
        .into_iter()
        .map(|answer| answer.expect("debit answers"))
        .collect();
    waits.sort();
    let expected: Vec<_> = (0..6).map(|ahead| ahead * Duration::from_millis(330)).collect();
    assert_eq!(waits, expected);
}
