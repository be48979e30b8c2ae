//! Orders, one step at a time. Interleavings are drawn in their own file.

use penstock_domain::data::{DataKey, Expect};
use penstock_domain::ids::{BotId, LedgerKey, UpdateDigest, UpdateId};
use penstock_domain::kind::UpdateKind;
use serde_json::{Value, json};

use super::world::{Delivery, World, buttons, said};
use crate::example::ExampleBot;

const ANNA: i64 = 11;
const BEN: i64 = 12;

fn world() -> World {
    World::new(ExampleBot::default())
}

/// An order of that person, and the data of its buttons.
fn ordered(world: &mut World, who: i64, item: &str) -> (String, String, String) {
    let press = world.press(who, &format!("order:{item}"));
    let [pay, cancel] = buttons(&world.deliver(&press)).try_into().unwrap();
    (press.key.to_string(), pay, cancel)
}

fn state_of(world: &World, order: &str) -> Value {
    world.record("order", order).unwrap()["state"].clone()
}

fn stars_of(world: &World, who: i64) -> Value {
    world
        .record("account", who)
        .map_or(Value::Null, |account| account["stars"].clone())
}

#[test]
fn the_menu_shows_three_items_and_a_press_makes_an_open_order() {
    let mut world = world();
    let menu = world.text(ANNA, "/order");
    let shown = buttons(&world.deliver(&menu));
    assert_eq!(shown, ["order:tea", "order:coffee", "order:cake"]);
    let press = world.press(ANNA, "order:tea");
    let offer = world.deliver(&press);
    assert_eq!(said(&offer), "Tea for 3 stars.");
    assert_eq!(
        buttons(&offer),
        [format!("pay:{}", press.key), format!("cancel:{}", press.key)]
    );
    let order = world.record("order", &press.key).unwrap();
    assert_eq!(
        (&order["state"], &order["stars"], &order["owner"]),
        (&json!("open"), &json!(3), &json!(ANNA))
    );
    let odd = world.press(ANNA, "order:moon");
    assert_eq!(world.deliver(&odd).result, "no_such_item");
}

#[test]
fn a_repeated_press_makes_no_second_order() {
    let mut world = world();
    let press = world.press(ANNA, "order:tea");
    world.deliver(&press);
    let before = world.records.clone();
    let again = world.deliver(&press);
    assert_eq!(said(&again), "That was ordered already.");
    assert_eq!(world.records, before);
}

#[test]
fn a_payment_writes_charge_order_and_account_each_under_its_condition() {
    let mut world = world();
    let (id, pay, _) = ordered(&mut world, ANNA, "tea");
    let press = world.press(ANNA, &pay);
    let version = world.records[&DataKey::new("order", &id)].version;
    let first = world.deliver(&press);
    let expected = |outcome: &crate::Outcome| -> Vec<(String, Expect)> {
        let one = |write: &crate::DataWrite| (write.key.to_string(), write.expect);
        outcome.writes.iter().map(one).collect()
    };
    let (charge, order, account) = (
        format!("charge/{id}"),
        format!("order/{id}"),
        format!("account/{ANNA}"),
    );
    assert_eq!(
        expected(&first),
        [
            (charge, Expect::Absent),
            (order, Expect::Version(version)),
            (account.clone(), Expect::Absent),
        ]
    );
    // A second order finds the account that the first has made.
    let seen = world.records[&DataKey::new("account", ANNA)].version;
    let (_, pay, _) = ordered(&mut world, ANNA, "coffee");
    let press = world.press(ANNA, &pay);
    let second = world.deliver(&press);
    assert_eq!(expected(&second)[2], (account, Expect::Version(seen)));
    assert_eq!(stars_of(&world, ANNA), 3);
}

#[test]
fn two_presses_at_once_charge_once_and_the_second_is_told_so() {
    let mut world = world();
    let (id, pay, _) = ordered(&mut world, ANNA, "tea");
    let (one, two) = (world.press(ANNA, &pay), world.press(ANNA, &pay));
    let slow = world.begin(&one, false);
    assert_eq!(
        said(&world.deliver(&two)),
        "Paid: Tea for 3 stars. You have 7 stars left."
    );
    let second = world.finish(slow).unwrap();
    assert_eq!(
        said(&second),
        "Already paid: Tea for 3 stars. You have 7 stars left."
    );
    assert_eq!((second.writes, stars_of(&world, ANNA)), (vec![], json!(7)));
    assert_eq!(state_of(&world, &id), "paid");
    assert_eq!(world.record("charge", &id).unwrap()["stars"], 3);
}

