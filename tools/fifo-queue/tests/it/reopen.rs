//! What a file keeps, and which files are refused.

use std::sync::Arc;

use fifo_queue::{EngineError, ManualClock, MoveTaskStatus, SendEntry};

use crate::support::{DEAD, QUEUE, START_MS, Texts, bodies, fifo, open, redrive_to, up_to};

#[test]
fn in_flight_survives_reopen() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("q.db"), Arc::new(ManualClock::at(START_MS)));
    let engine = open(&path, &clock).unwrap();
    engine.create_queue(QUEUE, &fifo(&[]), &Texts::new()).unwrap();
    for body in ["m1", "m2"] {
        engine.send(QUEUE, &SendEntry::fifo("a", body, body)).unwrap();
    }
    let held = engine.try_receive(QUEUE, &up_to(1)).unwrap().remove(0);
    drop(engine);

    let engine = open(&path, &clock).unwrap();
    clock.advance(29_999);
    assert!(engine.try_receive(QUEUE, &up_to(10)).unwrap().is_empty());
    let stats = engine.queues().unwrap().remove(0);
    assert_eq!(
        (stats.visible, stats.in_flight, stats.groups_in_flight),
        (1, 1, 1)
    );
    engine.delete(QUEUE, &held.receipt_handle).unwrap();
    assert_eq!(bodies(&engine.try_receive(QUEUE, &up_to(10)).unwrap()), ["m2"]);
}

#[test]
fn dedup_windows_and_sequences_survive_reopen() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("q.db"), Arc::new(ManualClock::at(START_MS)));
    let engine = open(&path, &clock).unwrap();
    engine.create_queue(QUEUE, &fifo(&[]), &Texts::new()).unwrap();
    let first = engine.send(QUEUE, &SendEntry::fifo("a", "1", "x")).unwrap();
    let held = engine.try_receive(QUEUE, &up_to(1)).unwrap().remove(0);
    engine.delete(QUEUE, &held.receipt_handle).unwrap();
    drop(engine);

    let engine = open(&path, &clock).unwrap();
    let again = engine.send(QUEUE, &SendEntry::fifo("a", "1", "x")).unwrap();
    assert_eq!((&again.message_id, again.duplicate), (&first.message_id, true));
    let second = engine.send(QUEUE, &SendEntry::fifo("a", "2", "x")).unwrap();
    assert!(
        second.sequence_number > first.sequence_number,
        "although the queue was empty"
    );
}

#[test]
fn running_move_goes_on_after_reopen() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("q.db"), Arc::new(ManualClock::at(START_MS)));
    let engine = open(&path, &clock).unwrap();
    engine.create_queue(DEAD, &fifo(&[]), &Texts::new()).unwrap();
    engine
        .create_queue(
            QUEUE,
            &fifo(&[("RedrivePolicy", &redrive_to(DEAD, 1))]),
            &Texts::new(),
        )
        .unwrap();
    for body in ["m1", "m2"] {
        engine.send(DEAD, &SendEntry::fifo("a", body, body)).unwrap();
    }
    engine.start_move_task(DEAD, Some(QUEUE), Some(1)).unwrap();
    // The task's thread holds the engine only while it works: once this handle is gone, so is the engine.
    drop(engine);
    clock.advance(60_000);
    let engine = open(&path, &clock).unwrap();
    let moved = (0..10_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        engine.list_move_tasks(DEAD, 1).unwrap()[0].status == MoveTaskStatus::Completed
    });
    assert!(moved);
    assert_eq!(
        bodies(&engine.try_receive(QUEUE, &up_to(10)).unwrap()),
        ["m1", "m2"]
    );
}

#[test]
fn file_of_another_version_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("q.db"), Arc::new(ManualClock::at(START_MS)));
    drop(open(&path, &clock).unwrap());
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let error = open(&path, &clock).unwrap_err();
    assert!(
        matches!(
            error,
            EngineError::UnknownSchema {
                found: 99,
                known: 1,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("move the file away"), "{error}");
}

#[test]
fn file_of_another_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(START_MS));
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a database, ".repeat(100)).unwrap();
    let other = folder.path().join("other.db");
    rusqlite::Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE t (x)")
        .unwrap();
    for path in [text, other] {
        let error = open(&path, &clock).unwrap_err();
        assert!(
            matches!(error, EngineError::NotAQueueFile { .. }),
            "{path:?}: {error:?}"
        );
    }
}

#[test]
fn file_in_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("q.db"), Arc::new(ManualClock::at(START_MS)));
    let engine = open(&path, &clock).unwrap();
    let error = open(&path, &clock).unwrap_err();
    assert!(matches!(error, EngineError::InUse { .. }), "{error:?}");
    drop(engine);
    open(&path, &clock).unwrap();
}
