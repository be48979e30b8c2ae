//! Repairs as a person makes them, over the ledger and the queue in memory.

use std::time::Duration;

use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::{BotId, LedgerKey, UpdateId, trace_id};
use penstock_domain::intent::{Call, IntentClaim, IntentState, plan as plan_calls};
use penstock_domain::kind::UpdateKind;
use penstock_domain::ledger::{ClaimRequest, Owner, State};
use penstock_domain::repair::{Act, Action, Misfit, Refused, SendRefused};
use penstock_domain::route::route;
use penstock_domain::time::Timestamp;
use penstock_formats::envelope::Envelope;
use penstock_formats::outbound::Outbound;
use penstock_ports::{
    AttentionKind, Claim, Commit, Commitment, Filed, Inbox as _, IntentSettlement, Need, Outbox,
    Repairs as _, SettleAs, Subject,
};
use penstock_testkit::contract::RETENTION;
use penstock_testkit::{FakeLedger, FakeQueue, Fault};

use crate::{
    Bulk, Filter, Redriven, RepairError, carry_out, discard, edit, editable, find, plan, redrive_all, resend,
    settle_unknown,
};

const BOT: BotId = BotId(7_000_001);
const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);

fn key(update: i64) -> LedgerKey {
    LedgerKey::new(BOT, UpdateId(update))
}

fn raw(update: i64, chat: i64, text: &str) -> String {
    format!(r#"{{"update_id":{update},"message":{{"message_id":1,"chat":{{"id":{chat}}},"text":"{text}"}}}}"#)
}

fn subject(update: i64, chat: i64) -> Subject {
    let found = route(raw(update, chat, "x").as_bytes()).unwrap();
    Subject {
        key: key(update),
        bot_id: BOT,
        update_id: update,
        kind: UpdateKind::Message,
        group: found.group(BOT),
        received_at: START + Duration::from_millis(u64::try_from(update).unwrap()),
        trace_id: trace_id(BOT, UpdateId(update)),
        digest: Some(found.digest),
    }
}

fn act(at: Timestamp) -> Act {
    Act::new("ada", "mended", at).unwrap()
}

/// A ledger with these dead Updates, each of its chat.
async fn dead(updates: &[(i64, i64)]) -> FakeLedger {
    let ledger = FakeLedger::new(RETENTION);
    for (update, chat) in updates {
        let failure = Failure::new("handler_panicked", "", Disposition::Transient, 3, START);
        let filed = ledger
            .file_dead(
                &subject(*update, *chat),
                0,
                &raw(*update, *chat, "x"),
                &failure,
                START,
            )
            .await;
        assert_eq!(filed.unwrap(), Filed::Dead);
    }
    ledger
}

async fn redrive(
    ledger: &FakeLedger,
    queue: &FakeQueue,
    update: i64,
    at: Timestamp,
) -> Result<Redriven, RepairError> {
    let planned = plan(ledger, &key(update), at).await?;
    carry_out(ledger, queue, planned, &act(at)).await
}

#[tokio::test]
async fn a_redriven_update_is_in_the_queue_in_its_next_generation() {
    let (ledger, queue) = (dead(&[(1, 5)]).await, FakeQueue::default());
    let done = redrive(&ledger, &queue, 1, START).await.unwrap();
    assert_eq!((done.generation, done.is_repeat), (1, false));
    let messages = queue.messages();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].deduplication.0, "7000001:1:r1");
    assert_eq!(messages[0].group, subject(1, 5).group);
    let envelope = Envelope::read(&messages[0].body).unwrap();
    assert_eq!(
        (envelope.redrive, envelope.key, envelope.update),
        (1, "7000001:1", raw(1, 5, "x").as_str())
    );
    assert_eq!(Some(envelope.digest), subject(1, 5).digest);
    assert_eq!(envelope.received_at, subject(1, 5).received_at);
    assert_eq!(ledger.record(&key(1)).unwrap().state, State::Pending);
}

#[tokio::test]
async fn a_plan_changes_nothing() {
    let (ledger, queue) = (dead(&[(1, 5)]).await, FakeQueue::default());
    let before = ledger.row(&key(1));
    plan(&ledger, &key(1), START).await.unwrap();
    assert_eq!((ledger.row(&key(1)), queue.calls()), (before, 0));
}

