//! Routing an Update to one handler. Never handles one itself, and never runs two handlers for one Update.

mod pattern;
mod route;
#[cfg(test)]
mod tests;

use penstock_domain::kind::UpdateKind;
use penstock_domain::retry::{RetryPolicy, UpdateClass};

use crate::bot::{Bot, BotError, Context, Reads};
use crate::incoming::Incoming;
use crate::outcome::Outcome;
use pattern::Pattern;
pub use route::{Immediate, IntoAnswer, IntoRoute, Later, LaterHandler, Ready, Route};

/// A bot made of routes. An Update goes to the first route that matches; the most specific are asked first, and of
/// equally specific ones the one that was added first:
///
/// 1. [`command`](Self::command), [`callback`](Self::callback), [`successful_payment`](Self::successful_payment)
/// 2. [`unknown_command`](Self::unknown_command)
/// 3. [`text`](Self::text)
/// 4. [`on`](Self::on), [`message`](Self::message)
/// 5. [`on_class`](Self::on_class)
/// 6. [`fallback`](Self::fallback)
///
/// What no route takes is ignored, which is an end like any other. A handler is a function of a [`Context`] and an
/// [`Incoming`] that gives an [`Outcome`] or a `Result` of one, at once or as a future, or a [`Route`] that says more.
#[derive(Debug, Default)]
pub struct Router {
    username: Option<String>,
    routes: Vec<(Pattern, Route)>,
    policies: Vec<(UpdateClass, RetryPolicy)>,
}

impl Router {
    /// No routes yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The bot's own user name. Groups with several bots need it: a command for another one (`/start@other_bot`) is
    /// then left alone.
    #[must_use]
    pub fn username(mut self, name: &str) -> Self {
        self.username = Some(name.trim_start_matches('@').to_owned());
        self
    }

    /// A message that begins with that command, in any case of letters.
    #[must_use]
    pub fn command<M>(self, name: &str, route: impl IntoRoute<M>) -> Self {
        let name = name.trim_start_matches('/').to_owned();
        self.with(Pattern::Command(name), route)
    }

    /// A pressed button whose data begins so; `""` takes every press, with or without data.
    #[must_use]
    pub fn callback<M>(self, prefix: &str, route: impl IntoRoute<M>) -> Self {
        self.with(Pattern::Callback(prefix.to_owned()), route)
    }

    /// A message that tells of a payment.
    #[must_use]
    pub fn successful_payment<M>(self, route: impl IntoRoute<M>) -> Self {
        self.with(Pattern::SuccessfulPayment, route)
    }

    /// A message that begins with a command that no other route takes.
    #[must_use]
    pub fn unknown_command<M>(self, route: impl IntoRoute<M>) -> Self {
        self.with(Pattern::UnknownCommand, route)
    }

    /// A message with a text.
    #[must_use]
    pub fn text<M>(self, route: impl IntoRoute<M>) -> Self {
        self.with(Pattern::Text, route)
    }

    /// Any message in a private chat, a group or a business chat; not posts of channels, not edits.
    #[must_use]
    pub fn message<M>(self, route: impl IntoRoute<M>) -> Self {
        self.with(Pattern::Message, route)
    }

    /// An Update of that kind.
    #[must_use]
    pub fn on<M>(self, kind: UpdateKind, route: impl IntoRoute<M>) -> Self {
        self.with(Pattern::Kind(kind), route)
    }

    /// An Update of that class.
    #[must_use]
    pub fn on_class<M>(self, class: UpdateClass, route: impl IntoRoute<M>) -> Self {
        self.with(Pattern::Class(class), route)
    }

    /// Whatever is left.
    #[must_use]
    pub fn fallback<M>(self, route: impl IntoRoute<M>) -> Self {
        self.with(Pattern::Anything, route)
    }

    /// How often Updates of that class are tried, and how long between, unless their route says otherwise.
    #[must_use]
    pub fn policy_for(mut self, class: UpdateClass, policy: RetryPolicy) -> Self {
        self.policies.retain(|(known, _)| *known != class);
        self.policies.push((class, policy));
        self
    }

    /// The kinds of Update that some route may take: what a webhook's `allowed_updates` needs.
    #[must_use]
    pub fn allowed_updates(&self) -> Vec<UpdateKind> {
        let is_needed = |kind| self.routes.iter().any(|(pattern, _)| pattern.may_match(kind));
        UpdateKind::ALL
            .iter()
            .copied()
            .filter(|kind| is_needed(*kind))
            .collect()
    }

    fn with<M>(mut self, pattern: Pattern, route: impl IntoRoute<M>) -> Self {
        self.routes.push((pattern, route.into_route()));
        self
    }

    /// The route of an Update.
    fn route(&self, update: &Incoming) -> Option<&Route> {
        if self.is_for_another_bot(update) {
            return None;
        }
        self.routes
            .iter()
            .filter(|(pattern, _)| pattern.matches(update))
            // The first of those that are equally specific.
            .min_by_key(|(pattern, _)| pattern.rank())
            .map(|(_, route)| route)
    }

    /// In a private chat nobody else is there to be meant.
    fn is_for_another_bot(&self, update: &Incoming) -> bool {
        match (&self.username, update.commanded_bot()) {
            (Some(own), Some(named)) => !update.is_private && !own.eq_ignore_ascii_case(named),
            (Some(_) | None, None) | (None, Some(_)) => false,
        }
    }
}

impl Bot for Router {
    fn reads(&self, update: &Incoming) -> Reads {
        self.route(update)
            .map_or_else(Reads::nothing, |route| route.wanted(update))
    }

    fn policy(&self, update: &Incoming) -> RetryPolicy {
        let class = UpdateClass::of(update.kind, update.command().is_some());
        let of_class = || {
            let chosen = self.policies.iter().find(|(known, _)| *known == class);
            chosen.map_or_else(|| class.preset().policy(), |(_, policy)| *policy)
        };
        self.route(update)
            .and_then(Route::chosen_policy)
            .unwrap_or_else(of_class)
    }

    async fn handle(&self, context: &Context, update: &Incoming) -> Result<Outcome, BotError> {
        match self.route(update) {
            Some(route) => route.answer(context, update).await,
            None => Ok(Outcome::ignored()),
        }
    }
}
