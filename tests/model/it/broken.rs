//! Each rule is needed: with it off, the checker finds how its promise breaks.

use penstock_model::check::seek;
use penstock_model::door::Door;
use penstock_model::fault::{Fault, Showcase};
use penstock_model::gate::Gate;
use penstock_model::pipeline::Pipeline;

use super::told;

/// Fewer steps than this break nothing: the promise would be broken before the rule had a part in it.
const FEWEST_STEPS: usize = 3;

#[test]
fn without_any_one_rule_its_promise_is_broken() {
    let mut unneeded = Vec::new();
    for off in Fault::ALL {
        let fault = Some(off);
        let (found, promise) = match off.shows_in() {
            Showcase::Pipeline(scenario, promise) => {
                let scenario = *scenario;
                (seek(Pipeline { scenario, fault }, promise), promise)
            }
            Showcase::Door(door, promise) => (seek(Door { fault, ..door }, promise), promise),
            Showcase::Gate(gate, promise) => (seek(Gate { fault, ..gate }, promise), promise),
        };
        match found.counterexample(promise) {
            Some(steps) if steps.len() >= FEWEST_STEPS => {
                println!(
                    "{off:?} breaks \"{promise}\" in {} steps:{}",
                    steps.len(),
                    told(steps)
                );
            }
            _ => unneeded.push(off),
        }
    }
    assert!(unneeded.is_empty(), "no counterexample without {unneeded:?}");
}
