//! The SDK's clients, built once per process.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;

/// Tries of one call inside the SDK. Two: what fails twice waits in the queue, with its own budget.
const SDK_ATTEMPTS: u32 = 2;
/// Time for one try. SQS and DynamoDB answer within tens of milliseconds; the long poll is the event source's matter.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(1_500);
/// Time for a call with all its tries: what the functions reckon with.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The SDK's shared configuration. It honours `AWS_ENDPOINT_URL` and its per-service variants.
#[derive(Debug, Clone)]
pub struct Clients {
    shared: aws_config::SdkConfig,
}

impl Clients {
    /// Reads region, credentials and endpoints from the environment.
    pub async fn load() -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .operation_timeout(OPERATION_TIMEOUT)
            .build();
        let shared = aws_config::from_env()
            .retry_config(RetryConfig::standard().with_max_attempts(SDK_ATTEMPTS))
            .timeout_config(timeouts)
            .load()
            .await;
        Self { shared }
    }

    /// The shared configuration, for clients of other services.
    #[must_use]
    pub fn sdk_config(&self) -> &aws_config::SdkConfig {
        &self.shared
    }

    /// A client of SQS.
    #[must_use]
    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.shared)
    }

    /// A client of DynamoDB.
    #[must_use]
    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::new(&self.shared)
    }

    /// A client of Secrets Manager.
    #[must_use]
    pub fn secrets_manager(&self) -> aws_sdk_secretsmanager::Client {
        aws_sdk_secretsmanager::Client::new(&self.shared)
    }
}
