//! Requests about queues.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::json;

use super::Server;
use super::actions::nothing;
use super::error::Failure;
use super::wire::{self, queue_name};
use crate::error::{Code, Refusal};
use crate::rules::attributes::{self, Attributes};

/// Queues in one list (SQS API, ListQueues).
const MAX_LISTED: usize = 1000;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Create {
    queue_name: Option<String>,
    #[serde(default)]
    attributes: Attributes,
    #[serde(default, rename = "tags")]
    tags: Attributes,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Named {
    queue_name: Option<String>,
}

/// Any request that names a queue by URL, with what some of them carry besides.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OfQueue {
    queue_url: Option<String>,
    #[serde(default)]
    attribute_names: Vec<String>,
    #[serde(default)]
    attributes: Attributes,
    #[serde(default)]
    tags: Attributes,
    #[serde(default)]
    tag_keys: Vec<String>,
    max_results: Option<usize>,
    next_token: Option<String>,
}

impl OfQueue {
    fn name(&self) -> Result<&str, Refusal> {
        queue_name(self.queue_url.as_deref())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct List {
    #[serde(default)]
    queue_name_prefix: String,
    max_results: Option<usize>,
    next_token: Option<String>,
}

pub(super) fn create(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: Create = wire::read(body)?;
    let name = request.queue_name.ok_or_else(|| Refusal::missing("QueueName"))?;
    server
        .engine
        .create_queue(&name, &request.attributes, &request.tags)?;
    wire::write(&json!({ "QueueUrl": server.config.queue_url(&name) }))
}

pub(super) fn url(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: Named = wire::read(body)?;
    let name = request.queue_name.ok_or_else(|| Refusal::missing("QueueName"))?;
    server.engine.find_queue(&name)?;
    wire::write(&json!({ "QueueUrl": server.config.queue_url(&name) }))
}

pub(super) fn attributes(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: OfQueue = wire::read(body)?;
    let name = request.name()?;
    let asked = &request.attribute_names;
    if let Some(unknown) = asked
        .iter()
        .find(|asked| *asked != "All" && !attributes::is_known(asked))
    {
        return Err(Refusal::new(Code::InvalidAttributeName, format!("unknown attribute {unknown}")).into());
    }
    let mut all = server.engine.queue_attributes(name)?;
    all.insert("QueueArn".to_owned(), server.config.queue_arn(name));
    if !asked.iter().any(|name| name == "All") {
        all.retain(|name, _| asked.contains(name));
    }
    if all.is_empty() {
        return nothing();
    }
    wire::write(&json!({ "Attributes": all }))
}

pub(super) fn set_attributes(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: OfQueue = wire::read(body)?;
    server
        .engine
        .set_queue_attributes(request.name()?, &request.attributes)?;
    nothing()
}

pub(super) fn delete(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: OfQueue = wire::read(body)?;
    server.engine.delete_queue(request.name()?)?;
    nothing()
}

pub(super) fn purge(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: OfQueue = wire::read(body)?;
    server.engine.purge_queue(request.name()?)?;
    nothing()
}

pub(super) fn tag(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: OfQueue = wire::read(body)?;
    server.engine.tag_queue(request.name()?, &request.tags)?;
    nothing()
}

pub(super) fn untag(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: OfQueue = wire::read(body)?;
    server.engine.untag_queue(request.name()?, &request.tag_keys)?;
    nothing()
}

pub(super) fn tags(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: OfQueue = wire::read(body)?;
    let tags: BTreeMap<_, _> = server.engine.queue_tags(request.name()?)?;
    if tags.is_empty() {
        nothing()
    } else {
        wire::write(&json!({ "Tags": tags }))
    }
}

pub(super) fn list(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: List = wire::read(body)?;
    let after = after(request.next_token.as_deref())?;
    let names = server.engine.list_queues(&request.queue_name_prefix, &after)?;
    page(server, "QueueUrls", names, request.max_results)
}

pub(super) fn dead_letter_sources(server: &Server, body: &[u8]) -> Result<String, Failure> {
    let request: OfQueue = wire::read(body)?;
    let after = after(request.next_token.as_deref())?;
    let mut names = server.engine.dead_letter_sources(request.name()?)?;
    names.retain(|name| *name > after);
    // The model spells this one with a small letter.
    page(server, "queueUrls", names, request.max_results)
}

/// The last name of the page before.
fn after(token: Option<&str>) -> Result<String, Refusal> {
    let Some(token) = token else {
        return Ok(String::new());
    };
    let name = URL_SAFE_NO_PAD
        .decode(token)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| Refusal::parameter(format!("value {token} for parameter NextToken is invalid")))
}

fn page(
    server: &Server,
    field: &str,
    mut names: Vec<String>,
    limit: Option<usize>,
) -> Result<String, Failure> {
    let limit = limit.unwrap_or(MAX_LISTED);
    if !(1..=MAX_LISTED).contains(&limit) {
        let message =
            format!("value {limit} for parameter MaxResults is invalid: 1 to {MAX_LISTED} are allowed");
        return Err(Refusal::parameter(message).into());
    }
    let more = names.len() > limit;
    names.truncate(limit);
    let urls: Vec<String> = names.iter().map(|name| server.config.queue_url(name)).collect();
    let mut answer = json!({ field: urls });
    if let Some(last) = names.last().filter(|_| more) {
        answer["NextToken"] = URL_SAFE_NO_PAD.encode(last).into();
    }
    wire::write(&answer)
}
