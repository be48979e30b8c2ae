//! The catalogue: every sample with what is expected of it, in the order in which they are fed.
//! Never computes anything; a sample that needs code is a [`Body::Made`].

use crate::made::{LARGEST_UPDATE_BYTES, TOO_LARGE_BYTES};
use crate::sample::{Body, Expect, Outcome, Sample, Secret, Sends};

/// A request that Telegram makes: accepted, done, with so many calls of the example bot.
macro_rules! accepted {
    ($name:literal, $kind:literal, $sends:literal) => {
        accepted!($name, $kind, $sends, refused 0)
    };
    ($name:literal, $kind:literal, $sends:literal, refused $refused:literal) => {
        Sample {
            name: $name,
            kind: $kind,
            body: Body::Written(include_bytes!(concat!("../../../events/raw/", $name, ".json"))),
            secret: Secret::Right,
            expect: Expect {
                http_status: 200,
                outcome: Outcome::Done,
                sends: Sends::exactly($sends),
                refused: $refused,
            },
        }
    };
}

/// A request that does not become an Update.
macro_rules! turned_away {
    ($name:literal, $kind:literal, $secret:ident, $status:literal, $outcome:ident) => {
        Sample {
            name: $name,
            kind: $kind,
            body: Body::Written(include_bytes!(concat!("../../../events/raw/", $name, ".json"))),
            secret: Secret::$secret,
            expect: Expect {
                http_status: $status,
                outcome: Outcome::$outcome,
                sends: Sends::exactly(0),
                refused: 0,
            },
        }
    };
}

const SAMPLES: &[Sample] = &[
    // Talking to the bot.
    accepted!("start_command", "message", 1),
    accepted!("text", "message", 1),
    accepted!("help_command", "message", 1),
    accepted!("text_topic", "message", 1),
    accepted!("photo", "message", 1),
    accepted!("document", "message", 1),
    accepted!("album_1", "message", 0),
    accepted!("album_2", "message", 0),
    accepted!("voice", "message", 1),
    accepted!("edited_message", "edited_message", 0),
    // Buttons and queries: they want an answer. The bot edits the message of the button; an inaccessible one is gone.
    accepted!("callback", "callback_query", 1),
    accepted!("callback_inline", "callback_query", 1),
    accepted!("callback_inaccessible", "callback_query", 1, refused 1),
    accepted!("inline_query", "inline_query", 1),
    accepted!("chosen_inline_result", "chosen_inline_result", 0),
    // Payments.
    accepted!("shipping_query", "shipping_query", 1),
    accepted!("pre_checkout_query", "pre_checkout_query", 1),
    accepted!("successful_payment", "message", 0),
    accepted!("purchased_paid_media", "purchased_paid_media", 0),
    accepted!("subscription", "subscription", 0),
    // Channels.
    accepted!("channel_post", "channel_post", 0),
    accepted!("edited_channel_post", "edited_channel_post", 0),
    // Members.
    accepted!("my_chat_member", "my_chat_member", 0),
    accepted!("blocked", "my_chat_member", 0),
    accepted!("chat_member", "chat_member", 0),
    accepted!("chat_join_request", "chat_join_request", 0),
    // Polls, reactions, boosts.
    accepted!("poll", "poll", 0),
    accepted!("poll_answer", "poll_answer", 0),
    accepted!("message_reaction", "message_reaction", 0),
    accepted!("message_reaction_count", "message_reaction_count", 0),
    accepted!("chat_boost", "chat_boost", 0),
    accepted!("removed_chat_boost", "removed_chat_boost", 0),
    // Business, guests, managed bots.
    accepted!("business_connection", "business_connection", 0),
    accepted!("business_message", "business_message", 1),
    accepted!("edited_business_message", "edited_business_message", 0),
    accepted!("deleted_business_messages", "deleted_business_messages", 0),
    accepted!("guest_message", "guest_message", 0),
    accepted!("managed_bot", "managed_bot", 0),
    accepted!("stopped_message_generation", "stopped_message_generation", 0),
    // A group becomes a supergroup: the old chat's last message, the new chat's first.
    accepted!("migrate_to", "message", 0),
    accepted!("migrate_from", "message", 0),
    // What a careless reader stumbles over.
    accepted!("unknown_kind", "hologram_message", 0),
    accepted!("lone_surrogate", "message", 1),
    accepted!("noncharacter", "message", 1),
    accepted!("deep_nesting", "message", 1),
    Sample {
        name: "largest",
        kind: "message",
        body: Body::Made {
            update_id: 500_000_049,
            bytes: LARGEST_UPDATE_BYTES,
        },
        secret: Secret::Right,
        expect: Expect {
            http_status: 200,
            outcome: Outcome::Done,
            sends: Sends::exactly(1),
            refused: 0,
        },
    },
    // What never becomes an Update.
    turned_away!("wrong_secret", "message", Wrong, 403, Refused),
    turned_away!("not_an_update", "", Right, 400, Quarantined),
    turned_away!("unparseable", "", Right, 200, Quarantined),
    Sample {
        name: "too_large",
        kind: "message",
        body: Body::Made {
            update_id: 500_000_050,
            bytes: TOO_LARGE_BYTES,
        },
        secret: Secret::Right,
        expect: Expect {
            http_status: 413,
            outcome: Outcome::Refused,
            sends: Sends::exactly(0),
            refused: 0,
        },
    },
];

