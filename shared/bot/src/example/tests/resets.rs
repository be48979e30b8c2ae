//! /reset: who may, asked twice, done once, written down.

use std::time::Duration;

use penstock_domain::data::Expect;
use penstock_domain::kind::UpdateKind;
use serde_json::json;

use super::world::{CHAT, World, buttons, said};
use crate::example::ExampleBot;

const ADMIN: i64 = 900;
const OTHER_ADMIN: i64 = 901;
const GUEST: i64 = 902;

/// A chat with a message counted.
fn world() -> World {
    let mut world = World::new(ExampleBot::from_admins(vec![ADMIN, OTHER_ADMIN]));
    let hello = world.text(GUEST, "hello");
    world.deliver(&hello);
    world
}

/// The data of the button that the admin is shown.
fn asked(world: &mut World) -> String {
    let ask = world.text(ADMIN, "/reset");
    let [yes] = buttons(&world.deliver(&ask)).try_into().unwrap();
    yes
}

fn is_untouched(world: &World) -> bool {
    let is_audit = |key: &crate::DataKey| key.collection == "audit";
    world.state() == json!({"messages": 1}) && !world.records.keys().any(is_audit)
}

#[test]
fn who_is_no_admin_is_told_what_any_unknown_command_is_told() {
    // The guest's user name is the admin's: only the number counts.
    let mut world = world();
    let (reset, dance) = (world.text(GUEST, "/reset"), world.text(GUEST, "/dance"));
    let refused = world.deliver(&reset);
    assert_eq!(refused, world.deliver(&dance));
    assert!(refused.writes.is_empty());
    let mut without_admins = World::new(ExampleBot::default());
    let reset = without_admins.text(ADMIN, "/reset");
    assert_eq!(without_admins.deliver(&reset).result, "unknown_command");
}

#[test]
fn an_admin_is_asked_first_and_nothing_is_reset_by_the_command() {
    let mut world = world();
    let ask = world.text(ADMIN, "/reset");
    let question = world.deliver(&ask);
    assert!(said(&question).starts_with("Set the counters of this chat to zero?"));
    assert!(is_untouched(&world));
    assert_eq!(question.writes[0].expect, Expect::Absent);
    // A repeat of the same Update asks no second time.
    assert_eq!(world.deliver(&ask).calls, []);
}

#[test]
fn the_admin_who_confirms_resets_the_counters_and_is_written_down() {
    let mut world = world();
    let ask = world.text(ADMIN, "/reset");
    let [yes] = buttons(&world.deliver(&ask)).try_into().unwrap();
    let press = world.press(ADMIN, &yes);
    assert_eq!(
        said(&world.deliver(&press)),
        "The counters of this chat are at zero."
    );
    assert_eq!(world.state(), json!({"messages": 0, "presses": 0}));
    let audit = world.record("audit", &press.key).unwrap();
    let expected = json!({"v": 1, "who": ADMIN, "what": "reset", "chat": CHAT, "at": world.now.as_millis(),
        "asked_by": ask.key.as_str()});
    assert_eq!(audit, expected);
}

#[test]
fn a_confirmation_is_good_for_one_press_even_of_two_at_once() {
    let mut world = world();
    let yes = asked(&mut world);
    let (one, two) = (world.press(ADMIN, &yes), world.press(ADMIN, &yes));
    let slow = world.begin(&one, false);
    assert_eq!(world.deliver(&two).result, "reset_done");
    let second = world.finish(slow).unwrap();
    assert_eq!(second.result, "reset_used_up");
    assert_eq!(said(&second), "That button has been used, or has run out.");
    assert_eq!(world.record("audit", &one.key), None);
}

#[test]
fn the_commit_of_a_reset_rests_on_the_confirmation_that_was_read() {
    let mut world = world();
    let yes = asked(&mut world);
    let press = world.press(ADMIN, &yes);
    let run = world.begin(&press, false);
    let [confirmation] = run
        .context
        .records
        .values()
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    assert_eq!(run.outcome.writes[0].key.collection, "confirm");
    assert_eq!(
        run.outcome.writes[0].expect,
        Expect::Version(confirmation.version)
    );
    assert_eq!(run.outcome.writes[1].expect, Expect::Absent);
}

#[test]
fn nobody_else_can_confirm_not_even_another_admin() {
    let mut world = world();
    let yes = asked(&mut world);
    for who in [GUEST, OTHER_ADMIN] {
        let press = world.press(who, &yes);
        let refused = world.deliver(&press);
        assert_eq!(said(&refused), "Only the admin who asked can confirm that.");
        assert!(refused.writes.is_empty() && refused.new_state.is_none());
    }
    assert!(is_untouched(&world));
    let press = world.press(ADMIN, &yes);
    assert_eq!(world.deliver(&press).result, "reset_done");
}

#[test]
fn an_admin_who_is_none_any_more_cannot_confirm() {
    let mut world = world();
    let yes = asked(&mut world);
    world.bot = ExampleBot::from_admins(vec![OTHER_ADMIN]);
    let press = world.press(ADMIN, &yes);
    assert_eq!(world.deliver(&press).result, "reset_refused");
    assert!(is_untouched(&world));
}

#[test]
fn a_confirmation_of_one_chat_resets_no_other() {
    let mut world = world();
    let yes = asked(&mut world);
    let body = json!({"id": "7", "data": yes, "from": {"id": ADMIN}, "message": {"message_id": 3, "chat": {"id": 6}}});
    let press = world.delivery(UpdateKind::CallbackQuery, &body);
    assert_eq!(world.deliver(&press).result, "reset_refused");
    assert!(is_untouched(&world));
}

#[test]
fn sixty_seconds_later_the_button_does_nothing_any_more() {
    let mut world = world();
    let yes = asked(&mut world);
    let mut in_time = world.clone();
    world.now = world.now + Duration::from_secs(60);
    let press = world.press(ADMIN, &yes);
    let refused = world.deliver(&press);
    assert_eq!(refused.result, "reset_too_late");
    assert!(said(&refused).contains("nothing was changed"));
    assert!(is_untouched(&world));
    assert!(!world.records.keys().any(|key| key.collection == "confirm"));
    in_time.now = in_time.now + Duration::from_millis(59_999);
    let press = in_time.press(ADMIN, &yes);
    assert_eq!(in_time.deliver(&press).result, "reset_done");
}
