//! Deduplication.

use fifo_queue::{Code, SendEntry};

use crate::support::{QUEUE, Texts, World, refused, texts};

#[test]
fn duplicate_is_answered_with_the_first_and_not_delivered() {
    let world = World::new(&[]);
    let first = world.engine.send(QUEUE, &SendEntry::fifo("a", "1", "x")).unwrap();
    let second = world.engine.send(QUEUE, &SendEntry::fifo("a", "1", "y")).unwrap();
    assert_eq!(
        (&second.message_id, &second.sequence_number),
        (&first.message_id, &first.sequence_number)
    );
    assert!(second.duplicate && !first.duplicate);
    assert_eq!(world.bodies(), ["x"]);
}

#[test]
fn dedup_outlives_delete() {
    let world = World::new(&[]);
    world.send("a", "m1");
    let message = world.receive(1).remove(0);
    world.delete(&message);
    assert!(world.send("a", "m1").duplicate);
    assert!(world.bodies().is_empty());
}

#[test]
fn dedup_window_ends_after_five_minutes() {
    let world = World::new(&[]);
    world.send("a", "m1");
    world.clock.advance(299_999);
    assert!(
        world.send("a", "m1").duplicate,
        "and a duplicate does not begin a new window"
    );
    world.clock.advance(1);
    assert!(!world.send("a", "m1").duplicate);
}

#[test]
fn dedup_scope_decides_whether_groups_share_ids() {
    let world = World::new(&[]);
    assert!(
        !world
            .engine
            .send(QUEUE, &SendEntry::fifo("a", "1", "x"))
            .unwrap()
            .duplicate
    );
    assert!(
        !world
            .engine
            .send(QUEUE, &SendEntry::fifo("b", "1", "y"))
            .unwrap()
            .duplicate
    );
    world
        .engine
        .create_queue("wide.fifo", &texts(&[("FifoQueue", "true")]), &Texts::new())
        .unwrap();
    assert!(
        !world
            .engine
            .send("wide.fifo", &SendEntry::fifo("a", "1", "x"))
            .unwrap()
            .duplicate
    );
    assert!(
        world
            .engine
            .send("wide.fifo", &SendEntry::fifo("b", "1", "y"))
            .unwrap()
            .duplicate
    );
}

#[test]
fn content_dedup_compares_bodies_only_without_an_id() {
    let world = World::new(&[("ContentBasedDeduplication", "true")]);
    let without_id = SendEntry {
        dedup_id: None,
        ..SendEntry::fifo("a", "", "x")
    };
    assert!(!world.engine.send(QUEUE, &without_id).unwrap().duplicate);
    assert!(world.engine.send(QUEUE, &without_id).unwrap().duplicate);
    assert!(
        !world
            .engine
            .send(QUEUE, &SendEntry::fifo("a", "1", "x"))
            .unwrap()
            .duplicate
    );
}

#[test]
fn message_without_an_id_needs_content_dedup() {
    let world = World::new(&[]);
    let without_id = SendEntry {
        dedup_id: None,
        ..SendEntry::fifo("a", "", "x")
    };
    assert_eq!(
        refused(world.engine.send(QUEUE, &without_id)),
        Code::InvalidParameterValue
    );
}

#[test]
fn duplicate_within_a_batch_is_found() {
    let world = World::new(&[]);
    let entry = SendEntry::fifo("a", "1", "x");
    let sent = world.engine.send_batch(QUEUE, &[entry.clone(), entry]).unwrap();
    let [Ok(first), Ok(second)] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert_eq!(first.message_id, second.message_id);
    assert!(second.duplicate);
}

#[test]
fn refused_message_begins_no_window() {
    let world = World::new(&[]);
    let bad = world.engine.send(QUEUE, &SendEntry::fifo("a", "1", "bad\u{1}"));
    assert_eq!(refused(bad), Code::InvalidMessageContents);
    assert!(
        !world
            .engine
            .send(QUEUE, &SendEntry::fifo("a", "1", "good"))
            .unwrap()
            .duplicate
    );
}

#[test]
fn purge_leaves_the_windows() {
    let world = World::new(&[]);
    world.send("a", "m1");
    world.engine.purge_queue(QUEUE).unwrap();
    assert!(world.bodies().is_empty());
    assert!(world.send("a", "m1").duplicate);
}
