//! What a person does to sends that failed or of which nobody knows, and what the queue gives up.

use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::intent::{IntentClaim, IntentRefusal, IntentState};
use penstock_domain::repair::{Act, Action};
use penstock_domain::time::Timestamp;
use penstock_ports::{GiveUp, GivenUp, Letter, Need, Outbox as _, Repaired, Repairs as _, SettleAs};

use super::repairs::act;
use super::unknown::unknown;
use super::{Case, DAY, LEASE_AND_MARGIN, MILLISECOND, START, World, failure, sent, start, started};

/// How long the copy of a resend may be on its way.
const MINUTE: std::time::Duration = std::time::Duration::from_secs(60);

impl<W: World> Case<'_, W> {
    async fn resend(&self, letter: &Letter, n: u8, act: &Act) -> Repaired {
        self.ledger()
            .resend(letter, n, act)
            .await
            .expect("resend answers")
    }

    async fn settle_unknown(&self, letter: &Letter, n: u8, act: &Act) -> Repaired {
        self.ledger()
            .settle_unknown(letter, n, act)
            .await
            .expect("settle_unknown answers")
    }

    async fn give_up(&self, n: u8, resend: u32, now: Timestamp) -> GivenUp {
        let of = u8::try_from(self.record().await.intents.len()).expect("at most ten intents");
        let give_up = GiveUp {
            key: self.key().clone(),
            n,
            of,
            redrive: 0,
            resend,
            previous: n.checked_sub(1),
            failure: failure("too_many_receives", 1, now),
            now,
        };
        self.ledger().give_up(&give_up).await.expect("give_up answers")
    }
}

/// An Update whose only send has failed.
async fn failed<W: World>(world: &W) -> Case<'_, W> {
    let case = Case::done(world, 1).await;
    case.begin(0, "sender", START).await;
    let settle = SettleAs::Failed {
        failure: failure("bot_api_400", 1, START),
    };
    assert!(case.end(0, Some("sender"), settle, START).await);
    case
}

fn resent(n: u8, now: Timestamp) -> IntentClaim {
    IntentClaim {
        resend: 1,
        ..start(n, "sender 2", now)
    }
}

/// It was closed, and nobody had to look at it: now somebody has to, until a sender claims it.
pub async fn a_resent_failure_is_shown_until_it_is_claimed<W: World>(world: &W) {
    let case = failed(world).await;
    assert_eq!(case.attention().await, None);
    let (now, letter) = (START + DAY, case.letter().await);
    for _ in 0..2 {
        assert_eq!(case.resend(&letter, 0, &act("ada", now)).await, Repaired::Done);
    }
    let record = case.record().await;
    assert_eq!(
        (record.intents[0].state, record.intents[0].resend, record.open),
        (IntentState::Intended, 1, 1)
    );
    assert_eq!(record.expires_at, (now + 90 * DAY).as_secs_ceil());
    assert_eq!(case.attention().await.as_deref(), Some("unknown"));
    let letter = case.letter().await;
    assert_eq!(
        letter.need(now + MINUTE - MILLISECOND),
        None,
        "its copy may be on its way"
    );
    let stuck = Need::Sends {
        unknown: Vec::new(),
        stuck: vec![0],
    };
    assert_eq!(letter.need(now + MINUTE), Some(stuck));
    let audit = case.audit().await;
    assert_eq!((audit.len(), audit[0].action), (1, Action::Resend));
    assert_eq!(
        (audit[0].before.as_str(), audit[0].send),
        ("failed", Some((0, 1)))
    );
    assert_eq!(case.start(&resent(0, now)).await, started(2));
    assert_eq!(case.attention().await, None);
}

/// Whatever was read before.
pub async fn only_what_failed_or_is_unknown_is_sent_again<W: World>(world: &W) {
    let case = Case::done(world, 2).await;
    let intended = case.letter().await;
    assert_eq!(
        case.resend(&intended, 0, &act("ada", START)).await,
        Repaired::Changed
    );
    case.begin(0, "sender", START).await;
    let sending = case.letter().await;
    assert_eq!(
        case.resend(&sending, 0, &act("ada", START)).await,
        Repaired::Changed
    );
    let lost = SettleAs::Unknown {
        failure: failure("bot_api_no_answer", 1, START),
    };
    assert!(case.end(0, Some("sender"), lost, START).await);
    let unknown = case.letter().await;
    // Its own worker is quicker.
    assert!(case.end(0, Some("sender"), sent(41), START).await);
    assert_eq!(
        case.resend(&unknown, 0, &act("ada", START)).await,
        Repaired::Changed
    );
    assert_eq!(
        case.settle_unknown(&unknown, 0, &act("ada", START)).await,
        Repaired::Changed
    );
    assert_eq!(
        case.resend(&unknown, 7, &act("ada", START)).await,
        Repaired::Changed
    );
    assert_eq!(case.intent_state(0).await, IntentState::Sent);
    assert_eq!((case.record().await.open, case.audit().await.len()), (1, 0));
}

