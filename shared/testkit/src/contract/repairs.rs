//! What a person does to dead letters, each with its audit row.

use futures::future::join_all;
use penstock_domain::ids::UpdateDigest;
use penstock_domain::ledger::{ClaimRequest, Refusal, State};
use penstock_domain::repair::{Act, Action};
use penstock_domain::time::Timestamp;
use penstock_ports::{
    ATTENTION_SHARDS, AttentionKind, AuditRow, Commitment, Filed, Inbox as _, Letter, Need, Repaired,
    Repairs as _, Verdict,
};

use super::dead::noise;
use super::{Case, DAY, MILLISECOND, START, World, failure, plain, request};

/// How long the copy of a redrive or resend may be on its way.
const MINUTE: std::time::Duration = std::time::Duration::from_secs(60);

pub(super) fn act(who: &str, at: Timestamp) -> Act {
    Act::new(who, "the shop is back", at).expect("it has a name and a reason")
}

impl<W: World> Case<'_, W> {
    pub(super) async fn letter(&self) -> Letter {
        self.ledger()
            .letter(self.key())
            .await
            .expect("letter answers")
            .expect("there is a record")
    }

    pub(super) async fn audit(&self) -> Vec<AuditRow> {
        self.ledger().audit(self.key()).await.expect("audit answers")
    }

    async fn redrive(&self, letter: &Letter, act: &Act) -> Repaired {
        self.ledger().redrive(letter, act).await.expect("redrive answers")
    }

    async fn edit(&self, letter: &Letter, raw: &str, act: &Act) -> Repaired {
        self.ledger()
            .edit(letter, UpdateDigest(1), raw, act)
            .await
            .expect("edit answers")
    }

    async fn discard(&self, letter: &Letter, act: &Act) -> Repaired {
        self.ledger().discard(letter, act).await.expect("discard answers")
    }

    async fn body(&self) -> Option<String> {
        self.ledger().body(self.key()).await.expect("body answers")
    }
}

fn in_generation(redrive: u32, owner: &str, now: Timestamp) -> ClaimRequest {
    ClaimRequest {
        redrive,
        ..request(owner, now)
    }
}

/// With its subject, and its place in the index.
pub async fn a_dead_letter_is_read_as_it_was_filed<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    let letter = case.letter().await;
    assert_eq!(letter.record, case.record().await);
    assert_eq!(
        (
            letter.subject.key,
            letter.subject.bot_id,
            letter.subject.update_id
        ),
        (
            case.subject.key.clone(),
            case.subject.bot_id,
            case.subject.update_id
        )
    );
    assert_eq!(
        (
            letter.subject.kind,
            letter.subject.group,
            letter.subject.received_at
        ),
        (case.subject.kind, case.subject.group.clone(), START)
    );
    assert_eq!(letter.attention, Some((AttentionKind::Dead, START)));
    assert_eq!(
        (letter.dead_at, letter.redriven_at, letter.acts),
        (Some(START), None, 0)
    );
    assert_eq!(case.body().await.as_deref(), Some("{}"));
    assert_eq!(case.audit().await, []);
    assert_eq!(
        world
            .ledger()
            .letter(Case::new(world).key())
            .await
            .expect("letter answers"),
        None
    );
}

/// No attempt is used up, it lives for ninety days from then, and its body is kept until it is done.
pub async fn a_redriven_letter_is_pending_in_its_next_generation_and_audited<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    let (now, act) = (START + DAY, act("ada", START + DAY));
    assert_eq!(case.redrive(&case.letter().await, &act).await, Repaired::Done);
    let record = case.record().await;
    assert_eq!(
        (record.state, record.redrive, record.attempts),
        (State::Pending, 1, 0)
    );
    assert_eq!(record.expires_at, (now + 90 * DAY).as_secs_ceil());
    assert_eq!(record.tries.len(), 1, "its history is kept");
    assert_eq!(case.body().await.as_deref(), Some("{}"));
    let audit = case.audit().await;
    assert_eq!(audit.len(), 1);
    assert_eq!(
        (
            audit[0].action,
            audit[0].who.as_str(),
            audit[0].why.as_str(),
            audit[0].at
        ),
        (Action::Redrive, "ada", "the shop is back", now)
    );
    assert_eq!(
        (audit[0].before.as_str(), audit[0].redrive, audit[0].send),
        ("dead", 1, None)
    );
    let letter = case.letter().await;
    assert_eq!((letter.redriven_at, letter.acts), (Some(now), 1));
}

/// Its answer was lost, and the call was made again.
pub async fn a_repeated_redrive_is_a_success_and_is_audited_once<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    let (letter, act) = (case.letter().await, act("ada", START));
    for _ in 0..3 {
        assert_eq!(case.redrive(&letter, &act).await, Repaired::Done);
    }
    assert_eq!((case.record().await.redrive, case.audit().await.len()), (1, 1));
}

