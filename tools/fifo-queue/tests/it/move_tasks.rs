//! Message move tasks.

use std::time::Duration;

use fifo_queue::{Code, MoveTask, MoveTaskStatus, SendEntry};

use crate::support::{DEAD, QUEUE, Texts, World, bodies, fifo, refused};

/// Looks until `holds`, for a bounded time: tasks are carried on by a thread.
fn latest(world: &World, holds: impl Fn(&MoveTask) -> bool) -> MoveTask {
    for _ in 0..10_000 {
        let task = world.engine.list_move_tasks(DEAD, 1).unwrap().remove(0);
        if holds(&task) {
            return task;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!(
        "the task never got there: {:?}",
        world.engine.list_move_tasks(DEAD, 1)
    );
}

/// A world with the messages `m0..` of group `a` in its dead-letter queue.
fn with_dead(count: usize) -> World {
    let world = World::with_dead_letters(1);
    for number in 0..count {
        world.send("a", &format!("m{number}"));
    }
    while !world.receive(10).is_empty() {
        world.seconds(30);
    }
    world
}

#[test]
fn dead_letters_go_back_to_where_they_came_from_in_order() {
    let world = with_dead(3);
    world.engine.start_move_task(DEAD, None, None).unwrap();
    let task = latest(&world, |task| task.status == MoveTaskStatus::Completed);
    assert_eq!((task.moved, task.total), (3, 3));
    let back = world.receive(10);
    assert_eq!(bodies(&back), ["m0", "m1", "m2"]);
    assert!(
        back.iter()
            .all(|message| message.group.as_deref() == Some("a") && message.receive_count == 1)
    );
    assert!(back.iter().all(|message| message.dead_letter_source.is_none()));
    assert!(world.receive_from(DEAD, 10).is_empty());
}

#[test]
fn destination_can_be_another_queue() {
    let world = with_dead(1);
    world
        .engine
        .create_queue("other.fifo", &fifo(&[]), &Texts::new())
        .unwrap();
    world
        .engine
        .start_move_task(DEAD, Some("other.fifo"), None)
        .unwrap();
    latest(&world, |task| task.status == MoveTaskStatus::Completed);
    assert_eq!(bodies(&world.receive_from("other.fifo", 10)), ["m0"]);
}

#[test]
fn move_follows_the_clock_and_can_be_cancelled() {
    let world = with_dead(5);
    let handle = world.engine.start_move_task(DEAD, None, Some(1)).unwrap();
    assert_eq!(latest(&world, |_| true).moved, 1);
    let second = world.engine.start_move_task(DEAD, None, None);
    assert_eq!(refused(second), Code::UnsupportedOperation);
    world.seconds(2);
    latest(&world, |task| task.moved == 2);
    assert_eq!(world.engine.cancel_move_task(&handle).unwrap(), 2);
    assert_eq!(latest(&world, |_| true).status, MoveTaskStatus::Cancelled);
    assert_eq!(
        refused(world.engine.cancel_move_task(&handle)),
        Code::UnsupportedOperation
    );
    assert_eq!(world.receive_from(DEAD, 10).len(), 3);
}

#[test]
fn message_without_a_source_fails_the_move() {
    let world = with_dead(1);
    world
        .engine
        .send(DEAD, &SendEntry::fifo("b", "1", "sent there"))
        .unwrap();
    world.engine.start_move_task(DEAD, None, None).unwrap();
    let task = latest(&world, |task| task.status == MoveTaskStatus::Failed);
    assert_eq!(
        (task.moved, task.failure.as_deref()),
        (1, Some("CouldNotDetermineMessageSource"))
    );
    assert_eq!(bodies(&world.receive_from(DEAD, 10)), ["sent there"]);
}

#[test]
fn only_a_dead_letter_queue_can_be_moved_from() {
    let world = with_dead(1);
    for (source, code) in [
        (QUEUE, Code::InvalidParameterValue),
        ("nope.fifo", Code::ResourceNotFound),
    ] {
        assert_eq!(
            refused(world.engine.start_move_task(source, None, None)),
            code,
            "{source}"
        );
    }
    let too_fast = world.engine.start_move_task(DEAD, None, Some(501));
    assert_eq!(refused(too_fast), Code::InvalidParameterValue);
    assert_eq!(
        refused(world.engine.cancel_move_task("nope")),
        Code::ResourceNotFound
    );
}
