//! The AWS services of a local stack: embedded, or another emulator at an endpoint.
//!
//! Everything reaches them over HTTP, this process included, so nothing here can do what the
//! deployed functions could not.

mod clients;
mod embedded;
pub(crate) mod guard;
mod meter;
mod opening;
mod queues;
mod secrets;
pub(crate) mod serve;
mod switch;
mod tables;

pub use clients::{Clients, Endpoints};
pub use embedded::Embedded;
pub use meter::{CallCount, CallKey, Meter};

use crate::template::Resources;

/// The services could not be started, or a resource not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AwsError {
    /// No loopback port.
    #[error("no loopback port for {service}: {source}")]
    NoPort {
        /// The service.
        service: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The queues' file.
    #[error("the queues in {path} cannot be opened: {told}")]
    Queues {
        /// The file.
        path: String,
        /// What is wrong, and what to do.
        told: String,
        /// Why.
        source: fifo_queue::EngineError,
    },
    /// The tables' file.
    #[error("the tables in {path} cannot be opened: {source}; {cure}")]
    Tables {
        /// The file.
        path: String,
        /// What to do.
        cure: &'static str,
        /// Why.
        source: dynoxide::DynoxideError,
    },
    /// A call that creates or checks a resource failed.
    #[error("{call} of {name} failed: {reason}")]
    Call {
        /// The call.
        call: &'static str,
        /// The resource.
        name: String,
        /// What the service said.
        reason: String,
    },
    /// The table of an existing state does not fit the template.
    #[error("table {name} {difference}: move the state directory away, or update the table at the endpoint")]
    TableDiffers {
        /// The table.
        name: String,
        /// How it differs.
        difference: String,
    },
}

impl AwsError {
    fn call<E: std::error::Error>(call: &'static str, name: &str, error: E) -> Self {
        let reason = aws_sdk_sqs::error::DisplayErrorContext(error).to_string();
        Self::Call {
            call,
            name: name.to_owned(),
            reason,
        }
    }
}

/// Creates what the template has and the services have not. Gives the queues' URLs by name.
///
/// # Errors
/// When a call fails, or something exists that does not fit the template.
pub async fn create(
    clients: &Clients,
    resources: &Resources,
) -> Result<std::collections::BTreeMap<String, String>, AwsError> {
    let mut urls = std::collections::BTreeMap::new();
    for queue in &resources.queues {
        urls.insert(queue.name.clone(), queues::create(&clients.sqs, queue).await?);
    }
    for table in &resources.tables {
        tables::create(&clients.dynamodb, table).await?;
    }
    Ok(urls)
}

pub(crate) use secrets::put as put_secret;
