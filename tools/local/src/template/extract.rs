//! Reads typed resources out of a resolved template.
//!
//! Strict on purpose: a queue or table property that is not carried over would make the local
//! resource another one than the deployed, so it is an error that names it.

use serde_json::Value;

use super::error::TemplateError;
use super::node::Node;
use super::resolve::{Scope, scalar_text, wrong};
use super::resources::{Index, Key, Queue, Resources, Table};

/// `CreateQueue` takes these under the same name.
const QUEUE_ATTRIBUTES: [&str; 13] = [
    "ContentBasedDeduplication",
    "DeduplicationScope",
    "DelaySeconds",
    "FifoQueue",
    "FifoThroughputLimit",
    "KmsDataKeyReusePeriodSeconds",
    "KmsMasterKeyId",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "RedriveAllowPolicy",
    "RedrivePolicy",
    "VisibilityTimeout",
];
/// Encryption at rest by SQS itself: carried over too, though it changes nothing locally.
const QUEUE_ENCRYPTION: &str = "SqsManagedSseEnabled";
/// Table properties without a local effect.
const IGNORED_TABLE_PROPERTIES: [&str; 7] = [
    "ContributorInsightsSpecification",
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "PointInTimeRecoverySpecification",
    "SSESpecification",
    "TableClass",
    "Tags",
];

/// All resources whose condition holds.
pub(super) fn resources(scope: &Scope<'_>) -> Result<Resources, TemplateError> {
    let mut found = Resources::default();
    let all = scope.root.get("Resources").map_or(&[][..], Node::entries);
    for (logical_id, resource) in all {
        let at = format!("Resources.{logical_id}");
        if let Some(condition) = resource.get("Condition") {
            let name = condition
                .as_str()
                .ok_or_else(|| wrong(&at, "a resource with a named condition"))?;
            if !scope.condition(name, &at)? {
                continue;
            }
        }
        match resource.get("Type").and_then(Node::as_str) {
            Some("AWS::SQS::Queue") => found.queues.push(queue(scope, logical_id, resource)?),
            Some("AWS::DynamoDB::Table") => found.tables.push(table(scope, logical_id, resource)?),
            Some("AWS::Serverless::Function") => {
                found
                    .functions
                    .push(super::function::function(scope, logical_id, resource)?);
            }
            // These would feed a function that the local stack then does not feed.
            Some(kind @ ("AWS::Lambda::EventSourceMapping" | "AWS::Lambda::Function")) => {
                return Err(TemplateError::Unsupported {
                    what: format!("resource type {kind}"),
                    at,
                });
            }
            Some(_) => {}
            None => {
                return Err(TemplateError::Missing {
                    at: format!("{at}.Type"),
                });
            }
        }
    }
    // A queue can name only a dead-letter queue that exists.
    found
        .queues
        .sort_by_key(|queue| queue.attributes.contains_key("RedrivePolicy"));
    Ok(found)
}

fn queue(scope: &Scope<'_>, logical_id: &str, resource: &Node) -> Result<Queue, TemplateError> {
    let at = format!("Resources.{logical_id}.Properties");
    let mut attributes = std::collections::BTreeMap::new();
    for (name, node) in resource.get("Properties").map_or(&[][..], Node::entries) {
        let here = format!("{at}.{name}");
        if matches!(name.as_str(), "QueueName" | "Tags") {
            continue;
        }
        if !QUEUE_ATTRIBUTES.contains(&name.as_str()) && name != QUEUE_ENCRYPTION {
            return Err(TemplateError::Unsupported {
                what: format!("queue property {name}"),
                at,
            });
        }
        let Some(value) = scope.resolve(node, &here)? else {
            continue;
        };
        let text = match &value {
            Value::Object(_) => value.to_string(),
            other => scalar_text(other, &here)?,
        };
        attributes.insert(name.clone(), text);
    }
    // CreateQueue refuses FifoQueue=false.
    if attributes.get("FifoQueue").is_some_and(|text| text == "false") {
        attributes.remove("FifoQueue");
    }
    Ok(Queue {
        logical_id: logical_id.to_owned(),
        name: scope.name(logical_id, "QueueName", 0)?,
        attributes,
    })
}

