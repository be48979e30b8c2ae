//! Sizes, characters, batches, parameters.

use fifo_queue::{AttributeValue, Code, MessageAttribute, ReceiveRequest, SendEntry};

use crate::support::{QUEUE, Texts, World, bodies, refused, up_to};

const MEBIBYTE: usize = 1_048_576;

fn attribute(text: &str) -> MessageAttribute {
    MessageAttribute {
        data_type: "String".to_owned(),
        value: AttributeValue::Text(text.to_owned()),
    }
}

#[test]
fn one_mebibyte_is_the_largest_message_attributes_included() {
    let world = World::new(&[]);
    let mut entry = SendEntry::fifo("a", "1", "x".repeat(MEBIBYTE));
    world.engine.send(QUEUE, &entry).unwrap();
    assert_eq!(world.receive(1)[0].body.len(), MEBIBYTE);
    entry.dedup_id = Some("2".to_owned());
    entry.attributes.insert("n".to_owned(), attribute("v"));
    assert_eq!(
        refused(world.engine.send(QUEUE, &entry)),
        Code::InvalidParameterValue
    );
    entry.body.truncate(MEBIBYTE - "nStringv".len());
    world.engine.send(QUEUE, &entry).unwrap();
}

#[test]
fn one_mebibyte_is_the_largest_batch() {
    let world = World::new(&[]);
    let entries = |bytes: usize| -> Vec<SendEntry> {
        (0..4)
            .map(|n| SendEntry::fifo("a", format!("{bytes}-{n}"), "x".repeat(bytes)))
            .collect()
    };
    let sent = world.engine.send_batch(QUEUE, &entries(MEBIBYTE / 4)).unwrap();
    assert!(sent.iter().all(Result::is_ok));
    let too_long = world.engine.send_batch(QUEUE, &entries(MEBIBYTE / 4 + 1));
    assert_eq!(refused(too_long), Code::BatchRequestTooLong);
}

#[test]
fn queue_may_take_less_than_a_mebibyte() {
    let world = World::new(&[("MaximumMessageSize", "1024")]);
    world
        .engine
        .send(QUEUE, &SendEntry::fifo("a", "1", "x".repeat(1024)))
        .unwrap();
    let larger = world
        .engine
        .send(QUEUE, &SendEntry::fifo("a", "2", "x".repeat(1025)));
    assert_eq!(refused(larger), Code::InvalidParameterValue);
}

#[test]
fn refused_entry_leaves_the_rest_of_its_batch_alone() {
    let world = World::new(&[]);
    let entries =
        ["m0", "bad\u{FFFE}", "m2"].map(|body| SendEntry::fifo("a", body.trim_end_matches('\u{FFFE}'), body));
    let sent = world.engine.send_batch(QUEUE, &entries).unwrap();
    let codes: Vec<_> = sent
        .iter()
        .map(|outcome| outcome.as_ref().err().map(|refusal| refusal.code))
        .collect();
    assert_eq!(codes, [None, Some(Code::InvalidMessageContents), None]);
    assert_eq!(world.bodies(), ["m0", "m2"]);
}

#[test]
fn refused_handle_leaves_the_rest_of_its_batch_alone() {
    let world = World::new(&[]);
    world.send("a", "m1");
    let message = world.receive(1).remove(0);
    let handles = ["garbage", message.receipt_handle.as_str()];
    let changed = world
        .engine
        .change_visibility_batch(QUEUE, &handles.map(|handle| (handle, 40)))
        .unwrap();
    assert_eq!(
        changed.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [false, true]
    );
    let deleted = world.engine.delete_batch(QUEUE, &handles).unwrap();
    assert_eq!(
        deleted.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [false, true]
    );
    assert_eq!(world.engine.queues().unwrap()[0].in_flight, 0);
}

#[test]
fn batch_has_one_to_ten_entries() {
    let world = World::new(&[]);
    assert_eq!(
        refused(world.engine.send_batch(QUEUE, &[])),
        Code::EmptyBatchRequest
    );
    let eleven: Vec<_> = (0..11)
        .map(|n| SendEntry::fifo("a", n.to_string(), "x"))
        .collect();
    assert_eq!(
        refused(world.engine.send_batch(QUEUE, &eleven)),
        Code::TooManyEntriesInBatchRequest
    );
    assert_eq!(
        refused(world.engine.delete_batch(QUEUE, &[])),
        Code::EmptyBatchRequest
    );
}

#[test]
fn fifo_queue_needs_a_group_and_takes_no_delay() {
    let world = World::new(&[]);
    let groupless = SendEntry {
        group: None,
        ..SendEntry::fifo("", "1", "x")
    };
    assert_eq!(
        refused(world.engine.send(QUEUE, &groupless)),
        Code::MissingParameter
    );
    let delayed = SendEntry {
        delay_s: Some(1),
        ..SendEntry::fifo("a", "1", "x")
    };
    assert_eq!(
        refused(world.engine.send(QUEUE, &delayed)),
        Code::InvalidParameterValue
    );
}

#[test]
fn receive_parameters_have_ranges() {
    let world = World::new(&[]);
    let none = ReceiveRequest::default();
    for request in [
        up_to(11),
        ReceiveRequest {
            visibility_s: Some(43_201),
            ..none.clone()
        },
        ReceiveRequest {
            visibility_s: Some(-1),
            ..none.clone()
        },
        ReceiveRequest {
            wait_s: Some(21),
            ..none
        },
    ] {
        let refused = refused(world.engine.try_receive(QUEUE, &request));
        assert_eq!(refused, Code::InvalidParameterValue, "{request:?}");
    }
}

#[test]
fn missing_queue_is_named() {
    let world = World::new(&[]);
    let error = world
        .engine
        .send("nope.fifo", &SendEntry::fifo("a", "1", "x"))
        .unwrap_err();
    assert!(error.to_string().contains("nope.fifo"), "{error}");
    assert_eq!(
        error.refusal().map(|refusal| refusal.code),
        Some(Code::QueueDoesNotExist)
    );
}

#[test]
fn standard_queue_sends_receives_and_deletes() {
    let world = World::new(&[]);
    world
        .engine
        .create_queue("plain", &Texts::new(), &Texts::new())
        .unwrap();
    for body in ["x", "y"] {
        let entry = SendEntry {
            body: body.to_owned(),
            group: Some("tenant".to_owned()),
            ..SendEntry::default()
        };
        assert_eq!(world.engine.send("plain", &entry).unwrap().sequence_number, None);
    }
    let first = world.receive_from("plain", 1).remove(0);
    assert_eq!(first.group.as_deref(), Some("tenant"));
    assert_eq!(
        bodies(&world.receive_from("plain", 10)),
        ["y"],
        "nothing is held back"
    );
    world.seconds(30);
    world.engine.delete("plain", &first.receipt_handle).unwrap();
    assert_eq!(bodies(&world.receive_from("plain", 10)), ["y"]);
}

#[test]
fn calls_are_counted_by_operation() {
    let world = World::new(&[]);
    world.send("a", "m1");
    world.receive(1);
    world.receive(1);
    let refusal = world.engine.delete(QUEUE, "garbage");
    assert_eq!(refused(refusal), Code::ReceiptHandleIsInvalid);
    let calls = world.engine.calls();
    assert_eq!(calls.get("SendMessage"), Some(&1));
    assert_eq!(calls.get("ReceiveMessage"), Some(&2));
    assert_eq!(calls.get("DeleteMessage"), Some(&1));
    assert_eq!(calls.get("PurgeQueue"), None);
}
