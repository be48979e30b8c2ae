//! The arrows: every failpoint, what else has to be armed so that it can be reached, and which runs a plan has. Pure.

use penstock_aws::hooks::{BACKEND_POINTS, POINTS};

use super::forward::is_forward;

/// Where a worker has to die first.
const DIES_FIRST: &str = "ledger.commit.before";
/// Function processes of one event source in the drill: each of them may take a token.
pub(super) const PROCESSES: u32 = 2;
/// The pass at which the second batch of the long form meets the crash: the messages before it have come further.
const LATER: u32 = 3;

/// The point at which another process has to die first, so that this one can be reached at all, and how often an Update
/// has to meet that: a fresh Update runs without a claim, so it is claimed only after one death, and taken over after
/// the second.
pub(super) fn dies_first(arrow: &str) -> Option<(&'static str, u32)> {
    let deaths = match arrow.rsplit_once('.')?.0 {
        "ledger.claim" | "ledger.claim_expired" | "ledger.keep_for_reuse" => 1,
        "ledger.take_over" => 2,
        _ => return None,
    };
    Some((DIES_FIRST, deaths))
}

/// Which cases meet the crash one by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Alone {
    No,
    All,
    /// So many, drawn with this seed.
    Some(usize, u64),
}

/// One run on a stack of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) arrow: &'static str,
    /// The pass at which a process of the batch dies.
    pub(super) nth: u32,
    pub(super) alone: Alone,
}

/// Every arrow with a batch that meets the crash at once, all cases one by one, and a batch that meets it later.
pub(super) fn long(arrows: &[&'static str]) -> Vec<Plan> {
    let first = arrows.iter().map(|&arrow| Plan {
        arrow,
        nth: 1,
        alone: Alone::All,
    });
    let later = arrows.iter().map(|&arrow| Plan {
        arrow,
        nth: LATER,
        alone: Alone::No,
    });
    let mut plans: Vec<Plan> = first.chain(later).collect();
    // The longest first, so that none of them is left to run alone.
    plans.sort_by_key(|plan| {
        let deaths = dies_first(plan.arrow).map_or(0, |(_, deaths)| deaths);
        (plan.alone != Alone::All, std::cmp::Reverse(deaths))
    });
    plans
}

/// So many runs, the same for the same seed: no arrow twice before each was drawn once, and at least one of those that
/// only a backend's Updates pass.
pub(super) fn sampled(arrows: &[&'static str], runs: usize, seed: u64) -> Vec<Plan> {
    let mut draw = fastrand::Rng::with_seed(seed);
    let mut plans = Vec::new();
    while plans.len() < runs && !arrows.is_empty() {
        let mut order = arrows.to_vec();
        draw.shuffle(&mut order);
        if plans.is_empty()
            && let Some(place) = order.iter().position(|arrow| is_forward(arrow))
            && place >= runs
        {
            order.swap(place, draw.usize(..runs));
        }
        plans.extend(order.into_iter().map(|arrow| Plan {
            arrow,
            nth: draw.u32(1..=LATER),
            alone: Alone::Some(3, draw.u64(..)),
        }));
    }
    plans.truncate(runs);
    plans
}

/// All arrows, or those whose name holds the text.
pub(super) fn named(text: Option<&str>) -> Vec<&'static str> {
    let is_meant = |point: &&&str| text.is_none_or(|text| point.contains(text));
    POINTS
        .iter()
        .chain(BACKEND_POINTS)
        .filter(is_meant)
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_long_form_has_every_arrow_and_every_case() {
        let plans = long(&named(None));
        let alone: BTreeSet<_> = plans
            .iter()
            .filter(|plan| plan.alone == Alone::All)
            .map(|plan| plan.arrow)
            .collect();
        assert_eq!(alone, POINTS.iter().chain(BACKEND_POINTS).copied().collect());
        assert!(plans[0].arrow.starts_with("ledger.take_over."));
    }

    #[test]
    fn a_sample_is_the_same_for_the_same_seed_and_has_no_arrow_twice() {
        let arrows = named(None);
        let first = sampled(&arrows, 12, 7);
        assert_eq!(first, sampled(&arrows, 12, 7));
        assert_ne!(first, sampled(&arrows, 12, 8));
        let different: BTreeSet<_> = first.iter().map(|plan| plan.arrow).collect();
        assert_eq!(different.len(), 12);
        assert_eq!(sampled(&arrows, 2 * arrows.len(), 7).len(), 2 * arrows.len());
        assert!(sampled(&[], 3, 7).is_empty());
    }

    #[test]
    fn every_sample_has_an_arrow_of_the_forward_part() {
        for seed in 0..100 {
            for runs in [1, 12] {
                let plans = sampled(&named(None), runs, seed);
                assert!(plans.iter().any(|plan| is_forward(plan.arrow)), "{seed}");
            }
        }
    }

    #[test]
    fn an_arrow_is_found_by_a_part_of_its_name() {
        assert_eq!(
            named(Some("take_over")),
            ["ledger.take_over.after", "ledger.take_over.before"]
        );
        assert!(
            named(Some("take_over"))
                .iter()
                .all(|arrow| dies_first(arrow).is_some())
        );
        assert_eq!(dies_first("ledger.commit.after"), None);
    }
}