/// Two people at one letter.
pub async fn of_many_redrives_at_once_one_is_done<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    let letter = case.letter().await;
    let acts: Vec<_> = (0..6).map(|n| act(&format!("person {n}"), START)).collect();
    let redrives = acts.iter().map(|act| async {
        // A transaction that meets another one is told so, and asks again.
        loop {
            if let Ok(repaired) = case.ledger().redrive(&letter, act).await {
                return repaired;
            }
        }
    });
    let done = join_all(redrives).await;
    assert_eq!(
        done.iter()
            .filter(|repaired| **repaired == Repaired::Done)
            .count(),
        1,
        "{done:?}"
    );
    assert_eq!((case.record().await.redrive, case.audit().await.len()), (1, 1));
}

/// Whatever was read before.
pub async fn what_is_not_dead_is_not_redriven<W: World>(world: &W) {
    let parked = Case::parked(world, "{}").await;
    let letter = parked.letter().await;
    assert_eq!(parked.redrive(&letter, &act("ada", START)).await, Repaired::Done);
    // Read while it was dead.
    assert_eq!(
        parked.redrive(&letter, &act("bob", START + MILLISECOND)).await,
        Repaired::Changed
    );
    // Read while it was pending, processing, done.
    let pending = parked.letter().await;
    assert_eq!(
        parked.redrive(&pending, &act("bob", START + MILLISECOND)).await,
        Repaired::Changed
    );
    let claim = parked.acquire_as(&in_generation(1, "worker 2", START)).await;
    let processing = parked.letter().await;
    assert_eq!(
        parked
            .redrive(&processing, &act("bob", START + MILLISECOND))
            .await,
        Repaired::Changed
    );
    assert_eq!(parked.commit(&claim, &plain(None), START).await, Commitment::Done);
    let done = parked.letter().await;
    assert_eq!(
        parked.redrive(&done, &act("bob", START + MILLISECOND)).await,
        Repaired::Changed
    );
    let record = parked.record().await;
    assert_eq!((record.state, record.redrive), (State::Done, 1));
    assert_eq!(parked.audit().await.len(), 1);
}

/// Until then its copy may have been lost on the way to the queue.
pub async fn a_redriven_letter_is_shown_until_it_is_claimed<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    let letter = case.letter().await;
    assert_eq!(letter.need(START), Some(Need::Dead(AttentionKind::Dead)));
    assert_eq!(case.redrive(&letter, &act("ada", START)).await, Repaired::Done);
    assert_eq!(case.attention().await.as_deref(), Some("dead"));
    let letter = case.letter().await;
    let minute = START + MINUTE;
    assert_eq!(
        letter.need(minute - MILLISECOND),
        None,
        "its copy may be on its way"
    );
    assert_eq!(letter.need(minute), Some(Need::StuckRedrive));
    case.acquire_as(&in_generation(1, "worker 2", minute)).await;
    assert_eq!(case.attention().await, None);
    assert_eq!(case.letter().await.need(minute + DAY), None);
}

/// Wherever either of them is kept; key and digest stay, so that it is the same Update.
pub async fn an_edited_body_replaces_the_one_before_and_both_digests_are_audited<W: World>(world: &W) {
    let bodies = [
        noise(600_000, 21),
        "[1]".to_owned(),
        noise(20_000, 22),
        noise(700_000, 23),
    ];
    let case = Case::parked(world, "{}").await;
    let before = case.record().await;
    for (n, body) in bodies.iter().enumerate() {
        let letter = case.letter().await;
        let now = START + DAY;
        assert_eq!(case.edit(&letter, body, &act("ada", now)).await, Repaired::Done);
        assert!(
            case.body().await.as_ref() == Some(body),
            "body {n} is another one"
        );
        assert_eq!(case.record().await.expires_at, (now + 90 * DAY).as_secs_ceil());
        let audit = case.audit().await;
        assert_eq!((audit.len(), audit[n].action), (n + 1, Action::Edit));
        assert_eq!(
            audit[n].bodies,
            Some((UpdateDigest(1), UpdateDigest::of(body.as_bytes())))
        );
    }
    let after = case.record().await;
    assert_eq!(
        (
            after.state,
            after.digest,
            after.redrive,
            after.attempts,
            after.tries
        ),
        (State::Dead, before.digest, 0, 1, before.tries)
    );
    assert_eq!(case.attention().await.as_deref(), Some("dead"));
}

/// Neither the other's edit nor a redrive is undone.
pub async fn an_edit_of_what_somebody_else_has_touched_changes_nothing<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    let seen = case.letter().await;
    assert_eq!(case.edit(&seen, "[1]", &act("ada", START)).await, Repaired::Done);
    let late = noise(600_000, 24);
    assert_eq!(
        case.edit(&seen, &late, &act("bob", START + MILLISECOND)).await,
        Repaired::Changed
    );
    assert_eq!(case.body().await.as_deref(), Some("[1]"));
    let seen = case.letter().await;
    assert_eq!(case.redrive(&seen, &act("ada", START)).await, Repaired::Done);
    assert_eq!(
        case.edit(&seen, &late, &act("bob", START + MILLISECOND)).await,
        Repaired::Changed
    );
    let pending = case.letter().await;
    assert_eq!(
        case.edit(&pending, &late, &act("bob", START + MILLISECOND)).await,
        Repaired::Changed
    );
    assert_eq!(
        case.discard(&pending, &act("bob", START + MILLISECOND)).await,
        Repaired::Changed
    );
    assert_eq!(case.body().await.as_deref(), Some("[1]"));
    assert_eq!(case.audit().await.len(), 2);
}

