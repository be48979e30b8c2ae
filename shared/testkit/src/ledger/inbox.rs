//! Claims, outcomes and dead letters over memory.

use penstock_domain::data::{Change, DataItem, DataWrite, is_as_expected, next_version};
use penstock_domain::failure::Failure;
use penstock_domain::intent::{Intent, IntentRecord, IntentState};
use penstock_domain::ledger::{
    ClaimRequest, Fence, MAX_TRIES_KEPT, Record, Refusal, State, is_suspect_at, judge_refusal,
};
use penstock_domain::time::Timestamp;
use penstock_ports::{
    Claim, ClaimAs, Commit, Commitment, Filed, RunAs, Settlement, Subject, TakeOver, Verdict,
};

use super::{Row, Store, secs};

impl Store {
    pub(super) fn claim(&mut self, subject: &Subject, request: &ClaimRequest) -> Claim {
        let expires_at = self.retention.expires_at(1, request.now);
        let Some(row) = self.rows.get_mut(&subject.key) else {
            let mut row = empty(subject);
            let claim = lease(&mut row, subject, request, expires_at);
            self.rows.insert(subject.key.clone(), row);
            return Claim::Acquired(claim);
        };
        let record = &row.record;
        if record.expires_at < secs(request.now) {
            forget(row);
            return Claim::Acquired(lease(row, subject, request, expires_at));
        }
        let is_mine =
            record.redrive == request.redrive && record.digest.is_none_or(|digest| digest == request.digest);
        let is_free = match record.state {
            State::Pending => true,
            State::Retrying | State::Deferred => record.next_at.is_some_and(|next_at| next_at <= request.now),
            State::Processing | State::Done | State::Dead => false,
        };
        if is_mine && is_free {
            return Claim::Acquired(lease(row, subject, request, expires_at));
        }
        match judge_refusal(record, request) {
            Refusal::Mine { attempts, fence } => Claim::Acquired(ClaimAs {
                owner: request.owner.clone(),
                fence,
                attempt: attempts,
            }),
            refusal => {
                let refused = Claim::Refused(refusal.clone(), Box::new(record.clone()));
                if refusal == Refusal::ReusedId {
                    row.record.expires_at = row.record.expires_at.max(expires_at);
                }
                refused
            }
        }
    }

    pub(super) fn take_over(&mut self, subject: &Subject, request: &ClaimRequest, seen: Fence) -> TakeOver {
        let expires_at = self.retention.expires_at(1, request.now);
        let Some(row) = self.rows.get_mut(&subject.key) else {
            return TakeOver::Lost;
        };
        let record = &row.record;
        let is_abandoned = record
            .lease_until
            .is_some_and(|until| is_suspect_at(until, request.now));
        if record.state == State::Processing
            && record.fence == seen
            && record.redrive == request.redrive
            && is_abandoned
        {
            return TakeOver::Acquired(lease(row, subject, request, expires_at));
        }
        match judge_refusal(record, request) {
            Refusal::Mine { attempts, fence } => TakeOver::Acquired(ClaimAs {
                owner: request.owner.clone(),
                fence,
                attempt: attempts,
            }),
            _ => TakeOver::Lost,
        }
    }

