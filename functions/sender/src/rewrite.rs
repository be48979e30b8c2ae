//! Calls that Telegram would take in another form: the group became a supergroup, the topic or the message replied to
//! is gone. Each is rewritten once.

use penstock_ports::Meaning;
use serde_json::{Map, Value};

/// The parameters in the form that the refusal asks for; `None` if there is none, or they cannot be read.
pub(crate) fn rewritten(params: &str, meaning: Meaning) -> Option<String> {
    let mut params: Map<String, Value> = serde_json::from_str(params).ok()?;
    match meaning {
        Meaning::MigratedTo(chat_id) => {
            params.insert("chat_id".to_owned(), chat_id.into());
        }
        Meaning::TargetGone => {
            let gone = ["reply_parameters", "reply_to_message_id", "message_thread_id"];
            let before = params.len();
            params.retain(|name, _| !gone.contains(&name.as_str()));
            if params.len() == before {
                return None;
            }
        }
        Meaning::Plain | Meaning::ChatUnreachable | Meaning::BotRefused | Meaning::Expired => return None,
    }
    serde_json::to_string(&params).ok()
}

/// The parameters with the id of the message that they are about.
pub(crate) fn with_message_id(params: &str, message_id: i64) -> Option<String> {
    let mut params: Map<String, Value> = serde_json::from_str(params).ok()?;
    params.insert("message_id".to_owned(), message_id.into());
    serde_json::to_string(&params).ok()
}

/// Which refusals were answered with another call: each once.
#[derive(Debug, Default)]
pub(crate) struct Cures {
    token: bool,
    migrated: bool,
    target: bool,
}

impl Cures {
    /// Whether a refusal of that meaning may be cured by another call; from then on no more.
    pub(crate) fn has_left(&mut self, meaning: Meaning) -> bool {
        let used = match meaning {
            Meaning::BotRefused => &mut self.token,
            Meaning::MigratedTo(_) => &mut self.migrated,
            Meaning::TargetGone => &mut self.target,
            Meaning::Plain | Meaning::ChatUnreachable | Meaning::Expired => return false,
        };
        !std::mem::replace(used, true)
    }
}

/// Whether the parameters name a message: without one, unpinning is not safe to repeat.
pub(crate) fn has_message_id(params: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(params).is_ok_and(|params| params.contains_key("message_id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migrated_group_is_addressed_anew_and_a_lost_target_is_left_out() {
        let params = r#"{"chat_id":-5,"text":"a","reply_parameters":{"message_id":1}}"#;
        assert_eq!(
            rewritten(params, Meaning::MigratedTo(-1005)).unwrap(),
            r#"{"chat_id":-1005,"reply_parameters":{"message_id":1},"text":"a"}"#
        );
        assert_eq!(
            rewritten(params, Meaning::TargetGone).unwrap(),
            r#"{"chat_id":-5,"text":"a"}"#
        );
        assert_eq!(rewritten(r#"{"chat_id":-5}"#, Meaning::TargetGone), None);
        assert_eq!(rewritten(params, Meaning::Plain), None);
    }

    #[test]
    fn every_refusal_is_cured_once_at_the_most() {
        let mut cures = Cures::default();
        for meaning in [
            Meaning::BotRefused,
            Meaning::MigratedTo(-1005),
            Meaning::TargetGone,
        ] {
            assert!(cures.has_left(meaning) && !cures.has_left(meaning));
        }
        assert!(!cures.has_left(Meaning::MigratedTo(-1006)));
        assert!(!cures.has_left(Meaning::Plain) && !cures.has_left(Meaning::Expired));
    }

    #[test]
    fn a_message_is_named_only_by_its_member() {
        assert!(has_message_id(r#"{"chat_id":5,"message_id":7}"#));
        assert!(!has_message_id(r#"{"chat_id":5,"text":"message_id"}"#) && !has_message_id("[]"));
    }
}
