//! The functions as processes, for the stacks that the tests start: with a bot that can be told to fail.

use std::process::ExitCode;
use std::time::Duration;

use penstock_bot::example::ExampleBot;
use penstock_bot::{Bot, BotError, Context, Incoming, Outcome, Reads};

fn main() -> ExitCode {
    penstock_local::function_main_with(std::env::args().skip(1), TroubledBot(ExampleBot::default()))
        .unwrap_or(ExitCode::FAILURE)
}

/// The example bot, but for messages that begin with `!`: those are orders to get into trouble.
struct TroubledBot(ExampleBot);

/// What a message asks for.
fn order(update: &Incoming) -> Option<(&str, &str)> {
    let order = update.text.as_deref()?.strip_prefix('!')?;
    Some(order.split_once(' ').unwrap_or((order, "")))
}

impl Bot for TroubledBot {
    fn reads(&self, update: &Incoming) -> Reads {
        if order(update).is_some() {
            return Reads::nothing();
        }
        self.0.reads(update)
    }

    async fn handle(&self, context: &Context, update: &Incoming) -> Result<Outcome, BotError> {
        let done = || {
            let reply = serde_json::json!({"chat_id": update.chat_id, "text": "done"});
            Outcome::of("done").call("sendMessage", &reply)
        };
        match order(update) {
            None => self.0.handle(context, update).await,
            // The whole process, and with it whatever else it is working on.
            Some(("crash", _)) => std::process::abort(),
            // Works when a person has brought it back.
            Some(("die", _)) if context.attempt == 1 && context.received_at + ONE_MINUTE > context.now => {
                Err(BotError::Permanent {
                    code: "told_to_die",
                    message: "the message asked for it".to_owned(),
                })
            }
            Some(("die", _)) => Ok(done()),
            Some(("fail", times)) if context.attempt <= times.parse().unwrap_or(1) => {
                Err(BotError::Transient {
                    code: "told_to_fail",
                    message: "the message asked for it".to_owned(),
                })
            }
            Some(("sleep", ms)) => {
                tokio::time::sleep(Duration::from_millis(ms.parse().unwrap_or(0))).await;
                Ok(done())
            }
            Some(_) => Ok(done()),
        }
    }
}

/// How long after its receipt a message that is to die does so.
const ONE_MINUTE: Duration = Duration::from_secs(60);
