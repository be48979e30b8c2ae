//! What a person may do, state by state.

use super::*;
use crate::ids::{BotId, Scope};

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn seen(state: State) -> Seen {
    Seen {
        state,
        redrive: 2,
        redriven_at: None,
        is_indexed: true,
        is_update: true,
        expires_at: NOW.as_secs_ceil(),
    }
}

#[test]
fn only_what_is_dead_is_redriven_and_into_the_next_generation() {
    for state in State::ALL {
        let decided = decide_redrive(&seen(state), NOW);
        let expected = match state {
            State::Dead => Ok(Redrive::Begin { generation: 3 }),
            State::Pending => Ok(Redrive::Repeat { generation: 2 }),
            State::Done => Err(Refused::Done),
            State::Processing | State::Retrying | State::Deferred => Err(Refused::UnderWay(state)),
        };
        assert_eq!(decided, expected, "{state:?}");
    }
}

#[test]
fn a_redrive_is_repeated_only_after_a_minute_and_in_its_own_generation() {
    let at = |ms| Seen {
        redriven_at: Some(Timestamp::from_millis(NOW.as_millis() - ms)),
        ..seen(State::Pending)
    };
    assert_eq!(decide_redrive(&at(59_999), NOW), Err(Refused::JustRedriven));
    assert_eq!(
        decide_redrive(&at(60_000), NOW),
        Ok(Redrive::Repeat { generation: 2 })
    );
    assert!(!is_stuck_at(at(59_999).redriven_at, NOW));
    assert!(is_stuck_at(at(60_000).redriven_at, NOW));
}

#[test]
fn what_is_no_update_is_never_redriven_nor_edited_but_can_be_discarded() {
    let quarantined = Seen {
        is_update: false,
        ..seen(State::Dead)
    };
    assert_eq!(decide_redrive(&quarantined, NOW), Err(Refused::NoUpdate));
    assert_eq!(decide_edit(&quarantined, NOW), Err(Refused::NoUpdate));
    assert_eq!(decide_discard(&quarantined, NOW), Ok(()));
}

#[test]
fn only_what_is_dead_and_indexed_is_edited_or_discarded() {
    for state in State::ALL {
        let expected = match state {
            State::Dead => Ok(()),
            State::Pending => Err(Refused::Redriven),
            State::Done => Err(Refused::Done),
            State::Processing | State::Retrying | State::Deferred => Err(Refused::UnderWay(state)),
        };
        assert_eq!(decide_edit(&seen(state), NOW), expected, "{state:?}");
        assert_eq!(decide_discard(&seen(state), NOW), expected, "{state:?}");
    }
    let discarded = Seen {
        is_indexed: false,
        ..seen(State::Dead)
    };
    assert_eq!(decide_edit(&discarded, NOW), Err(Refused::Discarded));
    assert_eq!(decide_discard(&discarded, NOW), Err(Refused::Discarded));
}

#[test]
fn what_was_discarded_is_brought_back_by_a_redrive_alone() {
    let discarded = Seen {
        is_indexed: false,
        ..seen(State::Dead)
    };
    assert_eq!(
        decide_redrive(&discarded, NOW),
        Ok(Redrive::Begin { generation: 3 })
    );
}

#[test]
fn what_has_outlived_its_time_is_nobodys_to_repair() {
    for state in State::ALL {
        let expired = Seen {
            expires_at: NOW.as_millis().div_euclid(1000) - 1,
            ..seen(state)
        };
        assert_eq!(decide_redrive(&expired, NOW), Err(Refused::Expired));
        assert_eq!(decide_edit(&expired, NOW), Err(Refused::Expired));
        assert_eq!(decide_discard(&expired, NOW), Err(Refused::Expired));
    }
}

#[test]
fn only_what_failed_or_is_unknown_is_sent_again_and_only_what_is_unknown_is_settled() {
    for state in IntentState::ALL {
        let again = matches!(state, IntentState::Failed | IntentState::Unknown);
        let decided = decide_resend(state, 0, None, NOW);
        assert_eq!(decided == Ok(Resend::Begin { resend: 1 }), again, "{state:?}");
        assert_eq!(decided == Err(SendRefused::NotOpen(state)), !again, "{state:?}");
        assert_eq!(
            decide_settle(state).is_ok(),
            state == IntentState::Unknown,
            "{state:?}"
        );
    }
}

#[test]
fn a_resend_is_repeated_only_after_a_minute_and_in_its_own_number() {
    let at = |ms| Some(Timestamp::from_millis(NOW.as_millis() - ms));
    let resent = |ms| decide_resend(IntentState::Intended, 4, at(ms), NOW);
    assert_eq!(resent(59_999), Err(SendRefused::JustResent));
    assert_eq!(resent(60_000), Ok(Resend::Repeat { resend: 4 }));
}

#[test]
fn an_act_has_a_name_and_a_reason() {
    assert!(Act::new("ada", "the shop is back", NOW).is_ok());
    for (who, why) in [("", "x"), ("x", ""), (" ", "x"), ("x", "\n")] {
        assert_eq!(Act::new(who, why, NOW), Err(Unaccounted));
    }
}

#[test]
fn a_new_body_keeps_its_id_its_kind_and_its_chat() {
    let group = Scope::Chat("5".to_owned()).group(BotId(7));
    let old = r#"{"update_id":9,"message":{"chat":{"id":5},"text":"x"}}"#;
    let fits = |new: &str| fit(old, new, 9, UpdateKind::Message, &group).map(|_| ());
    let with = |id: i64, kind: &str, chat: i64| {
        format!(r#"{{"update_id":{id},"{kind}":{{"chat":{{"id":{chat}}},"text":"y"}}}}"#)
    };
    assert_eq!(fits(&with(9, "message", 5)), Ok(()));
    assert_eq!(fits(old), Err(Misfit::Same));
    assert_eq!(
        fits(&with(8, "message", 5)),
        Err(Misfit::OtherId { kept: 9, found: 8 })
    );
    assert_eq!(
        fits(&with(9, "edited_message", 5)),
        Err(Misfit::OtherKind {
            kept: UpdateKind::Message,
            found: UpdateKind::EditedMessage
        })
    );
    assert_eq!(fits(&with(9, "message", 6)), Err(Misfit::OtherGroup));
    assert!(matches!(fits("nonsense"), Err(Misfit::NoUpdate(_))));
}
