//! What can be wrong with a template, each naming the place and the cure.

use std::path::PathBuf;

/// A template that cannot be used for the local stack.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The file could not be read.
    #[error("template {} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The text is no YAML.
    #[error("the template is not valid YAML: {source}")]
    Yaml {
        /// Where and why.
        source: serde_yaml_ng::Error,
    },
    /// An intrinsic function, resource type or property that the local stack does not know.
    #[error(
        "{what} at {at} is not supported by the local stack: write it another way, or extend tools/local"
    )]
    Unsupported {
        /// The thing, with its name.
        what: String,
        /// The place in the template.
        at: String,
    },
    /// A property that has to be there is not.
    #[error("{at} is missing: add it to the template")]
    Missing {
        /// The place in the template.
        at: String,
    },
    /// A value of the wrong kind.
    #[error("{at} must be {expected}")]
    WrongType {
        /// The place in the template.
        at: String,
        /// What is expected there.
        expected: &'static str,
    },
    /// A name that neither parameters, pseudo parameters nor resources have.
    #[error("{name} at {at} names no parameter, condition or resource of the template")]
    Unknown {
        /// The name.
        name: String,
        /// The place in the template.
        at: String,
    },
    /// A parameter value that the template does not allow, or a parameter it does not have.
    #[error("parameter {name} cannot be {value:?}: {expected}")]
    Parameter {
        /// The parameter.
        name: String,
        /// The value given.
        value: String,
        /// What is allowed.
        expected: String,
    },
    /// References that go round in a circle, or nest too deep to be meant.
    #[error("references at {at} go in a circle or nest more than {limit} deep")]
    TooDeep {
        /// The place in the template.
        at: String,
        /// The limit.
        limit: usize,
    },
}