#[test]
fn a_charge_without_its_paid_order_is_not_made_again() {
    let mut world = world();
    let (id, pay, _) = ordered(&mut world, ANNA, "tea");
    let open = world.records[&DataKey::new("order", &id)].clone();
    let press = world.press(ANNA, &pay);
    world.deliver(&press);
    // As if somebody had put the old order back by hand.
    world.records.insert(DataKey::new("order", &id), open);
    let press = world.press(ANNA, &pay);
    assert_eq!(world.deliver(&press).result, "paid_before");
    assert_eq!(stars_of(&world, ANNA), 7);
}

#[test]
fn who_has_too_little_is_not_charged_and_may_still_cancel() {
    let mut world = world();
    for item in ["tea", "coffee"] {
        let (_, pay, _) = ordered(&mut world, ANNA, item);
        let press = world.press(ANNA, &pay);
        world.deliver(&press);
    }
    let (id, pay, cancel) = ordered(&mut world, ANNA, "cake");
    let press = world.press(ANNA, &pay);
    let refused = world.deliver(&press);
    assert_eq!(said(&refused), "Cake costs 5 stars, and you have 3 stars.");
    assert_eq!(refused.calls[0].method, "sendMessage");
    assert_eq!((refused.writes, stars_of(&world, ANNA)), (vec![], json!(3)));
    let press = world.press(ANNA, &cancel);
    assert_eq!(world.deliver(&press).result, "cancelled");
    assert_eq!(state_of(&world, &id), "cancelled");
}

#[test]
fn an_order_may_be_spent_to_the_last_star() {
    let mut world = world();
    for (item, left) in [("cake", 5), ("cake", 0)] {
        let (_, pay, _) = ordered(&mut world, ANNA, item);
        let press = world.press(ANNA, &pay);
        assert_eq!(world.deliver(&press).result, "paid");
        assert_eq!(stars_of(&world, ANNA), left);
    }
}

#[test]
fn a_paid_order_cannot_be_cancelled_and_a_cancelled_one_cannot_be_paid() {
    let mut world = world();
    let (paid, pay, cancel) = ordered(&mut world, ANNA, "tea");
    for (data, result) in [(&pay, "paid"), (&cancel, "paid_before"), (&pay, "paid_before")] {
        let press = world.press(ANNA, data);
        assert_eq!(world.deliver(&press).result, result);
    }
    assert_eq!(state_of(&world, &paid), "paid");
    let (cancelled, pay, cancel) = ordered(&mut world, ANNA, "tea");
    for (data, result) in [
        (&cancel, "cancelled"),
        (&pay, "cancelled_before"),
        (&cancel, "cancelled_before"),
    ] {
        let press = world.press(ANNA, data);
        assert_eq!(world.deliver(&press).result, result);
    }
    assert_eq!(state_of(&world, &cancelled), "cancelled");
    assert_eq!(world.record("charge", &cancelled), None);
    assert_eq!(stars_of(&world, ANNA), 7);
}

#[test]
fn somebody_elses_order_is_neither_paid_nor_cancelled() {
    let mut world = world();
    let (id, pay, cancel) = ordered(&mut world, ANNA, "tea");
    for data in [pay, cancel] {
        let press = world.press(BEN, &data);
        let refused = world.deliver(&press);
        assert_eq!((refused.result, refused.writes), ("not_yours", vec![]));
    }
    assert_eq!(state_of(&world, &id), "open");
}

#[test]
fn made_up_button_data_changes_nothing() {
    let mut world = world();
    for data in ["pay:", "cancel:", "order:", "pay:no#such", "cancel:no"] {
        let press = world.press(ANNA, data);
        let outcome = world.deliver(&press);
        assert!(outcome.writes.is_empty() && outcome.new_state.is_none(), "{data}");
    }
}

#[test]
fn the_buttons_of_the_longest_key_fit() {
    let mut world = world();
    let key = LedgerKey::reused(BotId(99_999_999_999), UpdateId(1 << 52), UpdateDigest(u64::MAX));
    let body = json!({"id": "7", "data": "order:coffee", "from": {"id": ANNA},
        "message": {"message_id": 3, "chat": {"id": 5}}});
    let update = world.delivery(UpdateKind::CallbackQuery, &body).update;
    // `buttons` looks at their length.
    assert_eq!(buttons(&world.deliver(&Delivery { key, update })).len(), 2);
}
