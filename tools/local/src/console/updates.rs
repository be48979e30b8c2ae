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
    stories: HashMap<(String, i64), Story>,
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
    ) -> (Vec<UpdateView>, Totals) {
        let open = self.open(accepted);
        if let Some(reader) = self.reader.as_ref().filter(|_| !open.is_empty()) {
            match reader.stories(&open).await {
                Ok(stories) => self.known().learn(stories),
                Err(error) => tracing::warn!(%error, "the console cannot tell stories"),
            }
        }
        let mut known = self.known();
        known.forget_all_but(accepted);
        let updates = accepted
            .iter()
            .take(SHOWN)
            .map(|update| known.tell(update, now_ms))
            .collect();
        (
            updates,
            Totals {
                received,
                ..known.ended
            },
        )
    }

    /// Updates whose story has not ended.
    fn open(&self, accepted: &[AcceptedUpdate]) -> Vec<(String, i64)> {
        let known = self.known();
        let keys = accepted.iter().map(key);
        keys.filter(|key| !known.stories.get(key).is_some_and(Story::is_final))
            .collect()
    }
}

impl Known {
    fn learn(&mut self, stories: HashMap<(String, i64), Story>) {
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
        let kept: std::collections::HashSet<(String, i64)> = accepted.iter().map(key).collect();
        self.stories.retain(|key, _| kept.contains(key));
    }

    fn tell(&self, update: &AcceptedUpdate, now_ms: i64) -> UpdateView {
        let age_ms = u64::try_from(now_ms - update.accepted_at_ms).unwrap_or(0);
        let unread = Story::default();
        let story = self.stories.get(&key(update)).unwrap_or(&unread);
        UpdateView {
            update_id: update.update_id,
            kind: update.kind.clone(),
            stage: stage(&story.state),
            attempts: story.attempts,
            age_ms,
            latency_ms: story.latency_ms(),
            sends: story.sends.iter().map(send_view).collect(),
            error: error_view(update, story),
        }
    }
}

fn key(update: &AcceptedUpdate) -> (String, i64) {
    (update.bot_id.clone(), update.update_id)
}

fn stage(state: &str) -> Stage {
    match state {
        "processing" => Stage::Processing,
        "retrying" => Stage::Retrying,
        "deferred" => Stage::Deferred,
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
fn error_view(update: &AcceptedUpdate, story: &Story) -> Option<ErrorView> {
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
        "retrying" | "deferred" | "processing" | "sending" | "intended" => {
            "nothing to do: it is tried again by itself".to_owned()
        }
        "unknown" => "nobody knows whether Telegram has it: look into the chat".to_owned(),
        _ => format!("penstock trace {} tells the whole story", update.update_id),
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
            update_id,
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
        let key = key(&accepted(1));
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

    #[tokio::test]
    async fn an_update_without_a_record_is_queued() {
        let updates = Updates::new(None);
        let (told, totals) = updates.tell(&[accepted(1)], 3, 1_250).await;
        assert_eq!((told[0].stage, told[0].age_ms), (Stage::Queued, 250));
        assert_eq!(totals.received, 3);
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
            error_view(&accepted(1), &retrying)
                .unwrap()
                .cure
                .contains("by itself")
        );
        let dead = Story {
            trouble: trouble.clone(),
            ..story("dead", &[])
        };
        assert!(
            error_view(&accepted(5), &dead)
                .unwrap()
                .cure
                .contains("penstock trace 5")
        );
        let recovered = Story {
            trouble,
            ..story("done", &["sent"])
        };
        assert_eq!(error_view(&accepted(1), &recovered), None);
    }
}
