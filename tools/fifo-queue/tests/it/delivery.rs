//! Order, holding back, visibility, receipts.

use fifo_queue::{Code, ReceiveRequest};

use crate::support::{QUEUE, World, bodies, refused};

#[test]
fn messages_of_a_group_arrive_in_the_order_of_sending() {
    let world = World::new(&[]);
    for number in 0..12 {
        world.send("a", &number.to_string());
    }
    let first = world.receive(10);
    assert_eq!(bodies(&first), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    assert!(first.is_sorted_by(|a, b| a.sequence_number < b.sequence_number));
    first.iter().for_each(|message| world.delete(message));
    assert_eq!(world.bodies(), ["10", "11"]);
}

#[test]
fn group_in_flight_holds_its_messages_and_no_others() {
    let world = World::new(&[]);
    world.send("a", "a1");
    world.send("a", "a2");
    world.send("b", "b1");
    let a1 = world.receive(1);
    assert_eq!(bodies(&a1), ["a1"]);
    assert_eq!(world.bodies(), ["b1"]);
    assert!(world.bodies().is_empty());
    world.delete(&a1[0]);
    assert_eq!(world.bodies(), ["a2"]);
}

#[test]
fn group_is_held_behind_its_first_invisible_message() {
    let world = World::new(&[]);
    for body in ["m1", "m2", "m3"] {
        world.send("a", body);
    }
    let held = world.receive(10);
    world.hide(&held[0], 600);
    world.hide(&held[1], 0);
    world.hide(&held[2], 0);
    assert!(
        world.bodies().is_empty(),
        "m2 and m3 are visible, but stand behind m1"
    );
    world.hide(&held[0], 0);
    assert_eq!(world.bodies(), ["m1", "m2", "m3"]);
}

#[test]
fn delivery_stops_at_an_invisible_message_in_the_middle() {
    let world = World::new(&[]);
    for body in ["m1", "m2", "m3"] {
        world.send("a", body);
    }
    let held = world.receive(10);
    world.hide(&held[0], 0);
    world.hide(&held[2], 0);
    assert_eq!(world.bodies(), ["m1"]);
}

#[test]
fn group_is_freed_by_deleting_what_holds_it() {
    let world = World::new(&[]);
    for body in ["m1", "m2", "m3"] {
        world.send("a", body);
    }
    let held = world.receive(2);
    world.delete(&held[1]);
    assert!(world.bodies().is_empty(), "m1 still holds the group");
    world.delete(&held[0]);
    assert_eq!(world.bodies(), ["m3"]);
}

#[test]
fn unfinished_message_returns_first_and_counts_its_receives() {
    let world = World::new(&[("VisibilityTimeout", "5")]);
    world.send("a", "m1");
    world.send("a", "m2");
    let first = world.receive(1).remove(0);
    assert_eq!((first.receive_count, first.first_received_ms), (1, first.sent_ms));
    world.clock.advance(4_999);
    assert!(world.bodies().is_empty());
    world.clock.advance(1);
    let again = world.receive(1).remove(0);
    assert_eq!((again.body.as_str(), again.receive_count), ("m1", 2));
    assert_eq!(again.first_received_ms, first.first_received_ms);
}

#[test]
fn groups_are_served_in_the_order_of_their_oldest_messages() {
    let world = World::new(&[]);
    for (group, body) in [("c", "c1"), ("a", "a1"), ("b", "b1"), ("c", "c2")] {
        world.send(group, body);
    }
    assert_eq!(world.bodies(), ["c1", "c2", "a1", "b1"]);
}

#[test]
fn stale_receipt_handle_cannot_delete() {
    let world = World::new(&[("VisibilityTimeout", "5")]);
    world.send("a", "m1");
    let first = world.receive(1).remove(0);
    world.seconds(5);
    let expired = world.engine.delete(QUEUE, &first.receipt_handle);
    assert_eq!(refused(expired), Code::InvalidParameterValue);
    let second = world.receive(1).remove(0);
    let stale = world.engine.delete(QUEUE, &first.receipt_handle);
    assert_eq!(refused(stale), Code::InvalidParameterValue);
    let stale = world.engine.change_visibility(QUEUE, &first.receipt_handle, 0);
    assert_eq!(refused(stale), Code::InvalidParameterValue);
    world.delete(&second);
    world.seconds(60);
    assert!(world.bodies().is_empty());
}

#[test]
fn deleting_twice_succeeds() {
    let world = World::new(&[]);
    world.send("a", "m1");
    let message = world.receive(1).remove(0);
    world.delete(&message);
    world.delete(&message);
    let gone = world.engine.change_visibility(QUEUE, &message.receipt_handle, 5);
    assert_eq!(refused(gone), Code::InvalidParameterValue);
}

#[test]
fn handle_of_another_queue_is_no_handle() {
    let world = World::new(&[]);
    world
        .engine
        .create_queue("other.fifo", &crate::support::fifo(&[]), &Default::default())
        .unwrap();
    world.send("a", "m1");
    let message = world.receive(1).remove(0);
    for (queue, handle) in [
        ("other.fifo", message.receipt_handle.as_str()),
        (QUEUE, "garbage"),
    ] {
        assert_eq!(
            refused(world.engine.delete(queue, handle)),
            Code::ReceiptHandleIsInvalid,
            "{queue}"
        );
    }
}

#[test]
fn visibility_cannot_pass_twelve_hours_from_the_receive() {
    let world = World::new(&[]);
    world.send("a", "m1");
    let message = world.receive(1).remove(0);
    world.hide(&message, 43_200);
    world.seconds(3_600);
    let more = world
        .engine
        .change_visibility(QUEUE, &message.receipt_handle, 39_601);
    assert_eq!(refused(more), Code::InvalidParameterValue);
    world.hide(&message, 39_600);
    world.seconds(39_599);
    assert!(world.bodies().is_empty());
    world.seconds(1);
    assert_eq!(world.bodies(), ["m1"]);
}

#[test]
fn receive_with_no_visibility_hides_nothing() {
    let world = World::new(&[]);
    world.send("a", "m1");
    let request = ReceiveRequest {
        visibility_s: Some(0),
        ..ReceiveRequest::default()
    };
    for count in 1..=3 {
        let message = world.engine.try_receive(QUEUE, &request).unwrap().remove(0);
        assert_eq!(message.receive_count, count);
    }
}

#[test]
fn queue_delay_hides_messages_from_their_sending() {
    let world = World::new(&[("DelaySeconds", "5")]);
    world.send("a", "m1");
    world.seconds(3);
    world.send("a", "m2");
    assert!(world.bodies().is_empty());
    assert_eq!(world.engine.queues().unwrap()[0].delayed, 2);
    world.seconds(2);
    let first = world.receive(10);
    assert_eq!(bodies(&first), ["m1"]);
    world.delete(&first[0]);
    world.seconds(3);
    assert_eq!(world.bodies(), ["m2"]);
}

#[test]
fn repeated_receive_attempt_gives_the_same_messages_and_handles() {
    let world = World::new(&[("VisibilityTimeout", "20")]);
    world.send("a", "m1");
    world.send("a", "m2");
    let request = ReceiveRequest {
        max_messages: 10,
        attempt_id: Some("r1".to_owned()),
        ..ReceiveRequest::default()
    };
    let first = world.engine.try_receive(QUEUE, &request).unwrap();
    world.seconds(15);
    assert_eq!(world.engine.try_receive(QUEUE, &request).unwrap(), first);
    world.seconds(15);
    assert!(world.bodies().is_empty(), "the repeat has hidden them anew");
    world.delete(&first[0]);
    assert!(
        world.engine.try_receive(QUEUE, &request).unwrap().is_empty(),
        "one of them is gone"
    );
}

#[test]
fn retention_ends_messages_in_flight_or_not() {
    let world = World::new(&[("MessageRetentionPeriod", "60")]);
    world.send("a", "m1");
    world.send("b", "m2");
    let message = world.receive(1).remove(0);
    world.seconds(59);
    assert_eq!(world.engine.queues().unwrap()[0].oldest_age_ms, Some(59_000));
    world.seconds(1);
    assert!(world.bodies().is_empty());
    let stats = &world.engine.queues().unwrap()[0];
    assert_eq!(
        (stats.visible, stats.in_flight, stats.oldest_age_ms),
        (0, 0, None)
    );
    world.delete(&message);
}

#[test]
fn counts_follow_every_change() {
    let world = World::new(&[("VisibilityTimeout", "5")]);
    let counts = || {
        let stats = world.engine.queues().unwrap().remove(0);
        (stats.visible, stats.in_flight, stats.groups_in_flight)
    };
    for (group, body) in [("a", "a1"), ("a", "a2"), ("b", "b1")] {
        world.send(group, body);
    }
    assert_eq!(counts(), (3, 0, 0));
    let held = world.receive(10);
    assert_eq!(counts(), (0, 3, 2));
    world.delete(&held[0]);
    assert_eq!(counts(), (0, 2, 2));
    world.hide(&held[1], 0);
    assert_eq!(counts(), (1, 1, 1));
    world.seconds(5);
    assert_eq!(counts(), (2, 0, 0));
}