/// Every sample, in the order in which they are fed.
#[must_use]
pub fn samples() -> &'static [Sample] {
    SAMPLES
}

/// The sample of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Sample> {
    SAMPLES.iter().find(|sample| sample.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use penstock_domain::kind::UpdateKind;
    use penstock_domain::route::{RouteError, route};

    use super::*;

    #[test]
    fn every_kind_of_the_bot_api_has_a_sample() {
        let there: BTreeSet<&str> = SAMPLES.iter().map(|sample| sample.kind).collect();
        for kind in UpdateKind::ALL {
            assert!(there.contains(kind.name()), "no sample of {}", kind.name());
        }
        assert!(SAMPLES.len() >= 22);
    }

    #[test]
    fn names_and_update_ids_are_unique() {
        let names: BTreeSet<&str> = SAMPLES.iter().map(|sample| sample.name).collect();
        assert_eq!(names.len(), SAMPLES.len());
        let ids: Vec<i64> = SAMPLES.iter().filter_map(Sample::update_id).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        assert_eq!(
            ids.len(),
            SAMPLES.len() - 2,
            "all but the two that are no Updates"
        );
    }

    #[test]
    fn every_accepted_sample_is_of_the_kind_that_the_catalogue_says() {
        for sample in SAMPLES.iter().filter(|sample| !sample.kind.is_empty()) {
            let found = route(&sample.raw()).unwrap();
            assert_eq!(found.kind_name, sample.kind, "{}", sample.name);
        }
        assert_eq!(
            route(&find("unknown_kind").unwrap().raw()).unwrap().kind,
            UpdateKind::Unknown
        );
    }

    #[test]
    fn the_two_that_are_no_updates_differ_in_why() {
        let why = |name| route(&find(name).unwrap().raw()).unwrap_err();
        assert_eq!(why("not_an_update"), RouteError::BadUpdateId);
        assert!(matches!(why("unparseable"), RouteError::Unparseable(_)));
    }

    #[test]
    fn the_awkward_samples_hold_what_they_are_named_after() {
        let text = |name| String::from_utf8(find(name).unwrap().raw().into_owned()).unwrap();
        assert!(text("lone_surrogate").contains(r"\ud83d") && !text("lone_surrogate").contains(r"\ud83d\u"));
        assert!(text("noncharacter").contains('\u{ffff}') && text("noncharacter").contains('\u{fffe}'));
        assert!(text("deep_nesting").contains(&"[".repeat(200)));
        assert_eq!(find("largest").unwrap().raw().len(), LARGEST_UPDATE_BYTES);
        assert!(text("migrate_to").contains("\"migrate_to_chat_id\":-1001234500004"));
        assert!(text("migrate_from").contains("\"migrate_from_chat_id\":-700000101"));
    }

    #[test]
    fn an_answer_other_than_200_is_only_for_what_telegram_never_sends() {
        for sample in SAMPLES {
            let is_fine = sample.expect.outcome == Outcome::Done || sample.name == "unparseable";
            assert_eq!(sample.expect.http_status == 200, is_fine, "{}", sample.name);
        }
    }
}
