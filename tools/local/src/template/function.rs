//! Reads functions and their SAM events out of a resolved template.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::error::TemplateError;
use super::extract::{array, field};
use super::node::Node;
use super::resolve::{Scope, scalar_text, wrong};
use super::resources::{Function, QueueSource, Route};

/// Lambda's own default timeout, seconds.
const DEFAULT_TIMEOUT_S: u64 = 3;
/// Lambda's own default memory, MB.
const DEFAULT_MEMORY_MB: u32 = 128;
/// Lambda's default batch size of a queue, and the most that FIFO allows.
const FIFO_BATCH_LIMIT: u8 = 10;
/// Variables that Lambda sets for a function with JSON logging, and the settings they come from.
const LOGGING: [(&str, &str); 2] = [
    ("AWS_LAMBDA_LOG_FORMAT", "LogFormat"),
    ("AWS_LAMBDA_LOG_LEVEL", "ApplicationLogLevel"),
];

/// One `AWS::Serverless::Function`, with `Globals.Function` under it.
pub(super) fn function(
    scope: &Scope<'_>,
    logical_id: &str,
    resource: &Node,
) -> Result<Function, TemplateError> {
    let at = format!("Resources.{logical_id}.Properties");
    let empty = Node::Map(Vec::new());
    let own = resource.get("Properties").unwrap_or(&empty);
    let globals = scope
        .root
        .get("Globals")
        .and_then(|globals| globals.get("Function"))
        .unwrap_or(&empty);
    let properties = globals.overlaid(own);
    let mut queue_sources = Vec::new();
    let mut routes = Vec::new();
    for (name, event) in properties.get("Events").map_or(&[][..], Node::entries) {
        let here = format!("{at}.Events.{name}");
        let kind = event.get("Type").and_then(Node::as_str).unwrap_or_default();
        let details = event.get("Properties").unwrap_or(&empty);
        match kind {
            "SQS" => queue_sources.push(queue_source(scope, name, details, &here)?),
            "HttpApi" => routes.push(route(scope, details, &here)?),
            other => {
                return Err(TemplateError::Unsupported {
                    what: format!("event type {other:?}"),
                    at: here,
                });
            }
        }
    }
    Ok(Function {
        logical_id: logical_id.to_owned(),
        name: scope.name(logical_id, "FunctionName", 0)?,
        binary: binary(scope, logical_id, resource)?,
        timeout: Duration::from_secs(
            number(scope, &properties, "Timeout", &at)?.unwrap_or(DEFAULT_TIMEOUT_S),
        ),
        memory_mb: match number(scope, &properties, "MemorySize", &at)? {
            Some(size) => u32::try_from(size).map_err(|_| wrong(&at, "a MemorySize in MB"))?,
            None => DEFAULT_MEMORY_MB,
        },
        environment: environment(scope, &properties, &at)?,
        queue_sources,
        routes,
    })
}

/// The binary of a function: `Metadata.BuildProperties.Binary`, as the build takes it.
fn binary(scope: &Scope<'_>, logical_id: &str, resource: &Node) -> Result<String, TemplateError> {
    let at = format!("Resources.{logical_id}.Metadata.BuildProperties.Binary");
    let node = resource
        .get("Metadata")
        .and_then(|metadata| metadata.get("BuildProperties")?.get("Binary"))
        .ok_or_else(|| TemplateError::Missing { at: at.clone() })?;
    scalar_text(&scope.required(node, &at)?, &at)
}

fn environment(
    scope: &Scope<'_>,
    properties: &Node,
    at: &str,
) -> Result<BTreeMap<String, String>, TemplateError> {
    let mut environment = BTreeMap::new();
    for (variable, setting) in LOGGING {
        if let Some(node) = properties
            .get("LoggingConfig")
            .and_then(|logging| logging.get(setting))
        {
            let here = format!("{at}.LoggingConfig.{setting}");
            environment.insert(
                variable.to_owned(),
                scalar_text(&scope.required(node, &here)?, &here)?,
            );
        }
    }
    let at = format!("{at}.Environment.Variables");
    let Some(node) = properties
        .get("Environment")
        .and_then(|environment| environment.get("Variables"))
    else {
        return Ok(environment);
    };
    let Value::Object(variables) = scope.required(node, &at)? else {
        return Err(wrong(&at, "a map"));
    };
    for (name, value) in &variables {
        environment.insert(name.clone(), scalar_text(value, &format!("{at}.{name}"))?);
    }
    Ok(environment)
}

fn queue_source(
    scope: &Scope<'_>,
    name: &str,
    details: &Node,
    at: &str,
) -> Result<QueueSource, TemplateError> {
    let value = scope.required(details, at)?;
    let known = [
        "BatchSize",
        "Enabled",
        "FunctionResponseTypes",
        "Queue",
        "ScalingConfig",
    ];
    if let Some(other) = details
        .entries()
        .iter()
        .find(|(key, _)| !known.contains(&key.as_str()))
    {
        return Err(TemplateError::Unsupported {
            what: format!("event source property {}", other.0),
            at: at.to_owned(),
        });
    }
    let batch_size = match value.get("BatchSize") {
        None => FIFO_BATCH_LIMIT,
        Some(size) => scalar_text(size, at)?
            .parse()
            .ok()
            .filter(|size| (1..=FIFO_BATCH_LIMIT).contains(size))
            .ok_or_else(|| wrong(at, "an event source with a BatchSize of 1 to 10"))?,
    };
    let max_concurrency = value
        .get("ScalingConfig")
        .and_then(|scaling| scaling.get("MaximumConcurrency"))
        .map(|limit| {
            // API_ScalingConfig: 2 to 1000.
            scalar_text(limit, at)?
                .parse()
                .ok()
                .filter(|limit| (2..=1000).contains(limit))
                .ok_or_else(|| wrong(at, "an event source with a MaximumConcurrency of 2 to 1000"))
        })
        .transpose()?;
    let report_batch_item_failures = match value.get("FunctionResponseTypes") {
        None => false,
        Some(types) => array(types, at)?
            .iter()
            .any(|kind| kind == "ReportBatchItemFailures"),
    };
    let enabled = value.get("Enabled").is_none_or(|on| *on == true || on == "true");
    Ok(QueueSource {
        name: name.to_owned(),
        queue_arn: field(&value, "Queue", at)?,
        batch_size,
        max_concurrency,
        report_batch_item_failures,
        enabled,
    })
}

fn route(scope: &Scope<'_>, details: &Node, at: &str) -> Result<Route, TemplateError> {
    // ApiId and the like name the API; one front serves them all.
    let text = |key: &str, default: &str| match details.get(key) {
        Some(node) => scalar_text(&scope.required(node, at)?, at),
        None => Ok(default.to_owned()),
    };
    // SAM: without a path and method the event is the API's `$default` route, which takes everything.
    Ok(Route {
        method: text("Method", "ANY")?.to_uppercase(),
        path: text("Path", "/{proxy+}")?,
    })
}

fn number(scope: &Scope<'_>, properties: &Node, name: &str, at: &str) -> Result<Option<u64>, TemplateError> {
    let here = format!("{at}.{name}");
    let Some(node) = properties.get(name) else {
        return Ok(None);
    };
    let Some(value) = scope.resolve(node, &here)? else {
        return Ok(None);
    };
    scalar_text(&value, &here)?
        .parse()
        .map(Some)
        .map_err(|_| wrong(&here, "a whole number"))
}
