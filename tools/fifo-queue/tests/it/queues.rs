//! Queues: creating, settings, tags, purge, deletion.

use fifo_queue::Code;

use crate::support::{QUEUE, Texts, World, fifo, refused, texts};

#[test]
fn creating_again_with_the_same_attributes_does_nothing() {
    let world = World::new(&[("VisibilityTimeout", "5")]);
    world.send("a", "m1");
    world
        .engine
        .create_queue(QUEUE, &fifo(&[("VisibilityTimeout", "5")]), &Texts::new())
        .unwrap();
    world
        .engine
        .create_queue(QUEUE, &fifo(&[]), &Texts::new())
        .unwrap();
    assert_eq!(world.bodies(), ["m1"]);
    let other = world
        .engine
        .create_queue(QUEUE, &fifo(&[("VisibilityTimeout", "6")]), &Texts::new());
    assert_eq!(refused(other), Code::QueueNameExists);
}

#[test]
fn attributes_are_given_back_with_defaults_and_counts() {
    let world = World::new(&[]);
    world.send("a", "m1");
    let attributes = world.engine.queue_attributes(QUEUE).unwrap();
    for (name, value) in [
        ("FifoQueue", "true"),
        ("MaximumMessageSize", "1048576"),
        ("VisibilityTimeout", "30"),
        ("ContentBasedDeduplication", "false"),
        ("ApproximateNumberOfMessages", "1"),
        ("CreatedTimestamp", "1750000000"),
    ] {
        assert_eq!(attributes.get(name).map(String::as_str), Some(value), "{name}");
    }
}

#[test]
fn changed_setting_holds_for_the_next_receive() {
    let world = World::new(&[]);
    world.send("a", "m1");
    world
        .engine
        .set_queue_attributes(QUEUE, &texts(&[("VisibilityTimeout", "2")]))
        .unwrap();
    world.receive(1);
    world.seconds(2);
    assert_eq!(world.bodies(), ["m1"]);
    let kind = world
        .engine
        .set_queue_attributes(QUEUE, &texts(&[("FifoQueue", "false")]));
    assert_eq!(refused(kind), Code::InvalidAttributeValue);
}

#[test]
fn queues_are_listed_by_prefix_in_order() {
    let world = World::new(&[]);
    for name in ["b2", "b1", "a"] {
        world
            .engine
            .create_queue(name, &Texts::new(), &Texts::new())
            .unwrap();
    }
    assert_eq!(world.engine.list_queues("b", "").unwrap(), ["b1", "b2"]);
    assert_eq!(world.engine.list_queues("", "b1").unwrap(), ["b2", QUEUE]);
}

#[test]
fn deleted_queue_takes_everything_with_it() {
    let world = World::new(&[]);
    world.send("a", "m1");
    let message = world.receive(1).remove(0);
    world.engine.delete_queue(QUEUE).unwrap();
    assert_eq!(refused(world.engine.find_queue(QUEUE)), Code::QueueDoesNotExist);
    world
        .engine
        .create_queue(QUEUE, &fifo(&[]), &Texts::new())
        .unwrap();
    assert!(!world.send("a", "m1").duplicate, "its windows are gone");
    let old = world.engine.delete(QUEUE, &message.receipt_handle);
    assert_eq!(refused(old), Code::ReceiptHandleIsInvalid);
}

#[test]
fn purging_twice_within_a_minute_is_refused() {
    let world = World::new(&[]);
    world.send("a", "m1");
    world.send("b", "m2");
    world.receive(1);
    world.engine.purge_queue(QUEUE).unwrap();
    let stats = world.engine.queues().unwrap().remove(0);
    assert_eq!(
        (stats.visible, stats.in_flight, stats.groups_in_flight),
        (0, 0, 0)
    );
    world.clock.advance(59_999);
    assert_eq!(
        refused(world.engine.purge_queue(QUEUE)),
        Code::PurgeQueueInProgress
    );
    world.clock.advance(1);
    world.engine.purge_queue(QUEUE).unwrap();
}

#[test]
fn tags_are_added_and_removed() {
    let world = World::new(&[]);
    world
        .engine
        .tag_queue(QUEUE, &texts(&[("team", "a"), ("env", "dev")]))
        .unwrap();
    world.engine.tag_queue(QUEUE, &texts(&[("team", "b")])).unwrap();
    world
        .engine
        .untag_queue(QUEUE, &["env".to_owned(), "none".to_owned()])
        .unwrap();
    assert_eq!(world.engine.queue_tags(QUEUE).unwrap(), texts(&[("team", "b")]));
}
