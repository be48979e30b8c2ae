//! The conditional writes on a record, as `shared/aws/src/table` makes them. This is what the model states anew; what a
//! refusal means is asked of the domain.

use penstock_domain::intent::IntentState;
use penstock_domain::ledger::{Event, Refusal, State, judge_refusal};

use crate::domain::{after, claim_request, is_suspect, record};
use crate::fault::Fault;
use crate::pipeline::Pipeline;
use crate::promise::Promise;
use crate::state::{Claim, How, LEASE, Plain, Row, Sending, WAIT, World};

/// Who writes, for which copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct By {
    pub(crate) u: usize,
    pub(crate) redrive: u8,
    pub(crate) owner: u8,
    pub(crate) age: u8,
}

/// What a letter came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filed {
    Dead,
    Already,
    Done,
    Held,
}

fn empty() -> Row {
    Row {
        state: Plain::of(State::Processing),
        redrive: 0,
        attempts: 0,
        fence: 0,
        owner: 0,
        lease: None,
        next: None,
        expired: false,
        attention: false,
        raw: false,
        intents: Vec::new(),
    }
}

impl Pipeline {
    /// The row that a condition sees: one that outlived its life counts as none, unless the condition forgets to ask.
    pub(crate) fn live<'w>(&self, world: &'w World, u: usize) -> Option<&'w Row> {
        world.rows[u]
            .as_ref()
            .filter(|row| !row.expired || self.has(Fault::ExpiryIgnored))
    }

    /// Starts a write over whatever is there: what an expired record had goes, but for its fence.
    fn begun(&self, world: &World, u: usize) -> Row {
        let stored = world.rows[u].as_ref();
        match self.live(world, u) {
            Some(row) => row.clone(),
            None => Row {
                fence: match stored {
                    Some(row) if !self.has(Fault::FenceForgottenOnExpiry) => row.fence,
                    _ => 0,
                },
                ..empty()
            },
        }
    }

    /// Puts a written row in its place, and judges what every write has to keep.
    fn put(&self, world: &mut World, by: By, mut row: Row) {
        let ghost = &mut world.ghosts[by.u];
        let falls = row.fence < ghost.fence;
        ghost.fence = ghost.fence.max(row.fence);
        if falls {
            world.breaks(Promise::FenceNeverFalls);
        }
        let robbed = world.rows[by.u].as_ref().is_some_and(|before| {
            before.state() == State::Processing
                && !is_suspect(before.lease)
                && before.owner != by.owner
                && before.owner > 0
        });
        if robbed {
            world.breaks(Promise::LeaseIsRespected);
        }
        row.expired = false;
        world.rows[by.u] = Some(row);
    }

    fn state_of(&self, world: &World, u: usize) -> Option<State> {
        self.live(world, u).map(Row::state)
    }

    /// `claim` and `claim_expired`.
    pub(crate) fn claim(&self, world: &mut World, by: By) -> Result<Claim, Refusal> {
        let claimable = self.live(world, by.u).is_none_or(|row| {
            let due = (row.next == Some(0) && by.age == 0) || self.has(Fault::ClaimWithoutTime);
            row.redrive == by.redrive
                && match row.state() {
                    State::Pending => true,
                    State::Retrying | State::Deferred => due,
                    State::Processing => self.has(Fault::LeaseIgnored) && row.owner != by.owner,
                    State::Done | State::Dead => false,
                }
        });
        if claimable {
            let early = self
                .live(world, by.u)
                .and_then(|row| row.next)
                .is_some_and(|next| next > 0);
            if early {
                world.breaks(Promise::NotBeforeItsTime);
            }
            return Ok(self.lease(world, by, Event::Claim));
        }
        let Some(row) = self.live(world, by.u) else {
            return Err(Refusal::Dead);
        };
        if self.has(Fault::OwnerWithoutState) && row.owner == by.owner {
            return Ok(Claim {
                fence: row.fence,
                attempt: row.attempts,
            });
        }
        match judge_refusal(&record(row), &claim_request(by.owner, by.redrive, by.age, LEASE)) {
            Refusal::Mine { .. } => Ok(Claim {
                fence: row.fence,
                attempt: row.attempts,
            }),
            refusal => Err(refusal),
        }
    }

    fn lease(&self, world: &mut World, by: By, event: Event) -> Claim {
        let before = self.state_of(world, by.u);
        let event = if before == Some(State::Processing) {
            Event::TakeOver
        } else {
            event
        };
        let mut row = self.begun(world, by.u);
        row.state = Plain::of(after(world, before, event));
        row.redrive = by.redrive;
        row.owner = if self.has(Fault::NoOwnerToken) {
            0
        } else {
            by.owner
        };
        row.lease = Some((LEASE - by.age.cast_signed()).max(-1));
        row.next = None;
        row.attention = false;
        row.fence += 1;
        row.attempts += 1;
        let claim = Claim {
            fence: row.fence,
            attempt: row.attempts,
        };
        self.put(world, by, row);
        claim
    }

    /// `take_over`: of what has a lease that is over.
    pub(crate) fn take_over(&self, world: &mut World, by: By, seen: u8) -> Option<Claim> {
        let row = self.live(world, by.u)?;
        let is_abandoned = row.state() == State::Processing
            && row.fence == seen
            && row.redrive == by.redrive
            && is_suspect(row.lease);
        if is_abandoned {
            return Some(self.lease(world, By { age: 0, ..by }, Event::TakeOver));
        }
        match judge_refusal(&record(row), &claim_request(by.owner, by.redrive, 0, LEASE)) {
            Refusal::Mine { .. } => Some(Claim {
                fence: row.fence,
                attempt: row.attempts,
            }),
            _ => None,
        }
    }

    /// `commit` and `settle`, of a claim or of a run without one. True if it landed, now or before.
    pub(crate) fn settle(&self, world: &mut World, by: By, claim: Option<Claim>, how: How) -> bool {
        let (event, made) = match how {
            How::Well => (Event::Commit, State::Done),
            How::Retry { .. } => (Event::Retry, State::Retrying),
            How::Dead | How::Unknown => (Event::Kill, State::Dead),
        };
        let row = self.live(world, by.u);
        let holds = match claim {
            Some(_) if self.has(Fault::SettleUnconditionally) => row.is_some(),
            Some(_) if self.has(Fault::OwnerWithoutState) => row.is_some_and(|row| row.owner == by.owner),
            Some(claim) => row.is_some_and(|row| {
                row.state() == State::Processing
                    && row.fence == claim.fence
                    && (row.owner == by.owner || self.has(Fault::NoOwnerToken))
            }),
            None => {
                row.is_none() || (self.has(Fault::UnclaimedRetryUnconditionally) && event == Event::Retry)
            }
        };
        if !holds {
            let reads_it = claim.is_some() || !self.has(Fault::RefusedUnclaimedRunAcked);
            return row.is_some_and(|row| {
                reads_it
                    && row.owner == by.owner
                    && (self.has(Fault::OwnerWithoutState)
                        || (row.state() == made && claim.is_none_or(|claim| claim.fence == row.fence)))
            });
        }
        let before = self.state_of(world, by.u);
        let mut row = self.begun(world, by.u);
        row.state = Plain::of(after(world, before, event));
        if claim.is_none() {
            row.attempts = 1;
            row.fence += 1;
            row.owner = by.owner;
        }
        (row.lease, row.next) = (None, None);
        match how {
            How::Well => {
                row.intents = (0..self.scenario.updates[by.u].intents)
                    .map(|_| intended())
                    .collect();
                (row.attention, row.raw) = (false, false);
                self.judge_commit(world, by.u);
            }
            How::Retry { burned } => {
                row.next = Some(WAIT);
                row.attempts = row.attempts.saturating_sub(u8::from(!burned));
            }
            How::Dead | How::Unknown => {
                (row.attention, row.raw) = (true, true);
                if !world.ghosts[by.u].harmed {
                    world.breaks(Promise::NobodyDiesUnharmed);
                }
            }
        }
        self.put(world, by, row);
        true
    }

    fn judge_commit(&self, world: &mut World, u: usize) {
        world.ghosts[u].commits += 1;
        let ghost = world.ghosts[u];
        if ghost.commits > ghost.lives {
            world.breaks(Promise::OneOutcome);
        }
        let is_overtaking = (0..u).any(|earlier| {
            let row = world.rows[earlier].as_ref();
            let is_finished = row.is_some_and(|row| matches!(row.state(), State::Done | State::Dead));
            self.scenario.updates[earlier].chat == self.scenario.updates[u].chat
                && !is_finished
                && !world.ghosts[earlier].late
                && !world.ghosts[earlier].filed_raw
        });
        if is_overtaking && ghost.lives == 1 {
            world.breaks(Promise::OrderOfOutcomes);
        }
    }

    /// `file_dead`.
    pub(crate) fn file_dead(&self, world: &mut World, by: By) -> Filed {
        if let Some(row) = self.live(world, by.u) {
            if by.redrive < row.redrive {
                return Filed::Already;
            }
            match row.state() {
                State::Dead => return Filed::Already,
                State::Done => return Filed::Done,
                State::Pending if self.has(Fault::DeadLetterIgnoresPending) => return Filed::Already,
                State::Processing if !is_suspect(row.lease) => {
                    if !self.has(Fault::DeadLetterIgnoresLease) {
                        return Filed::Held;
                    }
                }
                State::Processing if self.has(Fault::DeadLetterIgnoresExpiredLease) => return Filed::Held,
                State::Pending | State::Retrying | State::Deferred | State::Processing => {}
            }
        }
        let before = self.state_of(world, by.u);
        let mut row = self.begun(world, by.u);
        row.state = Plain::of(after(world, before, Event::Kill));
        row.redrive = by.redrive;
        row.owner = 0;
        (row.lease, row.next) = (None, None);
        (row.attention, row.raw) = (true, true);
        row.fence += 1;
        self.put(world, by, row);
        Filed::Dead
    }
}

fn intended() -> Sending {
    Sending {
        state: Plain::of_intent(IntentState::Intended),
        resend: 0,
        attempts: 0,
        owner: 0,
        lease: None,
        next: None,
        attention: false,
    }
}
