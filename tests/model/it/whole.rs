//! The protocol as it is keeps every promise in every scenario.

use std::collections::BTreeSet;

use penstock_model::check::{Found, explore};
use penstock_model::judge::SIGHTS;
use penstock_model::pipeline::Pipeline;
use penstock_model::{doors, gate, scenarios};

use super::told;

/// So many different states at least: fewer would mean that a scenario has become empty.
const LEAST_UNIQUE: usize = 3_000_000;

fn report(name: &str, found: &Found) -> usize {
    println!(
        "{name}: states explored: {} (unique {})",
        found.states, found.unique
    );
    for (promise, steps) in &found.broken {
        println!("\"{promise}\" is broken:{}", told(steps));
    }
    assert!(
        found.broken.is_empty(),
        "{name}: {} promises are broken",
        found.broken.len()
    );
    found.unique
}

#[test]
fn every_promise_holds_whatever_crashes_repeats_or_comes_late() {
    let (mut total, mut unseen) = ((0, 0), BTreeSet::from(SIGHTS.map(|(name, _)| name)));
    for scenario in scenarios::all() {
        let name = scenario.name;
        let found = explore(Pipeline {
            scenario,
            fault: None,
        });
        report(name, &found);
        unseen.retain(|sight| !found.shown.contains(sight));
        total = (total.0 + found.states, total.1 + found.unique);
    }
    println!("in all: states explored: {} (unique {})", total.0, total.1);
    assert!(unseen.is_empty(), "never seen: {unseen:?}");
    assert!(total.1 >= LEAST_UNIQUE, "only {} states", total.1);
}

#[test]
fn a_breaker_opens_for_no_poison_kills_nobody_and_is_opened_by_a_probe_only() {
    for door in [
        doors::door(),
        doors::door_with_poison(),
        doors::door_with_feller(),
        // Its last try asks first: nothing else tells such an outage from an Update that fells its own request.
        doors::door_of_a_lone_chat(),
    ] {
        let name = door.name;
        report(name, &explore(door));
    }
}

#[test]
fn a_slot_of_a_gate_is_never_used_twice_and_one_given_back_is_used() {
    let found = explore(doors::gate());
    report("a gate of sends", &found);
    assert_eq!(found.shown, [gate::SLOTS_COME_BACK]);
}
