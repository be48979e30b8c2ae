//! Where the services are, and SDK clients for them.

use std::collections::BTreeMap;

use aws_sdk_sqs::config::{AppName, BehaviorVersion, Credentials, Region, StalledStreamProtectionConfig};

/// What emulators take for an access key and its secret; they check neither.
const LOCAL_KEY: &str = "local";

/// Base URLs of the services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// Answers every service.
    pub all: String,
    /// Answers DynamoDB directly.
    pub dynamodb: String,
}

impl Endpoints {
    /// One URL for everything.
    #[must_use]
    pub fn one(url: &str) -> Self {
        Self {
            all: url.trim_end_matches('/').to_owned(),
            dynamodb: url.trim_end_matches('/').to_owned(),
        }
    }

    /// The environment that leads an SDK here.
    #[must_use]
    pub fn environment(&self) -> BTreeMap<String, String> {
        let mut environment = BTreeMap::from([
            ("AWS_ENDPOINT_URL".to_owned(), self.all.clone()),
            ("AWS_ACCESS_KEY_ID".to_owned(), LOCAL_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY".to_owned(), LOCAL_KEY.to_owned()),
        ]);
        if self.dynamodb != self.all {
            environment.insert("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), self.dynamodb.clone());
        }
        environment
    }
}

/// SDK clients of one stack.
#[derive(Debug, Clone)]
pub struct Clients {
    /// SQS.
    pub sqs: aws_sdk_sqs::Client,
    /// DynamoDB.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// Secrets Manager.
    pub secrets: aws_sdk_secretsmanager::Client,
}

/// What the event source mappings call themselves when calls are counted.
pub(crate) const MAPPING: &str = "mapping";

impl Clients {
    /// The client of SQS that the event source mappings use. It calls itself so, as each function does.
    #[must_use]
    pub(crate) fn of_mappings(&self) -> aws_sdk_sqs::Client {
        let mut config = self.sqs.config().to_builder();
        // A word of letters is always a name.
        config.set_app_name(AppName::new(MAPPING).ok());
        aws_sdk_sqs::Client::from_conf(config.build())
    }

    /// Clients for these endpoints. The caller's own AWS configuration is not looked at.
    #[must_use]
    pub fn new(endpoints: &Endpoints, region: &str) -> Self {
        let credentials = || Credentials::new(LOCAL_KEY, LOCAL_KEY, None, None, "local");
        let region = || Region::new(region.to_owned());
        let sqs = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(region())
            .credentials_provider(credentials())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .endpoint_url(&endpoints.all)
            .build();
        let dynamodb = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(region())
            .credentials_provider(credentials())
            .endpoint_url(&endpoints.dynamodb)
            .build();
        let secrets = aws_sdk_secretsmanager::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(region())
            .credentials_provider(credentials())
            .endpoint_url(&endpoints.all)
            .build();
        Self {
            sqs: aws_sdk_sqs::Client::from_conf(sqs),
            dynamodb: aws_sdk_dynamodb::Client::from_conf(dynamodb),
            secrets: aws_sdk_secretsmanager::Client::from_conf(secrets),
        }
    }
}