#[tokio::test]
async fn of_two_redrives_of_what_both_saw_dead_one_is_made() {
    let (ledger, queue) = (dead(&[(1, 5)]).await, FakeQueue::default());
    let (one, other) = (
        plan(&ledger, &key(1), START).await.unwrap(),
        plan(&ledger, &key(1), START).await.unwrap(),
    );
    let bob = Act::new("bob", "mended too", START).unwrap();
    carry_out(&ledger, &queue, one, &act(START)).await.unwrap();
    let refused = carry_out(&ledger, &queue, other, &bob).await.unwrap_err();
    assert!(
        matches!(refused, RepairError::Refused(Refused::JustRedriven)),
        "{refused}"
    );
    assert_eq!(
        (queue.messages().len(), ledger.audit(&key(1)).await.unwrap().len()),
        (1, 1)
    );
}

#[tokio::test]
async fn a_redrive_whose_copy_was_lost_is_listed_after_a_minute_and_repeated_without_a_second_audit_row() {
    let (ledger, queue) = (dead(&[(1, 5)]).await, FakeQueue::default());
    queue.fail_next(1, Fault::Unavailable);
    let failed = redrive(&ledger, &queue, 1, START).await.unwrap_err();
    assert!(matches!(failed, RepairError::NotQueued(_)), "{failed}");
    let listed = async |at| {
        let found = find(&ledger, BOT, &AttentionKind::ALL, &Filter::default(), 10, at).await;
        found
            .unwrap()
            .letters
            .into_iter()
            .map(|(_, need)| need)
            .collect::<Vec<_>>()
    };
    let soon = START + MINUTE - Duration::from_millis(1);
    assert_eq!(listed(soon).await, []);
    let early = redrive(&ledger, &queue, 1, soon).await.unwrap_err();
    assert!(
        matches!(early, RepairError::Refused(Refused::JustRedriven)),
        "{early}"
    );
    assert_eq!(listed(START + MINUTE).await, [Need::StuckRedrive]);
    let before = ledger.row(&key(1));
    for _ in 0..2 {
        let again = redrive(&ledger, &queue, 1, START + MINUTE).await.unwrap();
        assert_eq!((again.generation, again.is_repeat), (1, true));
    }
    assert_eq!(queue.messages().len(), 1, "the same id is put in once");
    assert_eq!(ledger.row(&key(1)), before, "a repeat writes nothing");
    assert_eq!(ledger.audit(&key(1)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_no_update_is_refused_with_the_cure() {
    let ledger = FakeLedger::new(RETENTION);
    let quarantined = LedgerKey::quarantined(BOT, b"nonsense");
    let stranger = Subject::stranger(quarantined.clone(), BOT, "7000001:q:1", START);
    let failure = Failure::new("unparseable", "", Disposition::Permanent, 1, START);
    ledger
        .file_dead(&stranger, 0, "bm9uc2Vuc2U=", &failure, START)
        .await
        .unwrap();
    let refused = plan(&ledger, &quarantined, START).await.unwrap_err().to_string();
    assert!(
        refused.contains("--raw") && refused.contains("discard"),
        "{refused}"
    );
    assert!(editable(&ledger, &quarantined, START).await.is_err());
    discard(&ledger, &quarantined, &act(START)).await.unwrap();
    assert_eq!(ledger.row(&quarantined).unwrap().attention, None);
    let absent = plan(&ledger, &key(9), START).await.unwrap_err();
    assert!(matches!(absent, RepairError::NotFound(_)), "{absent}");
}

#[tokio::test]
async fn a_chats_letters_are_redriven_oldest_first_and_none_overtakes_one_that_failed() {
    let (ledger, queue) = (
        dead(&[(4, 5), (2, 6), (3, 5), (1, 5)]).await,
        FakeQueue::default(),
    );
    let found = find(
        &ledger,
        BOT,
        &[AttentionKind::Dead],
        &Filter::default(),
        10,
        START,
    )
    .await
    .unwrap();
    // The second call is the one for update 2, of the other chat; the third is for update 3.
    queue.fail_call(3, Fault::Unavailable);
    let mut told = Vec::new();
    let letters: Vec<_> = found.letters.into_iter().map(|(letter, _)| letter).collect();
    redrive_all(&ledger, &queue, letters, &act(START), |letter, outcome| {
        let what = match outcome {
            Bulk::Redriven(_) => "redriven",
            Bulk::Failed(_) => "failed",
            Bulk::Held => "held",
        };
        told.push((letter.subject.update_id, what));
    })
    .await;
    assert_eq!(
        told,
        [(1, "redriven"), (2, "redriven"), (3, "failed"), (4, "held")]
    );
    let ids: Vec<_> = queue
        .messages()
        .into_iter()
        .map(|sent| sent.deduplication.0)
        .collect();
    assert_eq!(ids, ["7000001:1:r1", "7000001:2:r1"]);
    assert_eq!(ledger.record(&key(4)).unwrap().state, State::Dead);
}

#[tokio::test]
async fn a_filter_takes_what_it_names_and_a_listing_says_that_there_is_more() {
    let ledger = dead(&[(1, 5), (2, 6), (3, 5)]).await;
    let later = START + MINUTE;
    let ids = async |filter: Filter, most| {
        let found = find(&ledger, BOT, &[AttentionKind::Dead], &filter, most, later)
            .await
            .unwrap();
        let ids: Vec<_> = found
            .letters
            .iter()
            .map(|(letter, _)| letter.subject.update_id)
            .collect();
        (ids, found.has_more)
    };
    let with = |code: Option<&str>, older_than, group| Filter {
        code: code.map(str::to_owned),
        older_than,
        group,
    };
    assert_eq!(ids(with(None, None, None), 3).await, (vec![1, 2, 3], false));
    assert_eq!(ids(with(None, None, None), 2).await, (vec![1, 2], true));
    assert_eq!(
        ids(with(Some("handler_panicked"), None, Some(subject(1, 5).group)), 9)
            .await
            .0,
        [1, 3]
    );
    assert_eq!(
        ids(with(Some("worker_died"), None, None), 9).await.0,
        [] as [i64; 0]
    );
    assert_eq!(ids(with(None, Some(MINUTE), None), 9).await.0.len(), 3);
    assert_eq!(ids(with(None, Some(2 * MINUTE), None), 9).await.0.len(), 0);
    let nobody = find(
        &ledger,
        BotId(8),
        &AttentionKind::ALL,
        &Filter::default(),
        9,
        later,
    )
    .await
    .unwrap();
    assert!(nobody.letters.is_empty());
}

#[tokio::test]
async fn an_edited_letter_keeps_its_id_and_is_redriven_with_its_new_body_and_its_first_digest() {
    let (ledger, queue) = (dead(&[(1, 5)]).await, FakeQueue::default());
    let letter = editable(&ledger, &key(1), START).await.unwrap();
    for (wrong, is_misfit) in [
        (raw(2, 5, "y"), true),
        (raw(1, 6, "y"), true),
        (letter.raw().to_owned(), true),
        (raw(1, 5, &"y".repeat(1024 * 1024)), false),
    ] {
        let refused = edit(&ledger, &letter, &wrong, &act(START)).await.unwrap_err();
        assert_eq!(matches!(refused, RepairError::Misfit(_)), is_misfit, "{refused}");
        assert_eq!(
            matches!(refused, RepairError::TooLong(_)),
            !is_misfit,
            "{refused}"
        );
    }
    let other_id = letter.check(&raw(2, 5, "y")).unwrap_err();
    assert!(
        matches!(
            other_id,
            RepairError::Misfit(Misfit::OtherId { kept: 1, found: 2 })
        ),
        "{other_id}"
    );
    let new = raw(1, 5, "y");
    edit(&ledger, &letter, &new, &act(START)).await.unwrap();
    let late = edit(&ledger, &letter, &raw(1, 5, "z"), &act(START))
        .await
        .unwrap_err();
    assert!(matches!(late, RepairError::Changed), "{late}");
    redrive(&ledger, &queue, 1, START).await.unwrap();
    let messages = queue.messages();
    let envelope = Envelope::read(&messages[0].body).unwrap();
    assert_eq!(
        (envelope.update, Some(envelope.digest)),
        (new.as_str(), subject(1, 5).digest)
    );
    let audit = ledger.audit(&key(1)).await.unwrap();
    let actions: Vec<_> = audit.iter().map(|row| row.action).collect();
    assert_eq!(actions, [Action::Edit, Action::Redrive]);
}

#[tokio::test]
async fn a_discarded_letter_is_listed_no_more_and_comes_back_only_by_its_key() {
    let (ledger, queue) = (dead(&[(1, 5)]).await, FakeQueue::default());
    discard(&ledger, &key(1), &act(START)).await.unwrap();
    let found = find(&ledger, BOT, &AttentionKind::ALL, &Filter::default(), 9, START)
        .await
        .unwrap();
    assert!(found.letters.is_empty());
    let again = discard(&ledger, &key(1), &act(START)).await.unwrap_err();
    assert!(
        matches!(again, RepairError::Refused(Refused::Discarded)),
        "{again}"
    );
    assert_eq!(redrive(&ledger, &queue, 1, START).await.unwrap().generation, 1);
}

/// An Update that is done, whose only send ended like this.
async fn done(settle: SettleAs) -> FakeLedger {
    let ledger = FakeLedger::new(RETENTION);
    let request = ClaimRequest {
        owner: Owner("worker".to_owned()),
        redrive: 0,
        digest: subject(1, 5).digest.unwrap(),
        now: START,
        lease_until: START + MINUTE,
    };
    let Claim::Acquired(claim) = ledger.claim(&subject(1, 5), &request).await.unwrap() else {
        panic!("refused")
    };
    let call = Call::new("sendMessage", r#"{"chat_id":5,"text":"hello"}"#.to_owned());
    let commit = Commit {
        intents: plan_calls(BOT, vec![call]).unwrap(),
        state: None,
        writes: Vec::new(),
        result: "ok".to_owned(),
    };
    let committed = ledger
        .commit(
            &subject(1, 5),
            &penstock_ports::RunAs::Claimed(claim),
            &commit,
            START,
        )
        .await
        .unwrap();
    assert_eq!(committed, Commitment::Done);
    let start = IntentClaim {
        owner: Owner("sender".to_owned()),
        n: 0,
        redrive: 0,
        resend: 0,
        previous: None,
        refers_to: None,
        now: START,
        lease_until: START + MINUTE,
    };
    ledger.start(&key(1), &start).await.unwrap();
    let settlement = IntentSettlement {
        key: key(1),
        n: 0,
        of: 1,
        owner: Some(Owner("sender".to_owned())),
        settle,
        now: START,
    };
    assert!(Outbox::settle(&ledger, &settlement).await.unwrap());
    ledger
}

fn ended(code: &str) -> Failure {
    Failure::new(code, "", Disposition::Permanent, 1, START)
}

#[tokio::test]
async fn a_send_that_is_made_again_has_a_new_id_so_that_five_minutes_do_not_swallow_it() {
    for settle in [
        SettleAs::Failed {
            failure: ended("bot_api_400"),
        },
        SettleAs::Unknown {
            failure: ended("bot_api_no_answer"),
        },
    ] {
        let (ledger, queue) = (done(settle).await, FakeQueue::default());
        let resent = resend(&ledger, &queue, &key(1), 0, &act(START)).await.unwrap();
        assert_eq!((resent.resend, resent.is_repeat), (1, false));
        let messages = queue.messages();
        assert_eq!(messages[0].deduplication.0, "7000001:1:0:s1");
        let outbound = Outbound::read(&messages[0].body).unwrap();
        assert_eq!(
            (outbound.n, outbound.of, outbound.resend, outbound.redrive),
            (0, 1, 1, 0)
        );
        assert_eq!(ledger.intent_states(&key(1)), [IntentState::Intended]);
        let early = resend(&ledger, &queue, &key(1), 0, &act(START))
            .await
            .unwrap_err();
        assert!(
            matches!(early, RepairError::SendRefused(SendRefused::JustResent)),
            "{early}"
        );
        let again = resend(&ledger, &queue, &key(1), 0, &act(START + MINUTE))
            .await
            .unwrap();
        assert_eq!((again.resend, again.is_repeat), (1, true));
        assert_eq!(
            (queue.messages().len(), ledger.audit(&key(1)).await.unwrap().len()),
            (1, 1)
        );
    }
}

#[tokio::test]
async fn a_send_whose_copy_was_lost_on_its_way_is_listed_after_a_minute() {
    let ledger = done(SettleAs::Failed {
        failure: ended("bot_api_400"),
    })
    .await;
    let queue = FakeQueue::default();
    queue.fail_next(1, Fault::NeverArrived);
    let lost = resend(&ledger, &queue, &key(1), 0, &act(START))
        .await
        .unwrap_err();
    assert!(matches!(lost, RepairError::NotQueued(_)), "{lost}");
    let found = find(
        &ledger,
        BOT,
        &[AttentionKind::Unknown],
        &Filter::default(),
        9,
        START + MINUTE,
    )
    .await;
    let needs: Vec<_> = found.unwrap().letters.into_iter().map(|(_, need)| need).collect();
    let stuck = Need::Sends {
        unknown: Vec::new(),
        stuck: vec![0],
    };
    assert_eq!(needs, [stuck]);
}

#[tokio::test]
async fn only_an_unknown_send_is_settled_by_a_person() {
    let ledger = done(SettleAs::Unknown {
        failure: ended("bot_api_no_answer"),
    })
    .await;
    settle_unknown(&ledger, &key(1), 0, &act(START)).await.unwrap();
    assert_eq!(ledger.intent_states(&key(1)), [IntentState::Sent]);
    let again = settle_unknown(&ledger, &key(1), 0, &act(START))
        .await
        .unwrap_err();
    let sent = SendRefused::NotUnknown(IntentState::Sent);
    assert!(matches!(again, RepairError::SendRefused(refused) if refused == sent));
    assert!(matches!(
        settle_unknown(&ledger, &key(1), 4, &act(START))
            .await
            .unwrap_err(),
        RepairError::NoSuchSend(4)
    ));
}