/// It had landed, and its answer was lost.
pub async fn a_repeated_edit_is_a_success_and_is_audited_once<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    let (seen, act) = (case.letter().await, act("ada", START));
    for _ in 0..2 {
        assert_eq!(case.edit(&seen, "[1]", &act).await, Repaired::Done);
    }
    assert_eq!(case.audit().await.len(), 1);
}

/// Nobody works on it, and a repeat of the Update is known for as long as one of any other.
pub async fn a_discarded_letter_leaves_the_index_and_stays_dead<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    let (now, seen) = (START + DAY, case.letter().await);
    for _ in 0..2 {
        assert_eq!(case.discard(&seen, &act("ada", now)).await, Repaired::Done);
    }
    assert_eq!(case.attention().await, None);
    let record = case.record().await;
    assert_eq!(
        (record.state, record.expires_at),
        (State::Dead, (now + 7 * DAY).as_secs_ceil())
    );
    assert_eq!(case.refused(&request("worker 2", now)).await, Refusal::Dead);
    let filed = case
        .ledger()
        .file_dead(&case.subject, 0, "[2]", &failure("late", 1, now), now)
        .await;
    assert_eq!(filed.expect("filing answers"), Filed::Already);
    assert_eq!(case.body().await.as_deref(), Some("{}"));
    let audit = case.audit().await;
    assert_eq!((audit.len(), audit[0].action), (1, Action::Discard));
    let letter = case.letter().await;
    assert_eq!((letter.need(now), letter.attention), (None, None));
    assert_eq!(
        case.edit(&letter, "[1]", &act("bob", now + MILLISECOND)).await,
        Repaired::Changed
    );
    assert_eq!(
        case.discard(&letter, &act("bob", now + MILLISECOND)).await,
        Repaired::Changed
    );
}

/// It is in the index from then on, and once more when it dies again.
pub async fn a_discarded_letter_that_is_redriven_is_back<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    assert_eq!(
        case.discard(&case.letter().await, &act("ada", START)).await,
        Repaired::Done
    );
    assert_eq!(
        case.redrive(&case.letter().await, &act("ada", START)).await,
        Repaired::Done
    );
    assert_eq!(
        (case.state().await, case.attention().await.as_deref()),
        (State::Pending, Some("dead"))
    );
    assert_eq!(case.record().await.expires_at, (START + 90 * DAY).as_secs_ceil());
    let claim = case.acquire_as(&in_generation(1, "worker 2", START)).await;
    let verdict = Verdict::Dead {
        raw: "{}".to_owned(),
        failure: failure("no_use", 1, START),
    };
    assert!(case.settle(&claim, &verdict, START).await);
    assert_eq!(
        case.letter().await.need(START),
        Some(Need::Dead(AttentionKind::Dead))
    );
    assert_eq!(case.audit().await.len(), 2);
}

/// Rows linger after their time.
pub async fn what_has_outlived_its_time_is_not_repaired<W: World>(world: &W) {
    let case = Case::parked(world, "{}").await;
    let (letter, late) = (case.letter().await, START + 91 * DAY);
    assert_eq!(case.redrive(&letter, &act("ada", late)).await, Repaired::Changed);
    assert_eq!(
        case.edit(&letter, "[1]", &act("ada", late)).await,
        Repaired::Changed
    );
    assert_eq!(case.discard(&letter, &act("ada", late)).await, Repaired::Changed);
    assert_eq!((case.state().await, letter.need(late)), (State::Dead, None));
    assert_eq!(case.audit().await, []);
}

/// All of them, each once, whatever the shard and the page; oldest first in each shard.
pub async fn what_needs_a_person_is_listed_page_by_page<W: World>(world: &W) {
    let mut expected = Vec::new();
    for n in 0..40_u32 {
        let case = Case::new(world);
        let at = START + MILLISECOND * (40 - n);
        let claim = case.acquire("worker", at).await;
        let verdict = Verdict::Dead {
            raw: noise(1_000, u64::from(n)),
            failure: failure("no_use", 1, at),
        };
        assert!(case.settle(&claim, &verdict, at).await);
        expected.push(case.key().clone());
    }
    Case::done(world, 1).await;
    let mut found = Vec::new();
    for shard in 0..ATTENTION_SHARDS {
        let (mut from, mut last) = (None, None);
        loop {
            let page = world
                .ledger()
                .attention(world.bot(), AttentionKind::Dead, shard, from.as_ref())
                .await
                .expect("the listing answers");
            for letter in page.letters {
                assert!(letter.dead_at > last, "the newer one came first");
                last = letter.dead_at;
                assert_eq!(letter.need(START), Some(Need::Dead(AttentionKind::Dead)));
                found.push(letter.record.key);
            }
            from = page.next;
            if from.is_none() {
                break;
            }
        }
    }
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}
