//! Chats and their rates.

use proptest::prelude::*;

use super::*;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

#[test]
fn a_chat_is_told_private_or_not_by_its_id() {
    for (chat, pace) in [
        ("5", Some(Pace::Private)),
        ("-100123", Some(Pace::Group)),
        ("@news", Some(Pace::Group)),
        ("b:connection:5", Some(Pace::Private)),
        ("q:77", None),
        ("u:5", None),
        ("h0123456789abcdef", None),
    ] {
        assert_eq!(Pace::of(chat), pace, "{chat}");
    }
}

#[test]
fn three_go_at_once_to_a_private_chat_and_then_one_a_second() {
    let reserved = ChatGate::default().reserve(Pace::Private, &[1; 6], "t", at(0));
    assert_eq!(reserved.due, [0, 0, 0].map(at));
    assert_eq!(reserved.wait, Some(PRIVATE_INTERVAL));
    let next = reserved.next.reserve(Pace::Private, &[1; 3], "u", at(200));
    assert_eq!(next.due, [at(1_050)]);
    assert_eq!(next.wait, Some(Duration::from_millis(1_900)));
}

#[test]
fn an_album_counts_its_messages() {
    let reserved = ChatGate::default().reserve(Pace::Group, &[10, 9, 2, 1], "t", at(0));
    assert_eq!(reserved.due, [0, 0].map(at));
    assert_eq!(
        reserved.wait,
        Some(GROUP_WINDOW),
        "nothing overtakes the one that waits"
    );
    // More than a group takes in a minute is one that takes the whole of it.
    assert_eq!(
        ChatGate::default().reserve(Pace::Group, &[90], "t", at(0)).due,
        [at(0)]
    );
}

#[test]
fn what_is_given_back_is_as_if_it_had_not_been() {
    let before = ChatGate::default().reserve(Pace::Group, &[1; 4], "t", at(0)).next;
    let mine = before.reserve(Pace::Group, &[1; 4], "mine", at(10)).next;
    assert_eq!(mine.given_back(&before, "mine"), before);
    let before = ChatGate::default()
        .reserve(Pace::Private, &[1; 2], "t", at(0))
        .next;
    let mine = before.reserve(Pace::Private, &[1], "mine", at(10)).next;
    assert_eq!(mine.given_back(&before, "mine"), before);
}

/// Sends by one that asks again and again, each time after some time: when each went.
fn sent(pace: Pace, asks: &[(i64, u8)]) -> Vec<(i64, u32)> {
    let (mut gate, mut now, mut sent) = (ChatGate::default(), 0, Vec::new());
    for (n, (later, count)) in asks.iter().enumerate() {
        now += later;
        let cells = vec![1; usize::from(*count)];
        let reserved = gate.reserve(pace, &cells, &n.to_string(), at(now));
        sent.extend(reserved.due.iter().map(|due| (due.as_millis(), 1)));
        gate = reserved.next;
    }
    sent
}

proptest! {
    #[test]
    fn never_more_than_twenty_in_any_closed_minute_of_a_group(
        asks in proptest::collection::vec((0_i64..20_000, 0_u8..25), 1..60),
    ) {
        let sent = sent(Pace::Group, &asks);
        for (from, _) in &sent {
            let within = sent.iter().filter(|(at, _)| (*from..=*from + 60_000).contains(at)).count();
            prop_assert!(within <= 20, "{within} from {from}");
        }
        prop_assert!(sent.is_sorted(), "in order");
    }

    #[test]
    fn a_private_chat_never_gets_more_than_its_burst_and_rate(
        asks in proptest::collection::vec((0_i64..3_000, 0_u8..6), 1..80),
    ) {
        let sent = sent(Pace::Private, &asks);
        for (n, (from, _)) in sent.iter().enumerate() {
            for (more, (to, _)) in sent[n..].iter().enumerate() {
                let allowed = i64::from(PRIVATE_BURST) + (to - from) / 1_050;
                prop_assert!(i64::try_from(more).unwrap() < allowed + 1, "{more} in {} ms", to - from);
            }
        }
    }

    /// No livelock: whoever asks again after the wait that it was told goes then.
    #[test]
    fn whoever_waits_as_long_as_it_was_told_goes(
        asks in proptest::collection::vec((0_i64..5_000, 0_u8..25), 1..30), is_group in any::<bool>(),
    ) {
        let pace = if is_group { Pace::Group } else { Pace::Private };
        let (mut gate, mut now) = (ChatGate::default(), at(0));
        for (n, (later, count)) in asks.iter().enumerate() {
            now = now + Duration::from_millis(u64::try_from(*later).unwrap());
            let cells = vec![1; usize::from(*count)];
            let reserved = gate.reserve(pace, &cells, &n.to_string(), now);
            if let Some(wait) = reserved.wait {
                let again = reserved.next.reserve(pace, &[1], "again", now + wait);
                prop_assert_eq!(again.due, vec![now + wait]);
            }
            // Those of the last minute, and those within the horizon.
            prop_assert!(reserved.next.log.len() <= 40);
            gate = reserved.next;
        }
    }
}
