//! The arrows that only a bot with a backend of its own passes: the stack hands Updates to a backend which goes away and
//! comes back, and a process dies at its breaker. Nothing may be lost or out of order; handed over twice is only what a
//! try had in hand when its process died.

use std::collections::{BTreeMap, BTreeSet};

use penstock_aws::hooks::BACKEND_POINTS;

use super::arrows::{Alone, Plan};
use super::backend::Handed;
use super::judge::Found;
use super::load::{Case, Ids, kinds};
use super::report::Row;
use super::rig::Rig;

/// Kinds that a backend gets here: with a chat to answer and without one, and none whose answer can come too late.
const KINDS: [&str; 6] = [
    "message",
    "callback_query",
    "edited_message",
    "channel_post",
    "poll",
    "my_chat_member",
];
/// Messages of other chats in a batch: more than the first steps of a ramp let through at once.
const CHATS: u32 = 8;
/// How long the backend is away in a batch: long enough for a probe that finds that out.
const AWAY_SECS: u64 = 30;
/// After so long an answer is noted in the breaker's item again.
const NOTED_AFTER_SECS: u64 = 11;
/// Updates that a process may have in hand when it dies: the mapping's batch size (template).
const MOST_IN_HAND: usize = 10;

/// Whether the arrow is one of these.
pub(super) fn is_forward(arrow: &str) -> bool {
    BACKEND_POINTS.contains(&arrow)
}

/// Whether an Update can have been handed over by the very try that passes the arrow: what the backend answered is noted
/// in the breaker's item before the outcome is committed. The gate of a ramp is asked before the claim.
fn follows_a_delivery(arrow: &str) -> bool {
    arrow.starts_with("ledger.change_breaker.")
}

/// Meets the arrow in an outage and its end, and then by single Updates; gives back how many Updates may have been handed
/// over twice.
pub(super) async fn crash(
    plan: &Plan,
    crashes: u32,
    rig: &mut Rig,
    row: &mut Row,
) -> Result<usize, anyhow::Error> {
    let cases = cases(&mut rig.ids, true);
    row.hits += rig.outage(&cases, crashes, AWAY_SECS).await?;
    let mut may_double = row.hits as usize * MOST_IN_HAND;
    if !follows_a_delivery(plan.arrow) {
        // One Update alone has its place in a ramp.
        return Ok(may_double);
    }
    let mut cases = self::cases(&mut rig.ids, false);
    match plan.alone {
        Alone::No => cases.clear(),
        Alone::All => {}
        Alone::Some(count, seed) => {
            fastrand::Rng::with_seed(seed).shuffle(&mut cases);
            cases.truncate(count);
        }
    }
    row.alone_tried = cases.len();
    for case in &cases {
        rig.pass_secs(NOTED_AFTER_SECS).await;
        if rig.alone(case).await? {
            row.hits += 1;
            row.alone_hit.push(case.name.clone());
            may_double += 1;
        }
    }
    Ok(may_double)
}

fn cases(ids: &mut Ids, in_batch: bool) -> Vec<Case> {
    let mut cases = kinds(ids, in_batch);
    cases.retain(|case| KINDS.contains(&case.name.as_str()));
    for _ in 0..if in_batch { CHATS } else { 0 } {
        let mut case = Case::new("another chat");
        let chat = ids.chat();
        case.text(ids, chat, "first");
        case.text(ids, chat, "second");
        cases.push(case);
    }
    // The example bot is not there to count.
    for wanted in cases.iter_mut().flat_map(|case| &mut case.steps) {
        if let Some(wanted) = &mut wanted.wanted {
            wanted.counts = None;
        }
    }
    cases
}

/// Judges what the backend was handed. `put` are the Updates with their groups, in the order in which they were put in.
pub(super) fn judge(put: &[(i64, String)], handed: &[Handed], may_double: usize) -> Found {
    let mut found = Found::default();
    let mut tries: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
    let mut firsts = Vec::new();
    for handed in handed {
        let tries = tries.entry(handed.update).or_default();
        if tries.is_empty() {
            firsts.push(handed.update);
        }
        tries.push(handed.fence);
    }
    for (update, tries) in &tries {
        found.handed_again += tries.len() - 1;
        if tries.iter().collect::<BTreeSet<_>>().len() < tries.len() {
            found.doubled += 1;
            found
                .troubles
                .push(format!("{update}: one try handed it over twice: {tries:?}"));
        }
    }
    if found.handed_again > may_double {
        found.doubled += found.handed_again - may_double;
        found.troubles.push(format!(
            "{} were handed over again, {may_double} can have been in hand at a crash",
            found.handed_again
        ));
    }
    let mut groups: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (update, group) in put {
        if tries.contains_key(update) {
            groups.entry(group).or_default().push(*update);
        } else {
            found.lost += 1;
            found.troubles.push(format!("{update}: never handed over"));
        }
    }
    for (group, wanted) in groups {
        let order: Vec<_> = firsts
            .iter()
            .filter(|update| wanted.contains(update))
            .copied()
            .collect();
        if order != wanted {
            found.out_of_order += 1;
            found
                .troubles
                .push(format!("{group}: handed over as {order:?}, not as {wanted:?}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use penstock_domain::ids::BotId;

    use super::*;

    fn found(handed: &[(i64, u64)], may_double: usize) -> Found {
        let put = [(1, "a".to_owned()), (2, "b".to_owned()), (3, "a".to_owned())];
        let handed = handed.iter().map(|&(update, fence)| Handed { update, fence });
        judge(&put, &handed.collect::<Vec<_>>(), may_double)
    }

    fn figures(found: &Found) -> (usize, usize, usize, usize) {
        (found.lost, found.doubled, found.out_of_order, found.handed_again)
    }

    #[test]
    fn what_a_dying_try_had_in_hand_may_come_again_and_nothing_else() {
        let well = found(&[(1, 1), (2, 1), (3, 1)], 0);
        assert_eq!((figures(&well), well.troubles.len()), ((0, 0, 0, 0), 0));
        let again = [(1, 1), (2, 1), (1, 2), (3, 1)];
        assert_eq!(figures(&found(&again, 1)), (0, 0, 0, 1));
        assert_eq!(figures(&found(&again, 0)), (0, 1, 0, 1));
        // The same try twice is a repeat of the client's own.
        assert_eq!(
            figures(&found(&[(1, 1), (1, 1), (2, 1), (3, 1)], 9)),
            (0, 1, 0, 1)
        );
    }

    #[test]
    fn what_never_came_is_lost_and_what_overtook_is_out_of_order() {
        assert_eq!(figures(&found(&[(1, 1), (3, 1)], 0)), (1, 0, 0, 0));
        assert_eq!(figures(&found(&[(3, 1), (2, 1), (1, 1)], 0)), (0, 0, 1, 0));
    }

    #[test]
    fn every_kind_is_there_and_no_counter_is_asked() {
        let cases = cases(&mut Ids::new(BotId(424_242)), false);
        let names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
        for kind in KINDS {
            assert!(names.contains(&kind), "{kind}");
        }
        let mut wanted = cases
            .iter()
            .flat_map(|case| &case.steps)
            .filter_map(|step| step.wanted.as_ref());
        assert!(wanted.all(|wanted| wanted.counts.is_none()));
    }
}