    pub(super) fn commit(
        &mut self,
        subject: &Subject,
        run: &RunAs,
        commit: &Commit,
        now: Timestamp,
    ) -> Commitment {
        match self.not_settled(subject, run, State::Done, now) {
            None => {}
            Some(NotSettled::Landed) => return Commitment::Done,
            Some(NotSettled::LeaseLost) => return Commitment::LeaseLost,
            Some(NotSettled::Refused(refusal, record)) => return Commitment::Refused(refusal, record),
        }
        let place = |chat: &str| (subject.bot_id, chat.to_owned());
        if let Some(write) = &commit.state {
            let version = self
                .chats
                .get(&place(&write.chat))
                .map_or(0, |(_, version)| *version);
            if version != write.read_version {
                return Commitment::StateConflict;
            }
        }
        let record = |write: &DataWrite| self.data.get(&(subject.bot_id, write.key.clone()));
        let unexpected = |write: &DataWrite| !is_as_expected(record(write), write.expect);
        if let Some(n) = commit.writes.iter().position(unexpected) {
            return Commitment::Unexpected { n };
        }
        if let Some(write) = &commit.state {
            let version = write.read_version + 1;
            self.chats
                .insert(place(&write.chat), (write.state.clone(), version));
        }
        for write in &commit.writes {
            let place = (subject.bot_id, write.key.clone());
            match &write.change {
                Change::Put(value) | Change::PutUntil(value, _) => {
                    let found = self.data.get(&place).map(|item| item.version);
                    let item = DataItem {
                        value: value.clone(),
                        version: next_version(found, now),
                        by: subject.key.clone(),
                    };
                    self.data.insert(place, item);
                }
                Change::Remove => {
                    self.data.remove(&place);
                }
                Change::Check => {}
            }
        }
        let open = u32::try_from(commit.intents.len()).unwrap_or(u32::MAX);
        let expires_at = self.retention.expires_at(open, now);
        let row = self.begin(subject, run);
        let record = &mut row.record;
        record.state = State::Done;
        record.intents = commit.intents.iter().map(intended).collect();
        record.open = open;
        record.expires_at = expires_at;
        (record.lease_until, record.next_at) = (None, None);
        record.result = Some(commit.result.clone());
        row.raw = None;
        row.attention = None;
        Commitment::Done
    }

    pub(super) fn settle(
        &mut self,
        subject: &Subject,
        run: &RunAs,
        verdict: &Verdict,
        now: Timestamp,
    ) -> Settlement {
        let state = match verdict {
            Verdict::Retry { .. } => State::Retrying,
            Verdict::Defer { .. } => State::Deferred,
            Verdict::Dead { .. } => State::Dead,
        };
        if matches!((run, verdict), (RunAs::Unclaimed(_), Verdict::Defer { .. })) {
            return Settlement::Settled;
        }
        match self.not_settled(subject, run, state, now) {
            None => {}
            Some(NotSettled::Landed) => return Settlement::Settled,
            Some(NotSettled::LeaseLost) => return Settlement::LeaseLost,
            Some(NotSettled::Refused(refusal, record)) => return Settlement::Refused(refusal, record),
        }
        let expires_at = self.retention.expires_at(1, now);
        let row = self.begin(subject, run);
        match verdict {
            Verdict::Retry { next_at, failure } | Verdict::Defer { next_at, failure } => {
                let record = &mut row.record;
                record.attempts -= u32::from(state == State::Deferred);
                record.state = state;
                (record.lease_until, record.next_at) = (None, Some(*next_at));
                record.expires_at = expires_at;
                note(record, failure);
            }
            Verdict::Dead { raw, failure } => park(row, subject, raw, failure, expires_at),
        }
        Settlement::Settled
    }

    /// Why a settling write is refused, if it is.
    fn not_settled(
        &self,
        subject: &Subject,
        run: &RunAs,
        state: State,
        now: Timestamp,
    ) -> Option<NotSettled> {
        let record = self.rows.get(&subject.key).map(|row| &row.record);
        match (run, record) {
            (RunAs::Claimed(claim), Some(record)) if holds(record, claim) => None,
            (RunAs::Claimed(claim), Some(record)) if landed(record, claim, state) => Some(NotSettled::Landed),
            (RunAs::Claimed(_), _) => Some(NotSettled::LeaseLost),
            (RunAs::Unclaimed(_), None) => None,
            (RunAs::Unclaimed(_), Some(record)) if record.expires_at < secs(now) => None,
            (RunAs::Unclaimed(request), Some(record)) => {
                if record.state == state && record.owner.as_ref() == Some(&request.owner) {
                    return Some(NotSettled::Landed);
                }
                let refusal = judge_refusal(record, request);
                Some(NotSettled::Refused(refusal, Box::new(record.clone())))
            }
        }
    }

    /// The row that a settling write changes: an unclaimed run makes it.
    fn begin(&mut self, subject: &Subject, run: &RunAs) -> &mut Row {
        let row = self
            .rows
            .entry(subject.key.clone())
            .or_insert_with(|| empty(subject));
        if let RunAs::Unclaimed(request) = run {
            forget(row);
            row.subject = subject.clone();
            row.record.redrive = request.redrive;
            row.record.digest = Some(request.digest);
            row.record.owner = Some(request.owner.clone());
            row.record.fence = Fence(row.record.fence.0 + 1);
            row.record.attempts = 1;
        }
        row
    }

