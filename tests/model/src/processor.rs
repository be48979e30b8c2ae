//! The processor: claim, run, commit, dispatch, in the order of `functions/processor/src/update.rs`; and the run of a
//! built-in bot without a claim.

use penstock_domain::ledger::Refusal;

use crate::batch::{Net, Written};
use crate::domain::{is_tried_again, ticks_until};
use crate::fault::Fault;
use crate::pipeline::Pipeline;
use crate::promise::Promise;
use crate::state::{Body, Claim, DedupId, How, INTENTS, Item, Pc, Queue, Verdict, WAIT, World};
use crate::step::{Ending, Step};
use crate::table::By;

impl Pipeline {
    pub(crate) fn processor_steps(
        &self,
        world: &World,
        worker: usize,
        lane: usize,
        item: &Item,
    ) -> Vec<Step> {
        let invocation = &world.workers[worker];
        let Body::Update { u, redrive, newer } = item.body else {
            return Vec::new();
        };
        let spec = self.scenario.updates[usize::from(u)];
        let nets = || Self::nets(world);
        match invocation.lanes[lane].pc {
            Pc::Begin if newer && world.rolled_back => vec![if self.has(Fault::NewerBodyIsPoison) {
                Step::FileRaw
            } else {
                Step::GiveBack
            }],
            Pc::Begin if self.scenario.unclaimed && item.first && redrive == 0 => vec![Step::Start],
            Pc::Begin => nets().map(Step::Claim).collect(),
            Pc::Suspect { .. } => {
                let mut others = invocation
                    .lanes
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| *other != lane);
                let waits = others.any(|(_, other)| other.is_running())
                    && !self.has(Fault::SuspectsNotAlone)
                    && !self.has(Fault::SuspectBesideOthers);
                if waits {
                    Vec::new()
                } else {
                    nets().map(Step::TakeOver).collect()
                }
            }
            Pc::Claimed(claim) if claim.attempt > self.scenario.max_attempts => {
                nets().map(|net| Step::End(Ending::UsedUp, net)).collect()
            }
            Pc::Claimed(_) | Pc::Unclaimed if spec.poison => vec![Step::Explode],
            Pc::Claimed(_) | Pc::Unclaimed => {
                let endings = [
                    (Ending::Well, true),
                    (Ending::Fails, world.budget.fail > 0),
                    (Ending::FailsForGood, world.budget.permanent > 0),
                ];
                let may = endings.into_iter().filter(|(_, may)| *may);
                may.flat_map(|(ending, _)| nets().map(move |net| Step::End(ending, net)))
                    .collect()
            }
            Pc::Settling(..) => nets().map(Step::Settle).collect(),
            Pc::Dispatch(open) => Self::dispatches(world, open),
        }
    }

    /// The ways in which a dispatch may end.
    pub(crate) fn dispatches(world: &World, open: [Option<u8>; INTENTS]) -> Vec<Step> {
        let all = (0..INTENTS)
            .filter(|n| open[*n].is_some())
            .fold(0, |set, n| set | 1 << n);
        let failing = (1..=all).filter(|set| world.budget.partial > 0 && set & !all == 0);
        std::iter::once(0).chain(failing).map(Step::Dispatch).collect()
    }

    pub(crate) fn processor_step(&self, world: &mut World, worker: usize, lane: usize, step: Step) -> bool {
        let Some(item) = world.workers[worker].lanes[lane].item().cloned() else {
            return false;
        };
        let u = item.body.update();
        let pc = world.workers[worker].lanes[lane].pc;
        match (step, pc) {
            (Step::GiveBack, _) => self.ends(world, worker, lane, Verdict::Back(WAIT)),
            (Step::FileRaw, _) => {
                world.ghosts[u].filed_raw = true;
                if !world.ghosts[u].late {
                    world.breaks(Promise::NobodyDiesUnharmed);
                }
                self.ends(world, worker, lane, Verdict::Done);
            }
            (Step::Start, _) => {
                world.workers[worker].lanes[lane].pc = Pc::Unclaimed;
                self.ack_early(world, worker, &item);
            }
            (Step::Claim(net), _) => return self.claims(world, worker, lane, &item, net),
            (Step::TakeOver(net), Pc::Suspect { fence }) => {
                let by = Self::by(world, worker, lane, &item);
                match Self::write(world, net, u, |world| self.take_over(world, by, fence)) {
                    Written::Answer(Some(claim)) => world.workers[worker].lanes[lane].pc = Pc::Claimed(claim),
                    Written::Answer(None) | Written::Error => {
                        self.ends(world, worker, lane, Verdict::Back(WAIT));
                    }
                    Written::Again => {}
                    Written::Impossible => return false,
                }
            }
            (Step::Explode, _) => self.explodes(world, worker, lane, u),
            (Step::End(ending, net), _) => {
                let claim = match pc {
                    Pc::Claimed(claim) => Some(claim),
                    _ => None,
                };
                let how = self.ended(world, u, claim, ending);
                return self.settles(world, worker, lane, &item, claim, how, net);
            }
            (Step::Settle(net), Pc::Settling(claim, how)) => {
                return self.settles(world, worker, lane, &item, claim, how, net);
            }
            (Step::Dispatch(failing), Pc::Dispatch(open)) => {
                self.dispatch(world, worker, lane, &item, open, failing);
            }
            _ => return false,
        }
        true
    }

    /// An Update that is claimed, run, committed and dispatched without any accident.
    pub(crate) fn commits_and_dispatches(&self, world: &mut World, u: u8) {
        let by = By {
            u: u.into(),
            redrive: 0,
            owner: 1,
            age: 0,
        };
        if let Ok(claim) = self.claim(world, by) {
            self.settle(world, by, Some(claim), How::Well);
        }
        for n in 0..self.scenario.updates[usize::from(u)].intents {
            let body = Body::Intent {
                u,
                n,
                redrive: 0,
                resend: 0,
                previous: n.checked_sub(1),
            };
            self.send(world, Queue::Outbound, body, DedupId::Intent(u, n, 0));
        }
    }

    fn ended(&self, world: &mut World, u: usize, claim: Option<Claim>, ending: Ending) -> How {
        let attempt = claim.map_or(1, |claim| claim.attempt);
        match ending {
            Ending::Well => return How::Well,
            Ending::UsedUp => return How::Dead,
            Ending::Fails => world.budget.fail -= 1,
            Ending::FailsForGood => world.budget.permanent -= 1,
        }
        world.ghosts[u].harmed = true;
        if ending == Ending::Fails && is_tried_again(attempt, self.scenario.max_attempts) {
            How::Retry { burned: true }
        } else {
            How::Dead
        }
    }

    fn ack_early(&self, world: &mut World, worker: usize, item: &Item) {
        if self.has(Fault::AckBeforeCommit) {
            Self::delete(world, world.workers[worker].queue, item.receipt);
        }
    }

    fn claims(&self, world: &mut World, worker: usize, lane: usize, item: &Item, net: Net) -> bool {
        let by = Self::by(world, worker, lane, item);
        let refusal = match Self::write(world, net, by.u, |world| self.claim(world, by)) {
            Written::Answer(Ok(claim)) => {
                world.workers[worker].lanes[lane].pc = Pc::Claimed(claim);
                self.ack_early(world, worker, item);
                return true;
            }
            Written::Answer(Err(refusal)) => refusal,
            Written::Again => return true,
            Written::Error => {
                self.ends(world, worker, lane, Verdict::Back(WAIT));
                return true;
            }
            Written::Impossible => return false,
        };
        match refusal {
            Refusal::Superseded | Refusal::Dead => self.ends(world, worker, lane, Verdict::Done),
            Refusal::Done if self.has(Fault::RepeatOfDoneOnlyAcked) => {
                self.ends(world, worker, lane, Verdict::Done);
            }
            Refusal::Done => {
                let open = Self::intended(world.rows[by.u].as_ref());
                self.then_dispatch(world, worker, lane, open);
            }
            Refusal::HeldUntil(until) => {
                let wait = ticks_until(until).max(WAIT);
                self.ends(world, worker, lane, Verdict::Back(wait));
            }
            Refusal::Suspect { fence } => {
                let fence = u8::try_from(fence.0).unwrap_or(u8::MAX);
                let may =
                    self.has(Fault::SuspectsNotAlone) || self.be_alone(&mut world.workers[worker], lane);
                if may {
                    world.workers[worker].lanes[lane].pc = Pc::Suspect { fence };
                } else {
                    self.ends(world, worker, lane, Verdict::Back(WAIT));
                }
            }
            // Both are read as an acquired claim, or cannot be in one life of an id.
            Refusal::Mine { .. } | Refusal::ReusedId => self.ends(world, worker, lane, Verdict::Back(WAIT)),
        }
        true
    }

    #[expect(clippy::too_many_arguments, reason = "who, where, and what of one write")]
    fn settles(
        &self,
        world: &mut World,
        worker: usize,
        lane: usize,
        item: &Item,
        claim: Option<Claim>,
        how: How,
        net: Net,
    ) -> bool {
        let by: By = Self::by(world, worker, lane, item);
        match Self::write(world, net, by.u, |world| self.settle(world, by, claim, how)) {
            Written::Answer(true) => match how {
                How::Well => {
                    let intents = self.scenario.updates[by.u].intents;
                    let mut open = [None; INTENTS];
                    open.iter_mut()
                        .take(intents.into())
                        .for_each(|slot| *slot = Some(0));
                    self.then_dispatch(world, worker, lane, open);
                }
                How::Retry { .. } => self.ends(world, worker, lane, Verdict::Back(WAIT)),
                How::Dead | How::Unknown => self.ends(world, worker, lane, Verdict::Done),
            },
            Written::Answer(false) if claim.is_some() => self.ends(world, worker, lane, Verdict::Back(WAIT)),
            Written::Answer(false) if self.has(Fault::RefusedUnclaimedRunAcked) => {
                self.ends(world, worker, lane, Verdict::Done);
            }
            // The claim table applies.
            Written::Answer(false) => {
                let lane = &mut world.workers[worker].lanes[lane];
                (lane.pc, lane.owner) = (Pc::Begin, 0);
                if let Some(at) = lane.at() {
                    lane.items[at].first = false;
                }
            }
            Written::Again => world.workers[worker].lanes[lane].pc = Pc::Settling(claim, how),
            // The try is given back, if that can be written.
            Written::Error if how == How::Well && claim.is_some() => {
                world.workers[worker].lanes[lane].pc = Pc::Settling(claim, How::Retry { burned: false });
            }
            Written::Error => self.ends(world, worker, lane, Verdict::Back(WAIT)),
            Written::Impossible => return false,
        }
        true
    }

    pub(crate) fn then_dispatch(
        &self,
        world: &mut World,
        worker: usize,
        lane: usize,
        open: [Option<u8>; INTENTS],
    ) {
        if open == [None; INTENTS] {
            self.ends(world, worker, lane, Verdict::Done);
        } else {
            world.workers[worker].lanes[lane].pc = Pc::Dispatch(open);
        }
    }

    pub(crate) fn dispatch(
        &self,
        world: &mut World,
        worker: usize,
        lane: usize,
        item: &Item,
        open: [Option<u8>; INTENTS],
        failing: u8,
    ) {
        let Body::Update { u, redrive, .. } = item.body else {
            return;
        };
        for n in (0_u8..).take(INTENTS) {
            if let Some(resend) = open[usize::from(n)].filter(|_| failing & (1 << n) == 0) {
                let body = Body::Intent {
                    u,
                    n,
                    redrive,
                    resend,
                    previous: n.checked_sub(1),
                };
                self.send(world, Queue::Outbound, body, DedupId::Intent(u, n, resend));
            }
        }
        if failing != 0 {
            world.budget.partial -= 1;
        }
        let is_whole = failing == 0 || self.has(Fault::FailedIgnored);
        let verdict = if is_whole {
            Verdict::Done
        } else {
            Verdict::Back(WAIT)
        };
        self.ends(world, worker, lane, verdict);
    }

    /// A poison kills its invocation, and burns what others of it had claimed.
    fn explodes(&self, world: &mut World, worker: usize, lane: usize, u: usize) {
        world.ghosts[u].harmed = true;
        let dead = world.workers.remove(worker);
        for (other, lane_of_other) in dead.lanes.iter().enumerate() {
            let has_claim =
                lane_of_other.is_running() && !matches!(lane_of_other.pc, Pc::Unclaimed | Pc::Dispatch(_));
            let Some(item) = lane_of_other.item().filter(|_| has_claim && other != lane) else {
                continue;
            };
            let neighbour = item.body.update();
            let holds = world.rows[neighbour]
                .as_ref()
                .is_some_and(|row| row.owner == lane_of_other.owner && row.lease.is_some());
            if holds {
                let ghost = &mut world.ghosts[neighbour];
                ghost.harmed = true;
                ghost.burned_by_neighbour += 1;
                if ghost.burned_by_neighbour > self.scenario.may_burn() {
                    world.breaks(Promise::NeighbourBurnsOnce);
                }
            }
        }
    }
}
