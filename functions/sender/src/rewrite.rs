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
}