/// While its copy may have been lost on the way, whoever of the same Update ends does not take it out.
pub async fn a_resent_send_is_shown_while_others_of_its_update_end<W: World>(world: &W) {
    let case = unknown(world, 2, 2).await;
    assert_eq!(
        case.resend(&case.letter().await, 0, &act("ada", START)).await,
        Repaired::Done
    );
    assert!(case.end(1, Some("sender 1"), sent(42), START).await);
    assert_eq!(case.attention().await.as_deref(), Some("unknown"));
    assert_eq!(case.start(&resent(0, START)).await, started(2));
    assert_eq!(case.attention().await, None);
}

/// A person has looked into the chat.
pub async fn an_unknown_send_that_a_person_settles_has_been_sent<W: World>(world: &W) {
    let case = unknown(world, 1, 1).await;
    let (letter, now) = (case.letter().await, START + DAY);
    for _ in 0..2 {
        assert_eq!(
            case.settle_unknown(&letter, 0, &act("ada", now)).await,
            Repaired::Done
        );
    }
    let record = case.record().await;
    assert_eq!(
        (record.intents[0].state, record.open, record.expires_at),
        (IntentState::Sent, 0, (now + 7 * DAY).as_secs_ceil())
    );
    assert_eq!(case.attention().await, None);
    let audit = case.audit().await;
    assert_eq!(
        (audit.len(), audit[0].action, audit[0].before.as_str()),
        (1, Action::Settle, "unknown")
    );
    assert!(
        case.end(0, Some("sender 0"), sent(41), now).await,
        "its worker's late word is no trouble"
    );
    assert_eq!(
        case.resend(&case.letter().await, 0, &act("bob", now + MILLISECOND))
            .await,
        Repaired::Changed
    );
}

/// Its copy stands behind those of its successors in the queue: if they waited for it, nothing of the chat would go on.
pub async fn a_resent_send_holds_nothing_back_that_comes_after_it<W: World>(world: &W) {
    let case = unknown(world, 3, 1).await;
    assert_eq!(
        case.resend(&case.letter().await, 0, &act("ada", START)).await,
        Repaired::Done
    );
    assert_eq!(case.start(&start(1, "sender", START)).await, started(1));
    assert!(case.end(1, Some("sender"), sent(41), START).await);
    assert_eq!(case.start(&resent(0, START)).await, started(2));
    assert_eq!(case.give_up(2, 0, START).await, GivenUp::Failed);
    assert_eq!(case.intent_state(0).await, IntentState::Sending);
}

/// One by one.
pub async fn of_two_unknown_sends_that_a_person_settles_the_last_one_closes_the_update<W: World>(world: &W) {
    let case = unknown(world, 2, 2).await;
    assert_eq!(
        case.settle_unknown(&case.letter().await, 0, &act("ada", START))
            .await,
        Repaired::Done
    );
    assert_eq!(case.attention().await.as_deref(), Some("unknown"));
    assert_eq!(
        (case.record().await.open, case.record().await.expires_at),
        (1, (START + 90 * DAY).as_secs_ceil())
    );
    assert_eq!(
        case.settle_unknown(&case.letter().await, 1, &act("ada", START))
            .await,
        Repaired::Done
    );
    assert_eq!(case.attention().await, None);
    assert_eq!(
        (case.record().await.open, case.record().await.expires_at),
        (0, (START + 7 * DAY).as_secs_ceil())
    );
}

/// Begun by nobody, or waiting for its next try: nobody will bring it again. Without a moment in which it looks sent.
pub async fn what_nobody_could_send_has_failed_at_once<W: World>(world: &W) {
    let never_begun = Case::done(world, 1).await;
    assert_eq!(never_begun.give_up(0, 0, START).await, GivenUp::Failed);
    let waits = Case::done(world, 1).await;
    waits.begin(0, "sender", START).await;
    let retry = SettleAs::Retry {
        next_at: START + DAY,
        burned: true,
        failure: failure("away", 1, START),
    };
    assert!(waits.end(0, Some("sender"), retry, START).await);
    assert_eq!(waits.give_up(0, 0, START).await, GivenUp::Failed);
    for case in [never_begun, waits] {
        let record = case.record().await;
        let intent = &record.intents[0];
        assert_eq!((intent.state, intent.next_at), (IntentState::Failed, None));
        assert_eq!(intent.failure, Some(failure("too_many_receives", 1, START)));
        assert_eq!(
            (record.open, record.expires_at),
            (0, (START + 7 * DAY).as_secs_ceil())
        );
        assert_eq!(
            case.give_up(0, 0, START).await,
            GivenUp::Refused(IntentRefusal::Settled)
        );
        assert_eq!(case.record().await, record);
    }
}

