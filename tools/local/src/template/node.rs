//! A template as it is written: YAML (or JSON) with intrinsic functions kept as calls.
//!
//! Both spellings of a function, `!Ref x` and `{Ref: x}`, become the same [`Node::Call`].
//! Never evaluates anything: that is `resolve.rs`.

use serde_json::Value;
use serde_yaml_ng::Value as Yaml;

use super::error::TemplateError;

/// Functions that have a long form without `Fn::`.
const BARE_LONG_FORMS: [&str; 2] = ["Ref", "Condition"];

/// One node of a parsed template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// A string, number, boolean or null.
    Scalar(Value),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order it was written.
    Map(Vec<(String, Node)>),
    /// An intrinsic function by its short name (`Ref`, `Sub`, `GetAtt`...) and its argument.
    Call(String, Box<Node>),
}

impl Node {
    /// Parses a whole template.
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        let yaml: Yaml = serde_yaml_ng::from_str(text).map_err(|source| TemplateError::Yaml { source })?;
        from_yaml(&yaml, "template")
    }

    /// The value of a key, when this is a mapping that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        match self {
            Node::Map(entries) => entries
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            Node::Scalar(_) | Node::List(_) | Node::Call(..) => None,
        }
    }

    /// The entries of a mapping; none for anything else.
    pub(crate) fn entries(&self) -> &[(String, Node)] {
        match self {
            Node::Map(entries) => entries,
            Node::Scalar(_) | Node::List(_) | Node::Call(..) => &[],
        }
    }

    /// The text of a plain string.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Node::Scalar(Value::String(text)) => Some(text),
            Node::Scalar(_) | Node::List(_) | Node::Map(_) | Node::Call(..) => None,
        }
    }

    /// `over` laid on `self`, as SAM lays a function's properties on `Globals`: maps merge, lists
    /// are joined, anything else is replaced.
    pub(crate) fn overlaid(&self, over: &Node) -> Node {
        match (self, over) {
            (Node::Map(base), Node::Map(top)) => {
                let mut merged = base.clone();
                for (key, value) in top {
                    match merged.iter_mut().find(|(name, _)| name == key) {
                        Some((_, slot)) => *slot = slot.overlaid(value),
                        None => merged.push((key.clone(), value.clone())),
                    }
                }
                Node::Map(merged)
            }
            (Node::List(base), Node::List(top)) => Node::List(base.iter().chain(top).cloned().collect()),
            (_, top) => top.clone(),
        }
    }
}

fn from_yaml(yaml: &Yaml, at: &str) -> Result<Node, TemplateError> {
    Ok(match yaml {
        Yaml::Null => Node::Scalar(Value::Null),
        Yaml::Bool(flag) => Node::Scalar(Value::Bool(*flag)),
        Yaml::Number(number) => {
            Node::Scalar(
                serde_json::to_value(number).map_err(|_| TemplateError::WrongType {
                    at: at.to_owned(),
                    expected: "a finite number",
                })?,
            )
        }
        Yaml::String(text) => Node::Scalar(Value::String(text.clone())),
        Yaml::Sequence(items) => Node::List(
            items
                .iter()
                .map(|item| from_yaml(item, at))
                .collect::<Result<_, _>>()?,
        ),
        Yaml::Mapping(mapping) => from_mapping(mapping, at)?,
        Yaml::Tagged(tagged) => {
            let name = tagged.tag.to_string();
            let argument = from_yaml(&tagged.value, at)?;
            Node::Call(name.trim_start_matches('!').to_owned(), Box::new(argument))
        }
    })
}

fn from_mapping(mapping: &serde_yaml_ng::Mapping, at: &str) -> Result<Node, TemplateError> {
    let mut entries = Vec::with_capacity(mapping.len());
    for (key, value) in mapping {
        let Some(name) = key_text(key) else {
            return Err(TemplateError::WrongType {
                at: at.to_owned(),
                expected: "text as a key",
            });
        };
        let below = format!("{at}.{name}");
        entries.push((name, from_yaml(value, &below)?));
    }
    if let [(name, argument)] = entries.as_slice()
        && let Some(call) = long_form(name, argument)
    {
        return Ok(Node::Call(call.to_owned(), Box::new(argument.clone())));
    }
    Ok(Node::Map(entries))
}

fn key_text(key: &Yaml) -> Option<String> {
    match key {
        Yaml::String(text) => Some(text.clone()),
        Yaml::Number(number) => Some(number.to_string()),
        Yaml::Bool(flag) => Some(flag.to_string()),
        Yaml::Null | Yaml::Sequence(_) | Yaml::Mapping(_) | Yaml::Tagged(_) => None,
    }
}

/// The short name, when a mapping with this single key is a function in its long form.
/// `Condition` is one only with a name behind it: in a policy it is an ordinary key.
fn long_form<'a>(name: &'a str, argument: &Node) -> Option<&'a str> {
    name.strip_prefix("Fn::")
        .or_else(|| (BARE_LONG_FORMS.contains(&name) && argument.as_str().is_some()).then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_a_function_are_the_same_call() {
        let short = Node::parse("A: !GetAtt Queue.Arn\nB: !If [Cond, !Ref X, !Sub '${Y}-z']").unwrap();
        let long = Node::parse(
            "A: {'Fn::GetAtt': Queue.Arn}\nB: {'Fn::If': [Cond, {Ref: X}, {'Fn::Sub': '${Y}-z'}]}",
        )
        .unwrap();
        assert_eq!(short, long);
    }

    #[test]
    fn a_policy_condition_stays_a_key() {
        let node = Node::parse("Condition: {StringEquals: {a: b}}").unwrap();
        assert!(node.get("Condition").is_some());
    }

    #[test]
    fn functions_are_laid_on_globals_map_by_map() {
        let globals = Node::parse("Timeout: 10\nEnvironment: {Variables: {A: 1, B: 2}}").unwrap();
        let own = Node::parse("Timeout: 20\nEnvironment: {Variables: {B: 3}}").unwrap();
        let merged = globals.overlaid(&own);
        assert_eq!(
            merged,
            Node::parse("Timeout: 20\nEnvironment: {Variables: {A: 1, B: 3}}").unwrap()
        );
    }
}
