//! Binds template parameters: overrides, then defaults, checked against what the template allows.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::TemplateError;
use super::node::Node;
use super::resolve::scalar_text;

/// The value of every parameter of the template.
pub(super) fn bind(
    root: &Node,
    overrides: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, Value>, TemplateError> {
    let declared = root.get("Parameters").map_or(&[][..], Node::entries);
    if let Some((name, value)) = overrides
        .iter()
        .find(|(name, _)| declared.iter().all(|(n, _)| n != *name))
    {
        let known: Vec<&str> = declared.iter().map(|(name, _)| name.as_str()).collect();
        return Err(TemplateError::Parameter {
            name: name.clone(),
            value: value.clone(),
            expected: format!("the template has no such parameter; it has {}", known.join(", ")),
        });
    }
    declared
        .iter()
        .map(|(name, declaration)| Ok((name.clone(), one(name, declaration, overrides)?)))
        .collect()
}

fn one(name: &str, declaration: &Node, overrides: &BTreeMap<String, String>) -> Result<Value, TemplateError> {
    let at = format!("Parameters.{name}");
    let text = match (overrides.get(name), declaration.get("Default")) {
        (Some(value), _) => value.clone(),
        (None, Some(Node::Scalar(value))) => scalar_text(value, &at)?,
        (None, Some(_)) => return Err(super::resolve::wrong(&at, "a parameter with a plain default")),
        (None, None) => {
            return Err(TemplateError::Missing {
                at: format!("{at}.Default (or a value for it)"),
            });
        }
    };
    check(name, &text, declaration)?;
    let kind = declaration.get("Type").and_then(Node::as_str).unwrap_or("String");
    if kind == "CommaDelimitedList" || kind.starts_with("List<") {
        return Ok(text
            .split(',')
            .map(|item| Value::String(item.trim().to_owned()))
            .collect());
    }
    Ok(Value::String(text))
}

fn check(name: &str, text: &str, declaration: &Node) -> Result<(), TemplateError> {
    let refuse = |expected: String| TemplateError::Parameter {
        name: name.to_owned(),
        value: text.to_owned(),
        expected,
    };
    if let Some(Node::List(allowed)) = declaration.get("AllowedValues") {
        let allowed: Vec<String> = allowed
            .iter()
            .filter_map(|node| match node {
                Node::Scalar(value) => scalar_text(value, name).ok(),
                Node::List(_) | Node::Map(_) | Node::Call(..) => None,
            })
            .collect();
        if !allowed.iter().any(|value| value == text) {
            return Err(refuse(format!("it must be one of {}", allowed.join(", "))));
        }
    }
    if declaration.get("Type").and_then(Node::as_str) == Some("Number") {
        let number: f64 = text
            .parse()
            .map_err(|_| refuse("it must be a number".to_owned()))?;
        if bound(declaration, "MinValue").is_some_and(|least| number < least) {
            return Err(refuse("it is below MinValue".to_owned()));
        }
        if bound(declaration, "MaxValue").is_some_and(|most| number > most) {
            return Err(refuse("it is above MaxValue".to_owned()));
        }
    }
    Ok(())
}

fn bound(declaration: &Node, key: &str) -> Option<f64> {
    match declaration.get(key)? {
        Node::Scalar(Value::Number(number)) => number.as_f64(),
        Node::Scalar(Value::String(text)) => text.parse().ok(),
        Node::Scalar(_) | Node::List(_) | Node::Map(_) | Node::Call(..) => None,
    }
}
