//! The client of whatever a bot's backend is.

use aws_config::SdkConfig;
use penstock_domain::breaker::ProbeAnswer;
use penstock_domain::intent::Call;
use penstock_ports::{Backend, BackendError, Clock, Forward};

use crate::http::{HttpBackend, HttpTimes};
use crate::lambda::{LambdaBackend, LambdaTimes};
use crate::target::{Target, TargetError};

/// Calls one backend. Build it once and keep it: it holds the connections.
#[derive(Debug, Clone)]
pub enum BackendClient<C> {
    /// A webhook.
    Http(HttpBackend<C>),
    /// A function.
    Lambda(LambdaBackend<C>),
}

impl<C: Clock> BackendClient<C> {
    /// A client of that target; connects to nothing yet. Credentials and endpoint of `sdk` are used for a function.
    ///
    /// # Errors
    /// [`TargetError::Tls`] if TLS cannot be set up.
    pub fn new(target: Target, sdk: &SdkConfig, clock: C) -> Result<Self, TargetError> {
        match target {
            Target::Http(target) => HttpBackend::new(target, HttpTimes::default(), clock).map(Self::Http),
            Target::Lambda(target) => Ok(Self::Lambda(LambdaBackend::new(
                target,
                sdk,
                LambdaTimes::default(),
                clock,
            ))),
        }
    }
}

impl<C: Clock> Backend for BackendClient<C> {
    async fn deliver(&self, forward: &Forward<'_>) -> Result<Option<Call>, BackendError> {
        match self {
            Self::Http(backend) => backend.deliver(forward).await,
            Self::Lambda(backend) => backend.deliver(forward).await,
        }
    }

    async fn probe(&self) -> ProbeAnswer {
        match self {
            Self::Http(backend) => backend.probe().await,
            Self::Lambda(backend) => backend.probe().await,
        }
    }
}