/// It may be on its way: whoever holds it settles it, and once its lease is over nobody knows.
pub async fn what_is_being_sent_is_not_given_up<W: World>(world: &W) {
    let case = Case::done(world, 1).await;
    case.begin(0, "sender", START).await;
    let end = START + LEASE_AND_MARGIN;
    assert_eq!(
        case.give_up(0, 0, START).await,
        GivenUp::Refused(IntentRefusal::HeldUntil(end))
    );
    assert_eq!(
        case.give_up(0, 0, end + MILLISECOND).await,
        GivenUp::Refused(IntentRefusal::Lost)
    );
    assert_eq!(case.intent_state(0).await, IntentState::Sending);
}

/// A later one that failed before it would let the one after it overtake.
pub async fn the_sends_of_a_chat_are_given_up_in_their_order<W: World>(world: &W) {
    let case = Case::done(world, 2).await;
    assert_eq!(
        case.give_up(1, 0, START).await,
        GivenUp::Refused(IntentRefusal::BehindPrevious)
    );
    assert_eq!(case.give_up(0, 0, START).await, GivenUp::Failed);
    assert_eq!(case.record().await.open, 1);
    assert_eq!(case.give_up(1, 0, START).await, GivenUp::Failed);
    let record = case.record().await;
    assert_eq!(
        (record.open, record.expires_at),
        (0, (START + 7 * DAY).as_secs_ceil())
    );
}

/// Nor is what another generation or nobody made.
pub async fn a_copy_of_an_earlier_resend_gives_nothing_up<W: World>(world: &W) {
    let case = failed(world).await;
    assert_eq!(
        case.resend(&case.letter().await, 0, &act("ada", START)).await,
        Repaired::Done
    );
    assert_eq!(
        case.give_up(0, 0, START).await,
        GivenUp::Refused(IntentRefusal::Settled)
    );
    assert_eq!(case.intent_state(0).await, IntentState::Intended);
    assert_eq!(case.attention().await.as_deref(), Some("unknown"));
    assert_eq!(case.give_up(0, 1, START).await, GivenUp::Failed);
    assert_eq!((case.record().await.open, case.attention().await), (0, None));
    let absent = Case::done(world, 0).await;
    assert_eq!(
        absent.give_up(0, 0, START).await,
        GivenUp::Refused(IntentRefusal::Absent)
    );
}

/// Its own place in the index is of what is unknown still.
pub async fn what_is_given_up_leaves_an_unknown_sibling_in_the_index<W: World>(world: &W) {
    let case = unknown(world, 2, 1).await;
    assert_eq!(case.give_up(1, 0, START).await, GivenUp::Failed);
    assert_eq!(case.attention().await.as_deref(), Some("unknown"));
    assert_eq!(
        (case.record().await.open, case.record().await.expires_at),
        (1, (START + 90 * DAY).as_secs_ceil())
    );
}

/// It waits for the one repeat that its class allows, or a person's; the try before may have arrived.
pub async fn what_may_have_arrived_is_given_up_as_unknown<W: World>(world: &W) {
    let ambiguous = || Failure::new("no_answer", "", Disposition::Ambiguous, 1, START);
    let retried = Case::done(world, 2).await;
    retried.begin(0, "sender", START).await;
    let again = SettleAs::Retry {
        next_at: START + DAY,
        burned: true,
        failure: ambiguous(),
    };
    assert!(retried.end(0, Some("sender"), again, START).await);
    let resent = Case::done(world, 2).await;
    resent.begin(0, "sender", START).await;
    let lost = SettleAs::Unknown { failure: ambiguous() };
    assert!(resent.end(0, Some("sender"), lost, START).await);
    let act = act("ada", START);
    assert_eq!(
        resent.resend(&resent.letter().await, 0, &act).await,
        Repaired::Done
    );
    for (case, resend) in [(retried, 0), (resent, 1)] {
        let before = case.record().await;
        assert_eq!(case.give_up(0, resend, START).await, GivenUp::Unknown);
        let after = case.record().await;
        assert_eq!(after.intents[0].state, IntentState::Unknown);
        assert_eq!(after.intents[0].failure, before.intents[0].failure);
        assert_eq!(
            (after.open, after.expires_at),
            (2, before.expires_at),
            "it is open still"
        );
        assert_eq!(case.attention().await.as_deref(), Some("unknown"));
        // The same letter once more.
        let settled = GivenUp::Refused(IntentRefusal::Settled);
        assert_eq!(case.give_up(0, resend, START).await, settled);
        assert_eq!(case.record().await, after);
    }
}
