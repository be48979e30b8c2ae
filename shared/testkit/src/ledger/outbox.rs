//! Intents, holds and the bot's gate over memory.

use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::intent::{IntentClaim, IntentRecord, IntentRefusal, IntentState, judge_refusal};
use penstock_domain::ledger::{Record, is_suspect_at};
use penstock_domain::pace::ChatGate;
use penstock_domain::throttle::CELL;
use penstock_domain::time::Timestamp;
use penstock_ports::{Debit, HORIZON, IntentSettlement, IntentStart, SettleAs, StoredChatGate, Swapped};

use super::{Store, secs};

fn find(record: &mut Record, n: u8) -> Option<&mut IntentRecord> {
    record.intents.iter_mut().find(|stored| stored.intent.n == n)
}

impl Store {
    pub(super) fn start(&mut self, key: &LedgerKey, claim: &IntentClaim) -> IntentStart {
        let row = self
            .rows
            .get_mut(key)
            .filter(|row| row.record.expires_at >= secs(claim.now));
        let Some(row) = row else {
            return IntentStart::Refused(IntentRefusal::Absent);
        };
        let is_behind = claim
            .previous
            .and_then(|previous| find(&mut row.record, previous))
            .is_some_and(|previous| previous.holds_successors());
        let target = claim
            .refers_to
            .and_then(|target| find(&mut row.record, target))
            .and_then(|target| target.message_id);
        let is_current = row.record.redrive == claim.redrive;
        if let Some(stored) = find(&mut row.record, claim.n)
            && is_current
            && stored.resend == claim.resend
            && !is_behind
            && is_free(stored, claim.now)
        {
            stored.state = IntentState::Sending;
            stored.owner = Some(claim.owner.clone());
            (stored.lease_until, stored.next_at) = (Some(claim.lease_until), None);
            stored.attempts += 1;
            let attempt = stored.attempts;
            if claim.resend > 0 && !row.needs_person() {
                row.attention = None;
            }
            return IntentStart::Acquired {
                attempt,
                message_id: target,
            };
        }
        match judge_refusal(Some(&row.record), claim) {
            IntentRefusal::Mine { attempts, message_id } => IntentStart::Acquired {
                attempt: attempts,
                message_id,
            },
            refusal => IntentStart::Refused(refusal),
        }
    }

    pub(super) fn settle_intent(&mut self, settlement: &IntentSettlement) -> bool {
        let IntentSettlement {
            key,
            n,
            of,
            owner,
            settle,
            now,
        } = settlement;
        let Some(row) = self.rows.get_mut(key) else {
            return false;
        };
        let Some(stored) = find(&mut row.record, *n) else {
            return false;
        };
        let next = next_state(settle);
        let is_mine = owner.is_some() && stored.owner == *owner;
        let holds = match (owner, stored.state) {
            (Some(_), IntentState::Sending) => is_mine,
            // Its own worker's late confirmation also settles what was given up as unknown.
            (Some(_), IntentState::Unknown) => is_mine && next == IntentState::Sent,
            (None, IntentState::Sending) => {
                stored.lease_until.is_some_and(|until| is_suspect_at(until, *now))
            }
            _ => false,
        };
        if !holds {
            return is_mine && stored.state == next;
        }
        stored.state = next;
        stored.lease_until = None;
        match settle {
            SettleAs::Sent { message_id } => stored.message_id = message_id.or(stored.message_id),
            SettleAs::Retry {
                next_at,
                burned,
                failure,
            } => {
                stored.next_at = Some(*next_at);
                stored.failure = Some(failure.clone());
                stored.attempts -= u32::from(!burned);
            }
            SettleAs::Failed { failure } | SettleAs::Unknown { failure } => {
                stored.failure = Some(failure.clone())
            }
        }
        match next {
            IntentState::Unknown => row.attention = Some("unknown"),
            IntentState::Sent | IntentState::Failed => {
                row.record.open = row.record.open.saturating_sub(1);
                if row.record.open == 0 || *of == 1 {
                    row.record.expires_at = self.retention.expires_at(0, *now);
                }
                if !row.needs_person() {
                    row.attention = None;
                }
            }
            IntentState::Intended | IntentState::Sending | IntentState::Retrying | IntentState::Cancelled => {
            }
        }
        true
    }

    pub(super) fn hold(&mut self, bot: BotId, chat: &str, until: Timestamp) {
        let hold = self.holds.entry((bot, chat.to_owned())).or_insert(until);
        *hold = until.max(*hold);
    }

    pub(super) fn swap_gate(
        &mut self,
        bot: BotId,
        chat: &str,
        seen: Option<&str>,
        next: &ChatGate,
        token: &str,
    ) -> Swapped {
        let of = (bot, chat.to_owned());
        let hold_until = self.holds.get(&of).copied();
        let found = self.paces.get(&of);
        let last = found.map(|(_, last)| last.as_str());
        if last != seen && last != Some(token) {
            return Swapped::Lost(Box::new(StoredChatGate {
                gate: found.map(|(gate, _)| gate.clone()).unwrap_or_default(),
                last: last.map(str::to_owned),
                hold_until,
            }));
        }
        if last != Some(token) {
            self.paces.insert(of, (next.clone(), token.to_owned()));
        }
        Swapped::Done { hold_until }
    }

    pub(super) fn debit(&mut self, bot: BotId, cells: u32, now: Timestamp) -> Debit {
        let tat = self.gates.entry(bot).or_insert(i64::MIN);
        let start = Timestamp::from_millis(now.as_millis().max(*tat));
        let ahead = start.since(now);
        if ahead > HORIZON {
            return Debit::Full { ahead };
        }
        *tat = (start + CELL * cells).as_millis();
        Debit::Reserved { ahead }
    }

    pub(super) fn hold_bot(&mut self, bot: BotId, until: Timestamp) {
        let hold = self.bot_holds.entry(bot).or_insert(until);
        *hold = until.max(*hold);
        let tat = self.gates.entry(bot).or_insert(i64::MIN);
        *tat = until.as_millis().max(*tat);
    }
}

fn is_free(stored: &IntentRecord, now: Timestamp) -> bool {
    match stored.state {
        IntentState::Intended => true,
        IntentState::Retrying => stored.next_at.is_some_and(|next_at| next_at <= now),
        IntentState::Sending
        | IntentState::Sent
        | IntentState::Failed
        | IntentState::Unknown
        | IntentState::Cancelled => false,
    }
}

fn next_state(settle: &SettleAs) -> IntentState {
    match settle {
        SettleAs::Sent { .. } => IntentState::Sent,
        SettleAs::Retry { .. } => IntentState::Retrying,
        SettleAs::Failed { .. } => IntentState::Failed,
        SettleAs::Unknown { .. } => IntentState::Unknown,
    }
}
