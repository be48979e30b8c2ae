//! The `dead_letter` function: files what the queues gave up, in the order of `functions/dead_letter/src/handler.rs`.

use crate::batch::Written;
use crate::pipeline::Pipeline;
use crate::state::{Body, How, Item, Lane, Pc, Verdict, WAIT, World};
use crate::step::Step;
use crate::table::Filed;

impl Pipeline {
    pub(crate) fn dead_letter_steps(world: &World, lane: &Lane, item: &Item) -> Vec<Step> {
        let nets = || Self::nets(world);
        match (lane.pc, item.body) {
            (Pc::Begin, Body::Update { newer: true, .. }) if world.rolled_back => vec![Step::FileRaw],
            (Pc::Begin, _) => nets().map(Step::Claim).collect(),
            (Pc::Settling(..), _) => nets().map(Step::Settle).collect(),
            (Pc::Dispatch(open), _) => Self::dispatches(world, open),
            (Pc::Unclaimed | Pc::Suspect { .. } | Pc::Claimed(_), _) => Vec::new(),
        }
    }

    pub(crate) fn dead_letter_step(&self, world: &mut World, worker: usize, lane: usize, step: Step) -> bool {
        let Some(item) = world.workers[worker].lanes[lane].item().cloned() else {
            return false;
        };
        match (step, item.body, world.workers[worker].lanes[lane].pc) {
            (Step::FileRaw, ..) => {
                world.ghosts[item.body.update()].filed_raw = true;
                self.ends(world, worker, lane, Verdict::Done);
            }
            (Step::Claim(net), Body::Intent { .. }, _) => {
                return self.starts(world, worker, lane, &item, net, Some(How::Dead));
            }
            (Step::Claim(net), Body::Update { u, .. }, _) => {
                let by = Self::by(world, worker, lane, &item);
                let verdict = match Self::write(world, net, by.u, |world| self.file_dead(world, by)) {
                    Written::Answer(Filed::Dead | Filed::Already) => Verdict::Done,
                    Written::Answer(Filed::Done) => {
                        let open = Self::intended(world.rows[usize::from(u)].as_ref());
                        self.then_dispatch(world, worker, lane, open);
                        return true;
                    }
                    Written::Answer(Filed::Held) => {
                        let lease = world.rows[usize::from(u)].as_ref().and_then(|row| row.lease);
                        let left = lease.map_or(0, |lease| u8::try_from(lease + 1).unwrap_or(0));
                        Verdict::Back(left.max(WAIT))
                    }
                    Written::Error => Verdict::Back(WAIT),
                    Written::Again => return true,
                    Written::Impossible => return false,
                };
                self.ends(world, worker, lane, verdict);
            }
            (Step::Settle(net), _, Pc::Settling(claim, how)) => {
                return self.settles_intent(world, worker, lane, &item, claim, how, net);
            }
            (Step::Dispatch(failing), _, Pc::Dispatch(open)) => {
                self.dispatch(world, worker, lane, &item, open, failing);
            }
            _ => return false,
        }
        true
    }
}
