//! The promises of [`Inbox`], [`Outbox`], [`Repairs`] and [`Breakers`], as one suite that runs on the fake and on the real table alike. Never
//! looks behind the ports, but for the few things that a [`World`] shows. Every case makes its own Update.

pub mod breakers;
pub mod claim;
pub mod dead;
pub mod gates;
pub mod intents;
pub mod outcome;
pub mod records;
pub mod repairs;
pub mod resends;
pub mod unclaimed;
pub mod unknown;

use std::time::Duration;

use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::{BotId, LedgerKey, MessageGroupId, Scope, UpdateDigest, UpdateId, trace_id};
use penstock_domain::intent::{Call, Intent, IntentClaim, IntentState, plan};
use penstock_domain::kind::UpdateKind;
use penstock_domain::ledger::{ClaimRequest, Owner, Record, Refusal, Retention, State};
use penstock_domain::time::Timestamp;
use penstock_ports::{
    Breakers, Claim, ClaimAs, Commit, Commitment, Inbox, IntentSettlement, IntentStart, Letter, Outbox,
    Repaired, Repairs, RunAs, SettleAs, Settlement, StateWrite, Subject, TakeOver, Verdict,
};

const DAY: Duration = Duration::from_secs(86_400);

/// How long records live in a ledger that is under test.
pub const RETENTION: Retention = Retention {
    dedup_window: Duration::from_secs(7 * 86_400),
    dead: Duration::from_secs(90 * 86_400),
};

/// When every case begins. Later than today by years, so that no table cleans its rows away.
pub const START: Timestamp = Timestamp::from_millis(2_000_000_000_000);

/// How long the claims of a case hold.
const LEASE: Duration = Duration::from_secs(30);
/// The same, and the margin after it.
const LEASE_AND_MARGIN: Duration = Duration::from_secs(32);
const MILLISECOND: Duration = Duration::from_millis(1);
const DIGEST: UpdateDigest = UpdateDigest(0x00c0_ffee_00c0_ffee);

/// A ledger under test, and what the ports do not show of it.
pub trait World: Sync {
    /// The ledger.
    type Ledger: Inbox + Outbox + Repairs + Breakers;

    /// It. Its records live as long as [`RETENTION`] says.
    fn ledger(&self) -> &Self::Ledger;

    /// A bot that no other case uses.
    fn bot(&self) -> BotId;

    /// An update id that was not given before.
    fn fresh_update(&self) -> i64;

    /// A person sends a dead Update again, so that it is in that generation.
    fn redrive(&self, key: &LedgerKey, redrive: u32, now: Timestamp) -> impl Future<Output = ()> + Send {
        async move {
            let letter = read_letter(self.ledger(), key).await;
            let redriven = self.ledger().redrive(&letter, &repairs::act("ada", now)).await;
            assert_eq!(redriven.expect("redrive answers"), Repaired::Done);
            assert_eq!(letter.record.redrive + 1, redrive);
        }
    }

    /// A person has an intent sent again that failed or is unknown, so that it is in that resending.
    fn resend(&self, key: &LedgerKey, n: u8, resend: u32, now: Timestamp) -> impl Future<Output = ()> + Send {
        async move {
            let letter = read_letter(self.ledger(), key).await;
            let resent = self.ledger().resend(&letter, n, &repairs::act("ada", now)).await;
            assert_eq!(resent.expect("resend answers"), Repaired::Done);
            assert_eq!(letter.record.intents[usize::from(n)].resend + 1, resend);
        }
    }

    /// The raw body that is stored with an Update.
    fn raw_body(&self, key: &LedgerKey) -> impl Future<Output = Option<String>> + Send;

    /// The kind under which an Update is in the index of what needs a person.
    fn attention(&self, key: &LedgerKey) -> impl Future<Output = Option<String>> + Send;

    /// Until when a chat is held.
    fn hold(&self, bot: BotId, chat: &str) -> impl Future<Output = Option<Timestamp>> + Send;
}

