//! Updates that are handed to a backend: what it is given, what its answers become, and what waits while it is away.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use penstock_domain::breaker::{Breaker, FIRST_WAIT, ProbeAnswer};
use penstock_domain::intent::Call;
use penstock_ports::{Backend, BackendError, Excerpt, Forward, Silence, Unreached};

use super::*;
use crate::logic::{Backends, Forwarding, NoBackend};

type Answer = Result<Option<Call>, BackendError>;
/// Key, body, attempt and fence.
type Given = (String, String, u32, u64);

/// What a backend was given, and what it answers next; without a script it answers well.
#[derive(Debug, Clone, Default)]
pub(super) struct Scripted {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    given: Arc<Mutex<Vec<Given>>>,
    is_away: Arc<Mutex<bool>>,
    heads: Arc<Mutex<u32>>,
    is_unfit: Arc<Mutex<bool>>,
}

impl Scripted {
    pub(super) fn answers(&self, answer: Answer) {
        self.answers.lock().unwrap().push_back(answer);
    }

    pub(super) fn given(&self) -> Vec<Given> {
        self.given.lock().unwrap().clone()
    }

    pub(super) fn goes_away(&self, is_away: bool) {
        *self.is_away.lock().unwrap() = is_away;
    }

    pub(super) fn heads(&self) -> u32 {
        *self.heads.lock().unwrap()
    }
}

impl Backend for Scripted {
    async fn deliver(&self, forward: &Forward<'_>) -> Result<Option<Call>, BackendError> {
        self.given.lock().unwrap().push((
            forward.key.as_str().to_owned(),
            forward.update.to_owned(),
            forward.attempt,
            forward.fence,
        ));
        if *self.is_away.lock().unwrap() {
            return Err(BackendError::Unreachable(Unreached::Refused));
        }
        self.answers.lock().unwrap().pop_front().unwrap_or(Ok(None))
    }

    async fn probe(&self) -> ProbeAnswer {
        *self.heads.lock().unwrap() += 1;
        if *self.is_away.lock().unwrap() {
            ProbeAnswer::Nothing
        } else {
            ProbeAnswer::Status(404)
        }
    }
}

impl Backends for Scripted {
    type Backend = Self;

    async fn of(&self, _bot: BotId) -> Result<Self, NoBackend> {
        if *self.is_unfit.lock().unwrap() {
            return Err(NoBackend::Unfit("it is no URL".to_owned()));
        }
        Ok(self.clone())
    }
}

pub(super) type Forwards = Processor<FakeLedger, Forwarding<Scripted, FakeLedger>>;

fn forwards() -> (Forwards, Scripted) {
    let backend = Scripted::default();
    let logic = Forwarding::new(backend.clone(), FakeLedger::new(RETENTION), "here");
    (processor(FakeLedger::new(RETENTION), logic), backend)
}

pub(super) fn bad_gateway() -> BackendError {
    BackendError::Refused {
        status: 502,
        retry_after: None,
        excerpt: Excerpt::default(),
    }
}

fn state(world: &Forwards, update: i64) -> (State, u32) {
    let row = world.inbox.row(&key(update)).unwrap();
    (row.record.state, row.record.attempts)
}

