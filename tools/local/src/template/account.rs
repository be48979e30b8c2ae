//! The account a template is resolved for, and the physical names and ARNs that follow from it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::TemplateError;
use super::node::Node;
use super::resolve::{Scope, scalar_text};

/// Account id of everything local; no AWS account has it.
pub const LOCAL_ACCOUNT_ID: &str = "000000000000";
/// Region of everything local.
pub const LOCAL_REGION: &str = "us-east-1";
/// Stack name unless another one is asked for.
pub const DEFAULT_STACK_NAME: &str = "penstock";

/// Where a template is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// `AWS::StackName`.
    pub stack_name: String,
    /// `AWS::Region`.
    pub region: String,
    /// `AWS::AccountId`.
    pub account_id: String,
    /// What stands before `/{account}/{queue}` in a queue URL, without a slash at the end.
    pub queue_base_url: String,
    /// URLs by queue name, where the service chose others than the rule above.
    pub queue_urls: BTreeMap<String, String>,
}

impl Account {
    /// The local account, with queues at `queue_base_url`.
    #[must_use]
    pub fn local(stack_name: &str, queue_base_url: &str) -> Self {
        Self {
            stack_name: stack_name.to_owned(),
            region: LOCAL_REGION.to_owned(),
            account_id: LOCAL_ACCOUNT_ID.to_owned(),
            queue_base_url: queue_base_url.trim_end_matches('/').to_owned(),
            queue_urls: BTreeMap::new(),
        }
    }

    /// The URL of a queue.
    #[must_use]
    pub fn queue_url(&self, name: &str) -> String {
        self.queue_urls
            .get(name)
            .cloned()
            .unwrap_or_else(|| format!("{}/{}/{name}", self.queue_base_url, self.account_id))
    }

    /// An ARN of this account.
    #[must_use]
    pub fn arn(&self, service: &str, resource: &str) -> String {
        format!("arn:aws:{service}:{}:{}:{resource}", self.region, self.account_id)
    }

    /// A pseudo parameter (`AWS::NoValue` is not here: it has no value).
    pub(super) fn pseudo(&self, name: &str) -> Option<Value> {
        let text = match name {
            "AWS::StackName" => self.stack_name.clone(),
            "AWS::Region" => self.region.clone(),
            "AWS::AccountId" => self.account_id.clone(),
            "AWS::Partition" => "aws".to_owned(),
            "AWS::URLSuffix" => "amazonaws.com".to_owned(),
            "AWS::StackId" => self.arn("cloudformation", &format!("stack/{}/local", self.stack_name)),
            "AWS::NotificationARNs" => return Some(Value::Array(Vec::new())),
            _ => return None,
        };
        Some(Value::String(text))
    }
}

impl Scope<'_> {
    /// A resource of the template by its logical id.
    pub(crate) fn resource(&self, logical_id: &str) -> Option<&Node> {
        self.root.get("Resources")?.get(logical_id)
    }

    /// What `Ref` of a resource gives.
    pub(super) fn physical_id(
        &self,
        logical_id: &str,
        at: &str,
        depth: usize,
    ) -> Result<Value, TemplateError> {
        let kind = self.kind(logical_id, at)?;
        let text = match kind {
            "AWS::SQS::Queue" => self
                .account
                .queue_url(&self.name(logical_id, "QueueName", depth)?),
            "AWS::DynamoDB::Table" => self.name(logical_id, "TableName", depth)?,
            "AWS::Serverless::Function" => self.name(logical_id, "FunctionName", depth)?,
            // One HTTP front serves every API of the template.
            "AWS::Serverless::HttpApi" => "local".to_owned(),
            other => return Err(unsupported(format!("Ref of {logical_id} ({other})"), at)),
        };
        Ok(Value::String(text))
    }

    /// What `Fn::GetAtt` of a resource gives.
    pub(super) fn attribute(
        &self,
        logical_id: &str,
        attribute: &str,
        at: &str,
        depth: usize,
    ) -> Result<Value, TemplateError> {
        let kind = self.kind(logical_id, at)?;
        let account = self.account;
        let text = match (kind, attribute) {
            ("AWS::SQS::Queue", "Arn") => account.arn("sqs", &self.name(logical_id, "QueueName", depth)?),
            ("AWS::SQS::Queue", "QueueName") => self.name(logical_id, "QueueName", depth)?,
            ("AWS::SQS::Queue", "QueueUrl") => {
                account.queue_url(&self.name(logical_id, "QueueName", depth)?)
            }
            ("AWS::DynamoDB::Table", "Arn") => account.arn(
                "dynamodb",
                &format!("table/{}", self.name(logical_id, "TableName", depth)?),
            ),
            ("AWS::Serverless::Function", "Arn") => account.arn(
                "lambda",
                &format!("function:{}", self.name(logical_id, "FunctionName", depth)?),
            ),
            (other, _) => return Err(unsupported(format!("{logical_id}.{attribute} ({other})"), at)),
        };
        Ok(Value::String(text))
    }

    fn kind(&self, logical_id: &str, at: &str) -> Result<&str, TemplateError> {
        self.resource(logical_id)
            .and_then(|resource| resource.get("Type"))
            .and_then(Node::as_str)
            .ok_or_else(|| TemplateError::Unknown {
                name: logical_id.to_owned(),
                at: at.to_owned(),
            })
    }

    /// The name a resource was given, or the one CloudFormation would make (without its random end).
    pub(crate) fn name(
        &self,
        logical_id: &str,
        property: &str,
        depth: usize,
    ) -> Result<String, TemplateError> {
        let at = format!("Resources.{logical_id}.Properties.{property}");
        let node = self
            .resource(logical_id)
            .and_then(|resource| resource.get("Properties")?.get(property));
        match node
            .map(|node| self.value(node, &at, depth + 1))
            .transpose()?
            .flatten()
        {
            Some(value) => scalar_text(&value, &at),
            None => Ok(format!("{}-{logical_id}", self.account.stack_name)),
        }
    }
}

fn unsupported(what: String, at: &str) -> TemplateError {
    TemplateError::Unsupported {
        what,
        at: at.to_owned(),
    }
}
