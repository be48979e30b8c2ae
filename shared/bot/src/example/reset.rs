//! /reset: sets a chat's counters to zero. Dangerous as far as this bot goes, so it is for admins only, known by their
//! numeric ids; it is asked for twice, and done once, together with a record of who did it. To everybody else the
//! command does not exist.

use std::sync::Arc;
use std::time::Duration;

use penstock_domain::data::{DataKey, Expect};
use penstock_domain::ids::UpdateDigest;
use penstock_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{count, greet};
use crate::bot::{BotError, Context, Reads};
use crate::calls::{Button, Keyboard};
use crate::incoming::Incoming;
use crate::outcome::Outcome;

/// Begins the data of the button that confirms: then its code.
pub(super) const CONFIRM: &str = "reset:";

/// How long the button may be pressed.
const CONFIRM_WITHIN: Duration = Duration::from_secs(60);

/// Version of what is stored.
const VERSION: u8 = 1;

/// People who may, by numeric id: a user name can be given up and taken over by somebody else.
#[derive(Debug, Clone)]
pub(super) struct Admins(Arc<[i64]>);

impl Admins {
    pub(super) fn new(ids: Vec<i64>) -> Self {
        Self(ids.into())
    }

    /// The admin who caused the Update.
    fn of(&self, update: &Incoming) -> Option<i64> {
        update.from_id.filter(|id| self.0.contains(id))
    }
}

/// What waits to be confirmed: by whom, where and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Confirmation {
    v: u8,
    admin: i64,
    chat: i64,
    /// Milliseconds since the epoch.
    expires_at: i64,
    /// The Update that asked.
    asked_by: String,
}

/// What was done, by whom and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Audit {
    v: u8,
    who: i64,
    what: String,
    chat: i64,
    /// Milliseconds since the epoch.
    at: i64,
    /// The Update that asked for it.
    asked_by: String,
}

fn confirmation_key(code: &str) -> DataKey {
    DataKey::new("confirm", code)
}

/// The code of the button that this Update makes. It need not be secret: pressing counts by who does.
fn code(context: &Context) -> String {
    UpdateDigest::of(context.idempotency_key("reset").as_bytes()).to_string()
}

/// /reset: asks whether it is meant.
pub(super) fn ask(admins: Admins) -> impl Fn(&Context, &Incoming) -> Outcome {
    move |context: &Context, update: &Incoming| {
        let (Some(admin), Some(chat)) = (admins.of(update), update.chat_id) else {
            return greet::unknown(context, update);
        };
        // The code is this Update's own, so an earlier run of it has asked.
        if context.conflict {
            return Outcome::of("reset_asked_before");
        }
        let code = code(context);
        let confirmation = Confirmation {
            v: VERSION,
            admin,
            chat,
            expires_at: (context.now + CONFIRM_WITHIN).as_millis(),
            asked_by: context.key.to_string(),
        };
        let question = format!(
            "Set the counters of this chat to zero? You have {} seconds.",
            CONFIRM_WITHIN.as_secs()
        );
        let button = Button::callback("Yes, to zero", format!("{CONFIRM}{code}"));
        let question = update.reply(question);
        Outcome::of("reset_asked")
            .then(question.map(|question| question.buttons(Keyboard::of([button]))))
            .put_until(
                confirmation_key(&code),
                Expect::Absent,
                &json!(confirmation),
                context.now + CONFIRM_WITHIN,
            )
    }
}

fn code_of(update: &Incoming) -> Option<&str> {
    update
        .callback_data()?
        .strip_prefix(CONFIRM)
        .filter(|code| !code.is_empty())
}

pub(super) fn reads(update: &Incoming) -> Reads {
    code_of(update).map_or_else(Reads::nothing, |code| Reads::state().and(confirmation_key(code)))
}

/// What a press on the button comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Press {
    NotTheirs,
    UsedUp,
    TooLate,
    Confirms(Confirmation),
}

/// The rule of confirming. `admin` is who pressed, if that is an admin now.
fn press(admin: Option<i64>, chat: Option<i64>, asked: Option<Confirmation>, now: Timestamp) -> Press {
    let Some(admin) = admin else {
        return Press::NotTheirs;
    };
    let Some(asked) = asked else {
        return Press::UsedUp;
    };
    if asked.admin != admin || Some(asked.chat) != chat {
        return Press::NotTheirs;
    }
    if now.as_millis() >= asked.expires_at {
        return Press::TooLate;
    }
    Press::Confirms(asked)
}

/// The pressed button: does it, once, and writes down who did.
pub(super) fn confirm(admins: Admins) -> impl Fn(&Context, &Incoming) -> Result<Outcome, BotError> {
    move |context: &Context, update: &Incoming| {
        let Some(code) = code_of(update) else {
            return Ok(Outcome::ignored());
        };
        let key = confirmation_key(code);
        let asked = context.value(&key)?;
        let as_read = context.as_read(&key);
        Ok(
            match press(admins.of(update), update.chat_id, asked, context.now) {
                Press::Confirms(asked) => {
                    let audit = Audit {
                        v: VERSION,
                        who: asked.admin,
                        what: "reset".to_owned(),
                        chat: asked.chat,
                        at: context.now.as_millis(),
                        asked_by: asked.asked_by,
                    };
                    // Removing the confirmation under the version that was read is what makes it good for one press.
                    Outcome::of("reset_done")
                        .then(update.edit("The counters of this chat are at zero."))
                        .state(count::zeroed(context))
                        .remove(key, as_read)
                        .put(DataKey::new("audit", &context.key), Expect::Absent, &json!(audit))
                }
                Press::TooLate => Outcome::of("reset_too_late")
                    .then(update.edit("That took too long; nothing was changed. Ask again with /reset."))
                    .remove(key, as_read),
                Press::NotTheirs => Outcome::of("reset_refused")
                    .then(update.reply("Only the admin who asked can confirm that.")),
                Press::UsedUp => Outcome::of("reset_used_up")
                    .then(update.reply("That button has been used, or has run out.")),
            },
        )
    }
}