#[tokio::test]
async fn an_update_is_handed_over_as_it_came_under_its_claim_and_its_reply_is_sent() {
    let (world, backend) = forwards();
    let call = Call::new("sendMessage", r#"{"chat_id":5,"text":"hello"}"#.to_owned());
    backend.answers(Ok(Some(call)));
    let back = deliver(&world, &[fresh(1, 5)]).await;
    assert!(back.is_empty());
    assert_eq!(
        backend.given(),
        [(key(1).as_str().to_owned(), message(1, 5), 1, 1)]
    );
    let row = world.inbox.row(&key(1)).unwrap();
    assert_eq!((row.record.state, row.record.fence.0), (State::Done, 1));
    let sent = world.outbound.messages();
    assert_eq!(sent.len(), 1);
    assert_eq!(Outbound::read(&sent[0].body).unwrap().call.method, "sendMessage");
}

#[tokio::test]
async fn an_update_is_claimed_before_its_backend_sees_it() {
    let (world, backend) = forwards();
    // Another worker has it: an unclaimed run would be a second one.
    let first = fresh(1, 5);
    let envelope = penstock_formats::envelope::Envelope::read(&first.body).unwrap();
    let request = ClaimRequest {
        owner: Owner("another".to_owned()),
        redrive: 0,
        digest: envelope.digest,
        now: START,
        lease_until: START + Duration::from_secs(18),
    };
    let subject = Subject {
        key: key(1),
        bot_id: BOT,
        update_id: 1,
        kind: UpdateKind::Message,
        group: penstock_domain::ids::MessageGroupId(first.group.clone()),
        received_at: START,
        trace_id: trace_id(BOT, UpdateId(1)),
        digest: Some(envelope.digest),
    };
    assert!(matches!(
        world.inbox.claim(&subject, &request).await,
        Ok(Claim::Acquired(_))
    ));
    deliver(&world, &[first]).await;
    assert_eq!(backend.given(), []);
}

#[tokio::test]
async fn while_the_backend_is_away_no_attempt_is_burned_and_what_comes_writes_no_record() {
    let (world, backend) = forwards();
    backend.goes_away(true);
    // The try that finds it away opens the breaker and is given back.
    assert_eq!(
        deliver(&world, &[record(1, 5)]).await,
        back(&[("m1", FIRST_WAIT.as_secs())])
    );
    assert_eq!(state(&world, 1), (State::Deferred, 0));
    // What comes now waits, unseen by the backend and without a record.
    let waiting = deliver(&world, &[record(2, 6), record(3, 7)]).await;
    assert_eq!(waiting.len(), 2);
    assert_eq!(backend.given().len(), 1);
    assert!(world.inbox.row(&key(2)).is_none() && world.inbox.row(&key(3)).is_none());
    // A day of it: each delivery waits longer, and nothing is burned.
    let (mut again_and_again, mut receives) = (record(2, 6), 1);
    let end = world.clock.now() + Duration::from_secs(86_400);
    while world.clock.now() < end {
        let waits = deliver(&world, std::slice::from_ref(&again_and_again)).await;
        world.clock.advance(waits[0].1);
        again_and_again = again(&again_and_again);
        receives += 1;
        assert!(receives < 300, "a message must not come near the queue's limit");
    }
    assert_eq!(
        (backend.given().len(), state(&world, 1)),
        (1, (State::Deferred, 0))
    );
    // It is asked by a HEAD, never by an Update, and comes back with the first good answer.
    let heads = backend.heads();
    assert!(heads > 0);
    backend.goes_away(false);
    world.clock.advance(Duration::from_secs(60));
    deliver_until_done(&world, &again_and_again).await;
    deliver_until_done(&world, &again(&record(1, 5))).await;
    assert_eq!(backend.heads(), heads + 1);
    assert_eq!(
        (state(&world, 1), state(&world, 2)),
        ((State::Done, 1), (State::Done, 1))
    );
}

#[tokio::test]
async fn an_update_that_fells_its_backend_dies_of_its_attempts_and_holds_nobody_up() {
    let (world, backend) = forwards();
    let mut failing = record(1, 5);
    for other in 100..120 {
        backend.answers(Err(bad_gateway()));
        let answered = deliver(&world, std::slice::from_ref(&failing)).await;
        assert!(
            deliver(&world, &[record(other, 6)]).await.is_empty(),
            "another has to wait"
        );
        assert_eq!(state(&world, other).0, State::Done);
        let Some((_, wait)) = answered.first() else { break };
        world.clock.advance(*wait);
        failing = again(&failing);
    }
    assert_eq!(state(&world, 1), (State::Dead, 8));
    assert_eq!(backend.heads(), 1, "only its last try asks first");
}

#[tokio::test]
async fn a_lone_chat_behind_a_gateway_keeps_its_last_attempt_until_the_backend_is_back() {
    let (world, backend) = forwards();
    let mut waiting = record(1, 5);
    for _ in 0..7 {
        backend.answers(Err(bad_gateway()));
        let wait = deliver(&world, std::slice::from_ref(&waiting)).await[0].1;
        world.clock.advance(wait);
        waiting = again(&waiting);
    }
    assert_eq!(state(&world, 1), (State::Retrying, 7));
    backend.goes_away(true);
    for _ in 0..20 {
        let wait = deliver(&world, std::slice::from_ref(&waiting)).await[0].1;
        world.clock.advance(wait);
        waiting = again(&waiting);
    }
    assert_eq!(
        (state(&world, 1), backend.given().len()),
        ((State::Deferred, 7), 7)
    );
    backend.goes_away(false);
    deliver_until_done(&world, &waiting).await;
    assert_eq!(state(&world, 1), (State::Done, 8));
}

#[tokio::test]
async fn a_wait_that_a_backend_asks_for_is_a_floor_and_a_refusal_is_a_dead_letter_with_its_words() {
    let (world, backend) = forwards();
    backend.answers(Err(BackendError::Refused {
        status: 503,
        retry_after: Some(Duration::from_secs(40)),
        excerpt: Excerpt::default(),
    }));
    let wait = deliver(&world, &[record(1, 5)]).await[0].1;
    assert!(wait >= Duration::from_secs(40), "{wait:?}");
    backend.answers(Err(BackendError::Refused {
        status: 404,
        retry_after: None,
        excerpt: Excerpt::masked("no such page".to_owned()),
    }));
    assert!(deliver(&world, &[record(2, 6)]).await.is_empty());
    let row = world.inbox.row(&key(2)).unwrap();
    let tried = row.record.tries.last().unwrap();
    assert_eq!(
        (row.record.state, tried.code.as_str()),
        (State::Dead, "backend_404")
    );
    assert!(tried.message.contains("check the path") && tried.message.contains("no such page"));
}

#[tokio::test]
async fn a_silence_burns_an_attempt_and_does_not_open_the_breaker() {
    let (world, backend) = forwards();
    let silent = || {
        Err(BackendError::NoAnswer {
            why: Silence::BrokenOff,
            excerpt: Excerpt::default(),
        })
    };
    for update in 1..4 {
        backend.answers(silent());
        deliver(&world, &[record(update, update)]).await;
        assert_eq!(state(&world, update), (State::Retrying, 1));
    }
    assert!(deliver(&world, &[record(9, 9)]).await.is_empty());
    assert!(matches!(world.inbox.breaker_of(BOT).0, Breaker::Closed { .. }));
}

#[tokio::test]
async fn a_backend_that_is_none_burns_no_attempt_and_is_asked_for_less_and_less_often() {
    let (world, backend) = forwards();
    *backend.is_unfit.lock().unwrap() = true;
    let mut waiting = record(1, 5);
    let mut waits = Vec::new();
    for _ in 0..9 {
        let wait = deliver(&world, std::slice::from_ref(&waiting)).await[0].1;
        assert_eq!(state(&world, 1), (State::Deferred, 0));
        world.clock.advance(wait);
        waits.push(wait.as_secs());
        waiting = again(&waiting);
    }
    assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 600, 600]);
    *backend.is_unfit.lock().unwrap() = false;
    deliver_until_done(&world, &waiting).await;
    assert_eq!(state(&world, 1), (State::Done, 1));
}
