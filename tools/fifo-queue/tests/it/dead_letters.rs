//! Redrive into a dead-letter queue.

use fifo_queue::{Code, SendEntry};

use crate::support::{DEAD, QUEUE, Texts, World, bodies, fifo, redrive_to, refused, texts};

#[test]
fn message_moves_on_the_receive_after_its_last_one() {
    let world = World::with_dead_letters(2);
    world.send("a", "m1");
    world.send("a", "m2");
    for _ in 0..2 {
        assert_eq!(bodies(&world.receive(1)), ["m1"]);
        world.seconds(30);
        assert!(
            world.receive_from(DEAD, 10).is_empty(),
            "the end of a visibility moves nothing"
        );
    }
    assert_eq!(world.bodies(), ["m2"], "the group is free again");
    assert_eq!(bodies(&world.receive_from(DEAD, 10)), ["m1"]);
}

#[test]
fn dead_letter_keeps_its_identity_and_begins_anew() {
    let world = World::with_dead_letters(1);
    let sent = world.send("a", "m1");
    world.receive(1);
    world.seconds(30);
    assert!(world.bodies().is_empty());
    let dead = world.receive_from(DEAD, 1).remove(0);
    assert_eq!(dead.message_id, sent.message_id);
    assert_eq!(dead.group.as_deref(), Some("a"));
    assert_eq!(dead.dedup_id.as_deref(), Some("m1"));
    assert_eq!(dead.dead_letter_source.as_deref(), Some(QUEUE));
    assert_eq!(dead.receive_count, 1);
    assert_eq!(dead.sent_ms, crate::support::START_MS + 30_000);
    assert!(dead.sequence_number > sent.sequence_number);
}

#[test]
fn giving_a_message_back_counts_toward_its_receives() {
    let world = World::with_dead_letters(2);
    world.send("a", "m1");
    for _ in 0..2 {
        let message = world.receive(1).remove(0);
        world.hide(&message, 0);
    }
    assert!(world.bodies().is_empty());
    assert_eq!(bodies(&world.receive_from(DEAD, 10)), ["m1"]);
}

#[test]
fn dead_letters_of_a_group_keep_their_order() {
    let world = World::with_dead_letters(1);
    for body in ["m1", "m2", "m3"] {
        world.send("a", body);
    }
    world.receive(10);
    world.seconds(30);
    assert!(world.bodies().is_empty());
    assert_eq!(bodies(&world.receive_from(DEAD, 10)), ["m1", "m2", "m3"]);
}

#[test]
fn moving_ignores_the_windows_of_the_dead_letter_queue() {
    let world = World::with_dead_letters(1);
    world
        .engine
        .send(DEAD, &SendEntry::fifo("a", "m1", "sent there"))
        .unwrap();
    world.send("a", "m1");
    world.receive(1);
    world.seconds(30);
    assert!(world.bodies().is_empty());
    assert_eq!(bodies(&world.receive_from(DEAD, 10)), ["sent there", "m1"]);
}

#[test]
fn messages_stay_while_the_dead_letter_queue_is_missing() {
    let world = World::with_dead_letters(1);
    world.engine.delete_queue(DEAD).unwrap();
    world.send("a", "m1");
    world.receive(1);
    world.seconds(30);
    assert_eq!(world.bodies(), ["m1"]);
}

#[test]
fn dead_letter_queue_must_exist_and_be_of_the_same_kind() {
    let world = World::new(&[]);
    world
        .engine
        .create_queue("plain", &Texts::new(), &Texts::new())
        .unwrap();
    for target in ["plain", "missing.fifo", QUEUE] {
        let changed = world
            .engine
            .set_queue_attributes(QUEUE, &texts(&[("RedrivePolicy", &redrive_to(target, 3))]));
        assert_eq!(refused(changed), Code::InvalidParameterValue, "{target}");
    }
}

#[test]
fn dead_letter_queue_may_refuse_a_source() {
    let world = World::new(&[]);
    let deny = fifo(&[("RedriveAllowPolicy", r#"{"redrivePermission":"denyAll"}"#)]);
    world.engine.create_queue(DEAD, &deny, &Texts::new()).unwrap();
    let changed = world
        .engine
        .set_queue_attributes(QUEUE, &texts(&[("RedrivePolicy", &redrive_to(DEAD, 3))]));
    assert_eq!(refused(changed), Code::InvalidParameterValue);
}

#[test]
fn sources_of_a_dead_letter_queue_are_listed() {
    let world = World::with_dead_letters(1);
    assert_eq!(world.engine.dead_letter_sources(DEAD).unwrap(), [QUEUE]);
    assert!(world.engine.dead_letter_sources(QUEUE).unwrap().is_empty());
}