async fn read_letter(ledger: &impl Repairs, key: &LedgerKey) -> Letter {
    let letter = ledger.letter(key).await.expect("letter answers");
    letter.expect("there is a record")
}

/// One Update under test.
struct Case<'w, W: World> {
    world: &'w W,
    subject: Subject,
}

impl<'w, W: World> Case<'w, W> {
    fn new(world: &'w W) -> Self {
        let (bot_id, update_id) = (world.bot(), world.fresh_update());
        let subject = Subject {
            key: LedgerKey::new(bot_id, UpdateId(update_id)),
            bot_id,
            update_id,
            kind: UpdateKind::Message,
            group: Scope::Chat("1001".to_owned()).group(bot_id),
            received_at: START,
            trace_id: trace_id(bot_id, UpdateId(update_id)),
            digest: None,
        };
        Self { world, subject }
    }

    /// An Update whose outcome is committed at [`START`], with so many sends to one chat.
    async fn done(world: &'w W, sends: usize) -> Self {
        let case = Self::new(world);
        let claim = case.acquire("worker", START).await;
        let commit = Commit {
            intents: case.sends(sends),
            state: None,
            writes: Vec::new(),
            result: "ok".to_owned(),
        };
        assert_eq!(case.commit(&claim, &commit, START).await, Commitment::Done);
        case
    }

    /// An Update that is parked at [`START`] with that raw body.
    async fn parked(world: &'w W, raw: &str) -> Self {
        let case = Self::new(world);
        let claim = case.acquire("worker", START).await;
        let verdict = Verdict::Dead {
            raw: raw.to_owned(),
            failure: failure("no_use", 1, START),
        };
        assert!(case.settle(&claim, &verdict, START).await);
        case
    }

