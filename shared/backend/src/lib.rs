//! The client of the bot owner's own backend: hands Updates to a webhook over HTTP or to a Lambda function, and reads
//! what is answered as Telegram would. One try per call: never repeats, never waits, never follows a redirect, and never
//! lets a URL, a secret or a text into an error or a log line.

mod answer;
mod call;
mod client;
mod date;
mod escapes;
mod event;
mod failure;
mod http;
mod lambda;
mod mask;
mod reply;
mod request;
mod target;

pub use client::BackendClient;
pub use http::{HttpBackend, HttpTimes};
pub use lambda::{LambdaBackend, LambdaTimes};
pub use target::{HttpTarget, LambdaTarget, Target, TargetError};