fn table(scope: &Scope<'_>, logical_id: &str, resource: &Node) -> Result<Table, TemplateError> {
    let at = format!("Resources.{logical_id}.Properties");
    let properties = resource
        .get("Properties")
        .ok_or_else(|| TemplateError::Missing { at: at.clone() })?;
    let mut attributes = Vec::new();
    let mut indexes = Vec::new();
    let mut ttl_attribute = None;
    let mut primary = None;
    for (name, node) in properties.entries() {
        let here = format!("{at}.{name}");
        if name == "TableName" || IGNORED_TABLE_PROPERTIES.contains(&name.as_str()) {
            continue;
        }
        let Some(value) = scope.resolve(node, &here)? else {
            continue;
        };
        match name.as_str() {
            "BillingMode" if value == "PAY_PER_REQUEST" => {}
            "AttributeDefinitions" => {
                for item in array(&value, &here)? {
                    attributes.push((
                        field(item, "AttributeName", &here)?,
                        field(item, "AttributeType", &here)?,
                    ));
                }
            }
            "KeySchema" => primary = Some(key(&value, &here)?),
            "GlobalSecondaryIndexes" => {
                for item in array(&value, &here)? {
                    indexes.push(index(item, &here)?);
                }
            }
            "TimeToLiveSpecification" => {
                if value.get("Enabled").is_some_and(|on| *on == true || on == "true") {
                    ttl_attribute = Some(field(&value, "AttributeName", &here)?);
                }
            }
            _ => {
                return Err(TemplateError::Unsupported {
                    what: format!("table property {name}"),
                    at: here,
                });
            }
        }
    }
    Ok(Table {
        logical_id: logical_id.to_owned(),
        name: scope.name(logical_id, "TableName", 0)?,
        attributes,
        key: primary.ok_or_else(|| TemplateError::Missing {
            at: format!("{at}.KeySchema"),
        })?,
        indexes,
        ttl_attribute,
    })
}

fn index(value: &Value, at: &str) -> Result<Index, TemplateError> {
    let schema = value.get("KeySchema").ok_or_else(|| TemplateError::Missing {
        at: format!("{at}.KeySchema"),
    })?;
    let projection = value.get("Projection").ok_or_else(|| TemplateError::Missing {
        at: format!("{at}.Projection"),
    })?;
    let include = projection
        .get("NonKeyAttributes")
        .map_or(Ok(Vec::new()), |list| {
            array(list, at)?
                .iter()
                .map(|item| scalar_text(item, at))
                .collect()
        })?;
    Ok(Index {
        name: field(value, "IndexName", at)?,
        key: key(schema, at)?,
        projection: field(projection, "ProjectionType", at)?,
        include,
    })
}

fn key(schema: &Value, at: &str) -> Result<Key, TemplateError> {
    let mut hash = None;
    let mut range = None;
    for item in array(schema, at)? {
        let name = field(item, "AttributeName", at)?;
        match field(item, "KeyType", at)?.as_str() {
            "HASH" => hash = Some(name),
            "RANGE" => range = Some(name),
            _ => return Err(wrong(at, "a key schema of HASH and RANGE")),
        }
    }
    Ok(Key {
        hash: hash.ok_or_else(|| wrong(at, "a key schema with a HASH key"))?,
        range,
    })
}

/// A text field of an object.
pub(super) fn field(value: &Value, name: &str, at: &str) -> Result<String, TemplateError> {
    let here = format!("{at}.{name}");
    match value.get(name) {
        Some(found) => scalar_text(found, &here),
        None => Err(TemplateError::Missing { at: here }),
    }
}

/// The items of a list.
pub(super) fn array<'v>(value: &'v Value, at: &str) -> Result<&'v Vec<Value>, TemplateError> {
    value.as_array().ok_or_else(|| wrong(at, "a list"))
}
