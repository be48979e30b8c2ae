//! A table or a queue that fails at any call: whatever was applied, there is one outcome and it is dispatched.

use std::sync::atomic::{AtomicU32, Ordering};

use penstock_domain::data::{DataItem, DataKey};
use penstock_domain::failure::Failure;
use penstock_domain::ledger::{Fence, Record as Ledgered};
use penstock_ports::{Commit, Commitment, Filed, PortError, RunAs, Settlement, TakeOver, Verdict};
use penstock_testkit::Fault;

use super::*;

#[tokio::test]
async fn whichever_call_fails_and_however_there_is_one_outcome_and_one_dispatch() {
    for fault in [Fault::Unavailable, Fault::NeverArrived, Fault::AnswerLost] {
        for nth in 1..=6 {
            let world = world();
            world.inbox.fail_call(nth, fault);
            let deliveries = deliver_until_done(&world, &record(1, 5)).await;
            let row = row(&world, 1);
            assert_eq!(row.record.state, State::Done, "{fault:?} at call {nth}");
            assert_eq!(sends(&world).len(), 1, "{fault:?} at call {nth}");
            // A claim of which nobody knows whether it landed is made once more at once.
            let is_repeated = nth == 1 && fault != Fault::Unavailable;
            assert!(
                nth > 2 || is_repeated || deliveries > 1,
                "{fault:?} at call {nth} went unnoticed"
            );
            assert_eq!(row.record.attempts, 1, "{fault:?} at call {nth}");
        }
    }
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_not_run_again() {
    let world = world();
    world.inbox.fail_call(2, Fault::AnswerLost);
    assert_eq!(deliver(&world, &[record(1, 5)]).await, back(&[("m1", 2)]));
    assert_eq!(
        (row(&world, 1).record.state, sends(&world).len()),
        (State::Done, 0)
    );
    assert_eq!(deliver(&world, &[again(&record(1, 5))]).await, back(NONE));
    assert_eq!((world.bot.ran(), sends(&world).len()), (vec![1], 1));
}

/// The claim counted the try; a commit that the table does not take for now gives it back.
#[tokio::test]
async fn a_table_that_takes_claims_but_no_commits_uses_up_no_attempts() {
    let world = world();
    let mut record = record(1, 5);
    for _ in 0..12 {
        // The claim passes, the commit does not.
        world.inbox.fail_call(world.inbox.calls() + 2, Fault::Unavailable);
        let answered = deliver(&world, std::slice::from_ref(&record)).await;
        assert_eq!(row(&world, 1).record.attempts, 0);
        world.clock.advance(answered[0].1);
        record = again(&record);
    }
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    assert_eq!(
        (row(&world, 1).record.state, row(&world, 1).record.attempts),
        (State::Done, 1)
    );
}

#[tokio::test]
async fn a_table_that_is_away_burns_no_attempt_and_runs_no_bot() {
    let world = world();
    world.inbox.fail_next(3, Fault::Unavailable);
    let mut record = record(1, 5);
    for wait in [5, 10, 20] {
        assert_eq!(
            deliver(&world, std::slice::from_ref(&record)).await,
            back(&[("m1", wait)])
        );
        record = again(&record);
    }
    assert!(world.bot.ran().is_empty());
    assert_eq!(deliver(&world, &[record]).await, back(NONE));
    assert_eq!(row(&world, 1).record.attempts, 1);
}

#[tokio::test]
async fn a_dead_letter_that_cannot_be_written_now_is_not_lost() {
    for fault in [Fault::Unavailable, Fault::NeverArrived, Fault::AnswerLost] {
        let world = world();
        world.bot.told(
            1,
            Act::Fail(penstock_bot::BotError::Permanent {
                code: "no",
                message: String::new(),
            }),
        );
        world.inbox.fail_call(2, fault);
        deliver_until_done(&world, &record(1, 5)).await;
        let row = row(&world, 1);
        assert_eq!(row.record.state, State::Dead, "{fault:?}");
        assert_eq!(row.raw.as_deref(), Some(message(1, 5).as_str()));
    }
}

#[tokio::test]
async fn an_outcome_that_the_table_will_never_take_is_parked_at_once_and_its_group_goes_on() {
    let world = world();
    world.inbox.fail_call(2, Fault::Rejected);
    assert_eq!(deliver(&world, &[record(1, 5), record(2, 5)]).await, back(NONE));
    let row = row(&world, 1);
    assert_eq!(
        (row.record.state, row.record.tries[0].code.as_str()),
        (State::Dead, "invalid_calls")
    );
    assert_eq!(super::row(&world, 2).record.state, State::Done);
}

/// A ledger in which somebody else changes the chat's state before each of the first commits.
struct Meddled {
    ledger: FakeLedger,
    conflicts: AtomicU32,
}

impl Inbox for Meddled {
    async fn claim(&self, subject: &Subject, request: &ClaimRequest) -> Result<Claim, PortError> {
        self.ledger.claim(subject, request).await
    }
    async fn take_over(
        &self,
        subject: &Subject,
        request: &ClaimRequest,
        seen: Fence,
    ) -> Result<TakeOver, PortError> {
        self.ledger.take_over(subject, request, seen).await
    }
    async fn commit(
        &self,
        subject: &Subject,
        run: &RunAs,
        commit: &Commit,
        now: Timestamp,
    ) -> Result<Commitment, PortError> {
        let left = self
            .conflicts
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        let mut commit = commit.clone();
        if let (Ok(_), Some(state)) = (left, &mut commit.state) {
            state.read_version += 1;
        }
        self.ledger.commit(subject, run, &commit, now).await
    }
    async fn settle(
        &self,
        subject: &Subject,
        run: &RunAs,
        verdict: &Verdict,
        now: Timestamp,
    ) -> Result<Settlement, PortError> {
        Inbox::settle(&self.ledger, subject, run, verdict, now).await
    }
    async fn file_dead(
        &self,
        subject: &Subject,
        redrive: u32,
        raw: &str,
        failure: &Failure,
        now: Timestamp,
    ) -> Result<Filed, PortError> {
        self.ledger.file_dead(subject, redrive, raw, failure, now).await
    }
    async fn read(&self, key: &LedgerKey) -> Result<Option<Ledgered>, PortError> {
        self.ledger.read(key).await
    }
    async fn chat_state(&self, bot: BotId, chat: &str) -> Result<Option<(String, u64)>, PortError> {
        self.ledger.chat_state(bot, chat).await
    }
    async fn data(&self, bot: BotId, keys: &[DataKey]) -> Result<Vec<Option<DataItem>>, PortError> {
        self.ledger.data(bot, keys).await
    }
}

fn meddled(conflicts: u32) -> Processor<Meddled, ScriptedBot> {
    let ledger = FakeLedger::new(RETENTION);
    processor(
        Meddled {
            ledger,
            conflicts: AtomicU32::new(conflicts),
        },
        ScriptedBot::that_keeps_state(),
    )
}

#[tokio::test]
async fn an_update_whose_chat_state_changed_meanwhile_is_run_again_at_once_and_burns_nothing() {
    let world = meddled(3);
    assert_eq!(deliver(&world, &[record(1, 5)]).await, back(NONE));
    let row = world.inbox.ledger.row(&key(1)).unwrap();
    assert_eq!(
        (row.record.state, row.record.attempts, row.record.tries.len()),
        (State::Done, 1, 0)
    );
    assert_eq!(world.bot.ran(), [1, 1, 1, 1]);
    assert!(world.bot.runs().iter().all(|run| run.attempt == 1));
    assert_eq!(world.outbound.messages().len(), 1);
}

#[tokio::test]
async fn the_fourth_conflict_in_a_row_is_a_failed_try() {
    let world = meddled(4);
    assert_eq!(deliver(&world, &[record(1, 5)]).await, back(&[("m1", 2)]));
    let row = world.inbox.ledger.row(&key(1)).unwrap();
    assert_eq!(
        (row.record.state, row.record.tries[0].code.as_str()),
        (State::Retrying, "state_conflict")
    );
    assert_eq!(world.bot.ran().len(), 4);
    world.clock.advance(Duration::from_secs(2));
    assert_eq!(deliver(&world, &[again(&record(1, 5))]).await, back(NONE));
    assert_eq!(world.inbox.ledger.record(&key(1)).unwrap().attempts, 2);
}

/// The clock of a runtime whose time the test sets.
struct RuntimeClock(tokio::time::Instant);

impl penstock_ports::Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        START + self.0.elapsed()
    }
}

