//! The example bot: what a newcomer talks to before there is a bot of their own, and a pattern for one. One file a
//! feature, put together here. Never keeps anything between two Updates but in its outcomes.

mod answers;
mod count;
mod greet;
mod order;
mod reset;
#[cfg(test)]
mod tests;
mod think;

use std::sync::Arc;

use penstock_domain::kind::UpdateKind;
use penstock_domain::retry::RetryPolicy;

use crate::bot::{Bot, BotError, Context, Reads};
use crate::incoming::Incoming;
use crate::outcome::Outcome;
use crate::router::{Route, Router};
use reset::Admins;

/// The example bot. Clones share their routes.
#[derive(Debug, Clone)]
pub struct ExampleBot {
    router: Arc<Router>,
}

/// Without admins.
impl Default for ExampleBot {
    fn default() -> Self {
        Self::from_admins(Vec::new())
    }
}

impl ExampleBot {
    /// With these people, by their numeric ids, as admins.
    #[must_use]
    pub fn from_admins(ids: Vec<i64>) -> Self {
        let admins = Admins::new(ids);
        let router = Router::new()
            .command("start", greet::start)
            .command("help", greet::help)
            .command("think", think::think)
            .command("order", order::menu)
            .callback(order::ORDER, order::place)
            .callback(order::PAY, Route::new(order::pay).reads(order::pay_reads))
            .callback(
                order::CANCEL,
                Route::new(order::cancel).reads(order::cancel_reads),
            )
            .command("reset", reset::ask(admins.clone()))
            .callback(
                reset::CONFIRM,
                Route::new(reset::confirm(admins)).reads(reset::reads),
            )
            .callback("", Route::new(count::press).reads(count::reads))
            .unknown_command(greet::unknown)
            .text(Route::new(count::text).reads(count::reads))
            .message(greet::received)
            .on(UpdateKind::InlineQuery, answers::inline)
            .on(UpdateKind::PreCheckoutQuery, answers::checkout)
            .on(UpdateKind::ShippingQuery, answers::shipping);
        Self {
            router: Arc::new(router),
        }
    }

    /// The kinds of Update that it needs.
    #[must_use]
    pub fn allowed_updates(&self) -> Vec<UpdateKind> {
        self.router.allowed_updates()
    }
}

impl Bot for ExampleBot {
    fn reads(&self, update: &Incoming) -> Reads {
        self.router.reads(update)
    }

    fn policy(&self, update: &Incoming) -> RetryPolicy {
        self.router.policy(update)
    }

    async fn handle(&self, context: &Context, update: &Incoming) -> Result<Outcome, BotError> {
        self.router.handle(context, update).await
    }
}
