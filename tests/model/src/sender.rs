//! The sender: claim, call, settle, in the order of `functions/sender/src/send.rs`. Its calls are visible sends that are
//! held when nobody knows whether they arrived.

use penstock_domain::intent::IntentRefusal;

use crate::batch::{Net, Written};
use crate::domain::{is_suspect, is_tried_again, ticks_until};
use crate::fault::Fault;
use crate::pipeline::Pipeline;
use crate::promise::Promise;
use crate::state::{Body, Claim, How, Item, Lane, Pc, Verdict, WAIT, World};
use crate::step::{Reply, Step};

impl Pipeline {
    pub(crate) fn sender_steps(&self, world: &World, lane: &Lane, item: &Item) -> Vec<Step> {
        let nets = || Self::nets(world);
        match lane.pc {
            Pc::Begin if self.has(Fault::SendWithoutClaim) => vec![Step::Claim(Net::Answered)],
            Pc::Begin => nets().map(Step::Claim).collect(),
            // A function lives no longer than its lease and the margin, so a call cannot begin after that.
            Pc::Claimed(_) if self.is_out_of_time(world, lane, item) => vec![Step::TimesOut],
            Pc::Claimed(_) => {
                let replies = [
                    (Reply::Delivered, true),
                    (Reply::DeliveredUnheard, world.budget.lost > 0),
                    (Reply::NotDeliveredUnheard, world.budget.lost > 0),
                    (Reply::Refused, world.budget.fail > 0),
                    (Reply::RefusedForGood, world.budget.permanent > 0),
                ];
                let may = replies.into_iter().filter(|(_, may)| *may);
                may.map(|(reply, _)| Step::Call(reply)).collect()
            }
            Pc::Settling(..) => nets().map(Step::Settle).collect(),
            Pc::Unclaimed | Pc::Suspect { .. } | Pc::Dispatch(_) => Vec::new(),
        }
    }

    fn is_out_of_time(&self, world: &World, lane: &Lane, item: &Item) -> bool {
        let Body::Intent { u, n, .. } = item.body else {
            return false;
        };
        let row = world.rows[usize::from(u)].as_ref();
        let sending = row.and_then(|row| row.intents.get(usize::from(n)));
        // Once another has settled it, the lease was over.
        let holds = sending.is_some_and(|sending| {
            sending.owner == lane.owner && sending.lease.is_some() && !is_suspect(sending.lease)
        });
        !holds && !self.has(Fault::SendWithoutClaim)
    }

    pub(crate) fn sender_step(&self, world: &mut World, worker: usize, lane: usize, step: Step) -> bool {
        let Some(item) = world.workers[worker].lanes[lane].item().cloned() else {
            return false;
        };
        match (step, world.workers[worker].lanes[lane].pc) {
            (Step::Claim(net), _) => return self.starts(world, worker, lane, &item, net, None),
            (Step::TimesOut, _) => {
                world.workers.remove(worker);
            }
            (Step::Call(reply), Pc::Claimed(claim)) => {
                let how = self.called(world, &item, claim, reply);
                world.workers[worker].lanes[lane].pc = Pc::Settling(Some(claim), how);
            }
            (Step::Settle(net), Pc::Settling(claim, how)) => {
                return self.settles_intent(world, worker, lane, &item, claim, how, net);
            }
            _ => return false,
        }
        true
    }

    /// Claims an intent. Where it is given up (`gives_up`), a claim leads straight to its end.
    pub(crate) fn starts(
        &self,
        world: &mut World,
        worker: usize,
        lane: usize,
        item: &Item,
        net: Net,
        gives_up: Option<How>,
    ) -> bool {
        let by = Self::by(world, worker, lane, item);
        if self.has(Fault::SendWithoutClaim) && gives_up.is_none() {
            let claim = Claim { fence: 0, attempt: 1 };
            world.workers[worker].lanes[lane].pc = Pc::Claimed(claim);
            return true;
        }
        let refusal = match Self::write(world, net, by.u, |world| self.start_intent(world, by, item.body)) {
            Written::Answer(Ok(attempt)) => {
                let claim = Claim { fence: 0, attempt };
                world.workers[worker].lanes[lane].pc =
                    gives_up.map_or(Pc::Claimed(claim), |how| Pc::Settling(Some(claim), how));
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
            // Without its record a message is parked raw for a person, and acknowledged.
            IntentRefusal::Settled | IntentRefusal::Absent => self.ends(world, worker, lane, Verdict::Done),
            IntentRefusal::BehindPrevious | IntentRefusal::Mine { .. } => {
                self.ends(world, worker, lane, Verdict::Back(WAIT));
            }
            IntentRefusal::HeldUntil(until) => {
                let wait = ticks_until(until).max(WAIT);
                self.ends(world, worker, lane, Verdict::Back(wait));
            }
            IntentRefusal::Lost => {
                world.workers[worker].lanes[lane].pc = Pc::Settling(None, How::Unknown);
            }
        }
        true
    }

    fn called(&self, world: &mut World, item: &Item, claim: Claim, reply: Reply) -> How {
        let delivers = matches!(reply, Reply::Delivered | Reply::DeliveredUnheard);
        if delivers {
            self.judge_delivery(world, item.body);
        }
        match reply {
            Reply::Delivered => How::Well,
            Reply::DeliveredUnheard | Reply::NotDeliveredUnheard => {
                world.budget.lost -= 1;
                How::Unknown
            }
            Reply::Refused => {
                world.budget.fail -= 1;
                if is_tried_again(claim.attempt, self.scenario.max_attempts) {
                    How::Retry { burned: true }
                } else {
                    How::Dead
                }
            }
            Reply::RefusedForGood => {
                world.budget.permanent -= 1;
                How::Dead
            }
        }
    }

    fn judge_delivery(&self, world: &mut World, body: Body) {
        let Body::Intent { u, n, resend, .. } = body else {
            return;
        };
        let (u, n) = (usize::from(u), usize::from(n));
        let chat = self.scenario.updates[u].chat;
        let is_first = !world.ghosts[u].ever_delivered[n] && resend == 0 && !world.ghosts[u].late;
        let is_overtaken = (u..self.scenario.updates.len()).any(|later| {
            let from = if later == u { n + 1 } else { 0 };
            self.scenario.updates[later].chat == chat
                && world.ghosts[later].ever_delivered[from..].contains(&true)
        });
        if is_first && is_overtaken {
            world.breaks(Promise::OrderOfSends);
        }
        let ghost = &mut world.ghosts[u];
        ghost.ever_delivered[n] = true;
        ghost.delivered[n] += 1;
        if ghost.delivered[n] > 1 {
            world.breaks(Promise::NoDoubleSend);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "who, where, and what of one write")]
    pub(crate) fn settles_intent(
        &self,
        world: &mut World,
        worker: usize,
        lane: usize,
        item: &Item,
        claim: Option<Claim>,
        how: How,
        net: Net,
    ) -> bool {
        let Body::Intent { n, .. } = item.body else {
            return false;
        };
        let by = Self::by(world, worker, lane, item);
        let settle = |world: &mut World| self.settle_intent(world, by, n, claim.is_some(), how);
        let verdict = match Self::write(world, net, by.u, settle) {
            Written::Answer(true) => match how {
                How::Retry { .. } => Verdict::Back(WAIT),
                How::Well | How::Dead | How::Unknown => Verdict::Done,
            },
            Written::Answer(false) | Written::Error => Verdict::Back(WAIT),
            Written::Again => return true,
            Written::Impossible => return false,
        };
        self.ends(world, worker, lane, verdict);
        true
    }
}
