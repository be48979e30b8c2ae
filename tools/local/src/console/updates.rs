//! The last Updates as the console shows them, with what the ledger says of each.
//!
//! An Update whose story has ended is not read again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use penstock_console::{ErrorView, SendState, SendView, Stage, Totals, UpdateView};

use crate::front::AcceptedUpdate;
use crate::ledger::{LedgerReader, SendStory, Story};

/// Updates shown.
const SHOWN: usize = 60;

/// Follows the stories of accepted Updates.
#[derive(Debug)]
pub(super) struct Updates {
    reader: Option<LedgerReader>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// By ledger key.
    stories: HashMap<String, Story>,
    ended: Totals,
}

impl Updates {
    pub(super) fn new(reader: Option<LedgerReader>) -> Self {
        Self {
            reader,
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the stories up to date and tells them, newest first, with the totals.
    pub(super) async fn tell(
        &self,
        accepted: &[AcceptedUpdate],
        received: u64,
        now_ms: i64,
        program: &str,
    ) -> (Vec<UpdateView>, Totals) {
        let open = self.open(accepted);
        if let Some(reader) = self.reader.as_ref().filter(|_| !open.is_empty()) {
            match reader.stories_of_keys(&open).await {
                Ok(stories) => self.known().learn(stories),
                Err(error) => tracing::warn!(%error, "the console cannot tell stories"),
            }
        }
        let mut known = self.known();
        known.forget_all_but(accepted);
        let updates = accepted
            .iter()
            .take(SHOWN)
            .map(|update| known.tell(update, now_ms, program))
            .collect();
        (
            updates,
            Totals {
                received,
                ..known.ended
            },
        )
    }

    /// Keys of Updates whose story has not ended.
    fn open(&self, accepted: &[AcceptedUpdate]) -> Vec<String> {
        let known = self.known();
        let is_open =
            |update: &&AcceptedUpdate| !known.story(update).is_some_and(|(_, story)| story.is_final());
        accepted.iter().filter(is_open).flat_map(keys).collect()
    }
}

impl Known {
    /// What is known of an Update, and under which key.
    fn story(&self, update: &AcceptedUpdate) -> Option<(String, &Story)> {
        keys(update).find_map(|key| {
            let story = self.stories.get(&key)?;
            Some((key, story))
        })
    }

    fn learn(&mut self, stories: HashMap<String, Story>) {
        for (key, story) in stories {
            if story.is_final() && !self.stories.get(&key).is_some_and(Story::is_final) {
                let count = |state: &str| {
                    story
                        .sends
                        .iter()
                        .filter(|send| send.state == state)
                        .fold(0, |sum, _| sum + 1)
                };
                self.ended.done += u64::from(story.state == "done");
                self.ended.dead += u64::from(story.state == "dead");
                self.ended.sent += count("sent");
                self.ended.unknown += count("unknown");
            }
            self.stories.insert(key, story);
        }
    }

    fn forget_all_but(&mut self, accepted: &[AcceptedUpdate]) {
        let kept: std::collections::HashSet<String> = accepted.iter().flat_map(keys).collect();
        self.stories.retain(|key, _| kept.contains(key));
    }

    fn tell(&self, update: &AcceptedUpdate, now_ms: i64, program: &str) -> UpdateView {
        let age_ms = u64::try_from(now_ms - update.accepted_at_ms).unwrap_or(0);
        let unread = Story::default();
        let own = own_key(update);
        let told = self.story(update);
        let is_quarantined = own.is_none() || told.as_ref().is_some_and(|(key, _)| Some(key) != own.as_ref());
        let story = told.map_or(&unread, |(_, story)| story);
        let name = match update.update_id {
            Some(id) if !is_quarantined => id.to_string(),
            _ => update.quarantine_key.clone(),
        };
        UpdateView {
            update_id: update.update_id.unwrap_or_default(),
            error: error_view(&name, story, program),
            name,
            kind: update.kind.clone(),
            stage: stage(story),
            attempts: story.attempts,
            age_ms,
            latency_ms: story.latency_ms(),
            sends: story.sends.iter().map(send_view).collect(),
        }
    }
}

/// The key of an Update's own record; `None` for a body that is no Update.
fn own_key(update: &AcceptedUpdate) -> Option<String> {
    update.update_id.map(|id| format!("{}:{id}", update.bot_id))
}

/// The keys that its record can have: its own, or that of a body that the ingress quarantined.
fn keys(update: &AcceptedUpdate) -> impl Iterator<Item = String> + use<> {
    own_key(update).into_iter().chain([update.quarantine_key.clone()])
}

fn stage(story: &Story) -> Stage {
    match story.state.as_str() {
        "processing" => Stage::Processing,
        "retrying" => Stage::Retrying,
        "deferred" => Stage::Deferred,
        "done" if !story.is_final() => Stage::Sending,
        "done" => Stage::Done,
        "dead" => Stage::Dead,
        // Without a record, or redriven and not yet taken.
        _ => Stage::Queued,
    }
}

fn send_view(send: &SendStory) -> SendView {
    let state = match send.state.as_str() {
        "sending" => SendState::Sending,
        "retrying" => SendState::Retrying,
        "sent" => SendState::Sent,
        "failed" => SendState::Failed,
        "unknown" => SendState::Unknown,
        "cancelled" => SendState::Cancelled,
        _ => SendState::Intended,
    };
    SendView {
        n: send.n,
        method: send.method.clone(),
        state,
        message_id: send.message_id,
    }
}

/// What went wrong last: of the Update, or else of one of its sends that is not through.
fn error_view(name: &str, story: &Story, program: &str) -> Option<ErrorView> {
    let of_a_send = story
        .sends
        .iter()
        .find(|send| send.state != "sent" && send.trouble.is_some());
    let (trouble, state) = match (&story.trouble, of_a_send) {
        (Some(trouble), _) if story.state != "done" => (trouble, story.state.as_str()),
        (_, Some(send)) => (send.trouble.as_ref()?, send.state.as_str()),
        _ => return None,
    };
    let cure = match state {
        _ if trouble.code == "handler_panicked" => "mend the bot at that place and run again".to_owned(),
        "retrying" | "deferred" | "processing" | "sending" | "intended" => {
            "nothing to do: it is tried again by itself".to_owned()
        }
        "unknown" => "nobody knows whether Telegram has it: look into the chat".to_owned(),
        _ => format!("{program} trace {name} tells the whole story"),
    };
    Some(ErrorView {
        code: trouble.code.clone(),
        message: trouble.message.clone(),
        cure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Trouble;

    fn accepted(update_id: i64) -> AcceptedUpdate {
        AcceptedUpdate {
            bot_id: "7".to_owned(),
            update_id: Some(update_id),
            quarantine_key: format!("7:q:{update_id}"),
            kind: "message".to_owned(),
            accepted_at_ms: 1_000,
        }
    }

    fn story(state: &str, sends: &[&str]) -> Story {
        let sends = sends.iter().map(|state| SendStory {
            state: (*state).to_owned(),
            ..SendStory::default()
        });
        Story {
            state: state.to_owned(),
            sends: sends.collect(),
            ..Story::default()
        }
    }

    #[test]
    fn an_update_is_counted_once_when_its_story_ends() {
        let mut known = Known::default();
        let key = "7:1".to_owned();
        known.learn(HashMap::from([(
            key.clone(),
            story("done", &["sending", "sent"]),
        )]));
        assert_eq!(known.ended, Totals::default());
        for _ in 0..2 {
            known.learn(HashMap::from([(
                key.clone(),
                story("done", &["unknown", "sent"]),
            )]));
        }
        assert_eq!(
            known.ended,
            Totals {
                received: 0,
                done: 1,
                dead: 0,
                sent: 1,
                unknown: 1
            }
        );
    }

    #[test]
    fn what_was_quarantined_is_dead_and_traced_by_its_key() {
        let mut known = Known::default();
        known.learn(HashMap::from([("7:q:1".to_owned(), story("dead", &[]))]));
        assert_eq!(known.ended.dead, 1);
        let no_update = AcceptedUpdate {
            update_id: None,
            ..accepted(1)
        };
        for update in [accepted(1), no_update] {
            let told = known.tell(&update, 1_250, "penstock");
            assert_eq!((told.stage, told.name.as_str()), (Stage::Dead, "7:q:1"));
        }
        assert_eq!(known.tell(&accepted(2), 1_250, "penstock").name, "2");
    }

    #[tokio::test]
    async fn an_update_without_a_record_is_queued() {
        let updates = Updates::new(None);
        let (told, totals) = updates.tell(&[accepted(1)], 3, 1_250, "penstock").await;
        assert_eq!((told[0].stage, told[0].age_ms), (Stage::Queued, 250));
        assert_eq!(totals.received, 3);
    }

    #[test]
    fn an_update_is_sending_until_its_last_send_has_ended() {
        assert_eq!(stage(&story("done", &["sent", "intended"])), Stage::Sending);
        assert_eq!(stage(&story("done", &["sent", "failed"])), Stage::Done);
    }

    #[test]
    fn a_panic_sends_its_author_to_the_place() {
        let trouble = Some(Trouble {
            code: "handler_panicked".to_owned(),
            message: "the handler panicked at src/bot.rs:7".to_owned(),
        });
        for state in ["retrying", "dead"] {
            let story = Story {
                trouble: trouble.clone(),
                ..story(state, &[])
            };
            let told = error_view("1", &story, "penstock").unwrap();
            assert!(told.message.ends_with("src/bot.rs:7") && told.cure.starts_with("mend the bot"));
        }
    }

    #[test]
    fn a_failure_is_told_with_what_to_do() {
        let trouble = Some(Trouble {
            code: "backend".to_owned(),
            message: "no".to_owned(),
        });
        let retrying = Story {
            trouble: trouble.clone(),
            ..story("retrying", &[])
        };
        assert!(
            error_view("1", &retrying, "penstock")
                .unwrap()
                .cure
                .contains("by itself")
        );
        let dead = Story {
            trouble: trouble.clone(),
            ..story("dead", &[])
        };
        assert!(
            error_view("5", &dead, "penstock")
                .unwrap()
                .cure
                .contains("penstock trace 5")
        );
        let recovered = Story {
            trouble,
            ..story("done", &["sent"])
        };
        assert_eq!(error_view("1", &recovered, "penstock"), None);
    }
}