    fn ledger(&self) -> &'w W::Ledger {
        self.world.ledger()
    }

    fn key(&self) -> &LedgerKey {
        &self.subject.key
    }

    fn sends(&self, count: usize) -> Vec<Intent> {
        let call = |n: usize| Call::new("sendMessage", format!(r#"{{"chat_id":1001,"text":"part {n}"}}"#));
        plan(self.subject.bot_id, (0..count).map(call).collect()).expect("the calls are valid")
    }

    async fn claim(&self, request: &ClaimRequest) -> Claim {
        self.ledger()
            .claim(&self.subject, request)
            .await
            .expect("claim answers")
    }

    async fn acquire(&self, owner: &str, now: Timestamp) -> ClaimAs {
        self.acquire_as(&request(owner, now)).await
    }

    async fn acquire_as(&self, request: &ClaimRequest) -> ClaimAs {
        match self.claim(request).await {
            Claim::Acquired(claim) => claim,
            refused @ Claim::Refused(..) => panic!("the claim was refused: {refused:?}"),
        }
    }

    async fn refused(&self, request: &ClaimRequest) -> Refusal {
        match self.claim(request).await {
            Claim::Refused(refusal, _) => refusal,
            Claim::Acquired(claim) => panic!("the claim was granted: {claim:?}"),
        }
    }

    async fn take_over(&self, request: &ClaimRequest, seen: &ClaimAs) -> TakeOver {
        self.ledger()
            .take_over(&self.subject, request, seen.fence)
            .await
            .expect("take-over answers")
    }

    async fn commit(&self, claim: &ClaimAs, commit: &Commit, now: Timestamp) -> Commitment {
        self.commit_run(&RunAs::Claimed(claim.clone()), commit, now).await
    }

    async fn commit_run(&self, run: &RunAs, commit: &Commit, now: Timestamp) -> Commitment {
        self.ledger()
            .commit(&self.subject, run, commit, now)
            .await
            .expect("commit answers")
    }

    /// Whether it was settled.
    async fn settle(&self, claim: &ClaimAs, verdict: &Verdict, now: Timestamp) -> bool {
        let run = RunAs::Claimed(claim.clone());
        self.settle_run(&run, verdict, now).await == Settlement::Settled
    }

    async fn settle_run(&self, run: &RunAs, verdict: &Verdict, now: Timestamp) -> Settlement {
        Inbox::settle(self.ledger(), &self.subject, run, verdict, now)
            .await
            .expect("settle answers")
    }

    async fn record(&self) -> Record {
        self.ledger()
            .read(self.key())
            .await
            .expect("read answers")
            .expect("there is a record")
    }

    async fn state(&self) -> State {
        self.record().await.state
    }

    async fn start(&self, claim: &IntentClaim) -> IntentStart {
        self.ledger()
            .start(self.key(), claim)
            .await
            .expect("start answers")
    }

    /// Claims intent `n` of a line of sends.
    async fn begin(&self, n: u8, owner: &str, now: Timestamp) -> u32 {
        match self.start(&start(n, owner, now)).await {
            IntentStart::Acquired { attempt, .. } => attempt,
            IntentStart::Refused(refusal) => panic!("intent {n} was refused: {refusal:?}"),
        }
    }

    async fn end(&self, n: u8, owner: Option<&str>, settle: SettleAs, now: Timestamp) -> bool {
        let of = u8::try_from(self.record().await.intents.len()).expect("at most ten intents");
        let owner = owner.map(|owner| Owner(owner.to_owned()));
        let settlement = IntentSettlement {
            key: self.key().clone(),
            n,
            of,
            owner,
            settle,
            now,
        };
        Outbox::settle(self.ledger(), &settlement)
            .await
            .expect("settle answers")
    }

    async fn intent_state(&self, n: u8) -> IntentState {
        self.record().await.intents[usize::from(n)].state
    }

    async fn attention(&self) -> Option<String> {
        self.world.attention(self.key()).await
    }
}

fn request(owner: &str, now: Timestamp) -> ClaimRequest {
    ClaimRequest {
        owner: Owner(owner.to_owned()),
        redrive: 0,
        digest: DIGEST,
        now,
        lease_until: now + LEASE,
    }
}

/// A claim on intent `n` of a line of sends: each but the first has a previous one.
fn start(n: u8, owner: &str, now: Timestamp) -> IntentClaim {
    IntentClaim {
        owner: Owner(owner.to_owned()),
        n,
        redrive: 0,
        resend: 0,
        previous: n.checked_sub(1),
        refers_to: None,
        now,
        lease_until: now + LEASE,
    }
}

/// It was begun, and refers to no message.
fn started(attempt: u32) -> IntentStart {
    IntentStart::Acquired {
        attempt,
        message_id: None,
    }
}

fn failure(code: &str, attempt: u32, at: Timestamp) -> Failure {
    Failure::new(code, "a synthetic failure", Disposition::Transient, attempt, at)
}

fn sent(message_id: i64) -> SettleAs {
    SettleAs::Sent {
        message_id: Some(message_id),
    }
}

fn plain(state: Option<StateWrite>) -> Commit {
    Commit {
        intents: Vec::new(),
        state,
        writes: Vec::new(),
        result: "ok".to_owned(),
    }
}

fn group_of(case: &Case<'_, impl World>, chat: &str) -> MessageGroupId {
    Scope::Chat(chat.to_owned()).group(case.subject.bot_id)
}

/// Makes one test of every case, each in a world of its own: `contract_tests!(my_world())`, where `my_world()` is a
/// future of a [`World`]. The crate needs `tokio` with its macros.
#[macro_export]
macro_rules! contract_tests {
    ($world:expr) => {
        $crate::contract_tests! { @each $world;
            breakers: a_bot_without_a_breaker_has_a_closed_one
                a_breaker_is_read_back_as_it_was_changed
                a_breaker_changes_only_under_the_version_that_was_seen
                a_repeated_change_is_done
                of_two_openers_one_opens_and_the_other_finds_it_open
                of_many_probers_one_makes_the_probe
                a_probe_whose_lease_is_over_is_made_by_another
                a_place_at_the_gate_changes_no_version
                a_gate_lets_its_burst_through_and_then_one_an_interval
                reservations_at_once_never_admit_more_than_the_gate
                that_somebody_was_held_back_is_noted;
            claim: an_update_is_claimed_once_and_others_wait_for_the_lease
                of_many_claims_at_once_one_is_granted
                a_repeated_claim_of_the_same_owner_is_its_own
                a_copy_of_an_earlier_generation_is_superseded
                a_reused_id_with_another_digest_is_told_apart
                an_expired_record_is_claimed_anew_without_its_old_outcome
                an_expired_dead_record_is_claimed_anew_without_its_body
                a_crash_is_suspected_only_after_lease_and_margin
                a_suspect_is_taken_over_once
                a_living_worker_is_not_taken_over
                a_take_over_keeps_count_of_the_attempts
                an_absent_record_is_not_taken_over
                a_redriven_update_is_claimed_in_its_new_generation_only
                a_record_whose_id_is_used_again_outlives_the_other_update;
            outcome: an_outcome_is_kept_with_its_intents_and_their_number
                an_outcome_without_sends_lives_for_the_dedup_window
                a_done_update_is_never_claimed_again
                an_outcome_and_its_chat_state_land_together
                a_commit_after_a_lost_lease_changes_nothing
                a_repeated_commit_is_done
                a_repeated_commit_with_chat_state_is_done
                a_chat_state_that_has_changed_refuses_the_outcome
                a_first_chat_state_is_written_once
                a_redriven_update_that_is_done_keeps_no_body
                a_retry_is_not_claimable_before_its_time
                a_repeated_retry_is_a_success_and_is_counted_once
                a_settle_after_a_lost_lease_changes_nothing
                failures_are_read_back_as_they_were
                only_the_latest_tries_are_kept
                a_long_intent_is_read_back_as_it_was;
            unclaimed: an_unclaimed_outcome_makes_the_record
                a_repeated_unclaimed_write_is_a_success
                an_unclaimed_retry_makes_the_record_with_one_try
                an_unclaimed_kill_makes_a_dead_letter
                an_unclaimed_deferral_leaves_no_record
                an_unclaimed_write_over_a_record_changes_nothing_and_is_told_why
                an_unclaimed_write_under_a_reused_id_is_told_so
                an_unclaimed_write_over_an_expired_record_begins_anew
                of_many_unclaimed_outcomes_one_is_written
                an_unclaimed_outcome_after_its_own_failed_try_is_refused;
            records: a_record_is_made_once_and_names_the_update_that_made_it
                a_write_that_finds_something_else_keeps_the_whole_outcome_out
                a_record_changes_only_under_the_version_that_was_read
                a_record_can_be_asked_for_without_being_changed
                a_late_workers_records_are_not_written
                records_are_read_in_the_order_they_were_asked_for
                who_read_before_a_blind_write_writes_nothing_over_it
                a_deferral_gives_the_try_back
                an_intent_that_is_too_big_for_the_record_is_read_back_whole;
            dead: a_small_body_is_kept_with_the_dead_update
                a_body_of_twenty_kilobytes_is_kept_with_the_dead_update
                a_big_incompressible_body_is_kept_with_the_dead_update
                a_dead_update_is_indexed_and_not_claimed
                a_repeated_kill_is_a_success
                a_letter_without_a_record_is_filed
                a_letter_whose_update_waits_is_filed
                a_letter_whose_update_is_held_waits_for_the_lease
                a_letter_whose_worker_died_is_filed_and_its_late_commit_refused
                a_letter_that_is_dead_already_changes_nothing
                a_letter_of_an_earlier_generation_changes_nothing
                a_letter_whose_update_is_done_is_told_so
                a_letter_over_an_expired_record_begins_anew
                a_letter_that_was_filed_without_a_claim_can_be_redriven
                a_body_that_dies_again_replaces_the_one_before
                a_quarantined_body_has_its_own_place_in_the_index;
            intents: an_intent_is_started_once
                a_repeated_start_of_the_same_owner_is_its_own
                an_intent_waits_for_the_previous_one_of_its_chat
                an_intent_does_not_wait_for_one_that_a_person_has_sent_again
                an_intent_of_another_chat_does_not_wait
                a_copy_of_an_earlier_generation_is_settled
                an_intent_that_is_not_in_the_ledger_is_absent
                an_intent_of_an_expired_record_is_absent
                what_has_ended_is_not_started_again
                the_last_intent_to_end_shortens_the_records_life
                a_single_intent_that_ends_shortens_the_records_life
                a_retry_burns_its_attempt_or_not_and_waits_for_its_time
                a_failed_intent_is_closed_with_its_failure
                a_stranger_cannot_settle
                a_worker_may_settle_after_its_lease_while_nobody_took_it
                a_repeated_settle_is_a_success_and_is_counted_once
                an_intent_that_refers_to_another_is_given_its_message;
            unknown: an_unknown_intent_is_indexed_and_keeps_the_record_alive
                a_late_confirmation_settles_an_unknown_intent
                a_late_failure_does_not_settle_an_unknown_intent
                a_sender_that_died_is_found_lost_after_lease_and_margin
                an_unknown_intent_stays_in_the_index_while_others_end
                of_two_unknown_intents_the_last_one_leaves_the_index
                a_copy_of_an_earlier_resend_is_settled
                a_resent_intent_leaves_the_index_when_it_is_started
                a_resent_failure_is_open_again;
            repairs: a_dead_letter_is_read_as_it_was_filed
                a_redriven_letter_is_pending_in_its_next_generation_and_audited
                a_repeated_redrive_is_a_success_and_is_audited_once
                of_many_redrives_at_once_one_is_done
                what_is_not_dead_is_not_redriven
                a_redriven_letter_is_shown_until_it_is_claimed
                an_edited_body_replaces_the_one_before_and_both_digests_are_audited
                an_edit_of_what_somebody_else_has_touched_changes_nothing
                a_repeated_edit_is_a_success_and_is_audited_once
                a_discarded_letter_leaves_the_index_and_stays_dead
                a_discarded_letter_that_is_redriven_is_back
                what_has_outlived_its_time_is_not_repaired
                what_needs_a_person_is_listed_page_by_page;
            resends: a_resent_failure_is_shown_until_it_is_claimed
                only_what_failed_or_is_unknown_is_sent_again
                a_resent_send_is_shown_while_others_of_its_update_end
                a_resent_send_holds_nothing_back_that_comes_after_it
                an_unknown_send_that_a_person_settles_has_been_sent
                of_two_unknown_sends_that_a_person_settles_the_last_one_closes_the_update
                what_nobody_could_send_has_failed_at_once
                what_is_being_sent_is_not_given_up
                the_sends_of_a_chat_are_given_up_in_their_order
                a_copy_of_an_earlier_resend_gives_nothing_up
                what_is_given_up_leaves_an_unknown_sibling_in_the_index
                what_may_have_arrived_is_given_up_as_unknown;
            gates: a_hold_is_never_shortened
                a_hold_binds_one_chat_of_one_bot
                a_chats_gate_is_changed_by_whoever_has_seen_its_last_change
                a_change_of_a_chats_gate_tells_of_its_hold
                debits_add_up_and_an_idle_gate_does_not_wait
                a_full_gate_reserves_nothing
                a_held_bot_is_waited_for_by_whoever_debits_its_gate
                debits_at_once_are_all_counted;
        }
    };
    (@each $world:expr; $($module:ident: $($name:ident)*;)*) => {
        $($(
            #[tokio::test]
            async fn $name() {
                let world = $world.await;
                $crate::contract::$module::$name(&world).await;
            }
        )*)*
    };
}