/// Four runs of a slow handler would outlast the lease and the function.
#[tokio::test(start_paused = true)]
async fn a_slow_update_is_not_run_again_when_its_lease_could_end_meanwhile() {
    let Deps {
        inbox,
        updates,
        outbound,
        bot,
        draw,
        states,
        ..
    } = meddled(4);
    bot.told(1, Act::Work(Duration::from_secs(7)));
    let clock = RuntimeClock(tokio::time::Instant::now());
    let deps = Deps {
        inbox,
        updates,
        outbound,
        bot,
        clock,
        draw,
        states,
    };
    let response = handle(&deps, &[record(1, 5)], &PLENTY).await;
    assert_eq!(response.batch_item_failures.len(), 1);
    assert_eq!(deps.bot.ran(), [1]);
    let record = deps.inbox.ledger.record(&key(1)).unwrap();
    assert_eq!(
        (record.state, record.tries[0].code.as_str()),
        (State::Retrying, "state_conflict")
    );
}

/// It answers, and would answer the same for days: no wait cures that.
#[tokio::test]
async fn a_store_that_refuses_for_good_uses_up_the_tries_and_is_told() {
    for first in [record(1, 5), fresh(1, 5)] {
        let world = processor(FakeLedger::new(RETENTION), ScriptedBot::that_keeps_state());
        let mut delivery = first;
        let mut deliveries = 0;
        loop {
            // The read of the chat's state: after the claim, where one is made.
            let claims = deliveries > 0 || delivery.sent_at_ms == MOVED_AT.as_millis();
            let read = world.inbox.calls() + 1 + u64::from(claims);
            world.inbox.fail_call(read, Fault::Rejected);
            deliveries += 1;
            let Some((_, wait)) = deliver(&world, std::slice::from_ref(&delivery)).await.pop() else {
                break;
            };
            world.clock.advance(wait);
            delivery = again(&delivery);
        }
        let row = world.inbox.row(&key(1)).unwrap();
        assert_eq!(
            (row.record.state, row.record.attempts, deliveries),
            (State::Dead, 3, 3)
        );
        assert!(
            row.record
                .tries
                .iter()
                .all(|failure| failure.code == "store_refuses")
        );
        assert!(row.raw.is_some() && world.bot.ran().is_empty());
    }
}
