//! Orders under any interleaving of presses, repeats and conflicts: stars are conserved, no order is charged twice, and
//! what has ended stays so.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::world::{Delivery, Run, World};
use crate::example::ExampleBot;
use crate::outcome::Outcome;

const PEOPLE: [i64; 2] = [11, 12];
const STARTING_STARS: i64 = 10;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// Somebody orders, and that is handled at once.
    Order { who: usize, item: usize },
    /// Somebody presses a button of an order; its run reads and decides.
    Press { order: usize, pays: bool },
    /// An earlier press is delivered once more; its run reads and decides.
    Repeat { press: usize },
    /// A run that has decided writes, or runs again.
    Finish { run: usize },
    /// Time goes by, or none does.
    Wait { millis: i64 },
}

fn step() -> impl Strategy<Value = Step> {
    let n = 0_usize..16;
    prop_oneof![
        2 => (0_usize..2, 0_usize..3).prop_map(|(who, item)| Step::Order { who, item }),
        4 => (n.clone(), prop::bool::weighted(0.75)).prop_map(|(order, pays)| Step::Press { order, pays }),
        1 => n.clone().prop_map(|press| Step::Repeat { press }),
        4 => n.prop_map(|run| Step::Finish { run }),
        1 => (0_i64..3).prop_map(|millis| Step::Wait { millis }),
    ]
}

fn picked<T: Clone>(of: &[T], n: usize) -> Option<T> {
    (!of.is_empty()).then(|| of[n % of.len()].clone())
}

/// What is expected of the table, told by the outcomes alone.
#[derive(Debug, Default)]
struct Told {
    /// How an order ended, by its id.
    ends: BTreeMap<String, &'static str>,
}

impl Told {
    fn note(&mut self, press: &Delivery, outcome: &Outcome) {
        if matches!(outcome.result, "paid" | "cancelled") {
            let (_, id) = press.update.callback_data().unwrap().split_once(':').unwrap();
            let before = self.ends.insert(id.to_owned(), outcome.result);
            assert_eq!(before, None, "order {id} has ended twice");
        }
    }
}

fn check(world: &World, told: &Told) {
    for who in PEOPLE {
        let account = world.record("account", who);
        let balance = account.map_or(STARTING_STARS, |account| account["stars"].as_i64().unwrap());
        let charged: i64 = world
            .records
            .keys()
            .filter(|key| key.collection == "charge")
            .map(|key| world.record("charge", &key.id).unwrap())
            .filter(|charge| charge["user"] == who)
            .map(|charge| charge["stars"].as_i64().unwrap())
            .sum();
        assert!(balance >= 0, "{who} has less than nothing");
        assert_eq!(
            balance + charged,
            STARTING_STARS,
            "the stars of {who} are not conserved"
        );
    }
    for (key, item) in &world.records {
        let value: Value = serde_json::from_str(&item.value).unwrap();
        if key.collection == "order" {
            let expected = told.ends.get(&key.id).copied().unwrap_or("open");
            assert_eq!(value["state"], expected, "order {}", key.id);
            let is_charged = world.record("charge", &key.id).is_some();
            assert_eq!(is_charged, expected == "paid", "charge of order {}", key.id);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_is_pressed_in_whatever_order_stars_are_conserved_and_no_order_is_charged_twice(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut world = World::new(ExampleBot::default());
        let mut told = Told::default();
        let (mut orders, mut presses, mut runs): (Vec<(i64, String)>, Vec<Delivery>, Vec<Run>) = Default::default();
        let finish = |world: &mut World, told: &mut Told, run: Run| {
            let press = run.delivery.clone();
            if let Some(outcome) = world.finish(run) {
                told.note(&press, &outcome);
            }
            check(world, told);
        };
        for step in steps {
            match step {
                Step::Order { who, item } => {
                    let who = PEOPLE[who];
                    let press = world.press(who, ["order:tea", "order:coffee", "order:cake"][item]);
                    world.deliver(&press);
                    orders.push((who, press.key.to_string()));
                    presses.push(press);
                }
                Step::Press { order, pays } => {
                    if let Some((who, id)) = picked(&orders, order) {
                        let press = world.press(who, &format!("{}:{id}", if pays { "pay" } else { "cancel" }));
                        runs.push(world.begin(&press, false));
                        presses.push(press);
                    }
                }
                Step::Repeat { press } => {
                    if let Some(press) = picked(&presses, press) {
                        runs.push(world.begin(&press, false));
                    }
                }
                Step::Finish { run } if !runs.is_empty() => {
                    let run = runs.swap_remove(run % runs.len());
                    finish(&mut world, &mut told, run);
                }
                Step::Finish { .. } => {}
                Step::Wait { millis } => world.now = world.now + std::time::Duration::from_millis(millis.unsigned_abs()),
            }
        }
        for run in runs {
            finish(&mut world, &mut told, run);
        }
        let made = world.records.keys().filter(|key| key.collection == "order").count();
        prop_assert_eq!(made, orders.len());
    }
}
