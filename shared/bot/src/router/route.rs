//! A route: a handler, what it reads and how often it is tried. Never decides which Updates it gets.

use std::fmt;
use std::pin::Pin;

use penstock_domain::retry::RetryPolicy;

use crate::bot::{BotError, Context, Reads};
use crate::incoming::Incoming;
use crate::outcome::Outcome;

type Answer<'a> = Pin<Box<dyn Future<Output = Result<Outcome, BotError>> + Send + 'a>>;
type Handler = Box<dyn for<'a> Fn(&'a Context, &'a Incoming) -> Answer<'a> + Send + Sync>;
type Reading = Box<dyn Fn(&Incoming) -> Reads + Send + Sync>;

/// A handler with what it reads and how often it is tried.
pub struct Route {
    handler: Handler,
    reads: Option<Reading>,
    policy: Option<RetryPolicy>,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route")
            .field("reads", &self.reads.is_some())
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl Route {
    /// A handler that reads nothing and is tried by the policy of the Update's class.
    #[must_use]
    pub fn new<M>(handler: impl IntoRoute<M>) -> Self {
        handler.into_route()
    }

    fn of(handler: Handler) -> Self {
        Self {
            handler,
            reads: None,
            policy: None,
        }
    }

    /// What the handler reads of each Update.
    #[must_use]
    pub fn reads(mut self, reads: impl Fn(&Incoming) -> Reads + Send + Sync + 'static) -> Self {
        self.reads = Some(Box::new(reads));
        self
    }

    /// How often the handler is tried, and how long between.
    #[must_use]
    pub fn policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = Some(policy);
        self
    }

    pub(super) fn wanted(&self, update: &Incoming) -> Reads {
        self.reads
            .as_ref()
            .map_or_else(Reads::nothing, |reads| reads(update))
    }

    pub(super) fn chosen_policy(&self) -> Option<RetryPolicy> {
        self.policy
    }

    pub(super) fn answer<'a>(&self, context: &'a Context, update: &'a Incoming) -> Answer<'a> {
        (self.handler)(context, update)
    }
}

/// What a handler may give back: an outcome, or a result of one.
pub trait IntoAnswer {
    /// As a result.
    ///
    /// # Errors
    /// Those of the handler.
    fn into_answer(self) -> Result<Outcome, BotError>;
}

impl IntoAnswer for Outcome {
    fn into_answer(self) -> Result<Outcome, BotError> {
        Ok(self)
    }
}

impl IntoAnswer for Result<Outcome, BotError> {
    fn into_answer(self) -> Result<Outcome, BotError> {
        self
    }
}

/// Marks handlers that answer at once.
#[derive(Debug, Clone, Copy)]
pub enum Immediate {}
/// Marks handlers that answer by a future.
#[derive(Debug, Clone, Copy)]
pub enum Later {}
/// Marks a [`Route`] itself.
#[derive(Debug, Clone, Copy)]
pub enum Ready {}

/// What a [`Router`](crate::Router) takes: a function, an async function, or a [`Route`]. `M` only tells these apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler",
    note = "a handler is a function or closure of (&Context, &Incoming) that gives an Outcome, a Result<Outcome, BotError>, or a future of one that is Send",
    note = "a closure has to name the types of its arguments: |context: &Context, update: &Incoming| ..."
)]
pub trait IntoRoute<M> {
    /// As a route.
    fn into_route(self) -> Route;
}

impl IntoRoute<Ready> for Route {
    fn into_route(self) -> Route {
        self
    }
}

impl<F, A> IntoRoute<(Immediate, A)> for F
where
    F: Fn(&Context, &Incoming) -> A + Send + Sync + 'static,
    A: IntoAnswer,
{
    fn into_route(self) -> Route {
        Route::of(Box::new(move |context, update| {
            let answer = self(context, update).into_answer();
            Box::pin(std::future::ready(answer))
        }))
    }
}

/// A function that answers by a future, which may borrow its arguments. Implemented for every such function.
pub trait LaterHandler<'a>: Send + Sync {
    /// Its future.
    type Answer: Future<Output: IntoAnswer> + Send + 'a;

    /// Begins to answer.
    fn begin(&self, context: &'a Context, update: &'a Incoming) -> Self::Answer;
}

impl<'a, F, A> LaterHandler<'a> for F
where
    F: Fn(&'a Context, &'a Incoming) -> A + Send + Sync,
    A: Future<Output: IntoAnswer> + Send + 'a,
{
    type Answer = A;

    fn begin(&self, context: &'a Context, update: &'a Incoming) -> A {
        self(context, update)
    }
}

impl<F> IntoRoute<Later> for F
where
    F: for<'a> LaterHandler<'a> + 'static,
{
    fn into_route(self) -> Route {
        Route::of(Box::new(move |context, update| {
            let answer = self.begin(context, update);
            Box::pin(async move { answer.await.into_answer() })
        }))
    }
}
