//! Evaluates the intrinsic functions of a template for the local account.
//!
//! Only what is asked for is evaluated, so a resource that the local stack ignores may use anything.
//! Never touches a service: every value follows from the template, its parameters and the account.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::account::Account;
use super::error::TemplateError;
use super::node::Node;

/// References nested deeper than this are a circle. (CloudFormation itself allows far fewer.)
const DEPTH_LIMIT: usize = 64;

/// A template with its parameters bound to one account.
pub(crate) struct Scope<'a> {
    pub(crate) root: &'a Node,
    pub(crate) account: &'a Account,
    parameters: BTreeMap<String, Value>,
}

impl<'a> Scope<'a> {
    /// Binds the parameters: overrides first, then defaults.
    pub(crate) fn new(
        root: &'a Node,
        account: &'a Account,
        overrides: &BTreeMap<String, String>,
    ) -> Result<Self, TemplateError> {
        let parameters = super::parameters::bind(root, overrides)?;
        Ok(Self {
            root,
            account,
            parameters,
        })
    }

    /// The value of a node; `None` where it comes out as `AWS::NoValue`.
    pub(crate) fn resolve(&self, node: &Node, at: &str) -> Result<Option<Value>, TemplateError> {
        self.value(node, at, 0)
    }

    /// The value of a node that must have one.
    pub(crate) fn required(&self, node: &Node, at: &str) -> Result<Value, TemplateError> {
        self.resolve(node, at)?
            .ok_or_else(|| TemplateError::Missing { at: at.to_owned() })
    }

    /// A condition of the `Conditions` section.
    pub(crate) fn condition(&self, name: &str, at: &str) -> Result<bool, TemplateError> {
        self.named_condition(name, at, 0)
    }

