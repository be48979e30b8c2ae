//! A function as the host runs it, and the environment its process gets.
//!
//! The environment is exactly what Lambda would give: nothing of the caller's own environment
//! reaches a function, except what is passed on by name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::clock::StackClock;
use crate::logs::Logs;
use crate::template::Function;

/// Instances that an HTTP API may start of one function. (AWS starts up to the account's limit; a
/// laptop has a handful of cores.)
const HTTP_INSTANCES: usize = 8;
/// Instances of an event source without `ScalingConfig`.
const DEFAULT_SOURCE_INSTANCES: u16 = 5;

/// What all functions of a host share.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The program that serves any function when started as `program __function NAME`.
    pub function_exe: PathBuf,
    /// Region and account in ARNs.
    pub region: String,
    /// Account id in ARNs.
    pub account_id: String,
    /// The stack's clock; deadlines and timeouts are in its time.
    pub clock: StackClock,
    /// Where the functions' lines go.
    pub logs: Logs,
    /// Environment of every function on top of its own: endpoints, credentials, hooks.
    pub extra_env: BTreeMap<String, String>,
}

/// One function.
#[derive(Debug, Clone)]
pub struct FunctionSpec {
    /// Function name.
    pub name: String,
    /// What `__function` is given.
    pub binary: String,
    /// Timeout in the stack's time.
    pub timeout: Duration,
    /// Memory in MB, passed on and not enforced.
    pub memory_mb: u32,
    /// Its environment in the template.
    pub environment: BTreeMap<String, String>,
    /// Processes at the same time, at most.
    pub concurrency: usize,
}

impl From<&Function> for FunctionSpec {
    fn from(function: &Function) -> Self {
        let sources: usize = function
            .queue_sources
            .iter()
            .map(|source| usize::from(source.max_concurrency.unwrap_or(DEFAULT_SOURCE_INSTANCES)))
            .sum();
        let http = if function.routes.is_empty() {
            0
        } else {
            HTTP_INSTANCES
        };
        Self {
            name: function.name.clone(),
            binary: function.binary.clone(),
            timeout: function.timeout,
            memory_mb: function.memory_mb,
            environment: function.environment.clone(),
            concurrency: (sources + http).max(1),
        }
    }
}

impl HostOptions {
    /// ARN of a function.
    pub(super) fn arn(&self, function: &str) -> String {
        format!(
            "arn:aws:lambda:{}:{}:function:{function}",
            self.region, self.account_id
        )
    }

    /// The whole environment of one process of a function.
    pub(super) fn environment(&self, spec: &FunctionSpec, runtime_api: &str) -> BTreeMap<String, String> {
        let mut environment = spec.environment.clone();
        environment.extend(self.extra_env.clone());
        let lambda = [
            ("AWS_REGION", self.region.clone()),
            ("AWS_DEFAULT_REGION", self.region.clone()),
            // The function's name in the user agent of its SDKs, so that its calls can be told from others'.
            ("AWS_SDK_UA_APP_ID", spec.binary.clone()),
            ("AWS_LAMBDA_FUNCTION_NAME", spec.name.clone()),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", spec.memory_mb.to_string()),
            ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand".to_owned()),
            ("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{}", spec.name)),
            ("AWS_LAMBDA_LOG_STREAM_NAME", "local".to_owned()),
            ("AWS_LAMBDA_RUNTIME_API", runtime_api.to_owned()),
            ("PENSTOCK_TIME_SCALE", self.clock.scale().to_string()),
            ("PENSTOCK_TIME_ORIGIN_MS", self.clock.origin_ms().to_string()),
        ];
        environment.extend(lambda.map(|(name, value)| (name.to_owned(), value)));
        environment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_gets_its_own_environment_under_what_the_host_sets() {
        let clock = StackClock::new(7, 20.0);
        let options = HostOptions {
            function_exe: PathBuf::from("penstock"),
            region: "us-east-1".to_owned(),
            account_id: "000000000000".to_owned(),
            clock,
            logs: Logs::new(clock, None),
            extra_env: BTreeMap::from([("AWS_ENDPOINT_URL".to_owned(), "http://127.0.0.1:1".to_owned())]),
        };
        let spec = FunctionSpec {
            name: "penstock-sender".to_owned(),
            binary: "sender".to_owned(),
            timeout: Duration::from_secs(20),
            memory_mb: 256,
            environment: BTreeMap::from([
                ("AWS_ENDPOINT_URL".to_owned(), "elsewhere".to_owned()),
                ("TABLE_NAME".to_owned(), "penstock".to_owned()),
            ]),
            concurrency: 5,
        };
        let environment = options.environment(&spec, "127.0.0.1:2");
        assert_eq!(environment["TABLE_NAME"], "penstock");
        assert_eq!(environment["AWS_ENDPOINT_URL"], "http://127.0.0.1:1");
        assert_eq!(environment["AWS_LAMBDA_RUNTIME_API"], "127.0.0.1:2");
        assert_eq!(environment["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"], "256");
        assert_eq!(environment["PENSTOCK_TIME_SCALE"], "20");
        assert_eq!(environment["PENSTOCK_TIME_ORIGIN_MS"], "7");
    }
}
