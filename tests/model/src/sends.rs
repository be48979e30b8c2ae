//! The conditional writes on an intent, as `shared/aws/src/table/intents.rs` makes them.

use penstock_domain::intent::{IntentEvent, IntentRefusal, IntentState, judge_refusal};

use crate::domain::{intent_after, intent_claim, is_suspect, record};
use crate::fault::Fault;
use crate::pipeline::Pipeline;
use crate::promise::Promise;
use crate::state::{Body, How, LEASE, Plain, Sending, WAIT, World};
use crate::table::By;

impl Pipeline {
    /// `start_intent`.
    pub(crate) fn start_intent(&self, world: &mut World, by: By, body: Body) -> Result<u8, IntentRefusal> {
        let Body::Intent {
            n,
            redrive,
            resend,
            previous,
            ..
        } = body
        else {
            return Err(IntentRefusal::Absent);
        };
        let row = self.live(world, by.u);
        let claim = intent_claim(by.owner, n, (redrive, resend), previous);
        let Some(sending) = row.and_then(|row| row.intents.get(usize::from(n))) else {
            return Err(judge_refusal(row.map(record).as_ref(), &claim));
        };
        let Some(row) = row else {
            return Err(IntentRefusal::Absent);
        };
        let due = sending.next == Some(0) || self.has(Fault::SendWithoutTime);
        let is_free = previous
            .and_then(|previous| row.intents.get(usize::from(previous)))
            .is_none_or(Sending::lets_successors_pass);
        let is_lost = sending.state() == IntentState::Sending && is_suspect(sending.lease);
        let claimable = row.redrive == redrive
            && sending.resend == resend
            && is_free
            && match sending.state() {
                IntentState::Intended => true,
                IntentState::Retrying => due,
                IntentState::Sending => is_lost && self.has(Fault::LostSendRepeated),
                IntentState::Sent | IntentState::Failed | IntentState::Unknown | IntentState::Cancelled => {
                    false
                }
            };
        if !claimable {
            return match judge_refusal(Some(&record(row)), &claim) {
                IntentRefusal::Mine { .. } => Ok(sending.attempts),
                refusal => Err(refusal),
            };
        }
        let (state, early) = (sending.state(), sending.next.is_some_and(|next| next > 0));
        if early {
            world.breaks(Promise::NotBeforeItsTime);
        }
        let next = intent_after(world, state, IntentEvent::Claim);
        let Some(sending) = sending_mut(world, by.u, n) else {
            return Err(IntentRefusal::Absent);
        };
        sending.state = Plain::of_intent(next);
        (sending.owner, sending.lease, sending.next) = (by.owner, Some(LEASE), None);
        sending.attention = false;
        sending.attempts += 1;
        Ok(sending.attempts)
    }

    /// `settle_intent`; without an owner it is that of a send whose sender died.
    pub(crate) fn settle_intent(&self, world: &mut World, by: By, n: u8, is_own: bool, how: How) -> bool {
        let (event, made) = match how {
            How::Well => (IntentEvent::Confirm, IntentState::Sent),
            How::Retry { .. } => (IntentEvent::Retry, IntentState::Retrying),
            How::Dead => (IntentEvent::Fail, IntentState::Failed),
            How::Unknown => (IntentEvent::LoseTrack, IntentState::Unknown),
        };
        let Some(sending) = self
            .live(world, by.u)
            .and_then(|row| row.intents.get(usize::from(n)))
        else {
            return false;
        };
        let (state, is_mine) = (sending.state(), sending.owner == by.owner);
        let holds = if !is_own {
            state == IntentState::Sending && is_suspect(sending.lease)
        } else if self.has(Fault::SendWithoutClaim) {
            true
        } else if self.has(Fault::OwnerWithoutState) {
            is_mine
        } else {
            let late = how == How::Well && state == IntentState::Unknown;
            is_mine && (state == IntentState::Sending || late)
        };
        if !holds {
            return is_own && is_mine && (state == made || self.has(Fault::OwnerWithoutState));
        }
        let next = intent_after(world, state, event);
        let Some(sending) = sending_mut(world, by.u, n) else {
            return false;
        };
        sending.state = Plain::of_intent(next);
        sending.lease = None;
        sending.next = match how {
            How::Retry { .. } => Some(WAIT),
            How::Well | How::Dead | How::Unknown => None,
        };
        sending.attention = how == How::Unknown;
        true
    }
}

/// An intent inside a stored record.
pub(crate) fn sending_mut(world: &mut World, u: usize, n: u8) -> Option<&mut Sending> {
    world.rows.get_mut(u)?.as_mut()?.intents.get_mut(usize::from(n))
}