    pub(super) fn file_dead(
        &mut self,
        subject: &Subject,
        redrive: u32,
        raw: &str,
        failure: &Failure,
        now: Timestamp,
    ) -> Filed {
        let expires_at = self.retention.expires_at(1, now);
        let row = self
            .rows
            .entry(subject.key.clone())
            .or_insert_with(|| empty(subject));
        let record = &row.record;
        if row.record.fence > Fence(0) && record.expires_at >= secs(now) {
            if redrive < record.redrive || record.state == State::Dead {
                return Filed::Already;
            }
            if record.state == State::Done {
                return Filed::Done(Box::new(record.clone()));
            }
            let lease = record.lease_until.filter(|_| record.state == State::Processing);
            if let Some(until) = lease.filter(|until| !is_suspect_at(*until, now)) {
                return Filed::HeldUntil(until + penstock_domain::ledger::LEASE_MARGIN);
            }
        } else {
            forget(row);
        }
        row.subject = subject.clone();
        row.record.redrive = redrive;
        row.record.digest = subject.digest.or(row.record.digest);
        row.record.fence = Fence(row.record.fence.0 + 1);
        row.record.owner = None;
        park(row, subject, raw, failure, expires_at);
        Filed::Dead
    }
}

/// What refused a settling write.
enum NotSettled {
    Landed,
    LeaseLost,
    Refused(Refusal, Box<Record>),
}

/// A row before its first write. A fence of 0 is that of no stored row.
fn empty(subject: &Subject) -> Row {
    Row {
        record: Record {
            key: subject.key.clone(),
            state: State::Processing,
            redrive: 0,
            attempts: 0,
            fence: Fence(0),
            owner: None,
            lease_until: None,
            next_at: None,
            digest: None,
            open: 0,
            tries: Vec::new(),
            intents: Vec::new(),
            result: None,
            expires_at: 0,
        },
        subject: subject.clone(),
        raw: None,
        attention: None,
    }
}

/// What a write over an expired record leaves of it: the fence.
fn forget(row: &mut Row) {
    let fence = row.record.fence;
    *row = empty(&row.subject);
    row.record.fence = fence;
}

fn lease(row: &mut Row, subject: &Subject, request: &ClaimRequest, expires_at: i64) -> ClaimAs {
    row.subject = subject.clone();
    row.attention = None;
    let record = &mut row.record;
    record.state = State::Processing;
    record.redrive = request.redrive;
    record.digest = Some(request.digest);
    record.owner = Some(request.owner.clone());
    (record.lease_until, record.next_at) = (Some(request.lease_until), None);
    record.fence = Fence(record.fence.0 + 1);
    record.attempts += 1;
    record.expires_at = expires_at;
    ClaimAs {
        owner: request.owner.clone(),
        fence: record.fence,
        attempt: record.attempts,
    }
}

fn holds(record: &Record, claim: &ClaimAs) -> bool {
    landed(record, claim, State::Processing)
}

fn landed(record: &Record, claim: &ClaimAs, state: State) -> bool {
    record.state == state && record.fence == claim.fence && record.owner.as_ref() == Some(&claim.owner)
}

fn note(record: &mut Record, failure: &Failure) {
    record.tries.push(failure.clone());
    let surplus = record.tries.len().saturating_sub(MAX_TRIES_KEPT);
    record.tries.drain(..surplus);
}

fn park(row: &mut Row, subject: &Subject, raw: &str, failure: &Failure, expires_at: i64) {
    row.raw = Some(raw.to_owned());
    row.attention = Some(if subject.update_id < 0 {
        "quarantine"
    } else {
        "dead"
    });
    let record = &mut row.record;
    record.state = State::Dead;
    (record.lease_until, record.next_at) = (None, None);
    record.expires_at = expires_at;
    note(record, failure);
}

fn intended(intent: &Intent) -> IntentRecord {
    IntentRecord {
        intent: intent.clone(),
        state: IntentState::Intended,
        resend: 0,
        attempts: 0,
        owner: None,
        lease_until: None,
        next_at: None,
        message_id: None,
        failure: None,
    }
}