    pub(super) fn value(&self, node: &Node, at: &str, depth: usize) -> Result<Option<Value>, TemplateError> {
        if depth > DEPTH_LIMIT {
            return Err(TemplateError::TooDeep {
                at: at.to_owned(),
                limit: DEPTH_LIMIT,
            });
        }
        match node {
            Node::Scalar(value) => Ok(Some(value.clone())),
            Node::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    list.extend(self.value(item, at, depth + 1)?);
                }
                Ok(Some(Value::Array(list)))
            }
            Node::Map(entries) => {
                let mut map = Map::new();
                for (key, entry) in entries {
                    if let Some(value) = self.value(entry, &format!("{at}.{key}"), depth + 1)? {
                        map.insert(key.clone(), value);
                    }
                }
                Ok(Some(Value::Object(map)))
            }
            Node::Call(name, argument) => self.call(name, argument, at, depth + 1),
        }
    }

    fn call(
        &self,
        name: &str,
        argument: &Node,
        at: &str,
        depth: usize,
    ) -> Result<Option<Value>, TemplateError> {
        match name {
            "Ref" => self.reference(self.literal(argument, at)?, at, depth),
            "GetAtt" => {
                let (resource, attribute) = self.attribute_path(argument, at)?;
                self.attribute(&resource, &attribute, at, depth).map(Some)
            }
            "Sub" => self.substitute(argument, at, depth).map(Some),
            "Join" => {
                let [separator, items] = self.arguments::<2>(argument, at)?;
                let separator = self.text(separator, at, depth)?;
                let items = self.texts(items, at, depth)?;
                Ok(Some(Value::String(items.join(&separator))))
            }
            "Select" => {
                let [index, items] = self.arguments::<2>(argument, at)?;
                let index = self.text(index, at, depth)?;
                let items = self.value(items, at, depth)?;
                let chosen = match (index.parse::<usize>(), items) {
                    (Ok(index), Some(Value::Array(items))) => items.into_iter().nth(index),
                    _ => None,
                };
                chosen
                    .map(Some)
                    .ok_or_else(|| wrong(at, "an index within a list"))
            }
            "Split" => {
                let [separator, text] = self.arguments::<2>(argument, at)?;
                let (separator, text) = (self.text(separator, at, depth)?, self.text(text, at, depth)?);
                Ok(Some(
                    text.split(&separator)
                        .map(|part| Value::String(part.to_owned()))
                        .collect(),
                ))
            }
            "If" => {
                let [condition, yes, no] = self.arguments::<3>(argument, at)?;
                let holds = self.named_condition(self.literal(condition, at)?, at, depth)?;
                self.value(if holds { yes } else { no }, at, depth)
            }
            "FindInMap" => {
                let [map, first, second] = self.arguments::<3>(argument, at)?;
                let (map, first, second) = (
                    self.text(map, at, depth)?,
                    self.text(first, at, depth)?,
                    self.text(second, at, depth)?,
                );
                let found = self
                    .root
                    .get("Mappings")
                    .and_then(|maps| maps.get(&map)?.get(&first)?.get(&second))
                    .ok_or_else(|| TemplateError::Unknown {
                        name: format!("{map}.{first}.{second}"),
                        at: at.to_owned(),
                    })?;
                self.value(found, at, depth)
            }
            "Equals" | "Not" | "And" | "Or" | "Condition" => {
                Ok(Some(Value::Bool(self.truth(name, argument, at, depth)?)))
            }
            other => Err(TemplateError::Unsupported {
                what: format!("function {other}"),
                at: at.to_owned(),
            }),
        }
    }

    fn truth(&self, name: &str, argument: &Node, at: &str, depth: usize) -> Result<bool, TemplateError> {
        match name {
            "Condition" => self.named_condition(self.literal(argument, at)?, at, depth),
            "Equals" => {
                let [left, right] = self.arguments::<2>(argument, at)?;
                Ok(self.text(left, at, depth)? == self.text(right, at, depth)?)
            }
            _ => {
                let Node::List(parts) = argument else {
                    return Err(wrong(at, "a list of conditions"));
                };
                let mut results = Vec::with_capacity(parts.len());
                for part in parts {
                    match self.value(part, at, depth)? {
                        Some(Value::Bool(result)) => results.push(result),
                        _ => return Err(wrong(at, "a condition")),
                    }
                }
                Ok(match name {
                    "Not" => results == [false],
                    "And" => results.iter().all(|result| *result),
                    _ => results.contains(&true),
                })
            }
        }
    }

    fn named_condition(&self, name: &str, at: &str, depth: usize) -> Result<bool, TemplateError> {
        let node = self
            .root
            .get("Conditions")
            .and_then(|conditions| conditions.get(name))
            .ok_or_else(|| TemplateError::Unknown {
                name: name.to_owned(),
                at: at.to_owned(),
            })?;
        match self.value(node, &format!("Conditions.{name}"), depth + 1)? {
            Some(Value::Bool(holds)) => Ok(holds),
            _ => Err(wrong(at, "a condition")),
        }
    }

    fn reference(&self, name: &str, at: &str, depth: usize) -> Result<Option<Value>, TemplateError> {
        if name == "AWS::NoValue" {
            return Ok(None);
        }
        if let Some(value) = self.account.pseudo(name) {
            return Ok(Some(value));
        }
        if let Some(value) = self.parameters.get(name) {
            return Ok(Some(value.clone()));
        }
        self.physical_id(name, at, depth).map(Some)
    }

    /// `Fn::Sub`, plain or with its own variables. `${!x}` is the literal `${x}`.
    fn substitute(&self, argument: &Node, at: &str, depth: usize) -> Result<Value, TemplateError> {
        let (text, variables) = match argument {
            Node::List(parts) => match parts.as_slice() {
                [text, variables] => (self.literal(text, at)?, Some(variables)),
                _ => return Err(wrong(at, "text, or text and its variables")),
            },
            text => (self.literal(text, at)?, None),
        };
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            out.push_str(&rest[..start]);
            let after = &rest[start + 2..];
            let end = after
                .find('}')
                .ok_or_else(|| wrong(at, "text whose ${ is closed"))?;
            let name = &after[..end];
            rest = &after[end + 1..];
            if let Some(literal) = name.strip_prefix('!') {
                out.push_str(&format!("${{{literal}}}"));
            } else if let Some(own) = variables.and_then(|map| map.get(name)) {
                out.push_str(&self.text(own, at, depth)?);
            } else if let Some((resource, attribute)) = name.split_once('.') {
                out.push_str(&scalar_text(
                    &self.attribute(resource, attribute, at, depth)?,
                    at,
                )?);
            } else {
                let value = self.reference(name, at, depth)?;
                out.push_str(&scalar_text(&value.unwrap_or(Value::String(String::new())), at)?);
            }
        }
        out.push_str(rest);
        Ok(Value::String(out))
    }

    fn attribute_path(&self, argument: &Node, at: &str) -> Result<(String, String), TemplateError> {
        let expected = "Resource.Attribute";
        match argument {
            Node::List(parts) => match parts.as_slice() {
                [resource, attribute] => Ok((
                    self.literal(resource, at)?.to_owned(),
                    self.literal(attribute, at)?.to_owned(),
                )),
                _ => Err(wrong(at, expected)),
            },
            text => self
                .literal(text, at)?
                .split_once('.')
                .map(|(resource, attribute)| (resource.to_owned(), attribute.to_owned()))
                .ok_or_else(|| wrong(at, expected)),
        }
    }

    fn literal<'n>(&self, node: &'n Node, at: &str) -> Result<&'n str, TemplateError> {
        node.as_str().ok_or_else(|| wrong(at, "plain text"))
    }

    fn arguments<'n, const N: usize>(
        &self,
        argument: &'n Node,
        at: &str,
    ) -> Result<[&'n Node; N], TemplateError> {
        let Node::List(items) = argument else {
            return Err(wrong(at, "a list of arguments"));
        };
        let items: Vec<&Node> = items.iter().collect();
        items
            .try_into()
            .map_err(|_| wrong(at, "a list with the right number of arguments"))
    }

    pub(super) fn text(&self, node: &Node, at: &str, depth: usize) -> Result<String, TemplateError> {
        match self.value(node, at, depth)? {
            Some(value) => scalar_text(&value, at),
            None => Ok(String::new()),
        }
    }

    fn texts(&self, node: &Node, at: &str, depth: usize) -> Result<Vec<String>, TemplateError> {
        match self.value(node, at, depth)? {
            Some(Value::Array(items)) => items.iter().map(|item| scalar_text(item, at)).collect(),
            _ => Err(wrong(at, "a list of texts")),
        }
    }
}

/// A scalar as CloudFormation writes it into text.
pub(crate) fn scalar_text(value: &Value, at: &str) -> Result<String, TemplateError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(wrong(at, "text, a number or a boolean")),
    }
}

/// A [`TemplateError::WrongType`] at a place.
pub(crate) fn wrong(at: &str, expected: &'static str) -> TemplateError {
    TemplateError::WrongType {
        at: at.to_owned(),
        expected,
    }
}
